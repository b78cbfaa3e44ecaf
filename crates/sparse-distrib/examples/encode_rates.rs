//! The rate at which the host encodes a dense matrix in each wire format, in GB/s of dense input.
//!
//! `cargo run --release -p sparse-distrib --example encode_rates`

#![allow(clippy::print_stdout, reason = "an example prints")]

use backend_cpu::{Cpu, Simd};
use sparse_core::op::{DenseToCompressedPlan, DenseToCsrKernel, Keep};
use sparse_core::reference::Reference;
use sparse_core::{Csr, DenseView, Host, PlanOptions, Result, Row};
use sparse_distrib::{Density, Explanation, Part, Target, calibrate, wire};
use std::hint::black_box;
use std::time::Instant;

const ROWS: usize = 8192;
const COLS: usize = 1024;

fn main() -> Result<()> {
    println!("ratio  processor            compress    cfs     ed2  bitmap");
    for ratio in [0.01, 0.1, 0.5] {
        let elements = random(ratio);
        let dense = DenseView::row_major(&elements, ROWS, COLS)?;
        print_rates(ratio, "scalar reference", &Reference, dense)?;
        print_rates(ratio, "1 thread, portable", &Cpu::with(1, Simd::Portable)?, dense)?;
        let simd = Simd::detect();
        print_rates(ratio, &format!("1 thread, {}", simd.name()), &Cpu::with(1, simd)?, dense)?;
        let cpu = Cpu::new()?;
        print_rates(ratio, &format!("{} threads, {}", cpu.threads(), simd.name()), &cpu, dense)?;
    }
    let (cpu, started) = (Cpu::new()?, Instant::now());
    let rates = calibrate::measure(&cpu, &Target { backend: &cpu, devices: 1, driver: "" })?;
    println!("\ncalibrated in {:.0} ms", started.elapsed().as_secs_f64() * 1e3);
    let density = Density { nonzeros: 0.1, value_bytes: 4.0, index_bytes: 4.0 };
    println!("{}", Explanation::new(density, 1e9, &rates));
    Ok(())
}

/// Elements of which about `ratio` are not zero, at random places.
fn random(ratio: f64) -> Vec<f32> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as f64 / f64::from(1_u32 << 31)
    };
    (0..ROWS * COLS).map(|_| if next() < ratio { 1.5 } else { 0.0 }).collect()
}

fn print_rates<B: DenseToCsrKernel<f32, i32, i32, Space = Host>>(
    ratio: f64,
    name: &str,
    backend: &B,
    dense: DenseView<'_, f32>,
) -> Result<()> {
    let compress = || -> Result<Csr<f32>> {
        DenseToCompressedPlan::<_, Row, _, _, _>::new(backend, dense, Keep::NonZero, &PlanOptions::once())?
            .run(dense)
    };
    let (part, mut message) = (Part::whole(dense.shape()), vec![]);
    let rates = [
        rate(|| compress().map(drop))?,
        rate(|| wire::cfs::encode_into(&part, &compress()?, &mut message))?,
        rate(|| wire::ed2::encode_into(&part, &compress()?, &mut message))?,
        rate(|| wire::bitmap::encode_into(&part, &compress()?, &mut message))?,
    ];
    let [compress, cfs, ed2, bitmap] = rates;
    println!("{ratio:<5}  {name:<20} {compress:>8.2} {cfs:>6.2} {ed2:>7.2} {bitmap:>7.2}");
    Ok(())
}

/// GB/s of dense input, by the fastest of some passes.
fn rate(mut pass: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut shortest = f64::INFINITY;
    for _ in 0..15 {
        let started = Instant::now();
        black_box(pass()?);
        shortest = shortest.min(started.elapsed().as_secs_f64());
    }
    Ok((ROWS * COLS * size_of::<f32>()) as f64 / shortest / 1e9)
}
