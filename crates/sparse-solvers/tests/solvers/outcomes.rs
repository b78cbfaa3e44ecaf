//! Each outcome, and each refusal, on the smallest system that has it.

use crate::common::{Method, hilbert, matrix, right_hand_side, solve};
use sparse_core::reference::Reference;
use sparse_core::{Csr, Error, c64};
use sparse_solvers::{BiCgStab, Breakdown, Cg, Identity, Jacobi, Outcome, SolverOptions, inverse_diagonal};
use std::ops::ControlFlow;

const INDEFINITE: Outcome = Outcome::Breakdown(Breakdown::IndefiniteMatrix);
const NO_DIVISOR: Outcome = Outcome::Breakdown(Breakdown::ZeroDivisor { quantity: "r̂ᴴ·v" });

fn tolerance(tolerance: f64) -> SolverOptions {
    SolverOptions { tolerance, ..SolverOptions::default() }
}

fn tridiagonal(n: usize) -> Csr<f64> {
    matrix(n, |i, j| match i.abs_diff(j) {
        0 => 2.0,
        1 => -1.0,
        _ => 0.0,
    })
}

fn outcome(method: Method, a: &Csr<f64>, b: &[f64]) -> Outcome {
    solve(method, a, b, false, &SolverOptions::default()).unwrap().0.outcome
}

#[test]
fn a_right_hand_side_of_zeros_gives_zero() {
    for method in Method::ALL {
        let (solution, x) =
            solve(method, &tridiagonal(5), &[0.0; 5], false, &SolverOptions::default()).unwrap();
        assert_eq!((solution.outcome, solution.iterations, x), (Outcome::Converged, 0, vec![0.0; 5]));
    }
    let mut x = [f64::NAN; 5];
    let a = tridiagonal(5);
    let mut solver = Cg::new(&Reference, &a, Identity, &SolverOptions::default()).unwrap();
    solver.solve(&a, &[0.0; 5], &mut x, |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(x, [0.0; 5]);
}

#[test]
fn a_matrix_of_order_zero_is_solved() {
    for method in Method::ALL {
        assert_eq!(outcome(method, &Csr::zeros(0, 0).unwrap(), &[]), Outcome::Converged);
    }
}

#[test]
fn an_exact_start_takes_no_iteration() {
    let a = tridiagonal(3);
    let mut x = [1.0, 1.0, 1.0];
    let mut solver = BiCgStab::new(&Reference, &a, Identity, &tolerance(0.0)).unwrap();
    let solution = solver.solve(&a, &[1.0, 0.0, 1.0], &mut x, |_| panic!("no iteration is due")).unwrap();
    assert_eq!((solution.outcome, solution.iterations, x), (Outcome::Converged, 0, [1.0; 3]));
}

#[test]
fn an_indefinite_matrix_is_not_positive_definite() {
    let a = matrix(4, |i, j| if i == j { [1.0, -2.0, 3.0, -4.0][i] } else { 0.0 });
    for method in [Method::Cg, Method::EnqueuedCg] {
        for jacobi in [false, true] {
            let (solution, _) =
                solve(method, &a, &[1.0, 2.0, 1.0, 1.0], jacobi, &SolverOptions::default()).unwrap();
            assert_eq!(solution.outcome, INDEFINITE, "{method:?}, jacobi {jacobi}");
        }
    }
    assert_eq!(outcome(Method::BiCgStab, &a, &[1.0, 2.0, 3.0, 4.0]), Outcome::Converged);
}

#[test]
fn a_complex_matrix_that_is_not_hermitian_is_not_positive_definite() {
    let a = matrix(3, |i, j| if i == j { c64::new(1.0, 1.0 + i as f64) } else { c64::default() });
    let (solution, _) = solve(Method::Cg, &a, &right_hand_side(3), false, &SolverOptions::default()).unwrap();
    assert_eq!(solution.outcome, INDEFINITE);
}

#[test]
fn a_matrix_of_zeros_has_no_solution() {
    let zeros = Csr::zeros(3, 3).unwrap();
    assert_eq!(outcome(Method::Cg, &zeros, &[1.0; 3]), INDEFINITE);
    assert_eq!(outcome(Method::EnqueuedCg, &zeros, &[1.0; 3]), INDEFINITE);
    assert_eq!(outcome(Method::BiCgStab, &zeros, &[1.0; 3]), NO_DIVISOR);
}

#[test]
fn bicgstab_breaks_down_on_a_rotation() {
    let rotation = matrix(2, |i, j| [[0.0, 1.0], [-1.0, 0.0]][i][j]);
    assert_eq!(outcome(Method::BiCgStab, &rotation, &[1.0, 0.0]), NO_DIVISOR);
}

#[test]
fn numbers_that_are_not_finite_break_down() {
    let a = matrix(2, |i, j| if i == j { 1.0 } else { 0.0 });
    let broken = matrix(2, |i, j| if i == j { f64::NAN } else { 0.0 });
    for method in Method::ALL {
        for (a, b) in [(&a, [f64::INFINITY, 1.0]), (&a, [f64::NAN, 1.0]), (&broken, [1.0, 1.0])] {
            let outcome = outcome(method, a, &b);
            let not_finite = matches!(outcome, Outcome::Breakdown(Breakdown::NotFinite { .. }));
            assert!(not_finite, "{method:?}, {b:?}: {outcome}");
        }
    }
}

#[test]
fn a_tolerance_beyond_the_precision_stagnates() {
    for method in Method::ALL {
        let single = matrix(40, |i, j| {
            if i == j {
                2.0f32
            } else if i.abs_diff(j) == 1 {
                -0.999
            } else {
                0.0
            }
        });
        let (solution, _) = solve(method, &single, &right_hand_side(40), false, &tolerance(1e-12)).unwrap();
        assert_eq!(solution.outcome, Outcome::Breakdown(Breakdown::Stagnation), "{method:?}: {solution}");
        assert!(solution.relative_residual < 1e-4, "{method:?}: {solution}");
    }
}

#[test]
fn the_hilbert_matrix_does_not_converge_beyond_the_precision() {
    let options = SolverOptions { max_iterations: Some(10_000), ..tolerance(0.0) };
    let (solution, _) =
        solve(Method::Cg, &hilbert::<f64>(12), &right_hand_side(12), false, &options).unwrap();
    assert!(!solution.converged(), "{solution}");
    let (solution, _) =
        solve(Method::Cg, &hilbert::<f64>(4), &right_hand_side(4), false, &tolerance(1e-10)).unwrap();
    assert!(solution.converged(), "{solution}");
}

#[test]
fn the_iteration_limit_is_kept() {
    let a = tridiagonal(100);
    for method in Method::ALL {
        for limit in [0, 3] {
            let options = SolverOptions { max_iterations: Some(limit), ..SolverOptions::default() };
            let (solution, _) = solve(method, &a, &right_hand_side(100), false, &options).unwrap();
            assert_eq!((solution.outcome, solution.iterations), (Outcome::IterationLimit, limit));
        }
    }
}

#[test]
fn the_callback_sees_every_iteration_and_may_stop() {
    let a = tridiagonal(100);
    let mut seen = vec![];
    let mut x = vec![0.0; 100];
    let mut solver = Cg::new(&Reference, &a, Identity, &SolverOptions::default()).unwrap();
    let solution = solver
        .solve(&a, &right_hand_side(100), &mut x, |iteration| {
            seen.push(iteration.number);
            if iteration.number == 7 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
    assert_eq!((solution.outcome, solution.iterations), (Outcome::Stopped, 7));
    assert_eq!(seen, [1, 2, 3, 4, 5, 6, 7]);
    assert!(solution.relative_residual.is_finite() && solution.relative_residual > 0.0);
}

#[test]
fn a_solver_serves_new_values_and_right_hand_sides() {
    let mut a = tridiagonal(20);
    let mut solver = Cg::new(&Reference, &a, Identity, &SolverOptions::default()).unwrap();
    let first = right_hand_side(20);
    for b in [first.clone(), vec![1.0; 20]] {
        let mut x = vec![0.0; 20];
        let solution = solver.solve(&a, &b, &mut x, |_| ControlFlow::Continue(())).unwrap();
        assert!(solution.converged());
        crate::common::check(&a, &b, &x, &solution, 1e-10);
        a.values_mut().iter_mut().for_each(|value| *value *= 3.0);
    }
}

#[test]
fn wrong_shapes_are_refused() {
    let wide = Csr::<f64>::zeros(2, 3).unwrap();
    let error = Cg::new(&Reference, &wide, Identity, &SolverOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "cg: a square matrix is needed, this one is 2 x 3");
    assert!(matches!(inverse_diagonal(&wide), Err(Error::Shape { op: "jacobi", .. })));

    let a = tridiagonal(3);
    let mut solver = BiCgStab::new(&Reference, &a, Identity, &SolverOptions::default()).unwrap();
    let mut solve = |b: &[f64], x: &mut [f64]| {
        solver.solve(&a, b, x, |_| ControlFlow::Continue(())).unwrap_err().to_string()
    };
    assert_eq!(solve(&[1.0; 2], &mut [0.0; 3]), "bicgstab: the length of b is 2 where 3 is needed");
    assert_eq!(solve(&[1.0; 3], &mut [0.0; 4]), "bicgstab: the length of x is 4 where 3 is needed");
}

#[test]
fn another_pattern_is_refused() {
    let a = tridiagonal(3);
    let mut solver = Cg::new(&Reference, &a, Identity, &SolverOptions::default()).unwrap();
    let result = solver.solve(&tridiagonal(3), &[1.0; 3], &mut [0.0; 3], |_| ControlFlow::Continue(()));
    assert!(matches!(result, Err(Error::PlanMismatch { .. })));
}

#[test]
fn a_preconditioner_of_another_order_is_refused() {
    let a = tridiagonal(3);
    let jacobi = Jacobi::from_inverse_diagonal(&Reference, vec![1.0; 4]).unwrap();
    let mut solver = Cg::new(&Reference, &a, jacobi, &SolverOptions::default()).unwrap();
    let result = solver.solve(&a, &[1.0; 3], &mut [0.0; 3], |_| ControlFlow::Continue(()));
    assert!(matches!(result, Err(Error::Shape { .. })));
}

#[test]
fn a_tolerance_that_no_residual_meets_is_refused() {
    for bad in [-1e-3, f64::NAN] {
        let error = Cg::new(&Reference, &tridiagonal(3), Identity, &tolerance(bad)).unwrap_err();
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
    }
}

#[test]
fn jacobi_names_the_row_without_a_diagonal() {
    let rows = |values: [f64; 2]| Csr::new(2, 2, vec![0, 1, 2], vec![0, 1], values.to_vec()).unwrap();
    let needed = "jacobi: row 1: a diagonal entry with a finite inverse is needed";
    for (value, found) in [(0.0, "it is 0"), (f64::NAN, "it is NaN"), (f64::INFINITY, "it is inf")] {
        let error = inverse_diagonal(&rows([1.0, value])).unwrap_err();
        assert_eq!(error.to_string(), format!("{needed}, {found}"));
    }
    let missing = matrix(2, |i, j| if i == 0 || j == 0 { 1.0 } else { 0.0 });
    assert_eq!(inverse_diagonal(&missing).unwrap_err().to_string(), format!("{needed}, none is stored"));
}

#[test]
fn jacobi_sums_what_stands_twice() {
    let a = Csr::<f64>::new_unsorted(1, 1, vec![0, 2], vec![0, 0], vec![1.0, 3.0]).unwrap();
    assert_eq!(inverse_diagonal(&a).unwrap(), [0.25]);
}

/// 1/‖b‖ is infinite, and b is not.
#[test]
fn subnormal_right_hand_sides_are_solved() {
    let a = Csr::<f64>::identity(3).unwrap();
    for method in Method::ALL {
        let (solution, x) = solve(method, &a, &[1e-310; 3], false, &tolerance(1e-8)).unwrap();
        assert!(solution.converged(), "{method:?}: {solution}");
        assert!(x.iter().all(|x| (x / 1e-310 - 1.0).abs() < 1e-8), "{method:?}: {x:?}");
    }
}
