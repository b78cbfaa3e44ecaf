//! CG and BiCGSTAB over ranks against one rank.

use sparse_core::backend::SpaceOf;
use sparse_core::op::{Op, Operations, SpmvKernel, VectorKernel};
use sparse_core::reference::Reference;
use sparse_core::{Csr, Result, SparseFormat};
use sparse_distrib::{
    DistributedBackend, DistributedBiCgStab, DistributedCg, DistributedMatrix, DistributedVector, Local,
    SharedTransport,
};
use sparse_solvers::{Identity, Jacobi, Solution, SolverOptions, inverse_diagonal};
use std::ops::ControlFlow;

const TOLERANCE: f64 = 1e-10;

#[derive(Clone, Copy)]
pub(crate) enum Method {
    Cg,
    JacobiCg,
    BiCgStab,
}

/// A backend that does all that a solver needs.
pub(crate) trait SolverKernels: SpmvKernel<Csr<f64, SpaceOf<Self>>> + VectorKernel<f64> {}

impl<B: SpmvKernel<Csr<f64, SpaceOf<B>>> + VectorKernel<f64>> SolverKernels for B {}

/// Every method, with rows that are divided evenly.
pub(crate) fn all<X: SharedTransport, B: SolverKernels>(rank: &DistributedBackend<X, B>) {
    let weights = vec![1.0; rank.ranks()];
    check(rank, Method::Cg, &laplacian(10), &weights);
    check(rank, Method::JacobiCg, &laplacian(10), &weights);
    check(rank, Method::BiCgStab, &skewed(8), &weights);
}

pub(crate) fn laplacian(side: usize) -> Csr<f64> {
    sparse_generate::stencil_5(side, side).unwrap()
}

/// A matrix that is not symmetric.
pub(crate) fn skewed(side: usize) -> Csr<f64> {
    let a = laplacian(side);
    let halved = a.triplets().map(|(i, j, v)| (i, j, if j > i { 0.5 * v } else { v }));
    Csr::from_triplets(a.nrows(), a.ncols(), halved).unwrap()
}

/// The ranks, whose rows have entries in proportion to `weights`, take about as many iterations as one to the same x;
/// a second run has the same bits.
pub(crate) fn check<X: SharedTransport, B: SolverKernels>(
    rank: &DistributedBackend<X, B>,
    method: Method,
    a: &Csr<f64>,
    weights: &[f64],
) -> Solution {
    let b: Vec<_> = (0..a.nrows()).map(|i| (i * 37 % 101) as f64 - 50.0).collect();
    let one = |one| solve(&DistributedBackend::new(one, Reference), method, a, &b, &[1.0]).unwrap();
    let (alone, x) = Local::run(1, one).swap_remove(0);
    let (together, y) = solve(rank, method, a, &b, weights).unwrap();
    assert_eq!(solve(rank, method, a, &b, weights).unwrap(), (together, y.clone()));
    assert!(
        together.converged() && together.iterations.abs_diff(alone.iterations) <= 2,
        "{alone}, {together}"
    );
    if let (Some(x), Some(y)) = (x, y) {
        assert!(residual(a, &b, &x).max(residual(a, &b, &y)) <= 1.001 * TOLERANCE, "{alone}, {together}");
        let largest = x.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
        assert!(x.iter().zip(&y).all(|(x, y)| (x - y).abs() <= 1e-7 * largest));
    }
    together
}

/// The solution of A·x = b, and x at rank 0.
pub(crate) fn solve<X: SharedTransport, B: SolverKernels>(
    rank: &DistributedBackend<X, B>,
    method: Method,
    a: &Csr<f64>,
    b: &[f64],
    weights: &[f64],
) -> Result<(Solution, Option<Vec<f64>>)> {
    let input = (rank.rank() == 0).then_some(a);
    let a = DistributedMatrix::from_root(rank, 0, input, Some(weights))?;
    let b = DistributedVector::scatter(rank, 0, a.row_ownership(), Some(b))?;
    let mut x = DistributedVector::zeros(rank, a.col_ownership())?;
    let options = SolverOptions { tolerance: TOLERANCE, ..SolverOptions::default() };
    let go_on = |_| ControlFlow::Continue(());
    let solution = match method {
        Method::Cg => DistributedCg::new(rank, &a, Identity, &options)?.solve(&a, &b, &mut x, go_on)?,
        Method::JacobiCg => {
            let inverse = inverse_diagonal(&a.diagonal_block().to_host(rank.local())?)?;
            let jacobi = Jacobi::from_inverse_diagonal(rank, inverse)?;
            DistributedCg::new(rank, &a, jacobi, &options)?.solve(&a, &b, &mut x, go_on)?
        }
        Method::BiCgStab => {
            DistributedBiCgStab::new(rank, &a, Identity, &options)?.solve(&a, &b, &mut x, go_on)?
        }
    };
    Ok((solution, x.gather(rank, 0)?))
}

/// ‖b − A·x‖ / ‖b‖ on one rank.
pub(crate) fn residual(a: &Csr<f64>, b: &[f64], x: &[f64]) -> f64 {
    let mut r = b.to_vec();
    Operations::spmv(&Reference, Op::None, -1.0, a, x, 1.0, &mut r).unwrap();
    let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    norm(&r) / norm(b)
}
