//! Microseconds of a launch: SpMV with a small stencil and iterations of conjugate gradients.
//!
//! Both are enqueued one by one on the preferred device; the least of several rounds counts. Iterations are also
//! measured with the solver's stopping test.

#![allow(clippy::print_stdout, reason = "an example prints")]

use backend_cuda::{CUDA, Device};
use sparse_core::op::{Op, SpmvPlan};
use sparse_core::{Backend, Csr, PlanOptions, Result, Space, SparseFormat};
use sparse_solvers::{EnqueuedCg, Identity, SolverOptions};
use std::ops::ControlFlow;
use std::time::Instant;

/// Calls of a round, and rounds.
const CALLS: usize = 2000;
/// Iterations from x = 0, too few to converge.
const ITERATIONS: usize = 200;
const ROUNDS: usize = 20;

fn main() -> Result<()> {
    let device = CUDA.open_preferred()?;
    let host: Csr<f32> = sparse_generate::stencil_5(100, 100)?;
    let a = host.to_device(&device)?;
    let ones = device.upload(&vec![1.0_f32; a.ncols()])?;
    let mut y = device.zeros::<f32>(a.nrows())?;
    let mut plan = SpmvPlan::new(&device, &a, Op::None, &PlanOptions::default())?;
    let spmv = least_microseconds(&device, || {
        (0..CALLS).try_for_each(|_| plan.run(1.0, &a, Device::view(&ones), 0.0, Device::view_mut(&mut y)))
    })?;
    println!("{}: SpMV of {} rows: {spmv:.3} us a call", device.caps().device, a.nrows());
    let zero = device.zeros::<f32>(a.nrows())?;
    let options =
        SolverOptions { tolerance: 0.0, max_iterations: Some(ITERATIONS), ..SolverOptions::default() };
    let mut solver = EnqueuedCg::new(&device, &a, Identity, &options)?;
    let fixed = least_microseconds(&device, || {
        (0..CALLS / ITERATIONS).try_for_each(|_| {
            device.copy(Device::view(&zero), Device::view_mut(&mut y))?;
            solver.start(&a, Device::view(&ones), Device::view(&y))?;
            solver.run(&a, ITERATIONS, Device::view_mut(&mut y))
        })
    })?;
    println!("{}: EnqueuedCg, a fixed number: {fixed:.3} us an iteration", device.caps().device);
    let tested = least_microseconds(&device, || {
        (0..CALLS / ITERATIONS).try_for_each(|_| {
            device.copy(Device::view(&zero), Device::view_mut(&mut y))?;
            let (b, x) = (Device::view(&ones), Device::view_mut(&mut y));
            solver.solve(&a, b, x, |_| ControlFlow::Continue(())).map(drop)
        })
    })?;
    println!("{}: EnqueuedCg with its test: {tested:.3} us an iteration", device.caps().device);
    Ok(())
}

/// Microseconds per call that `work` enqueues, from the first to the end of the last.
fn least_microseconds(device: &Device, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..ROUNDS {
        device.synchronize()?;
        let start = Instant::now();
        work()?;
        device.synchronize()?;
        least = least.min(start.elapsed().as_secs_f64() * 1e6 / CALLS as f64);
    }
    Ok(least)
}
