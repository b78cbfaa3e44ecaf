//! Uses a GPU if there is one, else the CPU: the matrix is copied to the device once, and many products run there.
//!
//! `cargo run --release -p nnz --features cuda,opencl --example gpu [-- cuda:0]`
#![allow(clippy::print_stdout, reason = "an example prints")]

use nnz::prelude::*;
use std::time::{Duration, Instant};

/// `A·1`, and the average time of `count` such products, with one wait for the device at the end.
pub(crate) fn row_sums(a: &Matrix, count: u32) -> Result<(Vec<f32>, Duration)> {
    let device = a.device();
    let x = Vector::from_vec(device, vec![1.0_f32; a.ncols()])?;
    let mut y = Vector::zeros(device, DType::F32, a.nrows())?;

    // The first run may load the kernel.
    a.spmv(Op::None, 1.0, &x, 0.0, &mut y)?;
    device.synchronize()?;

    let start = Instant::now();
    for _ in 0..count {
        a.spmv(Op::None, 1.0, &x, 0.0, &mut y)?;
    }
    device.synchronize()?;
    Ok((y.to_vec()?, start.elapsed() / count))
}

fn main() -> Result<()> {
    for (backend, probe) in Device::probe() {
        for (index, caps) in probe.devices.iter().enumerate() {
            println!("{backend}:{index} is {}", caps.device);
        }
    }
    let device: Device = match std::env::args().nth(1) {
        Some(name) => name.parse()?,
        None => Device::best()?,
    };
    let a = nnz::generate::uniform::<f32>(1 << 20, 1 << 20, 8, 42)?;
    let a = Matrix::from_typed(&device, a)?; // copied to the device
    let (_, time) = row_sums(&a, 100)?;
    let rate = 2e-9 * a.nnz() as f64 / time.as_secs_f64();
    println!("{}: {time:.1?} a product, {rate:.1} GFLOP/s", device.caps().device);
    Ok(())
}
