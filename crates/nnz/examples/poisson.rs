//! Poisson's equation −Δu = 1 on the unit square, with u = 0 at its border, by conjugate gradients on the best device.
//!
//! `cargo run --release -p nnz --example poisson`
#![allow(clippy::print_stdout, reason = "an example prints")]

use nnz::generate::stencil_5;
use nnz::prelude::*;
use nnz::solvers::{Cg, Identity, Options, Solution};
use std::ops::ControlFlow;

/// The equation on `n × n` inner points of a regular grid.
struct Poisson {
    n: usize,
}

/// Work for a device that is known only at run time is a visitor, generic in the backend.
impl WithBackend for Poisson {
    type Out = Result<(Vec<f64>, Solution)>;

    fn call<B: AllTypes>(self, backend: &B) -> Self::Out {
        let points = self.n * self.n;
        let h = 1.0 / (self.n + 1) as f64;

        // The 5-point stencil is h²·(−Δ), so that the right-hand side is h²·1.
        let a = stencil_5::<f64>(self.n, self.n)?.to_device(backend)?;
        let b = backend.upload(&vec![h * h; points])?;
        let mut u = backend.zeros(points)?;

        let mut solver = Cg::new(backend, &a, Identity, &Options::default())?;
        let (b, x) = (B::Space::view(&b), B::Space::view_mut(&mut u));
        let solution = solver.solve(&a, b, x, |_| ControlFlow::Continue(()))?;
        Ok((backend.download(&u)?, solution))
    }
}

/// u in the middle of the square, and how the solver ended.
pub(crate) fn solve(device: &Device, n: usize) -> Result<(f64, Solution)> {
    let (u, solution) = device.with(Poisson { n })?;
    Ok((u[n / 2 * n + n / 2], solution))
}

fn main() -> Result<()> {
    let device = Device::best()?;
    let (middle, solution) = solve(&device, 255)?;
    println!("{}: {solution}", device.caps().device);
    println!("u(1/2, 1/2) = {middle:.5}, by the series 0.07367");
    Ok(())
}
