//! SpGEMM against the serial reference, to the last bit: every algorithm, format, order of entries and instruction set.

use crate::common::*;
use backend_cpu::{Cpu, Simd};
use proptest::prelude::*;
use sparse_core::op::{Operations, SpgemmKernel, SpgemmPlan};
use sparse_core::reference::{Entries, Reference};
use sparse_core::{
    Csc, Csr, Error, Host, Index, PlanOptions, Result, Scalar, SparseFormat, bf16, c32, c64, f16,
};
use sparse_generate::{adversarial, band, stencil_5, uniform, with_row_lengths};

/// A·B by an algorithm, or by the plan's own choice.
fn product<Back, M>(backend: &Back, a: &M, b: &M, algorithm: Option<&str>) -> Result<M>
where
    Back: SpgemmKernel<M, Space = Host>,
    M: SparseFormat<Space = Host>,
{
    let options = algorithm.map_or_else(PlanOptions::default, PlanOptions::forced);
    SpgemmPlan::new(backend, a, b, &options)?.run(a, b)
}

/// Coordinates and bits of all entries, in storage order.
fn contents<M: Entries>(c: &M) -> (Vec<(usize, usize)>, Vec<u8>) {
    let mut entries = vec![];
    c.entries().for_each(|entry| entries.push(entry));
    let values: Vec<_> = entries.iter().map(|entry| entry.2).collect();
    (entries.iter().map(|&(i, j, _)| (i, j)).collect(), bits(&values).to_vec())
}

/// Every algorithm, and the product without a plan, gives the reference's bits with every instruction set, on one or
/// two threads.
fn check<M: Entries>(name: &str, a: &M, b: &M)
where
    Cpu: SpgemmKernel<M>,
    Reference: SpgemmKernel<M>,
{
    let expected = contents(&product(&Reference, a, b, None).unwrap());
    for cpu in backends() {
        for algorithm in cpu.spgemm_algorithms().iter().map(|a| Some(a.name)).chain([None]) {
            let found = contents(&product(cpu, a, b, algorithm).unwrap());
            assert!(found == expected, "{name} {} {algorithm:?} {:?}", M::FORMAT, cpu.simd());
        }
        let once = contents(&Operations::spgemm(cpu, a, b).unwrap());
        assert!(once == expected, "{name} {} without a plan {:?}", M::FORMAT, cpu.simd());
    }
}

/// Aᵀ in CSR.
fn transposed<T: Scalar, I: Index, O: Index>(a: &Csr<T, Host, I, O>) -> Csr<T, Host, I, O> {
    Csr::from_triplets(a.ncols(), a.nrows(), a.triplets().map(|(i, j, value)| (j, i, value))).unwrap()
}

fn check_both_formats<T: Scalar>(name: &str, a: &Csr<T>, b: &Csr<T>) {
    check(name, a, b);
    check::<Csc<T>>(name, &csc(a), &csc(b));
}

#[test]
fn small_matrices_of_every_shape_times_their_transposes() {
    for (name, a) in adversarial::all::<f64>().unwrap().into_iter().filter(|(_, a)| a.nnz() < 3000) {
        let a = inexact(a);
        check_both_formats(&name, &a, &transposed(&a));
    }
}

#[test]
fn rows_that_repeat_with_columns_far_apart_agree_with_the_reference() {
    let (rows, far) = (40, 300_000);
    let diagonals = |rows: usize, columns: [usize; 2]| {
        let entries = (0..rows).flat_map(|i| columns.map(|column| (i, i + column, (i + column) as f64)));
        Csr::from_triplets(rows, rows + columns[1], entries).unwrap()
    };
    let a = inexact(diagonals(rows, [0, far]));
    let b = inexact(diagonals(rows + far, [0, 5]));
    let expected = contents(&product(&Reference, &a, &b, None).unwrap());
    assert!(contents(&Operations::spgemm(&Cpu::new().unwrap(), &a, &b).unwrap()) == expected);
}

#[test]
fn runs_of_rows_that_repeat_agree_with_the_reference() {
    fn check_type<T: Scalar>() {
        let diagonals = |rows: usize, columns: &[usize]| {
            let entries =
                (0..rows).flat_map(|i| columns.iter().map(move |&k| (i, i + k, T::from_acc(T::Acc::ONE))));
            inexact(Csr::<T>::from_triplets(rows, rows + columns[columns.len() - 1], entries).unwrap())
        };
        let grid = inexact(stencil_5::<T>(13, 170).unwrap());
        check_both_formats("grid", &grid, &grid);
        // More rows than are added at once, factors of other lengths, products that meet at one column or at none.
        let (a, b) = (diagonals(400, &[0, 1, 9]), diagonals(409, &[0, 3, 8, 40]));
        check_both_formats("diagonals", &a, &b);
        check("diagonals that are vectors", &a, &diagonals(409, &[0, 1, 2, 3, 4, 5, 6, 7, 8]));
        check("one diagonal", &diagonals(300, &[5]), &diagonals(305, &[2]));
    }
    check_type::<f64>();
    check_type::<f32>();
    check_type::<c64>();
    check_type::<bf16>();
}

#[test]
fn selected_rows_agree_with_the_reference() {
    let b =
        inexact(with_row_lengths::<f64>(&(0..9000).map(|row| row % 7).collect::<Vec<_>>(), 9000, 1).unwrap());
    let unsorted = Csr::new_unsorted(2, 3, vec![0, 2, 3], vec![2, 0, 1], vec![1.5, 2.0, 3.0]).unwrap();
    let select = |rows: usize, of: usize, part: usize| {
        let entries = (0..rows).filter(|i| i % 5 < part).map(|i| (i, i * 7919 % of, -1.0 / (i + 1) as f64));
        Csr::from_triplets(rows, of, entries).unwrap()
    };
    let twice = Csr::from_triplets(9000, 9000, (0..9000).map(|i| (i / 2 * 2, i, 1.0))).unwrap();
    check("rows of two entries and of none", &inexact(twice), &b);
    for (rows, part) in [(9000, 5), (20_000, 4), (700, 3), (9000, 1)] {
        check_both_formats("selected rows", &select(rows, 9000, part), &b);
    }
    check("selected unsorted rows", &select(9, 2, 5), &unsorted);
    check("nothing", &select(0, 9000, 5), &b);
}

#[test]
fn rows_of_every_method_agree_with_the_reference() {
    let wide = inexact(uniform::<f32>(100, 3_000_000, 9, 1).unwrap());
    let tall = transposed(&inexact(uniform::<f32>(40, 3_000_000, 9, 2).unwrap()));
    check(
        "dense window",
        &inexact(band::<f32>(2000, 7, 9, 1).unwrap()),
        &inexact(band(2000, 30, 2, 2).unwrap()),
    );
    check("far columns", &inexact(uniform::<f32>(200, 100, 8, 3).unwrap()), &wide);
    check("few far columns", &inexact(uniform::<f32>(200, 100, 2, 3).unwrap()), &wide);
    check("inner extent", &wide, &tall);
    let lengths = [3000, 0, 1, 2000, 40, 1];
    let long = inexact(with_row_lengths::<f32>(&lengths, 4000, 1).unwrap());
    check("long rows", &long, &inexact(uniform(4000, 700, 11, 4).unwrap()));
}

#[test]
fn rows_of_few_entries_and_of_few_products_agree_with_the_reference() {
    fn check_type<T: Scalar>() {
        let lengths: Vec<_> = (0..120).map(|row| row % 24).collect();
        let a = inexact(with_row_lengths::<T>(&lengths, 60, 1).unwrap());
        for (columns, length) in [(9, 1), (18, 3), (33, 4), (40, 5), (20_000, 4), (3_000_000, 30)] {
            check("few entries", &a, &inexact(uniform(60, columns, length, 2).unwrap()));
        }
    }
    check_type::<f32>();
    check_type::<f64>();
    check_type::<c32>();
    check_type::<f16>();
}

#[test]
fn rows_of_every_number_of_products_agree_with_the_reference() {
    fn check_type<T: Scalar>() {
        let lengths: Vec<_> = (0..210).map(|row| row * 11 % 70).collect();
        let a = inexact(with_row_lengths::<T>(&lengths, 90, 1).unwrap());
        // Few rows of few products, so that neighbours have more and less than half a vector.
        let lengths: Vec<_> = (0..300).map(|row| row * 5 % 13).collect();
        let short = inexact(with_row_lengths::<T>(&lengths, 90, 2).unwrap());
        let lengths: Vec<_> = (0..90).map(|row| row % 6).collect();
        for columns in [6, 30, 70_000] {
            let others = [
                uniform(90, columns, 1, 3).unwrap(),
                uniform(90, columns, 5, 4).unwrap(),
                with_row_lengths(&lengths, columns, 5).unwrap(),
            ];
            for b in others.map(inexact) {
                check("products", &a, &b);
                check("few products", &short, &b);
            }
        }
        // The last columns that keys number, and more of them; the longest row has 64 products.
        let lengths: Vec<_> = (0..=32).collect();
        let full = inexact(with_row_lengths::<T>(&lengths, 90, 6).unwrap());
        for columns in [1 << 26, (1 << 26) + 1] {
            let entries = (0..90).flat_map(|i| [(i, columns - 1 - i % 7, T::ONE), (i, i % 3, T::ONE)]);
            let b = inexact(Csr::from_triplets(90, columns, entries).unwrap());
            for a in [&a, &short, &full] {
                let expected = contents(&product(&Reference, a, &b, None).unwrap());
                for cpu in backends() {
                    assert!(
                        contents(&Operations::spgemm(cpu, a, &b).unwrap()) == expected,
                        "{:?}",
                        cpu.simd()
                    );
                }
            }
        }
    }
    check_type::<f32>();
    check_type::<f64>();
}

/// A·B of the arrays of both, without a plan.
fn product_of_arrays<T: Scalar>(cpu: &Cpu, a: &Csr<T>, b: &Csr<T>) -> Result<Csr<T>> {
    let arrays = |m: &Csr<T>| (m.offsets().clone(), m.indices().clone(), m.values().clone());
    let ((x, y), shape) = ((arrays(a), arrays(b)), |m: &Csr<T>| (m.nrows(), m.ncols()));
    cpu.multiply_csr(shape(a), (&x.0, &x.1, &x.2), shape(b), (&y.0, &y.1, &y.2))
}

#[test]
fn products_of_arrays_are_those_of_plans() {
    let small = adversarial::all::<f64>().unwrap().into_iter().filter(|(_, a)| a.nnz() < 3000);
    // Entries in no order with repetitions, and several waves of rows whose products differ from wave to wave.
    let unsorted = Csr::new_unsorted(2, 3, vec![0, 3, 5], vec![2, 0, 2, 1, 1], vec![1.5, 2.0, 3.0, 4.0, 5.0]);
    let lengths: Vec<_> = (0..20_000).map(|row| if row < 10_000 { row % 3 } else { 12 }).collect();
    let waves = with_row_lengths::<f64>(&lengths, 20_000, 1).unwrap();
    let pairs = small.map(|(_, a)| (a.clone(), transposed(&a)));
    let unsorted = unsorted.unwrap();
    let diagonal = |n: usize| Csr::from_triplets(n, n, (0..n).map(|k| (k, k, k as f64 - 1.0))).unwrap();
    let grid = stencil_5::<f64>(40, 90).unwrap();
    let lengths = (0..30_000).map(|row| if row % 500 == 0 { 40 } else { usize::from(row % 9 == 0) });
    let often_empty = with_row_lengths::<f64>(&lengths.collect::<Vec<_>>(), 30_000, 3).unwrap();
    let others = [
        (unsorted.clone(), transposed(&unsorted)),
        (diagonal(2), unsorted.clone()),
        (unsorted.clone(), diagonal(3)),
        // Diagonals of matrices that are not square.
        (Csr::from_triplets(2, 3, [(0, 0, 2.0), (1, 1, 3.0)]).unwrap(), transposed(&unsorted)),
        (unsorted.clone(), Csr::from_triplets(3, 4, (0..3).map(|k| (k, k, 2.0))).unwrap()),
        (diagonal(20_000), waves.clone()),
        (waves.clone(), diagonal(20_000)),
        (waves.clone(), waves),
        (grid.clone(), grid),
        // Rows without entries between those with some.
        (often_empty.clone(), transposed(&often_empty)),
    ];
    for (a, b) in pairs.chain(others) {
        let (a, b) = (inexact(a), inexact(b));
        let expected = product(&Reference, &a, &b, None).unwrap();
        for cpu in backends() {
            let found = product_of_arrays(cpu, &a, &b).unwrap();
            assert!(contents(&found) == contents(&expected), "{a:?} on {cpu:?}");
            assert_eq!(found.offsets(), expected.offsets());
        }
    }
    let cpu = &backends()[0];
    let (two, three) = (Csr::<f64>::identity(2).unwrap(), Csr::<f64>::identity(3).unwrap());
    let error = product_of_arrays(cpu, &two, &three).unwrap_err();
    assert_eq!(error.to_string(), "spgemm: A has 2 columns and B has 3 rows");
    let error = cpu.multiply_csr((1, 1), (&[0, 1], &[1], &[1.0]), (1, 1), (&[0, 0], &[], &[])).unwrap_err();
    assert_eq!(error.to_string(), "csr: row 0: column 1 is not below 1");
}

#[test]
fn other_types_agree_with_the_reference() {
    fn check_type<T: Scalar>() {
        let a = inexact(uniform::<T>(90, 120, 7, 4).unwrap());
        check_both_formats("uniform", &a, &inexact(uniform(120, 3000, 5, 5).unwrap()));
    }
    check_type::<f16>();
    check_type::<bf16>();
    check_type::<c32>();
    check_type::<c64>();
    let a = inexact(uniform::<f64>(90, 90, 7, 4).unwrap());
    let narrow = with_indices::<f64, i32, i64>(&a);
    check("uniform", &narrow, &narrow);
    let long = with_indices::<f64, i64, i64>(&a);
    check("uniform", &long, &long);
}

#[test]
fn special_values_are_multiplied_and_sums_of_minus_zero_are_zero() {
    let (nan, infinity) = (f64::NAN, f64::INFINITY);
    let a =
        Csr::new(3, 3, vec![0, 2, 3, 5], vec![0, 1, 2, 0, 2], vec![1.0, 1.0, -0.0, infinity, 0.0]).unwrap();
    let b =
        Csr::new(3, 2, vec![0, 2, 4, 5], vec![0, 1, 0, 1, 1], vec![2.0, nan, -2.0, 1.0, infinity]).unwrap();
    let cpu = Cpu::new().unwrap();
    for algorithm in <Cpu as SpgemmKernel<Csr<f64>>>::spgemm_algorithms(&cpu) {
        let c: Csr<f64> = product(&cpu, &a, &b, Some(algorithm.name)).unwrap();
        assert_eq!(c.indices(), &[0, 1, 1, 0, 1], "{}", algorithm.name);
        let values = c.values();
        assert_eq!(values[0].to_bits(), 0.0_f64.to_bits(), "2 − 2 stays as an explicit zero");
        assert!(values[1].is_nan() && values[2].is_nan() && values[4].is_nan(), "{values:?}");
        assert_eq!(values[3], infinity);
    }
    let minus = Csr::new(1, 1, vec![0, 1], vec![0], vec![-0.0]).unwrap();
    let one = Csr::<f64>::identity(1).unwrap();
    check("−0", &minus, &one);
    assert_eq!(product(&Reference, &minus, &one, None).unwrap().values()[0].to_bits(), 0);
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let [one, three] = [1, 3].map(|threads| Cpu::with(threads, Simd::detect()).unwrap());
    let a = inexact(uniform::<f64>(3000, 3000, 15, 1).unwrap());
    for algorithm in <Cpu as SpgemmKernel<Csr<f64>>>::spgemm_algorithms(&one).iter().take(4) {
        let run = |cpu: &Cpu| contents(&product(cpu, &a, &a, Some(algorithm.name)).unwrap());
        assert!(run(&one) == run(&three), "{}", algorithm.name);
    }
}

#[test]
fn a_plan_serves_other_values_and_its_results_have_one_pattern() {
    let cpu = Cpu::new().unwrap();
    let mut a = uniform::<f64>(200, 200, 6, 1).unwrap();
    let mut plan = SpgemmPlan::new(&cpu, &a, &a, &PlanOptions::default()).unwrap();
    let mut c = plan.run(&a, &a).unwrap();
    a.values_mut().iter_mut().for_each(|value| *value = *value * 0.5 + 1.0);
    let other = plan.run(&a, &a).unwrap();
    plan.run_into(&a, &a, &mut c).unwrap();
    assert_eq!(c, product(&Reference, &a, &a, None).unwrap());
    assert_eq!((c.values(), c.pattern_id()), (other.values(), other.pattern_id()));
    let error = plan.run_into(&a, &a, &mut a.clone()).unwrap_err();
    assert!(matches!(error, Error::PlanMismatch { .. }), "{error}");
}

#[test]
fn a_product_with_too_many_entries_is_refused_before_memory_is_taken() {
    let n = 50_000;
    let column = Csr::<f32>::new(n, 1, (0..=n as i32).collect(), vec![0; n], vec![1.0; n]).unwrap();
    let row = Csr::new(1, n, vec![0, n as i32], (0..n as i32).collect(), vec![1.0; n]).unwrap();
    let cpu = Cpu::new().unwrap();
    let bound = SpgemmPlan::bound(&cpu, &column, &row).unwrap();
    assert_eq!((bound.products, bound.nnz), (2_500_000_000, 2_500_000_000));
    assert_eq!(bound.bytes, 2_500_000_000 * 8 + 50_001 * 4);
    let error = SpgemmPlan::new(&cpu, &column, &row, &PlanOptions::once()).unwrap_err();
    assert_eq!(error.to_string(), "nnz = 2500000000 does not fit i32");
}

/// Entries anywhere, in any order, with repetitions.
fn any_matrix(rows: usize, cols: usize) -> impl Strategy<Value = Csr<f64>> {
    let most = if rows * cols == 0 { 0 } else { 60 };
    let entry = (0..rows.max(1), 0..cols.max(1), -4..5_i32);
    proptest::collection::vec(entry, 0..=most).prop_map(move |mut entries| {
        entries.sort_by_key(|entry| entry.0);
        let offset = |row| entries.iter().filter(|entry| entry.0 < row).count() as i32;
        let offsets = (0..=rows).map(offset).collect();
        let columns = entries.iter().map(|entry| entry.1 as i32).collect();
        let values = entries.iter().map(|entry| f64::from(entry.2)).collect();
        Csr::new_unsorted(rows, cols, offsets, columns, values).unwrap()
    })
}

/// A and B whose product exists.
fn any_factors() -> impl Strategy<Value = (Csr<f64>, Csr<f64>)> {
    (0..9_usize, 0..9_usize, 0..300_usize)
        .prop_flat_map(|(rows, inner, cols)| (any_matrix(rows, inner), any_matrix(inner, cols)))
}

/// The dense matrix of the sums of all entries.
fn dense(a: &Csr<f64>) -> Vec<Vec<f64>> {
    let mut dense = vec![vec![0.0; a.ncols()]; a.nrows()];
    a.triplets().for_each(|(i, j, value)| dense[i][j] += value);
    dense
}

proptest! {
    #[test]
    fn products_are_those_of_dense_matrices((a, b) in any_factors()) {
        let (x, y) = (dense(&a), dense(&b));
        for algorithm in ["by_row", "dense", "sort", "hash", "sequential"] {
            let c = product(&backends()[backends().len() - 1], &a, &b, Some(algorithm)).unwrap();
            prop_assert!(Csr::new(c.nrows(), c.ncols(), c.offsets().clone(), c.indices().clone(), c.values().clone()).is_ok());
            let z = dense(&c);
            for i in 0..a.nrows() {
                for j in 0..b.ncols() {
                    let sum: f64 = (0..a.ncols()).map(|k| x[i][k] * y[k][j]).sum();
                    prop_assert_eq!(z[i][j], sum);
                }
            }
        }
    }
}
