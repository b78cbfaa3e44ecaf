//! `--suite choice`: the time of the algorithm that a plan chooses beside that of the best one, and beside the best of
//! another library, on many matrices.
//!
//! The matrices are those of [`families`](sparse_generate::families) and, with `--corpus`, of files. The chosen
//! algorithm is timed in an automatic plan, the others in plans with their algorithm forced. Results of ours are not
//! checked here: the conformance table runs every algorithm. Those of other libraries are compared with ours.
//!
//! `nnz::Tuner` times the same products, to fit the thresholds of a device: of the run-time layer, by the wall clock,
//! and without other libraries, whose runs have to alternate with ours here.

mod backend;
mod measurement;
mod products;
mod record;
mod sources;
mod summary;

use crate::arguments::Arguments;
use crate::peer::interface::Products;
use crate::value::{Value, ValueType, with_type};
use crate::workload::threads;
use anyhow::{Result, anyhow, ensure};
use backend::{Clock, Multiplies, MultipliesAll};
use clap::ValueEnum;
use products::Bench;
use record::Records;
use sources::{Source, sources};
use sparse_core::Csr;
use sparse_core::backend::SpaceOf;
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// Times every product on every matrix, by ours and by `peer`, with a pause after each run.
pub(crate) fn run<B: MultipliesAll, P: Products<SpaceOf<B>>>(
    backend: &B,
    clock: &Clock<'_>,
    pause: Duration,
    peer: Option<&P>,
    arguments: &Arguments,
) -> Result<()> {
    let start = Instant::now();
    let library = peer.map_or("no other library".into(), Products::name);
    let device = backend.caps().device.clone();
    println!("{device}, {library}");
    let mut records = Records::new(arguments.json.as_deref(), device, library)?;
    for &value_type in ValueType::value_variants() {
        with_type!(value_type, T => {
            let bench = Bench::<B, P, T>::new(backend, clock, pause, peer, arguments)?;
            run_in(bench, &sources(arguments)?, start, &mut records)?;
        });
    }
    ensure!(!records.is_empty(), "the suite has no matrix of the names that are asked for");
    records.finish();
    println!("\n{:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// Times every product on matrices of a type. The next ones are made meanwhile, one on each thread, unless the products
/// need the processors themselves.
fn run_in<B, P, T>(
    mut bench: Bench<'_, B, P, T>,
    sources: &[Source<T>],
    start: Instant,
    records: &mut Records,
) -> Result<()>
where
    B: Multiplies<T> + Multiplies<f64>,
    P: Products<SpaceOf<B>>,
    T: Value,
{
    let seconds = bench.arguments.seconds;
    let is_late = || seconds.is_some_and(|most| start.elapsed() > Duration::from_secs(most));
    let makes_ahead = !bench.is_on_cpu();
    let windows: Vec<&[Source<T>]> = sources.chunks(threads()).collect();
    thread::scope(|scope| {
        let mut next = None;
        for (position, window) in windows.iter().enumerate() {
            let matrices = next.take().map_or_else(
                || made(window),
                |thread: ScopedJoinHandle<'_, _>| thread.join().unwrap_or_default(),
            );
            let following = windows.get(position + 1).filter(|_| makes_ahead);
            next = following.map(|window| scope.spawn(|| made(window)));
            for (source, matrix) in window.iter().zip(matrices) {
                if is_late() {
                    eprintln!("left out: {} and what follows: the seconds are over", source.name);
                    return Ok(());
                }
                match matrix {
                    Ok(a) if a.nnz() > 0 => records.add(source, &a, bench.products(&a)?)?,
                    Ok(_) => {}
                    Err(error) => eprintln!("left out: {}: {error:#}", source.name),
                }
            }
        }
        Ok(())
    })
}

/// The matrices of a window, each made by a thread of its own.
fn made<T: Value>(window: &[Source<T>]) -> Vec<Result<Csr<T>>> {
    thread::scope(|scope| {
        let running: Vec<_> = window.iter().map(|source| scope.spawn(|| (source.make)())).collect();
        let joined = running.into_iter().map(ScopedJoinHandle::join);
        joined.map(|made| made.unwrap_or_else(|_| Err(anyhow!("its thread panicked")))).collect()
    })
}
