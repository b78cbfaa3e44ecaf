//! Microseconds of a launch: SpMV with a small stencil, and iterations of conjugate gradients by the 5-point Laplacian.
//!
//! Both are enqueued one by one on the preferred device; the least of several rounds counts. Iterations are also
//! measured with the solver's stopping test and with preconditioners, beside those of the solver that waits for each.

#![allow(clippy::print_stdout, reason = "an example prints")]

use backend_cuda::{CUDA, Device, Graph};
use sparse_core::op::{Op, SpmvPlan};
use sparse_core::{Backend, Csr, PlanOptions, Result, Space, SparseFormat};
use sparse_solvers::{Cg, EnqueuedCg, Ic0, Identity, Jacobi, Krylov, Recurrence, SolverOptions};
use std::ops::ControlFlow;
use std::time::Instant;

/// Calls of a round, and rounds.
const CALLS: usize = 2000;
const ROUNDS: usize = 10;
/// Iterations from x = 0, too few to converge.
const ITERATIONS: usize = 100;
/// Sides of the grids.
const SIDES: [usize; 4] = [100, 300, 1000, 3000];

fn main() -> Result<()> {
    let device = CUDA.open_preferred()?;
    println!("{}", device.caps().device);
    let a = sparse_generate::stencil_5::<f32>(100, 100)?.to_device(&device)?;
    let ones = device.upload(&vec![1.0_f32; a.ncols()])?;
    let mut y = device.zeros::<f32>(a.nrows())?;
    let mut plan = SpmvPlan::new(&device, &a, Op::None, &PlanOptions::default())?;
    let spmv = least_microseconds(&device, CALLS, || {
        (0..CALLS).try_for_each(|_| plan.run(1.0, &a, Device::view(&ones), 0.0, Device::view_mut(&mut y)))
    })?;
    println!("SpMV of {} rows: {spmv:.3} us a call", a.nrows());
    SIDES.into_iter().try_for_each(|side| iterations(&device, side))
}

/// Prints the microseconds of an iteration by each solver.
fn iterations(device: &Device, side: usize) -> Result<()> {
    let host: Csr<f32> = sparse_generate::stencil_5(side, side)?;
    let a = host.to_device(device)?;
    let options =
        SolverOptions { tolerance: 0.0, max_iterations: Some(ITERATIONS), ..SolverOptions::default() };
    println!("{} unknowns, us an iteration:", a.nrows());
    let (b, zero) = (device.upload(&vec![1.0_f32; a.nrows()])?, device.zeros::<f32>(a.nrows())?);
    let mut x = device.zeros::<f32>(a.nrows())?;
    let mut solver = EnqueuedCg::new(device, &a, Identity, &options)?;
    let mut fixed = || {
        device.copy(Device::view(&zero), Device::view_mut(&mut x))?;
        solver.start(&a, Device::view(&b), Device::view(&x))?;
        solver.run(&a, ITERATIONS, Device::view_mut(&mut x))
    };
    println!("  a fixed number: {:.3}", least_microseconds(device, ITERATIONS, &mut fixed)?);
    let mut graph = Graph::record(device, fixed)?;
    println!("  the same as a graph: {:.3}", least_microseconds(device, ITERATIONS, || graph.launch())?);
    tested(device, &a, "EnqueuedCg", EnqueuedCg::new(device, &a, Identity, &options)?)?;
    let jacobi = || Jacobi::new(device, &host);
    tested(device, &a, "EnqueuedCg, Jacobi", EnqueuedCg::new(device, &a, jacobi()?, &options)?)?;
    tested(device, &a, "Cg", Cg::new(device, &a, Identity, &options)?)?;
    tested(device, &a, "Cg, Jacobi", Cg::new(device, &a, jacobi()?, &options)?)?;
    if side <= 1000 {
        let ic0 = || Ic0::new(device, &host);
        tested(device, &a, "EnqueuedCg, IC(0)", EnqueuedCg::new(device, &a, ic0()?, &options)?)?;
        tested(device, &a, "Cg, IC(0)", Cg::new(device, &a, ic0()?, &options)?)?;
    }
    Ok(())
}

/// Prints the microseconds of an iteration of a solver with its stopping test.
fn tested<R>(
    device: &Device,
    a: &Csr<f32, Device>,
    name: &str,
    mut solver: Krylov<Device, Csr<f32, Device>, R>,
) -> Result<()>
where
    R: Recurrence<Device, Csr<f32, Device>>,
{
    let (b, zero) = (device.upload(&vec![1.0_f32; a.nrows()])?, device.zeros::<f32>(a.nrows())?);
    let mut x = device.zeros::<f32>(a.nrows())?;
    let (mut taken, mut residual) = (0, 0.0);
    let microseconds = least_microseconds(device, 1, || {
        device.copy(Device::view(&zero), Device::view_mut(&mut x))?;
        let x = Device::view_mut(&mut x);
        let solution = solver.solve(a, Device::view(&b), x, |_| ControlFlow::Continue(()))?;
        (taken, residual) = (solution.iterations, solution.relative_residual);
        Ok(())
    })?;
    let each = microseconds / taken as f64;
    println!("  {name}: {each:.3}, {taken} iterations to {residual:.2e}");
    Ok(())
}

/// Microseconds per call that `work` enqueues, from the first to the end of the last.
fn least_microseconds(device: &Device, calls: usize, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..ROUNDS {
        device.synchronize()?;
        let start = Instant::now();
        work()?;
        device.synchronize()?;
        least = least.min(start.elapsed().as_secs_f64() * 1e6 / calls as f64);
    }
    Ok(least)
}
