//! Measures a call through [`nnz::Matrix`] beside the typed call: `cargo run --release -p nnz --example call_overhead`.
//!
//! Products of a 16 x 16 matrix take so little time themselves that the difference is the call.
#![allow(clippy::print_stdout, reason = "an example")]

use nnz::prelude::*;
use std::hint::black_box;
use std::time::Instant;

const CALLS: u32 = 100_000;
const ROUNDS: usize = 15;

/// Nanoseconds of a call, the least of several rounds.
fn nanoseconds(mut call: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..ROUNDS {
        let started = Instant::now();
        for _ in 0..CALLS {
            call()?;
        }
        least = least.min(started.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS));
    }
    Ok(least)
}

fn main() -> Result<()> {
    let cpu = Cpu::with(1, nnz::Simd::detect())?;
    let device = Device::Cpu(cpu.clone());
    let typed = Csr::<f64>::identity(16)?;
    let a = Matrix::from_typed(&device, typed.clone())?;
    let (x, mut y) = (vec![1.0; 16], vec![0.0; 16]);
    let (run_time_x, mut run_time_y) =
        (Vector::from_slice(&device, &x)?, Vector::zeros(&device, DType::F64, 16)?);

    let mut plan = SpmvPlan::new(&cpu, &typed, Op::None, &PlanOptions::default())?;
    let typed_call = nanoseconds(|| plan.run(1.0, black_box(&typed), &x, 0.0, &mut y))?;
    let mut plan = a.plan_spmv(Op::None, &PlanOptions::default())?;
    let planned = nanoseconds(|| plan.run(1.0, black_box(&a), &run_time_x, 0.0, &mut run_time_y))?;
    let cached = nanoseconds(|| black_box(&a).spmv(Op::None, 1.0, &run_time_x, 0.0, &mut run_time_y))?;
    let allocating = nanoseconds(|| black_box(&a).matvec(&run_time_x).map(drop))?;
    println!("typed SpmvPlan::run  {typed_call:6.1} ns");
    println!("MatrixSpmvPlan::run      {planned:6.1} ns, {:+.1} ns", planned - typed_call);
    println!("Matrix::spmv         {cached:6.1} ns, {:+.1} ns", cached - typed_call);
    println!("Matrix::matvec       {allocating:6.1} ns, {:+.1} ns", allocating - typed_call);
    Ok(())
}
