//! Compares formats on a matrix: bytes, and the time of a product, for each. `nnz advise FILE` says why, too.
//!
//! `cargo run --release -p nnz --example which_format -- matrix.mtx`
#![allow(clippy::print_stdout, reason = "an example prints")]

use nnz::format::estimate::{self, Sizes};
use nnz::op::{SpmvKernel, VectorKernel};
use nnz::prelude::*;
use nnz::{EllLayout, SellLayout};
use std::time::{Duration, Instant};

/// The fastest of 20 products.
fn time<B, M>(backend: &B, a: &M) -> Result<Duration>
where
    B: Backend<Space = nnz::Host> + SpmvKernel<M> + VectorKernel<f64>,
    M: SparseFormat<Scalar = f64, Space = nnz::Host>,
{
    let (x, mut y) = (vec![1.0; a.cols()], vec![0.0; a.rows()]);
    let mut plan = SpmvPlan::new(backend, a, Op::None, &PlanOptions::default())?;
    let mut best = Duration::MAX;
    for _ in 0..20 {
        let start = Instant::now();
        plan.run(1.0, a, &x, 0.0, &mut y)?;
        best = best.min(start.elapsed());
    }
    Ok(best)
}

/// The name of each format, the bytes that it takes, and the time of a product, or why it cannot be had.
pub(crate) fn compare(cpu: &Cpu, a: &Csr<f64>) -> Result<Vec<(&'static str, u64, Result<Duration>)>> {
    let sizes = Sizes::of::<f64, i32, i32>();
    let lengths = a.row_lengths();
    let longest = lengths.iter().copied().max().unwrap_or(0);
    let csr = estimate::csr(a.rows(), a.nnz(), sizes)?;
    let ell = estimate::ell(a.rows(), longest, sizes)?;
    let sell = estimate::sell(&lengths, SellLayout::default(), sizes)?;

    // A format that would be mostly padding is refused, before memory is asked for.
    let as_ell = cpu.convert(a, &EllLayout::default()).and_then(|a: Ell<f64>| time(cpu, &a));
    let as_sell = cpu.convert(a, &SellLayout::default()).and_then(|a: Sell<f64>| time(cpu, &a));
    Ok(vec![(csr.format, csr.bytes, time(cpu, a)), ("ell", ell.bytes, as_ell), ("sell", sell.bytes, as_sell)])
}

fn main() -> Result<()> {
    let a = match std::env::args().nth(1) {
        Some(path) => nnz::io::read_csr(path)?,
        None => nnz::generate::stencil_27(40, 40, 40)?,
    };
    for (format, bytes, time) in compare(&Cpu::new()?, &a)? {
        let time = time.map_or_else(|error| error.to_string(), |time| format!("{time:.1?}"));
        println!("{format:<5} {:>9.1} MB  {time}", bytes as f64 / 1e6);
    }
    Ok(())
}
