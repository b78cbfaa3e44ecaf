//! The same operations by both drivers on the same device: their median times and ratio.
#![allow(clippy::print_stdout, reason = "a command prints")]

use backend_opencl::OPENCL;
use backend_opencl::sycl::SYCL;
use sparse_core::op::{DenseToCompressedPlan, Keep, Op, SpmmPlan, SpmvPlan};
use sparse_core::{
    Backend, Csr, Dense, DenseView, DenseViewMut, Host, Order, PlanOptions, Result, Row, Space, SparseFormat,
};
use sparse_device::Device;
use std::time::Instant;

/// Rounds, each of which measures both drivers.
const ROUNDS: usize = 21;

/// Runs that a measurement enqueues before it waits.
const RUNS: usize = 10;

/// Columns of the dense factor.
const COLUMNS: usize = 32;

/// Work that is enqueued again and again.
type Work<'a> = Box<dyn FnMut() -> Result<()> + 'a>;

/// The seconds of a run: enqueues [`RUNS`], then waits for the device.
fn seconds(device: &Device, work: &mut Work<'_>) -> Result<f64> {
    let start = Instant::now();
    (0..RUNS).try_for_each(|_| work())?;
    device.synchronize()?;
    Ok(start.elapsed().as_secs_f64() / RUNS as f64)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn spmv<'a>(device: &'a Device, host: &Csr<f32>) -> Result<Work<'a>> {
    let a = host.to_device(device)?;
    let x = device.upload(&vec![1.0_f32; host.ncols()])?;
    let mut y = device.zeros::<f32>(host.nrows())?;
    let mut plan = SpmvPlan::new(device, &a, Op::None, &PlanOptions::default())?;
    Ok(Box::new(move || plan.run(1.0, &a, Device::view(&x), 0.0, Device::view_mut(&mut y))))
}

fn spmm<'a>(device: &'a Device, host: &Csr<f32>) -> Result<Work<'a>> {
    let a = host.to_device(device)?;
    let b = device.upload(&vec![1.0_f32; host.ncols() * COLUMNS])?;
    let mut c = device.zeros::<f32>(host.nrows() * COLUMNS)?;
    let mut plan = SpmmPlan::new(device, &a, Op::None, COLUMNS, &PlanOptions::default())?;
    Ok(Box::new(move || {
        let (b, c) = (Device::view(&b), Device::view_mut(&mut c));
        let b = DenseView::new(b, a.ncols(), COLUMNS, COLUMNS, Order::RowMajor)?;
        let c = DenseViewMut::new(c, a.nrows(), COLUMNS, COLUMNS, Order::RowMajor)?;
        plan.run(1.0, &a, b, 0.0, c)
    }))
}

fn dense_to_csr<'a>(device: &'a Device, host: &Dense<f32, Host>) -> Result<Work<'a>> {
    let a = device.upload(host.data())?;
    let (rows, cols) = (host.nrows(), host.ncols());
    let view = DenseView::new(Device::view(&a), rows, cols, cols, Order::RowMajor)?;
    let mut plan = DenseToCompressedPlan::<_, Row, f32, i32, i32>::new(
        device,
        view,
        Keep::NonZero,
        &PlanOptions::default(),
    )?;
    Ok(Box::new(move || {
        let view = DenseView::new(Device::view(&a), rows, cols, cols, Order::RowMajor)?;
        plan.run(view).map(drop)
    }))
}

fn main() -> Result<()> {
    let (opencl, sycl) = (OPENCL.open_preferred()?, SYCL.open_preferred()?);
    println!("OpenCL: {}\nSYCL:   {}", opencl.caps().device, sycl.caps().device);
    let matrix = sparse_generate::stencil_5::<f32>(300, 300)?;
    let mut dense = Dense::<f32, Host>::zeros(2048, 2048, Order::RowMajor)?;
    for k in 0..2048 {
        *dense.as_view_mut().at_mut(k, (k * 37) % 2048) = 1.0;
    }
    let contenders = [
        ("spmv", spmv(&opencl, &matrix)?, spmv(&sycl, &matrix)?),
        ("spmm, 32 columns", spmm(&opencl, &matrix)?, spmm(&sycl, &matrix)?),
        ("dense_to_csr", dense_to_csr(&opencl, &dense)?, dense_to_csr(&sycl, &dense)?),
    ];
    for (name, mut by_opencl, mut by_sycl) in contenders {
        let (mut first, mut second) = (vec![], vec![]);
        for _ in 0..ROUNDS {
            first.push(seconds(&opencl, &mut by_opencl)?);
            second.push(seconds(&sycl, &mut by_sycl)?);
        }
        let (first, second) = (median(first), median(second));
        let ratio = second / first;
        println!("{name:<18} OpenCL {:8.3} ms, SYCL {:8.3} ms: {ratio:.2}", first * 1e3, second * 1e3);
    }
    Ok(())
}
