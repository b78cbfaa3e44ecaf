//! Poisson's equation −Δu = 1 on the unit square, with u = 0 at its border, by conjugate gradients on the best device.
//!
//! `cargo run --release -p nnz --example poisson`
#![allow(clippy::print_stdout, reason = "an example prints")]

use nnz::prelude::*;
use nnz::solvers::Solution;
use nnz::{Method, SolveOptions, generate};

/// u in the middle of `n × n` inner points of a regular grid, and how the solver ended.
pub(crate) fn solve(device: &Device, n: usize) -> Result<(f64, Solution)> {
    // The 5-point stencil is h²·(−Δ), so that the right-hand side is h²·1.
    let h = 1.0 / (n + 1) as f64;
    let a = Matrix::from_typed(device, generate::stencil_5::<f64>(n, n)?)?;
    let b = Vector::from_vec(device, vec![h * h; n * n])?;
    let (u, solution) = a.solve(&b, &SolveOptions::new(Method::Cg))?;
    Ok((u.to_vec::<f64>()?[n / 2 * n + n / 2], solution))
}

fn main() -> Result<()> {
    let device = Device::best()?;
    let (middle, solution) = solve(&device, 255)?;
    println!("{}: {solution}", device.caps().device);
    println!("u(1/2, 1/2) = {middle:.5}, by the series 0.07367");
    Ok(())
}
