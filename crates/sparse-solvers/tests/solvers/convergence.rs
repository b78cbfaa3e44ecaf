//! Systems that each method solves, in all four types.

use crate::common::{Method, check, convection, matrix, right_hand_side, solve};
use proptest::prelude::*;
use sparse_core::reference::Reference;
use sparse_core::{Accumulator, Csc, Csr, Scalar, c32, c64};
use sparse_generate::{stencil_5, stencil_7};
use sparse_solvers::{BiCgStab, Identity, Solution, SolverOptions};
use std::ops::ControlFlow;

fn converge<T: Accumulator>(method: Method, a: &Csr<T>, jacobi: bool, tolerance: f64) -> Solution {
    let options = SolverOptions { tolerance, ..SolverOptions::default() };
    let (solution, _) = solve(method, a, &right_hand_side(a.nrows()), jacobi, &options).unwrap();
    assert!(solution.converged(), "{method:?}, jacobi {jacobi}: {solution}");
    solution
}

/// D·A·Dᴴ with a diagonal D of different phases: Hermitian, and as positive definite as A.
fn with_phases<T: Scalar>(a: &Csr<T>) -> Csr<T> {
    let phase = |k: usize| c64::from_polar(1.0, k as f64);
    let values = a.triplets().map(|(i, j, value)| T::from_c64(phase(i) * value.to_c64() * phase(j).conj()));
    a.with_values(values.collect()).unwrap()
}

/// Rows and columns scaled by up to 1000, which Jacobi undoes.
fn badly_scaled<T: Scalar>(a: &Csr<T>) -> Csr<T> {
    let factor = |k: usize| 10f64.powi((k % 4) as i32);
    let values = a.triplets().map(|(i, j, value)| T::from_c64(value.to_c64() * factor(i) * factor(j)));
    a.with_values(values.collect()).unwrap()
}

#[test]
fn laplacians_in_every_type() {
    for method in Method::ALL {
        for jacobi in [false, true] {
            converge(method, &stencil_5::<f64>(30, 20).unwrap(), jacobi, 1e-10);
            converge(method, &stencil_7::<f64>(9, 8, 7).unwrap(), jacobi, 1e-10);
            converge(method, &with_phases(&stencil_5::<c64>(30, 20).unwrap()), jacobi, 1e-10);
            converge(method, &stencil_5::<f32>(30, 20).unwrap(), jacobi, 1e-4);
            converge(method, &with_phases(&stencil_7::<c32>(9, 8, 7).unwrap()), jacobi, 1e-4);
        }
    }
}

#[test]
fn any_format_will_do() {
    let a = stencil_5::<f64>(12, 9).unwrap();
    let csc: Csc<f64> = a.clone().into_transpose();
    let (b, mut x) = (right_hand_side(a.nrows()), vec![0.0; a.nrows()]);
    let mut solver = BiCgStab::new(&Reference, &csc, Identity, &SolverOptions::default()).unwrap();
    let solution = solver.solve(&csc, &b, &mut x, |_| ControlFlow::Continue(())).unwrap();
    assert!(solution.converged(), "{solution}");
    check(&a, &b, &x, &solution, SolverOptions::default().tolerance);
}

#[test]
fn cg_needs_no_more_iterations_than_there_are_eigenvalues() {
    let a = matrix(60, |i, j| if i == j { [1.0, 2.0, 5.0][i % 3] } else { 0.0 });
    assert_eq!(converge(Method::Cg, &a, false, 1e-12).iterations, 3);
    assert_eq!(converge(Method::Cg, &a, true, 1e-12).iterations, 1);
}

#[test]
fn jacobi_undoes_bad_scaling() {
    let a = badly_scaled(&stencil_5::<f64>(20, 20).unwrap());
    let plain = converge(Method::Cg, &a, false, 1e-8).iterations;
    for method in [Method::Cg, Method::EnqueuedCg] {
        let jacobi = converge(method, &a, true, 1e-8).iterations;
        assert!(3 * jacobi < plain, "{method:?}: {jacobi} iterations with Jacobi, {plain} without");
    }
}

#[test]
fn bicgstab_solves_what_is_not_symmetric() {
    converge(Method::BiCgStab, &convection::<f64>(25, 25), false, 1e-10);
    converge(Method::BiCgStab, &badly_scaled(&convection::<f64>(15, 15)), true, 1e-9);
    converge(Method::BiCgStab, &convection::<f32>(25, 25), true, 1e-4);
    let shifted = matrix(50, |i, j| match i.abs_diff(j) {
        0 => c64::new(4.0, 1.0),
        1 => c64::new(-1.0, 0.5),
        _ => c64::default(),
    });
    converge(Method::BiCgStab, &shifted, false, 1e-12);
}

#[test]
fn the_size_of_b_does_not_matter() {
    let a = stencil_5::<f32>(10, 10).unwrap();
    let options = SolverOptions { tolerance: 1e-4, ..SolverOptions::default() };
    for scale in [1e-30f32, 1.0, 1e30] {
        let b: Vec<f32> = right_hand_side::<f32>(100).into_iter().map(|value| value * scale).collect();
        for method in Method::ALL {
            let (solution, _) = solve(method, &a, &b, false, &options).unwrap();
            assert!(solution.converged(), "{method:?}, b of size {scale:e}: {solution}");
        }
    }
}

proptest! {
    #[test]
    fn diagonally_dominant_systems_are_solved(
        n in 1usize..30,
        elements in prop::collection::vec(-1.0..1.0f64, 30 * 30),
        jacobi: bool,
    ) {
        let element = |i: usize, j: usize| elements[30 * i + j];
        let dominant = matrix(n, |i, j| if i == j { 1.0 + n as f64 } else { element(i, j) });
        converge(Method::BiCgStab, &dominant, jacobi, 1e-11);
        converge(Method::Gmres, &dominant, jacobi, 1e-11);
        let symmetric = matrix(n, |i, j| if i == j { 1.0 + n as f64 } else { element(i.min(j), i.max(j)) });
        converge(Method::Cg, &symmetric, jacobi, 1e-11);
        converge(Method::EnqueuedCg, &symmetric, jacobi, 1e-11);
        converge(Method::Minres, &symmetric, jacobi, 1e-11);
    }
}
