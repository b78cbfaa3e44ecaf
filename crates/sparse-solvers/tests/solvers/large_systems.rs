//! Systems of 10⁵ unknowns and condition numbers of 10⁶ and more, whose solutions are judged by their true residual.

use crate::common::{Method, right_hand_side, solve};
use sparse_core::Csr;
use sparse_generate::stencil_5;
use sparse_solvers::SolverOptions;

const TOLERANCE: f64 = 1e-8;

/// Points of each side of a square grid of 102 400.
const SIDE: usize = 320;

/// A Laplacian with a positive number added to its diagonal, so that few iterations are needed, and with convection.
fn shifted_laplacian(wind: f64) -> Csr<f64> {
    let a = stencil_5::<f64>(SIDE, SIDE).unwrap();
    let change = |(i, j, value): (usize, usize, f64)| match j as isize - i as isize {
        0 => value + 0.2,
        1 => value + wind,
        -1 => value - wind,
        _ => value,
    };
    a.with_values(a.triplets().map(change).collect()).unwrap()
}

/// Factors from 1 to 1000 or, squared, to 10⁶.
fn factor(k: usize) -> f64 {
    10f64.powi((k * 7 % 4) as i32)
}

fn converges(method: Method, a: &Csr<f64>, jacobi: bool) {
    let options =
        SolverOptions { tolerance: TOLERANCE, max_iterations: Some(500), ..SolverOptions::default() };
    let (solution, _) = solve(method, a, &right_hand_side(a.nrows()), jacobi, &options).unwrap();
    assert!(solution.converged(), "{method:?}: {solution}");
}

/// D·A·D. A Hermitian matrix has at least the condition number of its diagonal: here 10⁶.
#[test]
fn cg_solves_a_badly_scaled_laplacian() {
    let a = shifted_laplacian(0.0);
    let values = a.triplets().map(|(i, j, value)| factor(i) * value * factor(j)).collect();
    converges(Method::Cg, &a.with_values(values).unwrap(), true);
}

/// A·D². A matrix has at least the condition number of the lengths of its columns: here 10⁶ and more, since those of
/// the Laplacian are equal except at the boundary.
#[test]
fn bicgstab_solves_a_badly_scaled_convection() {
    let a = shifted_laplacian(0.4);
    let values = a.triplets().map(|(_, j, value)| value * factor(j).powi(2)).collect();
    converges(Method::BiCgStab, &a.with_values(values).unwrap(), true);
}

/// Blocks `Q·diag(1, λ)·Qᵀ` of rotations Q, with λ from 10 to 10⁷: eight eigenvalues, and the condition number 10⁷.
#[test]
fn both_cg_solve_rotated_clusters_of_eigenvalues() {
    let blocks = 50_000;
    let block = |k: usize| {
        let (lambda, (sine, cosine)) = (10f64.powi(1 + (k % 7) as i32), (k as f64).sin_cos());
        let off = (1.0 - lambda) * sine * cosine;
        [cosine * cosine + lambda * sine * sine, off, off, sine * sine + lambda * cosine * cosine]
    };
    let offsets = (0..=2 * blocks as i32).map(|row| 2 * row).collect();
    let columns = (0..blocks as i32).flat_map(|k| [2 * k, 2 * k + 1, 2 * k, 2 * k + 1]).collect();
    let a =
        Csr::new(2 * blocks, 2 * blocks, offsets, columns, (0..blocks).flat_map(block).collect()).unwrap();
    converges(Method::Cg, &a, false);
    converges(Method::EnqueuedCg, &a, false);
}
