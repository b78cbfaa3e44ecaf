//! One matrix on several devices: its rows are divided so that each device has about the same number of entries.
//!
//! `cargo run --release -p nnz --example several_devices -- cuda:0 cuda:1`
#![allow(clippy::print_stdout, reason = "an example prints")]

use nnz::prelude::*;
use nnz::solvers::Solution;
use nnz::{Method, PreconditionerKind, SolveOptions, generate};

/// Solves A·x = A·1 for the 5-point stencil on `n x n` points: returns how the solver ended, and the largest difference
/// of the solution from 1.
pub(crate) fn solve(devices: &[Device], n: usize) -> Result<(Solution, f64)> {
    let host = Device::host()?; // where vectors are
    let a = Matrix::from_typed(&host, generate::stencil_5::<f64>(n, n)?)?;
    let mut a = a.distribute(devices)?;
    for (device, rows) in a.devices().iter().zip(a.rows()) {
        println!("{device} has the rows {rows:?}");
    }
    println!("elements travel by {}", a.exchange());
    let b = a.matvec(&Vector::from_vec(&host, vec![1.0; n * n])?)?;
    let options =
        SolveOptions { preconditioner: PreconditionerKind::Jacobi, ..SolveOptions::new(Method::Cg) };
    let (x, solution) = a.solve(&b, &options)?;
    let errors = x.to_vec::<f64>()?.into_iter().map(|x| (x - 1.0).abs());
    Ok((solution, errors.fold(0.0, f64::max)))
}

fn main() -> Result<()> {
    let named: Vec<_> = std::env::args().skip(1).map(|name| name.parse()).collect::<Result<_>>()?;
    let devices = if named.is_empty() { vec![Device::host()?, Device::best()?] } else { named };
    let (solution, error) = solve(&devices, 255)?;
    println!("{solution}; the largest error is {error:.1e}");
    Ok(())
}
