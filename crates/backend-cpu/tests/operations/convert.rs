//! Conversions, sorting, pruning and row statistics against the reference, with every algorithm, instruction set
//! and number of threads.

use crate::samples::{Bytes, backends, cases, unsorted_rows};
use backend_cpu::Cpu;
use sparse_core::op::{
    Conversion, ConvertKernel, ConvertPlan, Duplicates, Keep, Operations, PruneKernel, PrunePlan,
    RowStatisticsKernel, RowStatisticsPlan, SortKernel, SortPlan, ToDenseKernel, ToDensePlan,
};
use sparse_core::reference::Reference;
use sparse_core::{
    Coo, Csc, Csr, DenseViewMut, Ell, EllLayout, Error, Host, Hyb, HybWidth, Index, Order, PlanOptions,
    Scalar, Sell, SellLayout, SparseFormat, c32, c64, f16,
};
use sparse_generate::with_row_lengths;

/// Checks for the same matrix, byte for byte, or the same error.
fn check_convert<From, To>(from: &From, layout: &From::Layout) -> Option<To>
where
    From: Conversion<To> + SparseFormat<Space = Host>,
    To: SparseFormat<Space = Host> + Bytes,
    Cpu: ConvertKernel<From, To>,
    Reference: ConvertKernel<From, To>,
{
    let expected = Operations::convert(&Reference, from, layout).map_err(|error| error.to_string());
    for cpu in backends() {
        for algorithm in ConvertKernel::<From, To>::convert_algorithms(&cpu) {
            let options = PlanOptions::forced(algorithm.name);
            let found = ConvertPlan::new(&cpu, from, layout, &options)
                .and_then(|mut plan| plan.run(from))
                .map_err(|error| error.to_string());
            let context = format!(
                "{} of {} x {} with {} entries, {layout:?}, {}, {cpu:?}",
                From::NAME,
                from.nrows(),
                from.ncols(),
                from.nnz(),
                algorithm.name
            );
            assert_eq!(found.as_ref().map(Bytes::bytes), expected.as_ref().map(Bytes::bytes), "{context}");
        }
    }
    expected.ok()
}

#[test]
fn memory_that_a_shape_claims_is_an_error() {
    let wide = Csr::<f64, Host, i64, i64>::new(1, 1 << 50, vec![0, 1], vec![5], vec![1.0]).unwrap();
    for cpu in backends() {
        let converted: sparse_core::Result<Csc<f64, Host, i64, i64>> = Operations::convert(&cpu, &wide, &());
        assert!(matches!(converted, Err(Error::OutOfMemory { .. })), "{cpu:?}");
    }
}

fn check_sort<M: SparseFormat<Space = Host> + Bytes>(a: &M)
where
    Cpu: SortKernel<M>,
    Reference: SortKernel<M>,
{
    let expected = Operations::sort(&Reference, a).unwrap().bytes();
    for cpu in backends() {
        for algorithm in cpu.sort_algorithms() {
            let mut plan = SortPlan::new(&cpu, a, &PlanOptions::forced(algorithm.name)).unwrap();
            assert_eq!(plan.run(a).unwrap().bytes(), expected, "{} {cpu:?}", algorithm.name);
        }
    }
}

fn check_prune<M: SparseFormat<Space = Host> + Bytes>(a: &M, keep: Keep<M::Scalar>)
where
    Cpu: PruneKernel<M>,
    Reference: PruneKernel<M>,
{
    let expected = Operations::prune(&Reference, a, keep).unwrap().bytes();
    for cpu in backends() {
        for algorithm in cpu.prune_algorithms() {
            let mut plan = PrunePlan::new(&cpu, a, &PlanOptions::forced(algorithm.name)).unwrap();
            assert_eq!(plan.run(a, keep).unwrap().bytes(), expected, "{} {cpu:?}", algorithm.name);
        }
    }
}

fn padded<T: Scalar>(data: &mut [T], shape: (usize, usize, usize), order: Order) -> DenseViewMut<'_, T> {
    DenseViewMut::new(data, shape.0, shape.1, shape.2, order).unwrap()
}

/// Checks padded outputs of both orders, poisoned; the padding stays as it is.
fn check_to_dense<M: SparseFormat<Space = Host>>(a: &M)
where
    Cpu: ToDenseKernel<M>,
    Reference: ToDenseKernel<M>,
{
    let poison = M::Scalar::from_c64(c64::new(f64::NAN, 7.0));
    for order in [Order::RowMajor, Order::ColMajor] {
        let (lines, line) =
            if order == Order::RowMajor { (a.nrows(), a.ncols()) } else { (a.ncols(), a.nrows()) };
        let output = || vec![poison; lines * (line + 3)];
        let mut expected = output();
        Operations::to_dense(&Reference, a, padded(&mut expected, (a.nrows(), a.ncols(), line + 3), order))
            .unwrap();
        for cpu in backends() {
            for algorithm in cpu.to_dense_algorithms() {
                let mut found = output();
                let mut plan = ToDensePlan::new(&cpu, a, &PlanOptions::forced(algorithm.name)).unwrap();
                plan.run(a, padded(&mut found, (a.nrows(), a.ncols(), line + 3), order)).unwrap();
                assert_eq!(
                    bytemuck::cast_slice::<_, u8>(&found),
                    bytemuck::cast_slice::<_, u8>(&expected),
                    "{} to dense, {order:?}, {} {cpu:?}",
                    M::FORMAT,
                    algorithm.name
                );
            }
        }
    }
}

const DUPLICATES: [Duplicates; 4] = [Duplicates::Sum, Duplicates::Keep, Duplicates::Last, Duplicates::Error];

fn compressed_from_coo<T: Scalar, I: Index, O: Index>() {
    for coo in cases::<T, I>() {
        for duplicates in DUPLICATES {
            check_convert::<_, Csr<T, Host, I, O>>(&coo, &duplicates);
            check_convert::<_, Csc<T, Host, I, O>>(&coo, &duplicates);
        }
    }
}

#[test]
fn coo_to_csr_and_csc_with_all_duplicates() {
    compressed_from_coo::<f64, i32, i32>();
}

#[test]
fn coo_to_csr_and_csc_of_complex_values_with_long_offsets() {
    compressed_from_coo::<c32, i32, i64>();
}

#[test]
fn coo_to_csr_and_csc_of_half_precision() {
    compressed_from_coo::<f16, i32, i32>();
}

#[test]
fn coo_to_csr_and_csc_with_long_indices() {
    compressed_from_coo::<f64, i64, i64>();
}

#[test]
fn types_that_the_catalogue_lacks_are_refused_by_name() {
    let coo = Coo::<f16, Host, i64>::from_triplets(1, 1, [(0, 0, f16::ONE)]).unwrap();
    let csr = Operations::convert(&Cpu::new().unwrap(), &coo, &Duplicates::Sum);
    let error = csr.map(|_: Csr<f16, Host, i64, i64>| ()).unwrap_err().to_string();
    assert!(error.contains("f16,i32,i32"), "{error}");
}

#[test]
fn csr_csc_and_coo_into_each_other() {
    for coo in cases::<f32, i32>() {
        let csr: Csr<f32> = unsorted_rows(&coo);
        check_convert::<_, Coo<f32>>(&csr, &());
        let csc: Csc<f32> = check_convert(&csr, &()).unwrap();
        check_convert::<_, Coo<f32>>(&csc, &());
        check_convert::<_, Csr<f32>>(&csc, &());
    }
}

#[test]
fn csr_to_padded_formats_and_back() {
    for coo in cases::<f64, i32>() {
        let csr: Csr<f64> = unsorted_rows(&coo);
        for layout in [EllLayout::default(), EllLayout { width: Some(3), max_bytes: Some(1 << 20) }] {
            if let Some(ell) = check_convert::<_, Ell<f64>>(&csr, &layout) {
                check_convert::<_, Csr<f64>>(&ell, &());
            }
        }
        for width in [HybWidth::MinBytes, HybWidth::Width(0), HybWidth::Width(2), HybWidth::Fraction(0.125)] {
            let hyb = check_convert::<_, Hyb<f64>>(&csr, &width).unwrap();
            check_convert::<_, Csr<f64>>(&hyb, &());
        }
        for (slice_height, sort_window) in [(32, 4096), (1, 1), (7, 3)] {
            let layout = SellLayout { slice_height, sort_window };
            let sell = check_convert::<_, Sell<f64>>(&csr, &layout).unwrap();
            check_convert::<_, Csr<f64>>(&sell, &());
        }
    }
}

#[test]
fn hyb_with_two_parts_gives_the_order_that_its_rows_have() {
    let sorted = Csr::<f64>::new(2, 4, vec![0, 3, 4], vec![0, 2, 3, 1], vec![1.0, 2.0, 3.0, 4.0]).unwrap();
    let unsorted = Csr::<f64>::new_unsorted(2, 4, vec![0, 3, 4], vec![0, 3, 3, 1], vec![1.0; 4]).unwrap();
    let falling = Csr::<f64>::new_unsorted(2, 4, vec![0, 3, 4], vec![2, 0, 3, 1], vec![1.0; 4]).unwrap();
    for csr in [sorted, unsorted, falling] {
        let hyb: Hyb<f64> = Operations::convert(&Reference, &csr, &HybWidth::Width(1)).unwrap();
        assert_eq!(hyb.coo().nnz(), 2);
        for cpu in backends() {
            let back = Operations::convert::<_, Csr<f64>>(&cpu, &hyb, &()).unwrap();
            assert_eq!(back.order(), csr.order());
        }
    }
}

#[test]
fn a_layout_that_is_refused_is_refused_by_the_plan() {
    let csr = Csr::<f64>::identity(4).unwrap();
    let layout = SellLayout { slice_height: 0, sort_window: 1 };
    assert!(check_convert::<_, Sell<f64>>(&csr, &layout).is_none());
    let plan = ConvertPlan::<_, _, Sell<f64>>::new(&Cpu::new().unwrap(), &csr, &layout, &PlanOptions::once());
    assert!(plan.is_err());
}

#[test]
fn duplicates_as_an_error_name_the_first_coordinate() {
    let entries = [(2, 1, 1.0), (1, 3, 1.0), (1, 0, 1.0), (2, 1, 1.0), (1, 3, 1.0), (1, 3, 2.0)];
    let coo = Coo::<f64>::from_triplets(3, 4, entries).unwrap();
    let cpu = Cpu::new().unwrap();
    let by_rows = Operations::convert::<_, Csr<f64>>(&cpu, &coo, &Duplicates::Error).unwrap_err();
    assert_eq!(by_rows.to_string(), "coo: row 1: column 3 stands 3 times");
    let by_columns = Operations::convert::<_, Csc<f64>>(&cpu, &coo, &Duplicates::Error).unwrap_err();
    assert_eq!(by_columns.to_string(), "coo: row 2: column 1 stands 2 times");
}

#[test]
fn sorting_is_stable() {
    for coo in cases::<f64, i32>() {
        let csr: Csr<f64> = unsorted_rows(&coo);
        check_sort(&csr);
        check_sort(&csr.into_transpose());
        check_sort(&coo);
    }
}

/// The checked constructors find what the conversions claim.
#[test]
fn the_known_order_is_true() {
    let cpu = Cpu::new().unwrap();
    for coo in cases::<f32, i32>() {
        let csr = Operations::convert::<_, Csr<f32>>(&cpu, &coo, &Duplicates::Sum).unwrap();
        let (rows, cols, order) = (csr.nrows(), csr.ncols(), csr.order());
        assert!(order.sorted && order.unique);
        let (offsets, indices, values) = csr.into_parts();
        Csr::new(rows, cols, offsets, indices, values).unwrap();
        let kept = Operations::convert::<_, Csr<f32>>(&cpu, &coo, &Duplicates::Keep).unwrap();
        let checked = Csr::new_unsorted(
            rows,
            cols,
            kept.offsets().clone(),
            kept.indices().clone(),
            kept.values().clone(),
        );
        assert!(kept.order().sorted && (!kept.order().unique || checked.unwrap().order().unique));
    }
}

#[test]
fn pruning_keeps_what_is_not_small() {
    let nan = |coo: &Coo<f32>| {
        let values = coo.values().iter().enumerate();
        let with_nan = values.map(|(k, &v)| if k % 5 == 0 { f32::NAN } else { v }).collect();
        coo.with_values::<f32>(with_nan).unwrap()
    };
    for coo in cases::<f32, i32>() {
        let coo = nan(&coo);
        let csr: Csr<f32> = unsorted_rows(&coo);
        for keep in [Keep::NonZero, Keep::Above(500.0), Keep::Above(f32::NAN), Keep::Above(f32::INFINITY)] {
            check_prune(&coo, keep);
            check_prune(&csr, keep);
            check_prune(&csr.clone().into_transpose(), keep);
        }
    }
}

#[test]
fn all_formats_to_dense_with_padding() {
    for coo in cases::<f16, i32>().into_iter().filter(|coo| coo.nrows() * coo.ncols() < 1_000_000) {
        check_to_dense(&coo);
        check_to_dense(&Operations::sort(&Reference, &coo).unwrap());
        let csr: Csr<f16> = unsorted_rows(&coo);
        check_to_dense(&csr);
        check_to_dense(&csr.clone().into_transpose());
        check_to_dense(&Operations::convert::<_, Ell<f16>>(&Reference, &csr, &EllLayout::default()).unwrap());
        check_to_dense(&Operations::convert::<_, Hyb<f16>>(&Reference, &csr, &HybWidth::Width(2)).unwrap());
        check_to_dense(
            &Operations::convert::<_, Sell<f16>>(&Reference, &csr, &SellLayout::default()).unwrap(),
        );
        let unique = Operations::convert::<_, Csr<f16>>(&Reference, &coo, &Duplicates::Sum).unwrap();
        check_to_dense(&unique);
    }
}

#[test]
fn row_statistics_are_those_of_the_reference() {
    let mut matrices: Vec<Csr<f64>> = cases::<f64, i32>().iter().map(unsorted_rows).collect();
    matrices.push(with_row_lengths(&[0, 2000, 3, 1023, 1024, 2000], 2500, 1).unwrap());
    for csr in matrices {
        let expected = Operations::row_statistics(&Reference, &csr).unwrap();
        for cpu in backends() {
            for algorithm in RowStatisticsKernel::<Csr<f64>>::row_statistics_algorithms(&cpu) {
                let options = PlanOptions::forced(algorithm.name);
                let found = RowStatisticsPlan::new(&cpu, &csr, &options).unwrap().run(&csr).unwrap();
                assert_eq!(found, expected, "{} {cpu:?}", algorithm.name);
            }
        }
    }
}
