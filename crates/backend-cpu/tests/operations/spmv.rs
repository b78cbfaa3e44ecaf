//! SpMV against the serial reference: every format, direction, algorithm, instruction set and number of threads.

use crate::common::*;
use backend_cpu::{Cpu, Simd};
use sparse_core::op::{Op, SpmvKernel, SpmvPlan, VectorKernel};
use sparse_core::reference::Reference;
use sparse_core::{Csr, Error, Host, Index, PlanOptions, Scalar, SparseFormat, bf16, c32, c64, f16};
use sparse_generate::{band, stencil_5, stencil_27, uniform, with_row_lengths};

/// `alpha·op(A)·x + beta·y` by a forced or an automatic algorithm.
pub(super) fn product<B, M>(
    backend: &B,
    a: &M,
    op: Op,
    options: &PlanOptions,
    scale: (f64, f64),
) -> Result<Vec<M::Scalar>, Error>
where
    B: SpmvKernel<M> + VectorKernel<M::Scalar, Space = Host>,
    M: SparseFormat<Space = Host>,
{
    let (rows, cols) = op.shape(a);
    let mut y = output(rows, scale.1);
    let mut plan = SpmvPlan::new(backend, a, op, options)?;
    let (alpha, beta) = (acc::<M::Scalar>(scale.0), acc::<M::Scalar>(scale.1));
    plan.run(alpha, a, &integers(cols), beta, &mut y)?;
    Ok(y)
}

/// Every algorithm gives the reference's result to the last bit.
fn check<M>(name: &str, a: &M)
where
    M: SparseFormat<Space = Host>,
    Cpu: SpmvKernel<M> + VectorKernel<M::Scalar>,
    Reference: SpmvKernel<M> + VectorKernel<M::Scalar>,
{
    for op in Op::ALL {
        for scale in SCALES {
            let expected = product(&Reference, a, op, &PlanOptions::default(), scale).unwrap();
            for cpu in backends_for(scale) {
                for algorithm in cpu.spmv_algorithms(op).iter().map(|a| Some(a.name)).chain([None]) {
                    let options = algorithm.map_or_else(PlanOptions::default, PlanOptions::forced);
                    match product(cpu, a, op, &options, scale) {
                        Ok(y) => assert_eq!(y, expected, "{name} {} {op} {algorithm:?} {cpu:?}", M::FORMAT),
                        Err(Error::Unsupported { .. }) => {
                            assert!(matches!(algorithm, Some("segmented" | "delta16")));
                        }
                        Err(error) => panic!("{name} {} {op} {algorithm:?}: {error}", M::FORMAT),
                    }
                }
            }
        }
    }
}

fn check_all_formats<T: Scalar>(cases: Vec<(String, Csr<T>)>) {
    for (name, a) in cases {
        check(&name, &a);
        check(&name, &csc(&a));
        check(&name, &coo(&a));
        check(&name, &shuffled_coo(&a));
        check(&name, &hyb(&a, 0));
        check(&name, &hyb(&a, 5));
        for (slice_height, sort_window) in [(1, 1), (7, 14), (40, 256)] {
            check(&name, &sell(&a, slice_height, sort_window));
        }
        check(&name, &batch(&a));
        check(&name, &batch_csc(&a));
        if a.row_lengths().iter().max() < Some(&2000) {
            check(&name, &ell(&a));
        }
    }
}

#[test]
fn f64_agrees_with_the_reference() {
    check_all_formats::<f64>(cases());
}

#[test]
fn f32_agrees_with_the_reference() {
    check_all_formats::<f32>(some_cases());
}

#[test]
fn complex_agrees_with_the_reference() {
    check_all_formats::<c64>(some_cases());
    check("uniform", &uniform::<c32>(3000, 2000, 9, 4).unwrap());
}

#[test]
fn half_precision_accumulates_in_f32() {
    check_all_formats::<f16>(some_cases());
    check("uniform", &uniform::<bf16>(3000, 2000, 9, 4).unwrap());
}

#[test]
fn wide_indices_agree_with_the_reference() {
    for (name, a) in some_cases::<f64>() {
        check(&name, &with_indices::<f64, i32, i64>(&a));
        check(&name, &with_indices::<f64, i64, i64>(&a));
    }
}

#[test]
fn types_outside_the_catalogue_are_refused() {
    let a = with_indices::<f32, i64, i32>(&band(10, 1, 1, 1).unwrap());
    let error = SpmvPlan::new(&Cpu::new().unwrap(), &a, Op::None, &PlanOptions::default()).err().unwrap();
    assert!(error.to_string().starts_with("spmv of csr with these types on the CPU"), "{error}");
}

/// Blocks of 64 rows of one length, of two lengths, of lengths up to several vectors, and of longer ones.
#[test]
fn short_rows_of_all_lengths_agree_with_the_reference() {
    let alike = [vec![3; 64], vec![0; 64], vec![24; 67]].concat();
    let nearly_alike = (0..150).map(|row| if row % 70 < 2 { 4 } else { 5 }).collect();
    let unlike = [16, 33, 70].map(|longest| (0..150).map(|row| row * 7 % longest).collect());
    for lengths in unlike.into_iter().chain([alike, nearly_alike]) {
        check("f64", &with_row_lengths::<f64>(&lengths, 100, 1).unwrap());
        check("f32", &with_row_lengths::<f32>(&lengths, 100, 1).unwrap());
    }
}

/// Stencils have groups of few columns, the band has runs longer than a vector.
#[test]
fn repeated_rows_agree_with_the_reference() {
    for a in
        [stencil_5(40, 70).unwrap(), stencil_27(9, 11, 13).unwrap(), band::<f64>(700, 15, 25, 1).unwrap()]
    {
        check("repeated", &a);
        check("repeated", &batch(&a));
        check("repeated", &csc(&a));
    }
    for (before, behind) in [(0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (2, 3), (3, 3), (3, 4)] {
        check("short f32", &band::<f32>(90, before, behind, 1).unwrap());
        check("short f64", &band::<f64>(90, before, behind, 1).unwrap());
    }
    for a in [stencil_5::<f32>(40, 70).unwrap(), stencil_27(53, 5, 4).unwrap(), band(700, 15, 25, 1).unwrap()]
    {
        check("repeated", &a);
    }
}

#[test]
fn rows_are_looked_at_for_repetition_where_that_pays() {
    let (often, once) = (PlanOptions::default(), PlanOptions::once());
    for simd in [Simd::Portable, Simd::Avx2, Simd::Avx512].into_iter().filter(|simd| simd.is_available()) {
        let chosen = |a: &Csr<f64>, options: &PlanOptions| {
            SpmvPlan::new(&Cpu::with(1, simd).unwrap(), a, Op::None, options).unwrap().choice().algorithm
        };
        let repeated = if simd == Simd::Portable { "row_per_thread" } else { "repeated_rows" };
        assert_eq!(chosen(&band(1000, 2, 2, 1).unwrap(), &often), repeated, "{simd:?}");
        assert_eq!(chosen(&band(1000, 2, 2, 1).unwrap(), &once), "row_per_thread", "{simd:?}");
        let of_short_rows = of_short_rows(simd);
        // Groups of 8 rows of 5 entries, and of 5 rows of up to 27.
        assert_eq!(chosen(&stencil_5(24, 100).unwrap(), &often), of_short_rows, "{simd:?}");
        assert_eq!(chosen(&stencil_27(16, 16, 16).unwrap(), &often), repeated, "{simd:?}");
        assert_eq!(chosen(&uniform(1000, 1000, 5, 1).unwrap(), &often), of_short_rows, "{simd:?}");
        // Most rows are empty, and so like the row before.
        let lengths: Vec<_> = (0..1000).map(|row| if row % 20 == 0 { 3 } else { 0 }).collect();
        assert_eq!(chosen(&with_row_lengths(&lengths, 1000, 1).unwrap(), &often), of_short_rows, "{simd:?}");
        let shared = if simd == Simd::Portable { "row_per_thread" } else { "shared_columns" };
        assert_eq!(chosen(&nodes(300, &[3], 100), &often), shared, "{simd:?}");
        assert_eq!(chosen(&nodes(300, &[1, 1, 1, 2], 300), &often), "row_per_thread", "{simd:?}");
        assert_eq!(chosen(&nodes(300, &[3], 5), &often), of_short_rows, "{simd:?}");
        assert_eq!(chosen(&nodes(300, &[3], 100), &once), "row_per_thread", "{simd:?}");
    }
}

/// The algorithm of short or unequal rows of `f32` and `f64`.
fn of_short_rows(simd: Simd) -> &'static str {
    if simd == Simd::Portable { "row_per_thread" } else { "segmented_sums" }
}

/// Nodes with so many unknowns in turn, whose rows have the same columns: those of the first `length` of them that are
/// not multiples of the node's number.
fn nodes<T: Scalar>(count: usize, unknowns: &[usize], length: usize) -> Csr<T> {
    let cols = 4 * count + 2 * length;
    let (mut offsets, mut columns, mut values) = (vec![0], vec![], vec![]);
    for (node, &rows) in (0..count).zip(unknowns.iter().cycle()) {
        for row in 0..rows {
            columns.extend((node + 1..).filter(|col| col % (node % 5 + 2) != 0).take(length).map(i32::cast));
            values.extend((0..length).map(|k| T::from_c64((((k + row + node) % 7) as f64).into())));
            offsets.push(columns.len() as i32);
        }
    }
    Csr::new(offsets.len() - 1, cols, offsets, columns, values).unwrap()
}

#[test]
fn rows_with_shared_columns_agree_with_the_reference() {
    for length in [0, 1, 3, 8, 15, 16, 17, 33, 100] {
        check("shared", &nodes::<f64>(60, &[1, 2, 3, 4, 5, 6, 7, 9, 27], length));
        check("shared", &nodes::<f32>(60, &[1, 2, 3, 4, 5, 6, 7, 9, 27], length));
    }
    check("shared", &batch(&nodes::<f32>(400, &[3], 40)));
    check("shared", &csc(&nodes::<f64>(40, &[4], 20)));
    check("shared", &nodes::<f64>(20, &[2, 3], 9_000));
}

#[test]
fn elements_of_no_entry_are_ignored() {
    // The first element of x belongs to no entry: nodes begin with column 1.
    for (name, a) in [("short", nodes::<f64>(500, &[3], 5)), ("shared", nodes::<f64>(500, &[3], 101))] {
        for cpu in backends_for(SCALES[0]) {
            for algorithm in SpmvKernel::<Csr<f64>>::spmv_algorithms(cpu, Op::None) {
                let options = PlanOptions::forced(algorithm.name);
                let mut plan = SpmvPlan::new(cpu, &a, Op::None, &options).unwrap();
                let mut x = vec![1.0; a.ncols()];
                x[0] = f64::INFINITY;
                let mut y = vec![0.0; a.nrows()];
                plan.run(1.0, &a, &x, 0.0, &mut y).unwrap();
                assert!(y.iter().all(|y| y.is_finite()), "{name} {} {cpu:?}", algorithm.name);
            }
        }
    }
}

#[test]
fn short_and_long_rows_agree_with_the_reference() {
    // Rows that begin, end and lie within parts of 8192 or 4096 entries and rows, and empty ones at their ends.
    for lengths in [vec![3, 20_000, 0, 5, 9_000, 1], vec![8192], vec![8191, 8191, 0, 0], vec![0; 20_000]] {
        let (a, b) =
            (with_row_lengths::<f64>(&lengths, 20_000, 1), with_row_lengths::<f32>(&lengths, 20_000, 2));
        check("parts", &a.unwrap());
        check("parts", &b.unwrap());
    }
    for end in [2, 3, 5, 9, 13, 17, 25, 33, 40] {
        check("lengths", &varied::<f64>(end));
        check("lengths", &varied::<f32>(end));
    }
    check("lengths", &batch(&varied::<f32>(40)));
    check("lengths", &csc(&varied::<f64>(40)));
}

/// 2000 rows of all lengths below `end`.
fn varied<T: Scalar>(end: usize) -> Csr<T> {
    let lengths: Vec<_> = (0..2000_usize).map(|row| row * 7 % end).collect();
    with_row_lengths(&lengths, 2000, 1).unwrap()
}

#[test]
fn short_and_unequal_rows_are_told_apart() {
    let (often, once) = (PlanOptions::default(), PlanOptions::once());
    let one_long: Vec<_> = (0..2000).map(|row| if row == 9 { 100_000 } else { 3 }).collect();
    let unequal: Vec<_> = (0..2000).map(|row| if row % 9 == 0 { 500 } else { 5 }).collect();
    for simd in [Simd::Portable, Simd::Avx2, Simd::Avx512].into_iter().filter(|simd| simd.is_available()) {
        let chosen = |a: &Csr<f32>, options: &PlanOptions| {
            SpmvPlan::new(&Cpu::with(1, simd).unwrap(), a, Op::None, options).unwrap().choice().algorithm
        };
        let has_vectors = simd != Simd::Portable;
        let of_short_rows = of_short_rows(simd);
        assert_eq!(chosen(&varied(40), &often), of_short_rows, "{simd:?}");
        assert_eq!(chosen(&varied(40), &once), "row_per_thread", "{simd:?}");
        assert_eq!(chosen(&varied(100), &often), "row_per_thread", "{simd:?}");
        assert_eq!(chosen(&with_row_lengths(&unequal, 2000, 1).unwrap(), &often), of_short_rows, "{simd:?}");
        assert_eq!(chosen(&uniform(2000, 2000, 5, 1).unwrap(), &often), of_short_rows, "{simd:?}");
        assert_eq!(chosen(&uniform(2000, 2000, 50, 1).unwrap(), &often), "row_per_thread", "{simd:?}");
        let complex = uniform::<c32>(2000, 2000, 5, 1).unwrap();
        let plan = SpmvPlan::new(&Cpu::with(1, simd).unwrap(), &complex, Op::None, &often).unwrap();
        let by_length = if has_vectors { "rows_by_length" } else { "row_per_thread" };
        assert_eq!(plan.choice().algorithm, by_length, "{simd:?}");
        let expected = if has_vectors { of_short_rows } else { "merge_path" };
        assert_eq!(chosen(&with_row_lengths(&one_long, 100_000, 1).unwrap(), &often), expected, "{simd:?}");
    }
}

#[test]
fn new_values_run_under_the_old_plan() {
    let a = uniform::<f64>(500, 400, 10, 5).unwrap();
    let doubled = a.with_values(a.values().iter().map(|v| 2.0 * v).collect()).unwrap();
    let cpu = Cpu::new().unwrap();
    for op in Op::ALL {
        let (rows, cols) = op.shape(&a);
        let (mut once, mut twice) = (vec![0.0; rows], vec![0.0; rows]);
        let mut plan = SpmvPlan::new(&cpu, &a, op, &PlanOptions::default()).unwrap();
        plan.run(2.0, &a, &integers(cols), 0.0, &mut once).unwrap();
        plan.run(1.0, &doubled, &integers(cols), 0.0, &mut twice).unwrap();
        assert_eq!(once, twice);
    }
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    for (name, a) in cases::<f32>() {
        let a = inexact(a);
        for simd in [Simd::Portable, Simd::detect()] {
            let [one, four] = [1, 4].map(|threads| Cpu::with(threads, simd).unwrap());
            for op in Op::ALL {
                for algorithm in <Cpu as SpmvKernel<Csr<f32>>>::spmv_algorithms(&one, op) {
                    let options = PlanOptions::forced(algorithm.name);
                    let [one, four] =
                        [&one, &four].map(|cpu| product(cpu, &a, op, &options, (1.0, 0.0)).unwrap());
                    assert_eq!(bits(&one), bits(&four), "{name} {op} {}", algorithm.name);
                }
            }
        }
    }
}

#[test]
fn sums_stay_within_the_componentwise_bound() {
    for (name, a) in cases::<f32>() {
        let a = inexact(a);
        let wide = a.with_values(a.values().iter().map(|&v| f64::from(v)).collect()).unwrap();
        let absolute = a.with_values(a.values().iter().map(|&v| f64::from(v.abs())).collect()).unwrap();
        let (x, lengths) = (integers::<f64>(a.ncols()), a.row_lengths());
        for cpu in backends() {
            for algorithm in <Cpu as SpmvKernel<Csr<f32>>>::spmv_algorithms(cpu, Op::None) {
                let options = PlanOptions::forced(algorithm.name);
                let y = product(cpu, &a, Op::None, &options, (1.0, 0.0)).unwrap();
                let exact =
                    product(&Reference, &wide, Op::None, &PlanOptions::default(), (1.0, 0.0)).unwrap();
                for (row, (y, exact)) in y.iter().zip(exact).enumerate() {
                    let entries = absolute.major_entries(row);
                    let magnitude: f64 = entries.map(|(j, v)| v * x[j].abs()).sum();
                    let gamma = (lengths[row] + 2) as f64 * f64::from(f32::EPSILON);
                    assert!((f64::from(*y) - exact).abs() <= gamma * magnitude, "{name} row {row}");
                }
            }
        }
    }
}

/// `beta` times an infinite y is a complex product, as by the reference: NaN stands in the same parts.
#[test]
fn complex_infinities_of_the_output_are_those_of_the_reference() {
    let a = Csr::<c64>::identity(3).unwrap();
    let x = [c64::new(1.0, 2.0); 3];
    let y = [c64::new(f64::INFINITY, 0.0), c64::new(1.0, f64::NEG_INFINITY), c64::new(0.0, 1.0)];
    let nan_parts = |y: [c64; 3]| y.map(|y| (y.re.is_nan(), y.im.is_nan()));
    let options = PlanOptions::default();
    for beta in [c64::new(1.0, 0.0), c64::new(0.5, -1.0)] {
        let mut expected = y;
        let mut plan = SpmvPlan::new(&Reference, &a, Op::None, &options).unwrap();
        plan.run(beta, &a, &x, beta, &mut expected).unwrap();
        assert!(beta.im != 0.0 || expected[0].im.is_nan());
        for cpu in backends() {
            let mut found = y;
            let mut plan = SpmvPlan::new(cpu, &a, Op::None, &options).unwrap();
            plan.run(beta, &a, &x, beta, &mut found).unwrap();
            assert_eq!(nan_parts(found), nan_parts(expected));
        }
    }
}

#[test]
fn padding_never_touches_x() {
    let a = Csr::<f64>::new(3, 2, vec![0, 2, 2, 3], vec![0, 1, 1], vec![1.0, 2.0, 3.0]).unwrap();
    let x = [f64::INFINITY, 1.0];
    for cpu in backends() {
        let mut y = [[f64::NAN; 3]; 3];
        let options = PlanOptions::default();
        let (ell, hyb, sell) = (ell(&a), hyb(&a, 1), sell(&a, 2, 2));
        SpmvPlan::new(cpu, &ell, Op::None, &options).unwrap().run(1.0, &ell, &x, 0.0, &mut y[0]).unwrap();
        SpmvPlan::new(cpu, &hyb, Op::None, &options).unwrap().run(1.0, &hyb, &x, 0.0, &mut y[1]).unwrap();
        SpmvPlan::new(cpu, &sell, Op::None, &options).unwrap().run(1.0, &sell, &x, 0.0, &mut y[2]).unwrap();
        assert_eq!(y, [[f64::INFINITY, 0.0, 3.0]; 3]);
    }
}

/// From a width of 8192 on, one row of a padded format is more than a task's part.
#[test]
fn wide_rows_in_padded_formats_agree_with_the_reference() {
    for width in [8191, 8192, 8193, 20_000] {
        let a = with_row_lengths::<f64>(&[width, 3, width - 1, 0, width], width + 5, 1).unwrap();
        for cpu in backends() {
            let expected = product(&Reference, &a, Op::None, &PlanOptions::default(), (1.0, 0.0)).unwrap();
            let multiply = |a: &dyn Fn() -> Result<Vec<f64>, Error>| {
                assert_eq!(a().unwrap(), expected, "{width} {cpu:?}")
            };
            let options = PlanOptions::default();
            multiply(&|| product(cpu, &ell(&a), Op::None, &options, (1.0, 0.0)));
            multiply(&|| product(cpu, &hyb(&a, width), Op::None, &options, (1.0, 0.0)));
        }
    }
}

#[test]
fn unsorted_rows_refuse_the_segmented_algorithm() {
    let a = sparse_core::Coo::<f64>::from_triplets(2, 2, [(1, 0, 1.0), (0, 0, 1.0)]).unwrap();
    let cpu = Cpu::new().unwrap();
    let error = SpmvPlan::new(&cpu, &a, Op::None, &PlanOptions::forced("segmented")).unwrap_err();
    assert!(error.to_string().contains("rows in order"), "{error}");
}

#[test]
fn a_transpose_is_scattered_where_its_sums_are_few() {
    let cpu = Cpu::new().unwrap();
    let banded = band::<f64>(1000, 2, 2, 1).unwrap();
    let sparse = uniform::<f64>(1000, 100_000, 1, 1).unwrap();
    for (a, algorithm) in [(banded, "chunked_scatter"), (sparse, "transposed_pattern")] {
        let plan = SpmvPlan::new(&cpu, &a, Op::Transpose, &PlanOptions::default()).unwrap();
        assert_eq!(plan.choice().algorithm, algorithm, "{:?}", plan.choice());
    }
}
