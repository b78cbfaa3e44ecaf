//! Triangular solves against the serial reference, to the last bit: every algorithm, format, triangle and op.

use crate::common::*;
use backend_cpu::{Cpu, Simd};
use sparse_core::op::{Op, Triangular, TrisolveKernel, TrisolvePlan};
use sparse_core::reference::Reference;
use sparse_core::{
    Csc, Csr, DenseView, DenseViewMut, Error, Host, Index, Order, PlanOptions, Result, Scalar, SparseFormat,
    c64, f16,
};
use sparse_generate::{stencil_5, uniform};

/// Every triangle, diagonal and op.
fn systems() -> impl Iterator<Item = Triangular> {
    let triangles = [Triangular::lower(), Triangular::upper()].into_iter();
    let diagonals = triangles.flat_map(|system| [system, system.unit_diagonal()]);
    diagonals.flat_map(|system| Op::ALL.map(|op| system.with_op(op)))
}

/// Small entries beside a diagonal of 4, so that no solution grows; unsorted where `a` is.
fn dominant<T: Scalar, I: Index, O: Index>(a: &Csr<T, Host, I, O>) -> Csr<T, Host, I, O> {
    let per_row = 1.0 / 64.0;
    let off = a.triplets().enumerate().filter(|(_, (i, j, _))| i != j);
    let off = off.map(|(k, (i, j, _))| (i, j, c64::new(per_row * (k % 7) as f64 - 0.04, per_row)));
    let diagonal = (0..a.nrows()).map(|i| (i, i, c64::new(4.0, (i % 3) as f64)));
    let entries = off.chain(diagonal).map(|(i, j, value)| (i, j, T::from_c64(value)));
    Csr::from_triplets(a.nrows(), a.nrows(), entries).unwrap()
}

/// Right-hand sides: a block of columns, and some beside it.
const SIDES: usize = 11;

/// X for all right-hand sides, of which B and X are stored in different orders.
fn solution<B, M>(backend: &B, a: &M, system: Triangular, options: &PlanOptions) -> Result<Vec<M::Scalar>>
where
    B: TrisolveKernel<M, Space = Host>,
    M: SparseFormat<Space = Host>,
{
    let n = a.nrows();
    let b = integers::<M::Scalar>(SIDES * n);
    let mut x = vec![M::Scalar::from_c64(c64::new(f64::NAN, 0.0)); SIDES * (n + 2)];
    let mut plan = TrisolvePlan::new(backend, a, system, options)?;
    let columns = DenseView::col_major(&b, n, SIDES)?;
    plan.run_many(a, columns, DenseViewMut::new(&mut x[..], n, SIDES, n + 2, Order::ColMajor)?)?;
    let mut rows = vec![M::Scalar::ZERO; SIDES * n];
    plan.run_many(a, columns, DenseViewMut::row_major(&mut rows, n, SIDES)?)?;
    let mut first = vec![M::Scalar::ZERO; n];
    plan.run(a, &b[..n], &mut first)?;
    assert!(first.iter().enumerate().all(|(i, x)| bits(&[*x]) == bits(&[rows[SIDES * i]])), "one column");
    assert!(
        (0..SIDES * n).all(|k| bits(&[rows[k]]) == bits(&[x[k % SIDES * (n + 2) + k / SIDES]])),
        "orders of X"
    );
    Ok(rows)
}

/// Every algorithm has the reference's bits.
fn check<M: SparseFormat<Space = Host>>(name: &str, a: &M)
where
    Cpu: TrisolveKernel<M>,
    Reference: TrisolveKernel<M>,
{
    let cpu = Cpu::with(2, Simd::detect()).unwrap();
    for system in systems() {
        let expected = solution(&Reference, a, system, &PlanOptions::default()).unwrap();
        assert!(expected.iter().all(|x| x.is_finite()), "{name} {system:?}");
        for algorithm in cpu.trisolve_algorithms() {
            let found = solution(&cpu, a, system, &PlanOptions::forced(algorithm.name)).unwrap();
            assert!(bits(&found) == bits(&expected), "{name} {} {} {system:?}", M::FORMAT, algorithm.name);
        }
    }
}

#[test]
fn every_algorithm_agrees_with_the_reference_in_both_formats() {
    fn check_both<T: Scalar>() {
        for (name, a) in [("stencil", stencil_5::<T>(9, 7)), ("uniform", uniform::<T>(60, 60, 5, 1))] {
            let a = dominant(&a.unwrap());
            check(name, &a);
            check::<Csc<T>>(name, &csc(&a));
        }
    }
    check_both::<f64>();
    check_both::<f16>();
    check_both::<c64>();
    check("64-bit offsets", &dominant(&with_indices::<f64, i32, i64>(&uniform(50, 50, 4, 2).unwrap())));
}

#[test]
fn unsorted_rows_and_entries_that_repeat_are_summed_as_they_are_stored() {
    let (offsets, columns) = (vec![0, 2, 5, 9], vec![0, 0, 1, 0, 0, 1, 2, 0, 1]);
    let values = vec![1.5, 0.5, 4.0, 0.1, 0.3, 0.7, 3.0, -0.2, 1e-17];
    check("unsorted", &Csr::<f64>::new_unsorted(3, 3, offsets, columns, values).unwrap());
}

/// Rows that need the row solved before them more than once, and not only by the entry beside the diagonal.
#[test]
fn elements_that_were_just_solved_are_read_where_rows_repeat_them() {
    let values = [2.0, 0.3, 0.1, -0.7, 4.0, 0.9, 0.2, 0.5, 3.0, 0.6, 5.0].to_vec();
    let columns = vec![0, 0, 0, 0, 1, 1, 0, 1, 2, 1, 3];
    let lower = Csr::<f64>::new_unsorted(4, 4, vec![0, 1, 5, 9, 11], columns, values).unwrap();
    check("lower", &lower);
    // The same rows from the last to the first, and so the entries of each.
    let reversed = |of: &[i32]| of.iter().rev().map(|column| 3 - column).collect::<Vec<_>>();
    let values = lower.values().iter().rev().copied().collect();
    let upper = Csr::<f64>::new_unsorted(4, 4, vec![0, 2, 6, 10, 11], reversed(lower.col_idx()), values);
    check("upper", &upper.unwrap());
}

#[test]
fn rows_that_stand_side_by_side_are_not_copied() {
    fn bytes<M: SparseFormat<Space = Host>>(a: &M, system: Triangular) -> usize
    where
        Cpu: TrisolveKernel<M>,
    {
        let plan =
            TrisolvePlan::new(&Cpu::new().unwrap(), a, system, &PlanOptions::forced("row_by_row")).unwrap();
        plan.workspace_bytes()
    }
    let a = dominant(&stencil_5::<f64>(9, 7).unwrap());
    let (spans, copy) = (63 * 2 * size_of::<i32>(), 2 * size_of::<i32>() * a.nnz() / 2);
    for system in [Triangular::lower(), Triangular::upper().unit_diagonal()] {
        assert_eq!(bytes(&a, system), spans);
        assert!(bytes::<Csc<f64>>(&csc(&a), system) > copy);
        assert_eq!(bytes::<Csc<f64>>(&csc(&a), system.with_op(Op::Transpose)), spans);
    }
    let reversed = a.triplets().collect::<Vec<_>>().into_iter().rev();
    let (mut offsets, mut columns, mut values) = (vec![0], vec![], vec![]);
    for row in 0..63 {
        for (_, j, value) in reversed.clone().filter(|entry| entry.0 == row) {
            columns.push(j as i32);
            values.push(value);
        }
        offsets.push(columns.len() as i32);
    }
    let unsorted = Csr::<f64>::new_unsorted(63, 63, offsets, columns, values).unwrap();
    assert!(bytes(&unsorted, Triangular::lower()) > spans);
}

/// A diagonal matrix with entries in the first column: two levels, the second of which is wide.
fn arrow(n: usize) -> Csr<f64> {
    let entries = (0..n).flat_map(|i| [(i, 0, 0.5), (i, i, 3.0 + (i % 5) as f64)]);
    Csr::from_triplets(n, n, entries.filter(|&(i, j, value)| i != j || value > 0.5 || i == 0)).unwrap()
}

#[test]
fn wide_levels_run_in_parallel_with_the_same_bits() {
    let a = arrow(30_000);
    let [one, four] = [1, 4].map(|threads| Cpu::with(threads, Simd::detect()).unwrap());
    let plan = |cpu, options| TrisolvePlan::new(cpu, &a, Triangular::lower(), &options).unwrap();
    assert_eq!(plan(&four, PlanOptions::default()).choice().algorithm, "by_level");
    assert_eq!(plan(&four, PlanOptions::once()).choice().algorithm, "row_by_row");
    assert_eq!(plan(&one, PlanOptions::default()).choice().algorithm, "row_by_row");
    let [two, three] = [2, 3].map(|threads| Cpu::with(threads, Simd::detect()).unwrap());
    assert_eq!(plan(&two, PlanOptions::default()).choice().algorithm, "by_level");
    let large = arrow(600_000);
    for (cpu, expected) in [(&two, "row_by_row"), (&three, "by_level")] {
        let plan = TrisolvePlan::new(cpu, &large, Triangular::lower(), &PlanOptions::default()).unwrap();
        assert_eq!(plan.choice().algorithm, expected);
    }
    let solve = |cpu| solution(cpu, &a, Triangular::lower(), &PlanOptions::forced("by_level")).unwrap();
    let expected = solution(&Reference, &a, Triangular::lower(), &PlanOptions::default()).unwrap();
    assert!(bits(&solve(&one)) == bits(&expected) && bits(&solve(&four)) == bits(&expected));
    let band = stencil_5::<f64>(20, 20).unwrap();
    let narrow = TrisolvePlan::new(&four, &band, Triangular::upper(), &PlanOptions::default()).unwrap();
    let reason = "39 levels have 29 entries on average, 0 % in wide ones";
    assert_eq!((narrow.choice().algorithm, &*narrow.choice().reason), ("row_by_row", reason));
}

#[test]
fn rows_of_wide_levels_wait_for_those_that_they_need() {
    fn check_all<T: Scalar>() {
        // About 20 levels, of which the widest have thousands of rows of 1 to 15 entries.
        let a = dominant(&uniform::<T>(20_000, 20_000, 8, 3).unwrap());
        let [one, four] = [1, 4].map(|threads| Cpu::with(threads, Simd::detect()).unwrap());
        let forced = PlanOptions::forced("by_level");
        for system in [Triangular::lower(), Triangular::upper().unit_diagonal().with_op(Op::Transpose)] {
            let expected = solution(&Reference, &a, system, &PlanOptions::default()).unwrap();
            for cpu in [&one, &four, &four] {
                assert!(bits(&solution(cpu, &a, system, &forced).unwrap()) == bits(&expected), "{system:?}");
            }
        }
    }
    check_all::<f32>();
    check_all::<c64>();
}

#[test]
fn a_plan_serves_other_values_and_no_other_pattern() {
    let cpu = Cpu::new().unwrap();
    let mut a = dominant(&stencil_5::<f64>(6, 6).unwrap());
    let mut plan = TrisolvePlan::new(&cpu, &a, Triangular::upper(), &PlanOptions::default()).unwrap();
    let (b, mut x) = (integers::<f64>(36), vec![0.0; 36]);
    a.values_mut().iter_mut().for_each(|value| *value *= 1.25);
    plan.run(&a, &b, &mut x).unwrap();
    let expected = solution(&Reference, &a, Triangular::upper(), &PlanOptions::default()).unwrap();
    assert!(x.iter().enumerate().all(|(i, x)| *x == expected[SIDES * i]));
    let other = dominant(&stencil_5::<f64>(6, 6).unwrap());
    assert!(matches!(plan.run(&other, &b, &mut x), Err(Error::PlanMismatch { .. })));
    assert!(matches!(plan.run(&a, &b[1..], &mut x), Err(Error::Shape { .. })));
}

#[test]
fn a_diagonal_that_is_missing_or_zero_is_an_error_with_its_row() {
    let cpu = Cpu::new().unwrap();
    let gap = Csr::<f64>::from_triplets(3, 3, [(0, 0, 1.0), (1, 0, 1.0), (2, 2, 1.0)]).unwrap();
    let mut zero = Csr::<f64>::identity(3).unwrap();
    zero.values_mut()[1..].fill(0.0);
    let options = PlanOptions::default();
    let missing = |error: Error| matches!(error, Error::Singular { op: "trisolve", row: Some(1), .. });
    for op in [Op::None, Op::Transpose] {
        let system = Triangular::lower().with_op(op);
        assert!(missing(TrisolvePlan::new(&cpu, &gap, system, &options).unwrap_err()));
        assert!(missing(TrisolvePlan::new(&Reference, &gap, system, &options).unwrap_err()));
        assert!(solution(&cpu, &gap, system.unit_diagonal(), &options).is_ok());
        for algorithm in ["row_by_row", "by_level", "sequential"] {
            let error = solution(&cpu, &zero, system, &PlanOptions::forced(algorithm)).unwrap_err();
            assert_eq!(error.to_string(), "trisolve: row 1: the diagonal is zero", "{algorithm}");
        }
    }
    let wide = Csr::<f64>::zeros(2, 3).unwrap();
    let error = TrisolvePlan::new(&cpu, &wide, Triangular::lower(), &options).unwrap_err();
    assert_eq!(error.to_string(), "trisolve: a square matrix is needed, this one is 2 x 3");
}
