//! Matrices of the SuiteSparse collection. Without a copy of them beside the repository, the tests pass without
//! checking anything.

use crate::common::{Method, solve};
use sparse_core::{Accumulator, Csr, c64};
use sparse_solvers::{Breakdown, Solution, SolverOptions};
use std::path::Path;

/// Solves A·x = A·1, if the file is there.
fn solve_for_ones<T: Accumulator>(
    file: &str,
    method: Method,
    jacobi: bool,
    tolerance: f64,
) -> Option<Solution> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/matrices").join(file);
    if !path.exists() {
        return None;
    }
    let a: Csr<T> = sparse_io::matrix_market::read_csr(path).unwrap();
    let row_sum = |row| a.major_entries(row).map(|(_, value)| value).fold(T::ZERO, |sum, value| sum + value);
    let b: Vec<T> = (0..a.nrows()).map(row_sum).collect();
    let options = SolverOptions { tolerance, ..SolverOptions::default() };
    Some(solve(method, &a, &b, jacobi, &options).unwrap().0)
}

#[test]
fn cg_solves_positive_definite_systems() {
    for file in ["494_bus.mtx", "bcsstk26.mtx", "lund_a.mtx", "Dubcova1.mtx.gz"] {
        if let Some(solution) = solve_for_ones::<f64>(file, Method::Cg, true, 1e-8) {
            assert!(solution.converged(), "{file}: {solution}");
        }
    }
    if let Some(solution) = solve_for_ones::<c64>("mhd1280b.mtx", Method::Cg, true, 1e-8) {
        assert!(solution.converged(), "mhd1280b.mtx: {solution}");
    }
}

#[test]
fn bicgstab_solves_general_systems() {
    for file in ["494_bus.mtx", "lund_a.mtx", "Dubcova1.mtx.gz"] {
        if let Some(solution) = solve_for_ones::<f64>(file, Method::BiCgStab, true, 1e-8) {
            assert!(solution.converged(), "{file}: {solution}");
        }
    }
    if let Some(solution) = solve_for_ones::<c64>("young3c.mtx", Method::BiCgStab, false, 1e-8) {
        assert!(solution.converged(), "young3c.mtx: {solution}");
    }
}

#[test]
fn what_cannot_be_solved_is_not_claimed() {
    for file in ["olm1000.mtx", "west0479.mtx"] {
        if let Some(solution) = solve_for_ones::<f64>(file, Method::Cg, false, 1e-8) {
            assert_eq!(solution.outcome, Breakdown::IndefiniteMatrix.into(), "{file}: {solution}");
        }
    }
    for method in [Method::Cg, Method::BiCgStab] {
        if let Some(solution) = solve_for_ones::<f64>("494_bus.mtx", method, true, 1e-16) {
            assert!(!solution.converged() && solution.relative_residual < 1e-13, "{method:?}: {solution}");
        }
    }
}
