//! CG and BiCGSTAB over ranks against one rank.

use crate::common::{Draws, nearly_empty};
use sparse_core::op::Operations;
use sparse_core::reference::Reference;
use sparse_core::{Csr, Error};
use sparse_distrib::{
    DistributedBackend, DistributedBiCgStab, DistributedCg, DistributedMatrix, DistributedVector, Local,
};
use sparse_solvers::{Identity, Jacobi, Options, Solution, inverse_diagonal};
use std::ops::ControlFlow;

type Rank = DistributedBackend<Local, Reference>;

const TOLERANCE: f64 = 1e-10;

#[derive(Clone, Copy)]
enum Method {
    Cg,
    JacobiCg,
    BiCgStab,
}

/// The solution of A·x = b on ranks whose rows have entries in proportion to `weights`.
fn solve(method: Method, a: &Csr<f64>, b: &[f64], weights: &[f64]) -> (Solution, Vec<f64>) {
    let results = Local::run(weights.len(), |rank| {
        let rank = DistributedBackend::new(rank, Reference);
        solve_on(&rank, method, a, b, weights).unwrap()
    });
    let (solution, _) = results[0];
    assert!(results.iter().all(|(other, _)| *other == solution), "ranks differ");
    (solution, results.into_iter().find_map(|(_, x)| x).unwrap())
}

fn solve_on(
    rank: &Rank,
    method: Method,
    a: &Csr<f64>,
    b: &[f64],
    weights: &[f64],
) -> Result<(Solution, Option<Vec<f64>>), Error> {
    let input = (rank.rank() == 0).then_some(a);
    let a = DistributedMatrix::from_root(rank, 0, input, Some(weights))?;
    let b = DistributedVector::scatter(rank, 0, a.row_ownership(), Some(b))?;
    let mut x = DistributedVector::zeros(rank, a.col_ownership())?;
    let options = Options { tolerance: TOLERANCE, ..Options::default() };
    let go_on = |_| ControlFlow::Continue(());
    let solution = match method {
        Method::Cg => DistributedCg::new(rank, &a, Identity, &options)?.solve(&a, &b, &mut x, go_on)?,
        Method::JacobiCg => {
            let jacobi = Jacobi::new(rank, inverse_diagonal(a.diagonal_block())?)?;
            DistributedCg::new(rank, &a, jacobi, &options)?.solve(&a, &b, &mut x, go_on)?
        }
        Method::BiCgStab => {
            DistributedBiCgStab::new(rank, &a, Identity, &options)?.solve(&a, &b, &mut x, go_on)?
        }
    };
    Ok((solution, x.gather(rank, 0)?))
}

/// ‖b − A·x‖ / ‖b‖ on one rank.
fn residual(a: &Csr<f64>, b: &[f64], x: &[f64]) -> f64 {
    let mut r = b.to_vec();
    Reference.spmv(sparse_core::op::Op::None, -1.0, a, x, 1.0, &mut r).unwrap();
    let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    norm(&r) / norm(b)
}

/// One rank and four take about as many iterations to the same x; a second run has the same bits.
fn check(method: Method, a: &Csr<f64>) {
    let b = Draws::new(3).values::<f64>(a.nrows());
    let (alone, x) = solve(method, a, &b, &[1.0]);
    assert!(alone.converged() && residual(a, &b, &x) <= 1.001 * TOLERANCE, "{alone}");
    for weights in [&[1.0; 4][..], &[3.0, 0.0, 1.0, 2.0]] {
        let (together, y) = solve(method, a, &b, weights);
        assert!(together.converged() && residual(a, &b, &y) <= 1.001 * TOLERANCE, "{together}");
        assert!(together.iterations.abs_diff(alone.iterations) <= 2, "{alone}, {together}");
        let largest = x.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
        assert!(x.iter().zip(&y).all(|(x, y)| (x - y).abs() <= 1e-7 * largest));
        assert_eq!(solve(method, a, &b, weights), (together, y));
    }
}

#[test]
fn cg_takes_as_many_iterations_on_four_ranks_as_on_one() {
    let a = sparse_generate::stencil_5::<f64>(20, 20).unwrap();
    check(Method::Cg, &a);
    check(Method::JacobiCg, &a);
}

#[test]
fn bicgstab_takes_as_many_iterations_on_four_ranks_as_on_one() {
    let a = sparse_generate::stencil_5::<f64>(12, 12).unwrap();
    let skewed = Csr::from_triplets(
        a.nrows(),
        a.ncols(),
        a.triplets().map(|(i, j, v)| (i, j, if j > i { 0.5 * v } else { v })),
    );
    check(Method::BiCgStab, &skewed.unwrap());
}

/// The ranks without rows take part in no exchange, but in all reductions.
#[test]
fn cg_solves_a_full_matrix_with_more_ranks_than_rows() {
    let square = nearly_empty::<f64>(5, 5, 5, &mut Draws::new(9));
    let shifted = square
        .triplets()
        .flat_map(|(i, j, v)| [(i, j, v), (j, i, v)].into_iter().chain((i == j).then_some((i, i, 20.0))));
    let a = Csr::from_triplets(5, 5, shifted).unwrap();
    let b = [1.0, 2.0, 3.0, 4.0, 5.0];
    let (solution, x) = solve(Method::Cg, &a, &b, &[1.0; 8]);
    assert!(solution.converged() && residual(&a, &b, &x) <= 1.001 * TOLERANCE, "{solution}");
}

#[test]
fn a_matrix_that_is_not_square_is_refused() {
    let wide = nearly_empty::<f64>(4, 6, 2, &mut Draws::new(1));
    let told = Local::run(2, |rank| {
        let rank = DistributedBackend::new(rank, Reference);
        let a = DistributedMatrix::from_root(&rank, 0, Some(&wide), None).unwrap();
        DistributedCg::new(&rank, &a, Identity, &Options::default()).unwrap_err().to_string()
    });
    assert!(told.iter().all(|told| told == "cg: a square matrix is needed, this one is 4 x 6"), "{told:?}");
}
