//! `--suite choice`: the time of the algorithm that a plan chooses over that of the best one, on many matrices.
//!
//! The matrices are those of [`families`](sparse_generate::families) and, with `--corpus`, of files. An automatic
//! plan runs the same code as a plan with its algorithm forced, so that it has that plan's time. Results are not
//! checked here: the conformance table runs every algorithm.

mod products;
mod record;
mod sources;

use crate::arguments::Arguments;
use crate::workload::threads;
use anyhow::{Result, anyhow, ensure};
use products::Bench;
use record::Records;
use sources::{Source, sources};
use sparse_core::backend::SpaceOf;
use sparse_core::op::{SpmmKernel, SpmvKernel, VectorKernel};
use sparse_core::{Backend, Csr};
use std::thread;

/// Returns the seconds of a number of repetitions of the work.
pub(crate) type Clock<'a> =
    dyn Fn(usize, &mut dyn FnMut() -> sparse_core::Result<()>) -> sparse_core::Result<f64> + 'a;

/// The products that the suite times.
pub(crate) trait Multiplies:
    Backend
    + VectorKernel<f32>
    + VectorKernel<f64>
    + SpmvKernel<Csr<f32, SpaceOf<Self>>>
    + SpmvKernel<Csr<f64, SpaceOf<Self>>>
    + SpmmKernel<Csr<f32, SpaceOf<Self>>>
{
}

impl<B> Multiplies for B where
    B: Backend
        + VectorKernel<f32>
        + VectorKernel<f64>
        + SpmvKernel<Csr<f32, SpaceOf<B>>>
        + SpmvKernel<Csr<f64, SpaceOf<B>>>
        + SpmmKernel<Csr<f32, SpaceOf<B>>>
{
}

/// Times every product on every matrix; the next matrices are made meanwhile, one on each thread.
pub(crate) fn run<B: Multiplies>(backend: &B, clock: &Clock<'_>, arguments: &Arguments) -> Result<()> {
    let sources = sources(arguments)?;
    ensure!(!sources.is_empty(), "the suite has no matrix of the names that are asked for");
    let mut bench = Bench::new(backend, clock, arguments)?;
    let mut records = Records::new(arguments.json.as_deref())?;
    println!("{}: {} matrices", backend.caps().device, sources.len());
    let windows: Vec<&[Source]> = sources.chunks(threads()).collect();
    thread::scope(|scope| -> Result<()> {
        let mut next = windows.first().map(|window| scope.spawn(|| made(window)));
        for (position, window) in windows.iter().enumerate() {
            let matrices =
                next.take().map_or_else(|| made(window), |thread| thread.join().unwrap_or_default());
            next = windows.get(position + 1).map(|window| scope.spawn(|| made(window)));
            for (source, matrix) in window.iter().zip(matrices) {
                match matrix {
                    Ok(a) if a.nnz() > 0 => records.add(source, &a, backend, bench.products(&a)?)?,
                    Ok(_) => {}
                    Err(error) => eprintln!("left out: {}: {error:#}", source.name),
                }
            }
        }
        Ok(())
    })?;
    records.finish()
}

/// The matrices of a window, each made by a thread of its own.
fn made(window: &[Source]) -> Vec<Result<Csr<f32>>> {
    thread::scope(|scope| {
        let running: Vec<_> = window.iter().map(|source| scope.spawn(|| (source.make)())).collect();
        let joined = running.into_iter().map(thread::ScopedJoinHandle::join);
        joined.map(|made| made.unwrap_or_else(|_| Err(anyhow!("its thread panicked")))).collect()
    })
}
