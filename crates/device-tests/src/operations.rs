//! Operations against the reference, bit for bit on small integers.

use crate::compression::algorithms;
use crate::{each_device, values};
use sparse_core::op::{
    Conversion, ConvertKernel, DenseToCompressedPlan, Duplicates, Keep, Op, Operations, ScanElement,
    ScanKernel, ScanKind, ScanOrder, ScanPlan, SpmmKernel, SpmmPlan, SpmvKernel, SpmvPlan,
};
use sparse_core::reference::Reference;
use sparse_core::{
    Backend, Coo, Csc, Csr, Dense, DenseView, DenseViewMut, Ell, Error, Hyb, HybWidth, Order, PlanOptions,
    Row, Scalar, Sell, SellLayout, Space, SparseFormat, c32, f16,
};
use sparse_device::{Device, Library};
use sparse_generate::{adversarial, with_row_lengths};

/// The adversarial matrices, and two with work for several work-groups and long rows, with small integers as values.
fn matrices<T: Scalar>() -> Vec<(String, Csr<T>)> {
    let row_of_many_chunks: Vec<usize> =
        (0..600).map(|row| if row == 300 { 4200 } else { row % 9 }).collect();
    let larger = [
        ("many_lengths".to_string(), adversarial::staircase(300, 310).unwrap()),
        ("row_of_many_chunks".to_string(), with_row_lengths(&row_of_many_chunks, 4200, 0).unwrap()),
    ];
    let all = adversarial::all::<T>().unwrap().into_iter().chain(larger);
    all.map(|(name, a)| (name, a.with_values(values(a.nnz(), 5)).unwrap())).collect()
}

/// True if an algorithm of the table may refuse a matrix with this error.
fn may_refuse(algorithm: &str, refused: &Error) -> bool {
    match algorithm {
        "column_blocks" => refused.to_string().contains("columns must ascend"),
        "segmented" | "segmented_sycl" | "delta16" | "row_patterns" => {
            matches!(refused, Error::Unsupported { .. })
        }
        _ => false,
    }
}

/// `op(A)·x` by every algorithm of the table.
pub(crate) fn spmv<M>(backend: &Device, name: &str, host: &M)
where
    M: SparseFormat<Space = sparse_core::Host>,
    Reference: SpmvKernel<M>,
    Device: SpmvKernel<M::In<Device>> + Backend<Space = Device>,
{
    let device = host.to_device(backend).unwrap();
    for op in Op::ALL {
        let (rows, cols) = op.shape(host);
        let (x, y) = (values::<M::Scalar>(cols, 1), values::<M::Scalar>(rows, 2));
        let alpha = values::<M::Scalar>(1, 3)[0].to_acc();
        let mut expected = y.clone();
        Operations::spmv(&Reference, op, alpha, host, &x[..], alpha, &mut expected[..]).unwrap();
        for algorithm in Device::spmv_algorithms(backend, op) {
            let what = format!("{name}: {} {} op={op}", M::FORMAT, algorithm.name);
            let options = PlanOptions::forced(algorithm.name).relaxed();
            let mut plan = match SpmvPlan::new(backend, &device, op, &options) {
                Ok(plan) => plan,
                Err(refused) => {
                    assert!(may_refuse(algorithm.name, &refused), "{what}: {refused}");
                    continue;
                }
            };
            let (dx, mut dy) = (backend.upload(&x).unwrap(), backend.upload(&y).unwrap());
            plan.run(alpha, &device, Device::view(&dx), alpha, Device::view_mut(&mut dy)).unwrap();
            assert_eq!(backend.download(&dy).unwrap(), expected, "{what}");
        }
    }
}

/// `op(A)·B` by every algorithm of the table; B by columns, and by rows that can be read in whole words.
fn spmm<M>(backend: &Device, name: &str, host: &M)
where
    M: SparseFormat<Space = sparse_core::Host>,
    Reference: SpmmKernel<M>,
    Device: SpmmKernel<M::In<Device>> + Backend<Space = Device>,
{
    let device = host.to_device(backend).unwrap();
    for (op, columns, b_order) in [
        (Op::None, 3, Order::ColMajor),
        (Op::None, 33, Order::ColMajor),
        (Op::None, 12, Order::RowMajor),
        (Op::None, 140, Order::RowMajor),
        (Op::ConjugateTranspose, 2, Order::ColMajor),
    ] {
        let (rows, cols) = op.shape(host);
        let c_step = if b_order == Order::RowMajor { columns + 4 } else { columns + 1 };
        let (b, c) = (values::<M::Scalar>(cols * columns, 1), values::<M::Scalar>(rows * c_step, 2));
        let alpha = values::<M::Scalar>(1, 3)[0].to_acc();
        let mut expected = c.clone();
        let b_step = if b_order == Order::RowMajor { columns } else { cols };
        let host_b = DenseView::new(&b[..], cols, columns, b_step, b_order).unwrap();
        let host_c = DenseViewMut::new(&mut expected[..], rows, columns, c_step, Order::RowMajor).unwrap();
        Operations::spmm(&Reference, op, alpha, host, host_b, alpha, host_c).unwrap();
        for algorithm in Device::spmm_algorithms(backend, op) {
            let (db, mut dc) = (backend.upload(&b).unwrap(), backend.upload(&c).unwrap());
            let b = DenseView::new(Device::view(&db), cols, columns, b_step, b_order).unwrap();
            let c = Device::view_mut(&mut dc);
            let c = DenseViewMut::new(c, rows, columns, c_step, Order::RowMajor).unwrap();
            let options = PlanOptions::forced(algorithm.name).relaxed();
            let what = format!("{name}: {} {} op={op} columns={columns}", M::FORMAT, algorithm.name);
            let mut plan = match SpmmPlan::new(backend, &device, op, columns, &options) {
                Ok(plan) => plan,
                Err(refused) => {
                    assert!(may_refuse(algorithm.name, &refused), "{what}: {refused}");
                    continue;
                }
            };
            plan.run(alpha, &device, b, alpha, c).unwrap();
            assert_eq!(backend.download(&dc).unwrap(), expected, "{what}");
        }
    }
}

/// Checks a conversion and returns its result.
fn convert<From, To>(backend: &Device, name: &str, from: &From, layout: &From::Layout) -> To
where
    From: SparseFormat<Space = sparse_core::Host> + Conversion<To>,
    To: SparseFormat<Space = sparse_core::Host> + PartialEq,
    From::In<Device>: Conversion<To::In<Device>, Layout = From::Layout> + SparseFormat<Space = Device>,
    To::In<Device>: SparseFormat<Space = Device, In<sparse_core::Host> = To>,
    Reference: ConvertKernel<From, To>,
    Device: ConvertKernel<From::In<Device>, To::In<Device>> + Backend<Space = Device>,
{
    let expected: To = Operations::convert(&Reference, from, layout).unwrap();
    let device = from.to_device(backend).unwrap();
    let found: To::In<Device> = Operations::convert(backend, &device, layout).unwrap();
    assert_eq!(found.to_host(backend).unwrap(), expected, "{name}: {}", From::NAME);
    expected
}

fn all_formats<T: Scalar>(backend: &Device) {
    for (name, csr) in matrices::<T>() {
        let name = name.as_str();
        let csc: Csc<T> = convert(backend, name, &csr, &());
        let _: Csr<T> = convert(backend, name, &csc, &());
        let coo: Coo<T> = convert(backend, name, &csc, &());
        for duplicates in [Duplicates::Sum, Duplicates::Keep, Duplicates::Last] {
            let _: Csr<T> = convert(backend, name, &coo, &duplicates);
            let _: Csc<T> = convert(backend, name, &coo, &duplicates);
        }
        let ell: Ell<T> = convert(backend, name, &csr, &Default::default());
        let _: Csr<T> = convert(backend, name, &ell, &());
        let hyb: Hyb<T> = convert(backend, name, &csr, &HybWidth::Width(2));
        let _: Hyb<T> = convert(backend, name, &csr, &HybWidth::MinBytes);
        let _: Csr<T> = convert(backend, name, &hyb, &());
        let sell: Sell<T> = convert(backend, name, &csr, &SellLayout { slice_height: 4, sort_window: 8 });
        let _: Csr<T> = convert(backend, name, &sell, &());
        let sorted: Coo<T> = convert(backend, name, &csr, &());

        spmv(backend, name, &csr);
        spmv(backend, name, &csc);
        spmv(backend, name, &coo);
        spmv(backend, name, &sorted);
        spmv(backend, name, &ell);
        spmv(backend, name, &hyb);
        spmv(backend, name, &sell);
        spmm(backend, name, &csr);
        spmm(backend, name, &csc);
        spmm(backend, name, &hyb);
        spmm(backend, name, &sell);
    }
}

/// Products and conversions of every format in f32.
pub fn products_and_conversions_in_single_precision(library: &Library) {
    each_device(library, all_formats::<f32>);
}

/// The same in c32.
pub fn products_and_conversions_of_complex_numbers(library: &Library) {
    each_device(library, all_formats::<c32>);
}

/// Half precision with 64-bit indices and offsets is not in the catalogue, so that no kernel is compiled before it is
/// used.
pub fn types_outside_the_catalogue_multiply(library: &Library) {
    let values = vec![f16::ONE; 3];
    let a = Csr::<f16, _, i64, i64>::new(2, 3, vec![0, 1, 3], vec![0, 0, 2], values).unwrap();
    each_device(library, |backend| spmv(backend, "outside the catalogue", &a));
}

/// Columns of 16 bits are for rows whose columns lie far apart, in a few windows each, but not for more of these.
pub fn columns_of_16_bits_are_in_a_few_windows(library: &Library) {
    /// 70 rows of `length` columns, `step` apart, and an empty one.
    fn matrix(length: usize, step: usize) -> Csr<f64> {
        let rows = (0..70).map(|row| if row == 40 { 0 } else { length });
        let offsets: Vec<i32> =
            std::iter::once(0).chain(rows.scan(0, |sum, row| (*sum += row as i32, Some(*sum)).1)).collect();
        let columns = |row: usize| (0..length).map(move |k| (row + k * step) as i32);
        let indices: Vec<i32> = (0..70).filter(|&row| row != 40).flat_map(columns).collect();
        let values = values(indices.len(), 5);
        Csr::new(70, 70 + length * step, offsets, indices, values).unwrap()
    }
    let plan = |backend: &Device, a: &Csr<f64>| {
        let a = a.to_device(backend).unwrap();
        SpmvPlan::new(backend, &a, Op::None, &PlanOptions::forced("delta16")).map(|_| ())
    };
    let (short, long, many) = (matrix(3, 70_000), matrix(16, 4_500), matrix(17, 4_500));
    each_device(library, |backend| {
        for a in [&short, &long] {
            plan(backend, a).unwrap();
            spmv(backend, "columns in windows", a);
        }
        assert!(matches!(plan(backend, &many), Err(Error::Unsupported { .. })));
    });
}

/// Unsorted entries with repeated coordinates, more of them than a tile of a sort: the first or last of a coordinate is
/// so in the order of the entries.
pub fn many_duplicates_in_no_order_are_sorted_stably(library: &Library) {
    let places = (0..20_000).map(|k| (k * 7919) % 5003);
    let (rows, cols) = places.map(|place| (13 * place, place % 300)).unzip();
    let values = (0..20_000).map(|k| (k % 1009) as f32).collect();
    let coo = Coo::<f32>::new(70_000, 300, rows, cols, values).unwrap();
    each_device(library, |backend| {
        for duplicates in [Duplicates::Sum, Duplicates::Keep, Duplicates::Last] {
            let _: Csr<f32> = convert(backend, "many duplicates", &coo, &duplicates);
            let _: Csc<f32> = convert(backend, "many duplicates", &coo, &duplicates);
        }
    });
}

/// Unsorted entries, some coordinates twice, of matrices whose two indices take one key of eight bytes, or two.
pub fn entries_of_huge_matrices_are_sorted(library: &Library) {
    each_device(library, |backend| {
        for (rows, cols) in [(1_i64 << 33, 1 << 20), (1 << 40, 1 << 40), (3, i64::MAX)] {
            let index = |k: i64, below: i64| (k % 4000).wrapping_mul(0x09E3_779B_97F4_A7C1).rem_euclid(below);
            let (row_idx, col_idx) = (0..5000).map(|k| (index(k, rows), index(k + 7, cols))).unzip();
            let values = (0..5000).map(|k| k as f32).collect();
            let coo =
                Coo::<f32, _, i64>::new(rows as usize, cols as usize, row_idx, col_idx, values).unwrap();
            let sorted = Operations::sort(backend, &coo.to_device(backend).unwrap()).unwrap();
            let expected = Operations::sort(&Reference, &coo).unwrap();
            assert_eq!(sorted.to_host(backend).unwrap(), expected, "{rows} x {cols}");
        }
    });
}

/// Sorting, pruning, expansion and compression, which read single values.
fn entry_operations<T: Scalar>(backend: &Device) {
    for (name, csr) in matrices::<T>() {
        let csr = csr
            .with_values(
                values::<T>(csr.nnz(), 5)
                    .into_iter()
                    .enumerate()
                    .map(|(k, value)| if k % 3 == 0 { T::ZERO } else { value })
                    .collect(),
            )
            .unwrap();
        let coo: Coo<T> = Operations::convert(&Reference, &csr, &()).unwrap();
        let (on_device, coo_on_device) = (csr.to_device(backend).unwrap(), coo.to_device(backend).unwrap());
        let sorted = Operations::sort(backend, &on_device).unwrap().to_host(backend).unwrap();
        assert_eq!(sorted, Operations::sort(&Reference, &csr).unwrap(), "{name}: sort");
        let pruned = Operations::prune(backend, &on_device, Keep::NonZero).unwrap();
        let expected = Operations::prune(&Reference, &csr, Keep::NonZero).unwrap();
        assert_eq!(pruned.to_host(backend).unwrap(), expected, "{name}: prune");
        let pruned = Operations::prune(backend, &coo_on_device, Keep::NonZero).unwrap();
        let expected = Operations::prune(&Reference, &coo, Keep::NonZero).unwrap();
        assert_eq!(pruned.to_host(backend).unwrap(), expected, "{name}: prune of coo");

        let (rows, cols) = (csr.nrows(), csr.ncols());
        for order in [Order::RowMajor, Order::ColMajor] {
            let mut dense = Dense::<T>::zeros(rows, cols, order).unwrap();
            Operations::to_dense(&Reference, &csr, dense.as_view_mut()).unwrap();
            let poison = backend.upload(&values::<T>(rows * cols, 7)).unwrap();
            let mut found = Dense::<T, Device>::new(poison, rows, cols, order).unwrap();
            Operations::to_dense(backend, &on_device, found.as_view_mut()).unwrap();
            assert_eq!(&backend.download(found.data()).unwrap(), dense.data(), "{name}: to_dense");
            let expected: Csr<T> =
                Operations::dense_to_csr(&Reference, dense.as_view(), Keep::NonZero).unwrap();
            for algorithm in algorithms::<T>(backend) {
                let options = PlanOptions::forced(algorithm.name).relaxed();
                let mut plan = DenseToCompressedPlan::<_, Row, T, i32, i32>::new(
                    backend,
                    found.as_view(),
                    Keep::NonZero,
                    &options,
                );
                let csr = plan.as_mut().unwrap().run(found.as_view()).unwrap();
                assert_eq!(csr.to_host(backend).unwrap(), expected, "{name}: {} {order:?}", algorithm.name);
            }
        }
    }
}

/// Counts of rows that one work-group adds up, in one part of the series and in several: the last part whole or not.
pub fn counts_of_some_thousand_rows_are_added_up(library: &Library) {
    each_device(library, |backend| {
        for rows in [3070, 3071, 3072, 10_000] {
            let (row_idx, col_idx) =
                (0..rows).filter(|row| row % 7 != 3).map(|row| (row, row * 5 % 11)).unzip();
            let values = (0..rows).filter(|row| row % 7 != 3).map(|row| (row % 3) as f32).collect();
            let coo = Coo::<f32>::new(rows as usize, 11, row_idx, col_idx, values).unwrap();
            let csr: Csr<f32> = Operations::convert(&Reference, &coo, &Duplicates::Sum).unwrap();
            let pruned = Operations::prune(backend, &csr.to_device(backend).unwrap(), Keep::NonZero).unwrap();
            let expected = Operations::prune(&Reference, &csr, Keep::NonZero).unwrap();
            assert_eq!(pruned.to_host(backend).unwrap(), expected, "{rows} rows");
        }
    });
}

/// Sorting, pruning, expansion and compression.
pub fn operations_that_look_into_entries(library: &Library) {
    each_device(library, entry_operations::<f32>);
    each_device(library, entry_operations::<f16>);
}

fn scans<T: ScanElement + From<i32>>(backend: &Device) {
    for shape in [(1, 31), (1, 1), (33, 1), (3, 1025), (1025, 3), (600, 601)] {
        let input: Vec<T> =
            (0..shape.0 * shape.1).map(|k| T::from(((k * 7919) % 1999) as i32 - 900)).collect();
        for order in [ScanOrder::Flat, ScanOrder::RowMajor, ScanOrder::ColumnMajor] {
            for kind in [ScanKind::Inclusive, ScanKind::Exclusive] {
                let mut expected = vec![T::default(); input.len()];
                let options = PlanOptions::default();
                ScanPlan::new(&Reference, shape, order, kind, &options)
                    .unwrap()
                    .run(&input, &mut expected)
                    .unwrap();
                for algorithm in ScanKernel::<T>::scan_algorithms(backend, order) {
                    let options = PlanOptions::forced(algorithm.name).relaxed();
                    let from = backend.upload(&input).unwrap();
                    let mut to = backend.zeros::<T>(input.len()).unwrap();
                    let mut plan = ScanPlan::new(backend, shape, order, kind, &options).unwrap();
                    plan.run(Device::view(&from), Device::view_mut(&mut to)).unwrap();
                    let what = format!("{shape:?} {order:?} {kind:?} {}", algorithm.name);
                    let found = backend.download(&to).unwrap();
                    let wrong = (0..found.len()).find(|&k| found[k] != expected[k]);
                    let at = wrong.map(|k| (k, found[k], expected[k]));
                    assert!(wrong.is_none(), "{what}: position, found, expected: {at:?}");
                }
            }
        }
    }
}

/// Prefix sums.
pub fn prefix_sums_of_every_order_and_kind(library: &Library) {
    each_device(library, scans::<i32>);
    each_device(library, scans::<i64>);
}

/// Row statistics.
pub fn row_statistics_are_those_of_the_reference(library: &Library) {
    each_device(library, |backend| {
        for (name, csr) in matrices::<f32>() {
            let device = csr.to_device(backend).unwrap();
            let found = Operations::row_statistics(backend, &device).unwrap();
            assert_eq!(found, Operations::row_statistics(&Reference, &csr).unwrap(), "{name}");
        }
    });
}
