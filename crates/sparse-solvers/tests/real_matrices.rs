//! Matrices of the SuiteSparse collection. Quietly passes where `../shared/data/matrices` is absent.

mod common;

use common::{Method, solve};
use sparse_core::{Csr, Matrix};
use sparse_solvers::{Options, Solution};
use std::path::Path;

/// Solves A·x = A·1, if the file is there.
fn solve_for_ones(file: &str, method: Method, jacobi: bool, options: &Options) -> Option<Solution> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/matrices").join(file);
    if !path.exists() {
        return None;
    }
    let a: Csr<f64> = sparse_io::matrix_market::read_csr(path).unwrap();
    let b: Vec<f64> = (0..a.rows()).map(|row| a.major_entries(row).map(|(_, value)| value).sum()).collect();
    Some(solve(method, &a, &b, jacobi, options).unwrap().0)
}

#[test]
fn cg_with_jacobi_solves_positive_definite_systems() {
    for file in ["494_bus.mtx", "bcsstk26.mtx", "Dubcova1.mtx.gz"] {
        let options = Options { tolerance: 1e-8, ..Options::default() };
        if let Some(solution) = solve_for_ones(file, Method::Cg, true, &options) {
            println!("{file}: {solution}");
            assert!(solution.converged(), "{file}: {solution}");
        }
    }
}
