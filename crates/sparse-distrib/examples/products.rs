//! Times `y = A·x` for the Laplacian of a grid on 1, 2 and 4 ranks, each a thread with one thread of the CPU backend,
//! and counts the bytes that ranks exchange for a product.
//!
//! ```sh
//! cargo run --release -p sparse-distrib --example products -- 2000
//! ```

#![allow(clippy::print_stdout, reason = "an example prints")]

use backend_cpu::{Cpu, Simd};
use sparse_core::op::{Op, SpmvPlan};
use sparse_core::{Csr, PlanOptions, Result};
use sparse_distrib::{DistributedBackend, DistributedMatrix, DistributedSpmvPlan, DistributedVector, Local};
use std::time::Instant;

const PRODUCTS: usize = 50;

fn main() -> Result<()> {
    let side = std::env::args().nth(1).and_then(|side| side.parse().ok()).unwrap_or(200);
    let a = sparse_generate::stencil_5::<f64>(side, side)?;
    let alone = alone(&a)?;
    println!("{side} x {side} grid, f64; the fastest of {PRODUCTS} products");
    println!("ranks  bytes exchanged  ms per product  relative to SpmvPlan");
    println!("    -                -  {:14.3}  {:20.2}", 1e3 * alone, 1.0);
    for ranks in [1, 2, 4] {
        let (bytes, seconds) = distributed(&a, ranks)?;
        println!("{ranks:5}  {bytes:15}  {:14.3}  {:20.2}", 1e3 * seconds, seconds / alone);
    }
    Ok(())
}

fn backend() -> Result<Cpu> {
    Cpu::with(1, Simd::detect())
}

/// The seconds of the fastest product.
fn fastest(mut product: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut fastest = f64::INFINITY;
    for _ in 0..PRODUCTS {
        let start = Instant::now();
        product()?;
        fastest = fastest.min(start.elapsed().as_secs_f64());
    }
    Ok(fastest)
}

/// The seconds of a product on one backend, without ranks.
fn alone(a: &Csr<f64>) -> Result<f64> {
    let backend = backend()?;
    let (x, mut y) = (vec![1.0; a.ncols()], vec![0.0; a.nrows()]);
    let mut plan = SpmvPlan::new(&backend, a, Op::None, &PlanOptions::default())?;
    fastest(|| plan.run(1.0, a, &x, 0.0, &mut y))
}

/// The bytes that all ranks send for a product, and the seconds that it takes.
fn distributed(a: &Csr<f64>, ranks: usize) -> Result<(usize, f64)> {
    let results = Local::run(ranks, |rank| {
        let backend = DistributedBackend::new(rank, backend()?);
        let input = (backend.rank() == 0).then_some(a);
        let a = DistributedMatrix::from_root(&backend, 0, input, None)?;
        let len = a.col_ownership().range(backend.rank()).len();
        let x = DistributedVector::from_local(&backend, a.col_ownership(), &vec![1.0; len])?;
        let mut y = DistributedVector::zeros(&backend, a.row_ownership())?;
        let mut plan = DistributedSpmvPlan::new(&backend, &a, Op::None, &PlanOptions::default())?;
        let seconds = fastest(|| plan.run(1.0, &a, &x, 0.0, &mut y))?;
        let sent: usize = a.exchange_plan().sends().map(|(_, count)| count).sum();
        Ok((sent * size_of::<f64>(), seconds))
    });
    results.into_iter().try_fold((0, 0.0), |(bytes, slowest), result: Result<(usize, f64)>| {
        let (sent, seconds) = result?;
        Ok((bytes + sent, f64::max(slowest, seconds)))
    })
}
