//! SpMM against the serial reference: every format, direction, algorithm, order of the operands and instruction set.

use crate::common::*;
use backend_cpu::{Cpu, Simd};
use sparse_core::op::{Op, SpmmKernel, SpmmPlan, VectorKernel};
use sparse_core::reference::Reference;
use sparse_core::{
    Csr, DenseView, DenseViewMut, Error, Host, Order, PlanOptions, Scalar, SparseFormat, bf16, c32, c64, f16,
};
use sparse_generate::{band, stencil_5, stencil_27, uniform, with_row_lengths};

/// The orders of B and C, and the padding of both leading dimensions.
#[derive(Debug, Clone, Copy)]
struct Orders {
    b: Order,
    c: Order,
    padding: usize,
}

const LAYOUTS: [Orders; 4] = [
    Orders { b: Order::RowMajor, c: Order::RowMajor, padding: 0 },
    Orders { b: Order::RowMajor, c: Order::ColMajor, padding: 3 },
    Orders { b: Order::ColMajor, c: Order::RowMajor, padding: 1 },
    Orders { b: Order::ColMajor, c: Order::ColMajor, padding: 0 },
];

/// (lines, leading dimension) of a dense matrix.
fn lines(order: Order, rows: usize, cols: usize, padding: usize) -> (usize, usize) {
    match order {
        Order::RowMajor => (rows, cols + padding),
        Order::ColMajor => (cols, rows + padding),
    }
}

/// All memory of C, padding included, after `alpha·op(A)·B + beta·C`.
fn product<Back, M>(
    backend: &Back,
    a: &M,
    op: Op,
    columns: usize,
    options: &PlanOptions,
    (alpha, beta): (f64, f64),
    layout: Orders,
) -> Result<Vec<M::Scalar>, Error>
where
    Back: SpmmKernel<M> + VectorKernel<M::Scalar, Space = Host>,
    M: SparseFormat<Space = Host>,
{
    let (rows, inner) = op.shape(a);
    let (b_lines, b_ld) = lines(layout.b, inner, columns, layout.padding);
    let (c_lines, c_ld) = lines(layout.c, rows, columns, layout.padding);
    let b = integers(b_lines * b_ld);
    let mut c = output(c_lines * c_ld, beta);
    let mut plan = SpmmPlan::new(backend, a, op, columns, options)?;
    let b = DenseView::new(b.as_slice(), inner, columns, b_ld, layout.b)?;
    let c_view = DenseViewMut::new(c.as_mut_slice(), rows, columns, c_ld, layout.c)?;
    plan.run(acc::<M::Scalar>(alpha), a, b, acc::<M::Scalar>(beta), c_view)?;
    Ok(c)
}

fn is_nan<T: Scalar>(value: T) -> bool {
    let value = value.to_c64();
    value.re.is_nan() || value.im.is_nan()
}

/// Every algorithm leaves the reference's memory to the last bit (NaN being NaN), padding included.
fn check<M>(name: &str, a: &M, columns: usize)
where
    M: SparseFormat<Space = Host>,
    Cpu: SpmmKernel<M> + VectorKernel<M::Scalar>,
    Reference: SpmmKernel<M> + VectorKernel<M::Scalar>,
{
    for (k, op) in Op::ALL.into_iter().enumerate() {
        for (scale, layout) in SCALES.into_iter().zip(LAYOUTS.into_iter().cycle().skip(k)) {
            let expected =
                product(&Reference, a, op, columns, &PlanOptions::default(), scale, layout).unwrap();
            for cpu in backends_for(scale) {
                for algorithm in cpu.spmm_algorithms(op).iter().map(|a| Some(a.name)).chain([None]) {
                    let options = algorithm.map_or_else(PlanOptions::default, PlanOptions::forced);
                    let c = product(cpu, a, op, columns, &options, scale, layout).unwrap();
                    let both_nan = |a, b| is_nan(a) && is_nan(b);
                    let same = c.iter().zip(&expected).all(|(&a, &b)| a == b || both_nan(a, b));
                    assert!(same, "{name} {} {op} {algorithm:?} {columns} {scale:?} {layout:?}", M::FORMAT);
                }
            }
        }
    }
}

fn check_all_formats<T: Scalar>(cases: Vec<(String, Csr<T>)>, columns: usize) {
    for (name, a) in cases {
        check(&name, &a, columns);
        check(&name, &csc(&a), columns);
        check(&name, &coo(&a), columns);
        check(&name, &shuffled_coo(&a), columns);
        check(&name, &hyb(&a, 2), columns);
        check(&name, &sell(&a, 7, 14), columns);
        if a.row_lengths().iter().max() < Some(&2000) {
            check(&name, &ell(&a), columns);
        }
    }
}

#[test]
fn rows_without_entries_between_others_agree_with_the_reference() {
    for every in [2, 5] {
        let lengths: Vec<_> = (0..3000).map(|row| if row % every == 0 { 1 + row % 2 } else { 0 }).collect();
        for columns in [1, 2, 7, 8, 16, 17, 33] {
            check("empty rows", &with_row_lengths::<f32>(&lengths, 500, 1).unwrap(), columns);
            check("empty rows", &with_row_lengths::<f64>(&lengths, 500, 1).unwrap(), columns);
        }
    }
}

#[test]
fn sums_of_a_long_row_are_not_rounded_to_half_precision_between_entries() {
    let (rows, length) = (4000, 3000);
    let offsets: Vec<i32> = (0..=rows).map(|row| if row > 7 { length } else { 0 }).collect();
    let (columns, ones): (Vec<i32>, _) = ((0..length).collect(), vec![f16::ONE; 3000]);
    for cpu in backends() {
        for k in [8, 32, 45] {
            let mut c = vec![f16::ONE; 4000 * k];
            let arrays = (&offsets[..], &columns[..], &ones[..]);
            cpu.multiply_dense((4000, 3000), arrays, &vec![f16::ONE; 3000 * k], k, &mut c).unwrap();
            let (before, from) = c.split_at(7 * k);
            let (row, after) = from.split_at(k);
            assert!(row.iter().all(|&sum| sum == f16::from_f32(3000.0)), "{k} columns");
            assert!(before.iter().chain(after).all(|&sum| sum == f16::ZERO), "{k} columns");
        }
    }
}

#[test]
fn products_of_arrays_add_entries_in_order() {
    // Over more than one range and part; the last has columns in no order, and all sums are exact.
    let mut cases = cases::<f64>();
    let (offsets, columns) = (vec![0, 3, 3, 5], vec![2, 0, 2, 1, 1]);
    cases.push(("unsorted".into(), Csr::new_unsorted(3, 4, offsets, columns, integers(5)).unwrap()));
    // A small C, to which chunks of rows are added, and a large one with short rows, whose entries are listed.
    let of_integers = |a: Csr<f64>| {
        Csr::new(a.nrows(), a.ncols(), a.offsets().to_vec(), a.indices().to_vec(), integers(a.nnz())).unwrap()
    };
    cases.push(("tall".into(), of_integers(sparse_generate::uniform(20_000, 30, 2, 1).unwrap())));
    cases.push(("scattered".into(), of_integers(sparse_generate::uniform(12_000, 80_000, 5, 1).unwrap())));
    // A B that no cache has, of which neighbouring rows read neighbours.
    cases.push(("grid".into(), of_integers(sparse_generate::stencil_5(180, 180).unwrap())));
    // One entry a row, and rows without entries between those with some.
    cases.push(("diagonal".into(), of_integers(sparse_generate::band(9000, 0, 0, 1).unwrap())));
    let offsets = (0..=5000).map(|row| row / 3).collect();
    let columns = (0..5000 / 3).map(|entry| entry * 7 % 1000).collect();
    cases.push((
        "empty rows".into(),
        Csr::new_unsorted(5000, 1000, offsets, columns, integers(1666)).unwrap(),
    ));
    for (name, a) in &cases {
        let arrays = (&a.offsets()[..], &a.indices()[..], &a.values()[..]);
        for columns in [0, 1, 7, 8, 32, 45] {
            let b = integers::<f64>(a.nrows() * columns);
            let mut expected = vec![0.0; a.ncols() * columns];
            for (i, j, value) in a.triplets() {
                (0..columns).for_each(|k| expected[j * columns + k] += value * b[i * columns + k]);
            }
            for cpu in backends() {
                let mut c = vec![f64::NAN; expected.len()];
                cpu.multiply_transposed((a.nrows(), a.ncols()), arrays, &b, columns, &mut c).unwrap();
                assert_eq!(c, expected, "{name}, {columns} columns");
            }
            let b = integers::<f64>(a.ncols() * columns);
            let mut expected = vec![0.0; a.nrows() * columns];
            for (i, j, value) in a.triplets() {
                (0..columns).for_each(|k| expected[i * columns + k] += value * b[j * columns + k]);
            }
            for cpu in backends() {
                let mut c = vec![f64::NAN; expected.len()];
                cpu.multiply_dense((a.nrows(), a.ncols()), arrays, &b, columns, &mut c).unwrap();
                assert_eq!(c, expected, "{name}, {columns} columns");
            }
        }
    }
    let error = Cpu::new().unwrap().multiply_transposed::<f64, i32, i32>(
        (1, 2),
        (&[0, 0], &[], &[]),
        &[1.0],
        1,
        &mut [0.0],
    );
    let reason = "B has 1 elements and C 1 where 1 and 2 rows of 1 are right";
    assert_eq!(error.unwrap_err().to_string(), format!("spmm: {reason}"));
    let cpu = Cpu::new().unwrap();
    let error = cpu.multiply_dense::<f64, i32, i32>((1, 2), (&[0, 0], &[], &[]), &[1.0], 1, &mut [0.0]);
    let reason = "B has 1 elements and C 1 where 2 and 1 rows of 1 are right";
    assert_eq!(error.unwrap_err().to_string(), format!("spmm: {reason}"));
    let error =
        cpu.multiply_dense::<f64, i32, i32>((1, 2), (&[0, 1], &[2], &[1.0]), &[1.0; 2], 1, &mut [0.0]);
    assert_eq!(error.unwrap_err().to_string(), "csr: row 0: column 2 is not below 2");
    for column in [2, -1] {
        let a = (&[0, 1][..], &[column][..], &[1.0][..]);
        let error = cpu.multiply_transposed::<f64, i32, i32>((1, 2), a, &[1.0; 2], 2, &mut [0.0; 4]);
        assert!(error.unwrap_err().to_string().starts_with("csr: row 0: column "));
    }
    let error = Cpu::new().unwrap().multiply_transposed::<f64, i64, i64>(
        (1, 1 << 62),
        (&[0, 1], &[5], &[1.0]),
        &[1.0; 4],
        4,
        &mut [],
    );
    let error = error.unwrap_err().to_string();
    assert!(error.contains("4611686018427387904"), "{error}");
}

#[test]
fn small_matrices_with_every_number_of_columns() {
    for columns in [0, 1, 8, 33, 40, 64] {
        let cases = cases::<f64>();
        let small = cases.into_iter().filter(|(_, a)| a.nnz() < 1000).step_by(2);
        check_all_formats(small.collect(), columns);
    }
}

/// An entry in every ninth of some rows, and none in the others.
#[test]
fn rows_without_entries_are_zeros_and_few_columns_fill_vectors() {
    fn check_type<T: Scalar>()
    where
        Cpu: SpmmKernel<Csr<T>> + VectorKernel<T>,
        Reference: SpmmKernel<Csr<T>> + VectorKernel<T>,
    {
        let offsets = (0..=900).map(|row: i32| row.min(500) / 9).collect();
        let columns = (0..55).map(|entry| entry * 7 % 60).collect();
        let few = Csr::<T>::new_unsorted(900, 60, offsets, columns, integers(55)).unwrap();
        for columns in [1, 2, 3, 4, 5, 8, 16, 33] {
            check("few entries", &few, columns);
            check("band", &band::<T>(40, 2, 3, 1).unwrap(), columns);
            check("uniform", &uniform::<T>(40, 30, 6, 1).unwrap(), columns);
        }
    }
    check_type::<f32>();
    check_type::<f64>();
}

#[test]
fn matrices_of_every_kind_with_nine_columns() {
    check_all_formats::<f32>(some_cases(), 9);
}

#[test]
fn other_types_agree_with_the_reference() {
    check("uniform", &uniform::<c32>(600, 500, 9, 4).unwrap(), 33);
    check("uniform", &uniform::<c64>(600, 500, 9, 4).unwrap(), 9);
    check("uniform", &uniform::<f16>(600, 500, 9, 4).unwrap(), 33);
    check("uniform", &uniform::<bf16>(600, 500, 9, 4).unwrap(), 9);
    let a = uniform::<f64>(600, 500, 9, 4).unwrap();
    check("uniform", &with_indices::<f64, i32, i64>(&a), 9);
    check("uniform", &with_indices::<f64, i64, i64>(&a), 9);
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let [one, four] = [1, 4].map(|threads| Cpu::with(threads, Simd::detect()).unwrap());
    for (name, a) in cases::<f32>() {
        let a = inexact(a);
        for op in Op::ALL {
            for algorithm in <Cpu as SpmmKernel<Csr<f32>>>::spmm_algorithms(&one, op) {
                let options = PlanOptions::forced(algorithm.name);
                let run = |cpu| product(cpu, &a, op, 9, &options, (1.0, 0.0), LAYOUTS[0]).unwrap();
                assert_eq!(bits(&run(&one)), bits(&run(&four)), "{name} {op} {}", algorithm.name);
            }
        }
    }
}

#[test]
fn long_rows_are_split() {
    let (_, a) = cases::<f64>().into_iter().find(|(name, _)| name == "two_long_rows").unwrap();
    let plan = SpmmPlan::new(&Cpu::new().unwrap(), &a, Op::None, 4, &PlanOptions::default()).unwrap();
    assert_eq!(plan.choice().algorithm, "row_split");
}

#[test]
fn operands_whose_bytes_cannot_be_counted_are_planned_or_refused() {
    let (cpu, options) = (Cpu::new().unwrap(), PlanOptions::default());
    let (rows, cols) = (15_000, i64::MAX);
    let (offsets, indices) = ((0..=rows as i64).map(|row| 2 * row).collect(), [0, cols - 1].repeat(rows));
    let ones = vec![1.0; 2 * rows];
    let a = Csr::<f64, Host, i64, i64>::new(rows, cols as usize, offsets, indices, ones).unwrap();
    for columns in [1, 33, usize::MAX] {
        SpmmPlan::new(&cpu, &a, Op::None, columns, &options).unwrap();
    }
    let long = with_row_lengths::<f64>(&[5000], 6000, 1).unwrap();
    let error = SpmmPlan::new(&cpu, &long, Op::None, usize::MAX, &options).unwrap_err();
    assert!(matches!(error, Error::IndexOverflow { .. }), "{error}");
}

#[test]
fn a_wide_b_whose_rows_are_used_often_is_sliced() {
    let a = uniform::<f64>(80, 4000, 3200, 5).unwrap();
    let (columns, options) = (140, PlanOptions::default());
    let cpu = Cpu::new().unwrap();
    let plan = SpmmPlan::new(&cpu, &a, Op::None, columns, &options).unwrap();
    assert!(plan.choice().reason.contains("slices"), "{:?}", plan.choice());
    for (layout, scale) in [(LAYOUTS[0], (1.0, 0.0)), (LAYOUTS[1], (2.0, -1.0))] {
        let expected = product(&Reference, &a, Op::None, columns, &options, scale, layout).unwrap();
        let found = product(&cpu, &a, Op::None, columns, &options, scale, layout).unwrap();
        assert!(found == expected, "{layout:?} {scale:?}");
    }
}

/// The bits of `A·B` by each instruction set, where B begins `offset` elements behind the beginning of a cache line.
fn bits_with_b_at<T: Scalar>(a: &Csr<T>, columns: usize, offset: usize) -> Vec<Vec<u8>>
where
    Cpu: SpmmKernel<Csr<T>>,
{
    let mut memory = vec![T::ZERO; a.ncols() * columns + offset + 64];
    let start = memory.as_ptr().align_offset(64) + offset;
    let b = &mut memory[start..start + a.ncols() * columns];
    for (k, b) in b.iter_mut().enumerate() {
        *b = T::from_c64(c64::new(1.0 / (1 + k % 97) as f64, 0.0));
    }
    let b = DenseView::row_major(&*b, a.ncols(), columns).unwrap();
    let run = |cpu: &Cpu| {
        let mut c = vec![T::ZERO; a.nrows() * columns];
        let mut plan = SpmmPlan::new(cpu, a, Op::None, columns, &PlanOptions::default()).unwrap();
        let c_view = DenseViewMut::row_major(&mut c[..], a.nrows(), columns).unwrap();
        plan.run(acc::<T>(1.0), a, b, acc::<T>(0.0), c_view).unwrap();
        bits(&c).to_vec()
    };
    backends().iter().map(run).collect()
}

/// Rows of B that are used often are copied where they straddle cache lines.
#[test]
fn bits_do_not_depend_on_the_alignment_of_b() {
    let narrow = inexact(uniform::<f32>(600, 40, 13, 5).unwrap());
    let wide = inexact(uniform::<f64>(600, 40, 13, 5).unwrap());
    for columns in [1, 3, 4, 6, 8, 16, 24, 32, 64, 100] {
        let aligned = bits_with_b_at(&narrow, columns, 0);
        assert!(aligned == bits_with_b_at(&narrow, columns, 4), "f32, {columns} columns");
        let aligned = bits_with_b_at(&wide, columns, 0);
        assert!(aligned == bits_with_b_at(&wide, columns, 2), "f64, {columns} columns");
    }
}

/// Rows of several vectors are read by whole cache lines where they begin behind one.
#[test]
fn bits_of_long_rows_do_not_depend_on_the_alignment_of_b() {
    fn check<T: Scalar>()
    where
        Cpu: SpmmKernel<Csr<T>>,
    {
        let a = inexact(uniform::<T>(60, 400, 20, 5).unwrap());
        for columns in [32, 48, 64, 80, 128, 144, 256, 400] {
            let aligned = bits_with_b_at(&a, columns, 0);
            for offset in [1, 3] {
                let found = bits_with_b_at(&a, columns, offset);
                assert!(aligned == found, "{} {columns} columns, {offset} behind a line", T::DTYPE);
            }
        }
    }
    check::<f32>();
    check::<f64>();
    check::<c32>();
    check::<c64>();
}

/// The matrix with its rows in reverse order.
fn reversed<T: Scalar>(a: &Csr<T>) -> Csr<T> {
    let rows = a.nrows();
    Csr::from_triplets(rows, a.ncols(), a.triplets().map(|(i, j, value)| (rows - 1 - i, j, value))).unwrap()
}

/// Rows whose columns are each one further than in the row before are summed together; in reverse order they are not.
#[test]
fn shifted_rows_have_the_bits_of_others() {
    fn check<T: Scalar>(a: Csr<T>)
    where
        Cpu: SpmmKernel<Csr<T>>,
    {
        let a = inexact(a);
        for columns in [1, 2, 3, 4, 5, 8, 9, 16, 31, 33, 64, 80] {
            let (own, other) = (bits_with_b_at(&a, columns, 0), bits_with_b_at(&reversed(&a), columns, 0));
            let row = columns * size_of::<T>();
            for (own, other) in own.iter().zip(&other) {
                assert!(own.chunks(row).eq(other.chunks(row).rev()), "{} {columns} columns", T::DTYPE);
            }
        }
    }
    check(band::<f32>(203, 6, 5, 1).unwrap());
    check(band::<f64>(203, 17, 23, 1).unwrap());
    check(stencil_5::<f64>(40, 9).unwrap());
    check(stencil_27::<f32>(37, 5, 4).unwrap());
    check(band::<c32>(50, 2, 2, 1).unwrap());
    check(stencil_5::<c64>(40, 9).unwrap());
}

/// Shifted rows of every format, and some that are longer than a segment.
#[test]
fn shifted_rows_of_every_format_agree_with_the_reference() {
    for columns in [9, 33, 64] {
        check_all_formats::<f64>(vec![("stencil_5".into(), stencil_5(40, 9).unwrap())], columns);
    }
    let (rows, length) = (12, 4100);
    let offsets = (0..=rows as i32).map(|row| row * length as i32).collect();
    let columns = (0..rows).flat_map(|row| row as i32..(row + length) as i32).collect();
    let a = Csr::<f32>::new(rows, rows + length, offsets, columns, integers(rows * length)).unwrap();
    check("long", &a, 9);
}

#[test]
fn few_columns_have_the_same_bits_with_avx2_and_without_vectors() {
    fn check<T: Scalar>(a: Csr<T>)
    where
        Cpu: SpmmKernel<Csr<T>>,
    {
        let (a, (rows, cols)) = (inexact(a.clone()), a.shape());
        let tenth = |k: usize| T::from_c64(c64::new(1.0 / (1 + k % 97) as f64, 0.0));
        let b: Vec<_> = (0..cols * 31).map(tenth).collect();
        for columns in [1, 2, 3, 4, 5, 6, 7, 8, 12, 15, 16, 24, 31] {
            let b = DenseView::row_major(&b[..cols * columns], cols, columns).unwrap();
            let [avx2, portable] = [Simd::Avx2, Simd::Portable].map(|simd| {
                let cpu = Cpu::with(1, simd).unwrap();
                let mut c: Vec<_> = (0..rows * columns).map(tenth).collect();
                let mut plan = SpmmPlan::new(&cpu, &a, Op::None, columns, &PlanOptions::default()).unwrap();
                let c_view = DenseViewMut::row_major(&mut c[..], rows, columns).unwrap();
                plan.run(acc::<T>(1.7), &a, b, acc::<T>(-0.6), c_view).unwrap();
                bits(&c).to_vec()
            });
            assert!(avx2 == portable, "{} {columns} columns", T::DTYPE);
        }
    }
    if Simd::Avx2.is_available() {
        check(uniform::<f32>(300, 200, 13, 5).unwrap());
        check(uniform::<f64>(300, 200, 13, 5).unwrap());
        check(stencil_5::<f32>(40, 9).unwrap());
        check(band::<f64>(90, 3, 2, 1).unwrap());
    }
}

/// A C of more than 64 MiB, which is written past the caches, has the bits that `beta = 1` leaves in a C of zeros,
/// which is read. It begins `offset` elements behind the beginning of a cache line, and `padding` elements lie between
/// its rows; no other element is written.
fn check_large_c<T: Scalar>(cpu: &Cpu, columns: usize, offset: usize, padding: usize)
where
    Cpu: SpmmKernel<Csr<T>>,
{
    let leading_dimension = columns + padding;
    let rows = (65 << 20) / (columns * size_of::<T>());
    let mut lengths = vec![1; rows];
    (lengths[1000], lengths[1001], lengths[2000]) = (5000, 0, 4097);
    let a = inexact(with_row_lengths::<T>(&lengths, 6000, 1).unwrap());
    let b = integers::<T>(6000 * columns);
    let b = DenseView::row_major(&b[..], 6000, columns).unwrap();
    let mut plan = SpmmPlan::new(cpu, &a, Op::None, columns, &PlanOptions::default()).unwrap();
    let mut run = |beta: f64, before: T| {
        let mut memory = vec![before; rows * leading_dimension + offset + 64];
        let start = memory.as_ptr().align_offset(64) + offset;
        let c = &mut memory[start..start + rows * leading_dimension];
        let c = DenseViewMut::new(c, rows, columns, leading_dimension, Order::RowMajor).unwrap();
        plan.run(acc::<T>(1.0), &a, b, acc::<T>(beta), c).unwrap();
        (start, memory)
    };
    let nan = T::from_c64(c64::new(f64::NAN, 0.0));
    let ((start, found), (expected_start, expected)) = (run(0.0, nan), run(1.0, T::ZERO));
    let end = start + rows * leading_dimension;
    assert!([&found[..start], &found[end..]].concat().into_iter().all(is_nan), "outside of C");
    for row in 0..rows {
        let found = &found[start + row * leading_dimension..][..leading_dimension];
        let expected = &expected[expected_start + row * leading_dimension..][..columns];
        assert_eq!(bits(&found[..columns]), bits(expected), "row {row}");
        assert!(found[columns..].iter().all(|&element| is_nan(element)), "behind row {row}");
    }
}

#[test]
fn a_large_c_is_written_past_the_caches() {
    for simd in [Simd::Avx2, Simd::detect()].into_iter().filter(|simd| simd.is_available()) {
        let cpu = Cpu::with(2, simd).unwrap();
        check_large_c::<f32>(&cpu, 128, 0, 0);
        check_large_c::<f32>(&cpu, 256, 5, 0);
        check_large_c::<f64>(&cpu, 64, 3, 0);
        check_large_c::<f64>(&cpu, 100, 0, 4);
        check_large_c::<f64>(&cpu, 100, 3, 4);
    }
}
