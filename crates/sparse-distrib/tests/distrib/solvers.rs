//! Solvers on ranks that are threads, and what they refuse.

use crate::common::{Draws, nearly_empty};
use crate::suite::solvers::{self, Method, laplacian, skewed};
use sparse_core::Csr;
use sparse_core::reference::Reference;
use sparse_distrib::{DistributedBackend, DistributedCg, DistributedMatrix, Local};
use sparse_solvers::{Identity, SolverOptions};

fn check(method: Method, a: &Csr<f64>, weights: &[f64]) {
    let solutions = Local::run(weights.len(), |rank| {
        solvers::check(&DistributedBackend::new(rank, Reference), method, a, weights)
    });
    assert!(solutions.iter().all(|solution| *solution == solutions[0]), "ranks differ: {solutions:?}");
}

#[test]
fn four_ranks_take_as_many_iterations_as_one() {
    for weights in [[1.0; 4], [3.0, 0.0, 1.0, 2.0]] {
        check(Method::Cg, &laplacian(20), &weights);
        check(Method::JacobiCg, &laplacian(20), &weights);
        check(Method::BiCgStab, &skewed(12), &weights);
    }
}

/// The ranks without rows take part in no exchange, but in all reductions, and have the same limit of iterations.
#[test]
fn cg_solves_a_full_matrix_with_more_ranks_than_rows() {
    let square = nearly_empty::<f64>(5, 5, 5, &mut Draws::new(9));
    let shifted = square
        .triplets()
        .flat_map(|(i, j, v)| [(i, j, v), (j, i, v)].into_iter().chain((i == j).then_some((i, i, 20.0))));
    check(Method::Cg, &Csr::from_triplets(5, 5, shifted).unwrap(), &[1.0; 8]);
}

#[test]
fn a_matrix_that_is_not_square_is_refused() {
    let wide = nearly_empty::<f64>(4, 6, 2, &mut Draws::new(1));
    let reported = Local::run(2, |rank| {
        let rank = DistributedBackend::new(rank, Reference);
        let a = DistributedMatrix::from_root(&rank, 0, Some(&wide), None).unwrap();
        DistributedCg::new(&rank, &a, Identity, &SolverOptions::default()).unwrap_err().to_string()
    });
    assert!(
        reported.iter().all(|reported| reported == "cg: a square matrix is needed, this one is 4 x 6"),
        "{reported:?}"
    );
}
