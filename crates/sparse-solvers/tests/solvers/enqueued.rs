//! Enqueued iterations beside those of the solver that waits for each, and their claims of convergence.

use crate::common::{check, matrix, right_hand_side};
use sparse_core::reference::Reference;
use sparse_core::{Accumulator, Csr, Error, Scalar, c32, c64};
use sparse_generate::stencil_5;
use sparse_solvers::{
    Breakdown, Cg, EnqueuedCg, Ic0, Identity, Jacobi, Outcome, Preconditioner, SolverOptions,
};
use std::ops::ControlFlow;

type AnyPreconditioner<T> = Box<dyn Preconditioner<Reference, T>>;

/// The result of `iterations` iterations of the solver that stops by itself.
fn stopping<T: Accumulator>(
    a: &Csr<T>,
    b: &[T],
    mut x: Vec<T>,
    preconditioner: AnyPreconditioner<T>,
    iterations: usize,
) -> Vec<T> {
    let options =
        SolverOptions { tolerance: 0.0, max_iterations: Some(iterations), ..SolverOptions::default() };
    let mut solver = Cg::new(&Reference, a, preconditioner, &options).unwrap();
    solver.solve(a, b, &mut x, |_| ControlFlow::Continue(())).unwrap();
    x
}

/// The result of runs of these numbers of iterations.
fn enqueued<T: Accumulator>(
    a: &Csr<T>,
    b: &[T],
    mut x: Vec<T>,
    preconditioner: AnyPreconditioner<T>,
    runs: &[usize],
) -> Vec<T> {
    let mut solver = EnqueuedCg::new(&Reference, a, preconditioner, &SolverOptions::default()).unwrap();
    solver.start(a, b, &x).unwrap();
    runs.iter().for_each(|&iterations| solver.run(a, iterations, &mut x).unwrap());
    x
}

fn agree<T: Accumulator>(a: &Csr<T>) {
    agree_with(a, || Box::new(Identity));
    agree_with(a, || Box::new(Jacobi::new(&Reference, a).unwrap()));
    agree_with(a, || Box::new(Ic0::new(&Reference, a).unwrap()));
}

fn agree_with<T: Accumulator>(a: &Csr<T>, preconditioner: impl Fn() -> AnyPreconditioner<T>) {
    let b = right_hand_side::<T>(a.nrows());
    let x: Vec<T> = b.iter().rev().copied().collect();
    for (iterations, runs) in [(0, [0, 0]), (1, [1, 0]), (7, [3, 4]), (20, [9, 11])] {
        let found = enqueued(a, &b, x.clone(), preconditioner(), &runs);
        let at_once = enqueued(a, &b, x.clone(), preconditioner(), &[iterations]);
        assert_eq!(found, at_once, "{iterations} in two runs");
        for (found, expected) in found.iter().zip(stopping(a, &b, x.clone(), preconditioner(), iterations)) {
            let off = (*found - expected).to_c64().norm();
            assert!(off <= 1e-9, "after {iterations}: {found:?}, not {expected:?}");
        }
    }
}

#[test]
fn iterates_are_those_of_the_solver_that_stops_by_itself() {
    agree::<f64>(&stencil_5(9, 8).unwrap());
    let hermitian = |i: usize, j: usize| match i.abs_diff(j) {
        0 => c64::new(4.0, 0.0),
        1 => c64::new(1.0, if i < j { 1.0 } else { -1.0 }),
        _ => c64::ZERO,
    };
    agree::<c64>(&matrix(40, hermitian));
}

/// K has the eigenvalues 1 and −1, and the residual after the first step has rᴴ·K⁻¹·r < 0.
#[test]
fn an_indefinite_preconditioner_is_found_after_a_step() {
    let a = matrix(2, |i, j| if i == j { [1.0, 3.0][i] } else { 0.0 });
    let mut solver = EnqueuedCg::new(
        &Reference,
        &a,
        Jacobi::from_inverse_diagonal(&Reference, vec![1.0, -1.0]).unwrap(),
        &SolverOptions::default(),
    )
    .unwrap();
    let mut x = vec![0.0; 2];
    let solution = solver.solve(&a, &[2.0, 1.0], &mut x, |_| ControlFlow::Continue(())).unwrap();
    assert_eq!((solution.outcome, solution.iterations), (Breakdown::IndefiniteMatrix.into(), 1));
    assert!(x != [0.0; 2]);
    let solution = solver.solve_fixed(&a, &[2.0, 1.0], &mut x, 9).unwrap();
    assert_eq!(solution.outcome, Breakdown::IndefiniteMatrix.into());
}

#[test]
fn what_is_solved_stays_solved() {
    let a = matrix(3, |i, j| if i == j { [1.0, 2.0, 4.0][i] } else { 0.0 });
    let mut solver =
        EnqueuedCg::<_, Csr<f64>>::new(&Reference, &a, Identity, &SolverOptions::default()).unwrap();
    let mut x = vec![1.0; 3];
    solver.start(&a, &[3.0, 2.0, 4.0], &x).unwrap();
    assert_eq!(solver.residual_norm().unwrap(), 2.0);
    solver.run(&a, 9, &mut x).unwrap();
    assert_eq!((x, solver.residual_norm().unwrap()), (vec![3.0, 1.0, 1.0], 0.0));
}

/// A Hermitian positive definite matrix with three eigenvalues, 1, 2 and 5, which takes three iterations.
fn three_eigenvalues<T: Scalar>() -> Csr<T> {
    matrix(60, |i, j| if i == j { T::from_c64(c64::from([1.0, 2.0, 5.0][i % 3])) } else { T::ZERO })
}

/// Long after ρ has underflowed, x is finite and right.
fn stays_solved<T: Accumulator>(most_off: f64) {
    let (a, b) = (three_eigenvalues::<T>(), right_hand_side::<T>(60));
    for iterations in [3, 10, 50, 1000] {
        let options = SolverOptions { tolerance: most_off, ..SolverOptions::default() };
        let mut solver = EnqueuedCg::new(&Reference, &a, Identity, &options).unwrap();
        let mut x = vec![T::ZERO; 60];
        let solution = solver.solve_fixed(&a, &b, &mut x, iterations).unwrap();
        assert_eq!((solution.outcome, solution.iterations), (Outcome::Converged, iterations), "{solution}");
        check(&a, &b, &x, &solution, most_off);
    }
}

#[test]
fn iterations_behind_the_solution_change_nothing() {
    stays_solved::<f32>(1e-5);
    stays_solved::<f64>(1e-13);
    stays_solved::<c32>(1e-5);
    stays_solved::<c64>(1e-13);
}

/// A ‖b‖² that underflows is not taken for zero.
fn tiny_is_not_zero<T: Accumulator>(size: f64) {
    let a = three_eigenvalues::<T>();
    let small = |b: &T| T::from_c64(size * b.to_c64());
    let b: Vec<T> = right_hand_side::<T>(60).iter().map(small).collect();
    let options = SolverOptions { tolerance: 1e-5, ..SolverOptions::default() };
    let mut solver = EnqueuedCg::new(&Reference, &a, Identity, &options).unwrap();
    let mut x = vec![T::ZERO; 60];
    let solution = solver.solve_fixed(&a, &b, &mut x, 20).unwrap();
    assert_eq!(solution.outcome, Breakdown::RhoUnderflow.into(), "{solution}");
    assert_eq!(solution.relative_residual, 1.0);
    let solution = solver.solve(&a, &b, &mut x, |_| ControlFlow::Continue(())).unwrap();
    assert!(solution.converged() && solution.iterations < 10, "{solution}");
    check(&a, &b, &x, &solution, options.tolerance);
}

#[test]
fn an_underflow_of_rho_is_no_convergence() {
    tiny_is_not_zero::<f32>(1e-30);
    tiny_is_not_zero::<f64>(1e-200);
    tiny_is_not_zero::<c32>(1e-30);
    tiny_is_not_zero::<c64>(1e-200);
}

#[test]
fn a_fixed_number_of_iterations_names_its_end() {
    let tridiagonal = |diagonal: f64| {
        matrix(100, move |i, j| [diagonal, -1.0].get(i.abs_diff(j)).copied().unwrap_or_default())
    };
    for (a, outcome) in [
        (tridiagonal(3.0), Outcome::Converged),
        (tridiagonal(2.0), Outcome::IterationLimit),
        (tridiagonal(0.5), Breakdown::IndefiniteMatrix.into()),
    ] {
        let (b, mut x) = (right_hand_side(100), vec![0.0; 100]);
        let mut solver = EnqueuedCg::new(&Reference, &a, Identity, &SolverOptions::default()).unwrap();
        let solution = solver.solve_fixed(&a, &b, &mut x, 40).unwrap();
        assert_eq!(solution.outcome, outcome, "{solution}");
        check(&a, &b, &x, &solution, SolverOptions::default().tolerance);
    }
}

#[test]
fn looks_at_the_residual_become_rare_and_the_limit_is_kept() {
    let a = stencil_5::<f64>(30, 30).unwrap();
    let options = SolverOptions { tolerance: 0.0, max_iterations: Some(70), ..SolverOptions::default() };
    let mut solver = EnqueuedCg::new(&Reference, &a, Identity, &options).unwrap();
    let (mut seen, mut x) = (vec![], vec![0.0; 900]);
    let solution = solver
        .solve(&a, &right_hand_side(900), &mut x, |iteration| {
            seen.push(iteration.number);
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(seen, [1, 3, 7, 15, 31, 63, 70]);
    assert_eq!((solution.outcome, solution.iterations), (Outcome::IterationLimit, 70));
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let wide = Csr::<f64>::new(1, 2, vec![0, 1], vec![1], vec![1.0]).unwrap();
    assert!(matches!(
        EnqueuedCg::new(&Reference, &wide, Identity, &SolverOptions::default()),
        Err(Error::Shape { .. })
    ));
    let a = stencil_5::<f64>(3, 3).unwrap();
    let mut solver = EnqueuedCg::new(&Reference, &a, Identity, &SolverOptions::default()).unwrap();
    assert!(matches!(solver.start(&a, &[1.0; 8], &[0.0; 9]), Err(Error::Shape { .. })));
    assert!(matches!(solver.run(&a, 1, &mut [0.0; 10]), Err(Error::Shape { .. })));
}
