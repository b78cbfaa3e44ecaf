//! CG for the Laplacian of a grid on all ranks of an MPI job, and then on one: the iterations of both, and the largest
//! difference of the solutions relative to the largest element.
//!
//! ```sh
//! cargo build --release -p sparse-distrib --features mpi --example mpi_cg
//! mpirun -n 4 target/release/examples/mpi_cg 2000 1e-6
//! ```

#![allow(clippy::print_stdout, reason = "an example prints")]

use backend_cpu::{Cpu, Simd};
use sparse_core::{Csr, Result};
use sparse_distrib::{DistributedBackend, DistributedCg, DistributedMatrix, DistributedVector, Mpi};
use sparse_solvers::{Cg, Identity, SolverOptions};
use std::ops::ControlFlow;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let side = arguments.next().and_then(|side| side.parse().ok()).unwrap_or(200);
    let tolerance = arguments.next().and_then(|tolerance| tolerance.parse().ok()).unwrap_or(1e-9);
    let options = SolverOptions { tolerance, ..SolverOptions::default() };

    let rank = DistributedBackend::new(Mpi::initialize()?, Cpu::with(1, Simd::detect())?);
    let whole = (rank.rank() == 0).then(|| sparse_generate::stencil_5::<f64>(side, side));
    let whole = rank.agree("stencil", whole.transpose())?;
    let a = DistributedMatrix::from_root(&rank, 0, whole.as_ref(), None)?;
    let b: Vec<_> = a.row_ownership().range(rank.rank()).map(element).collect();
    let b = DistributedVector::from_local(&rank, a.row_ownership(), &b)?;
    let mut x = DistributedVector::zeros(&rank, a.col_ownership())?;
    let mut cg = DistributedCg::new(&rank, &a, Identity, &options)?;
    let solution = cg.solve(&a, &b, &mut x, |_| ControlFlow::Continue(()))?;

    if let (Some(x), Some(whole)) = (x.gather(&rank, 0)?, whole) {
        let (iterations, alone) = solve_alone(rank.local(), &whole, &options)?;
        let largest = |numbers: &mut dyn Iterator<Item = f64>| numbers.fold(0.0, |a: f64, b| a.max(b.abs()));
        let difference = largest(&mut x.iter().zip(&alone).map(|(x, y)| x - y));
        println!("iterations of {} ranks: {}", rank.ranks(), solution.iterations);
        println!("iterations of one: {iterations}");
        println!("largest difference: {:.1e}", difference / largest(&mut alone.iter().copied()));
    }
    Ok(())
}

/// An element of b: small numbers without a pattern.
fn element(row: usize) -> f64 {
    (row * 7919 % 1009) as f64 - 504.0
}

fn solve_alone(cpu: &Cpu, a: &Csr<f64>, options: &SolverOptions) -> Result<(usize, Vec<f64>)> {
    let (b, mut x) = ((0..a.nrows()).map(element).collect::<Vec<_>>(), vec![0.0; a.nrows()]);
    let solution = Cg::new(cpu, a, Identity, options)?.solve(a, &b, &mut x, |_| ControlFlow::Continue(()))?;
    Ok((solution.iterations, x))
}
