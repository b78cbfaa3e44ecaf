//! A GPU where there is one, the processor otherwise: the matrix is moved once, and many products run where it lies.
//!
//! `cargo run --release -p nnz --features cuda,opencl --example gpu [-- cuda:0]`
#![allow(clippy::print_stdout, reason = "an example prints")]

use nnz::prelude::*;
use std::time::{Duration, Instant};

/// `count` products y = A·x, for which the device is waited for once.
pub(crate) struct Products {
    pub(crate) a: Csr<f32>,
    pub(crate) count: u32,
}

impl WithBackend for Products {
    type Out = Result<(Vec<f32>, Duration)>;

    fn call<B: AllTypes>(self, backend: &B) -> Self::Out {
        let a = self.a.to_device(backend)?;
        let x = backend.upload(&vec![1.0; a.cols()])?;
        let mut y = backend.zeros(a.rows())?;
        let mut plan = SpmvPlan::new(backend, &a, Op::None, &PlanOptions::default())?;

        // The first run may load the kernel.
        plan.run(1.0, &a, B::Space::view(&x), 0.0, B::Space::view_mut(&mut y))?;
        backend.synchronize()?;

        let start = Instant::now();
        for _ in 0..self.count {
            plan.run(1.0, &a, B::Space::view(&x), 0.0, B::Space::view_mut(&mut y))?;
        }
        backend.synchronize()?;
        Ok((backend.download(&y)?, start.elapsed() / self.count))
    }
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
    let gflop = 2e-9 * a.nnz() as f64;
    let (_, time) = device.with(Products { a, count: 100 })?;
    println!("{}: {time:.1?} a product, {:.1} GFLOP/s", device.caps().device, gflop / time.as_secs_f64());
    Ok(())
}
