//! GMRES and MINRES beside their convergence: exactness, least residuals, and SciPy's numbers of iterations.

use crate::common::{Method, check, convection, matrix, right_hand_side, solve};
use sparse_core::reference::Reference;
use sparse_core::{Accumulator, Csr, Scalar, c32, c64};
use sparse_generate::stencil_5;
use sparse_solvers::{Breakdown, Gmres, Identity, Outcome, Solution, SolverOptions};
use std::cmp::Ordering;
use std::ops::ControlFlow;

fn options(tolerance: f64, restart: usize) -> SolverOptions {
    SolverOptions { tolerance, restart, ..SolverOptions::default() }
}

/// A matrix of full rank without structure.
fn scrambled<T: Scalar>(n: usize) -> Csr<T> {
    let part = |k: usize| (k * 7919 % 211) as f64 / 105.0 - 1.0;
    matrix(n, |i, j| {
        let dominance = if i == j { 3.0 } else { 0.0 };
        T::from_c64(c64::new(part(31 * i + 17 * j + i * j) + dominance, part(13 * i + 29 * j)))
    })
}

fn solved<T: Accumulator>(a: &Csr<T>, options: &SolverOptions) -> Solution {
    let (solution, _) = solve(Method::Gmres, a, &right_hand_side(a.nrows()), false, options).unwrap();
    solution
}

#[test]
fn gmres_is_exact_after_as_many_iterations_as_unknowns() {
    for n in [1, 2, 25] {
        let reached = |solution: Solution| solution.converged() && solution.iterations <= n;
        assert!(reached(solved(&scrambled::<f64>(n), &options(1e-12, n))));
        assert!(reached(solved(&scrambled::<c64>(n), &options(1e-12, 2 * n))));
        assert!(reached(solved(&scrambled::<f32>(n), &options(1e-4, n))));
        assert!(reached(solved(&scrambled::<c32>(n), &options(1e-4, n))));
    }
}

/// `inner iterations` of `gmres(a, b, rtol=1e-8, restart=…)` of SciPy 1.17.1.
#[test]
fn gmres_takes_as_many_iterations_as_scipys() {
    let (laplacian, convection) = (stencil_5::<f64>(30, 20).unwrap(), convection::<f64>(25, 25));
    for (a, restart, scipy) in
        [(&laplacian, 20, 146), (&laplacian, 50, 106), (&convection, 20, 139), (&convection, 50, 83)]
    {
        let solution = solved(a, &options(1e-8, restart));
        assert!(solution.converged() && solution.iterations.abs_diff(scipy) <= 1, "{scipy}: {solution}");
    }
}

/// The first iterate of SciPy's `minres` whose b − A·x is small enough: its own test is another one.
#[test]
fn minres_takes_as_many_iterations_as_scipys() {
    let laplacian = stencil_5::<f64>(30, 20).unwrap();
    let a = stencil_5::<f64>(20, 15).unwrap();
    let shifted = |(i, j, value): (usize, usize, f64)| match i == j {
        true if i % 2 == 0 => 9.0,
        true => -6.0,
        false => value,
    };
    let indefinite = a.with_values(a.triplets().map(shifted).collect()).unwrap();
    for (a, scipy) in [(&laplacian, 86), (&indefinite, 30)] {
        let b = right_hand_side(a.nrows());
        let (solution, _) = solve(Method::Minres, a, &b, false, &options(1e-8, 1)).unwrap();
        assert!(solution.converged() && solution.iterations.abs_diff(scipy) <= 1, "{scipy}: {solution}");
    }
}

#[test]
fn residuals_never_grow() {
    let a = convection::<f64>(12, 9);
    let b = right_hand_side(a.nrows());
    let mut residuals = vec![f64::INFINITY];
    let mut x = vec![0.0; b.len()];
    let mut solver = Gmres::new(&Reference, &a, Identity, &options(1e-9, 7)).unwrap();
    let solution = solver
        .solve(&a, &b, &mut x, |iteration| {
            residuals.push(iteration.relative_residual);
            ControlFlow::Continue(())
        })
        .unwrap();
    check(&a, &b, &x, &solution, 1e-9);
    assert!(residuals.len() == solution.iterations + 1 && residuals.len() > 20);
    assert!(residuals.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-12)), "{residuals:?}");
}

#[test]
fn a_cycle_that_is_too_short_is_named() {
    let shift = matrix(12, |i, j| if j == (i + 1) % 12 { 1.0 } else { 0.0 });
    let mut b = vec![0.0; 12];
    b[0] = 1.0;
    let end = |restart| solve(Method::Gmres, &shift, &b, false, &options(1e-10, restart)).unwrap().0;
    assert_eq!(end(11).outcome, Outcome::Breakdown(Breakdown::StalledCycle));
    assert_eq!((end(12).outcome, end(12).iterations), (Outcome::Converged, 12));
}

#[test]
fn a_cycle_of_no_iterations_is_refused() {
    let error = Gmres::new(&Reference, &convection::<f64>(2, 2), Identity, &options(1e-8, 0)).unwrap_err();
    assert_eq!(error.to_string(), "gmres with restart = 0 is not supported: it must be at least 1");
}

#[test]
fn a_singular_matrix_is_named_and_x_is_the_least_squares_solution() {
    let a = matrix(3, |i, j| if i == j { [1.0, 2.0, 0.0][i] } else { 0.0 });
    for method in [Method::Gmres, Method::Minres] {
        let (solution, x) = solve(method, &a, &[1.0; 3], false, &SolverOptions::default()).unwrap();
        assert_eq!(solution.outcome, Outcome::Breakdown(Breakdown::SingularMatrix), "{method:?}");
        assert!((x[0] - 1.0).abs() < 1e-12 && (x[1] - 0.5).abs() < 1e-12, "{method:?}: {x:?}");
        let (solution, _) = solve(method, &a, &[1.0, 1.0, 0.0], false, &SolverOptions::default()).unwrap();
        assert_eq!(solution.outcome, Outcome::Converged, "{method:?}");
    }
}

#[test]
fn minres_needs_a_hermitian_matrix() {
    let a = matrix(3, |i, j| if i == j { c64::new(1.0, 1.0 + i as f64) } else { c64::default() });
    let (solution, _) =
        solve(Method::Minres, &a, &right_hand_side(3), false, &SolverOptions::default()).unwrap();
    assert_eq!(solution.outcome, Outcome::Breakdown(Breakdown::NotHermitian));
}

#[test]
fn minres_is_exact_for_indefinite_matrices_of_every_type() {
    fn converges<T: Accumulator>(tolerance: f64) {
        let general = scrambled::<c64>(16);
        let element = |i: usize, j: usize| general.major_entries(i).find(|entry| entry.0 == j).unwrap().1;
        let sign = |i: usize| if i.is_multiple_of(2) { 4.0 } else { -10.0 };
        let a = matrix(16, |i, j| match i.cmp(&j) {
            Ordering::Less => T::from_c64(element(i, j)),
            Ordering::Equal => T::from_c64(sign(i).into()),
            Ordering::Greater => T::from_c64(element(j, i).conj()),
        });
        let (solution, _) =
            solve(Method::Minres, &a, &right_hand_side(16), false, &options(tolerance, 1)).unwrap();
        assert!(solution.converged() && solution.iterations <= 24, "{solution}");
    }
    converges::<f32>(1e-3);
    converges::<f64>(1e-10);
    converges::<c32>(1e-3);
    converges::<c64>(1e-10);
}
