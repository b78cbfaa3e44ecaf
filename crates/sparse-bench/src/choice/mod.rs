//! `--suite choice`: the time of the algorithm that a plan chooses beside that of the best one, and beside the best of
//! another library, on many matrices.
//!
//! The matrices are those of [`families`](sparse_generate::families) and, with `--corpus`, of files. An automatic
//! plan runs the same code as a plan with its algorithm forced, so that it has that plan's time. Results of ours are
//! not checked here: the conformance table runs every algorithm. Those of other libraries are compared with ours.

mod backend;
mod measurement;
mod products;
mod record;
mod sources;
mod summary;

use crate::arguments::Arguments;
use crate::peer::interface::Products;
use crate::workload::threads;
use anyhow::{Result, anyhow, ensure};
use backend::{Clock, Multiplies};
use products::Bench;
use record::Records;
use sources::{Source, sources};
use sparse_core::Csr;
use sparse_core::backend::SpaceOf;
use std::thread;
use std::time::{Duration, Instant};

/// Times every product on every matrix, by ours and by `peer`, with a pause after each run. The next matrices are made
/// meanwhile, one on each thread.
pub(crate) fn run<B: Multiplies>(
    backend: &B,
    clock: &Clock<'_>,
    pause: Duration,
    peer: Option<&impl Products<SpaceOf<B>>>,
    arguments: &Arguments,
) -> Result<()> {
    let start = Instant::now();
    let sources = sources(arguments)?;
    ensure!(!sources.is_empty(), "the suite has no matrix of the names that are asked for");
    let mut bench = Bench::new(backend, clock, pause, peer, arguments)?;
    let library = peer.map_or("no other library".into(), Products::name);
    let device = backend.caps().device.clone();
    println!("{device}, {library}: {} matrices", sources.len());
    let mut records = Records::new(arguments.json.as_deref(), device, library)?;
    let is_late = || arguments.seconds.is_some_and(|most| start.elapsed() > Duration::from_secs(most));
    let windows: Vec<&[Source]> = sources.chunks(threads()).collect();
    thread::scope(|scope| -> Result<()> {
        let mut next = windows.first().map(|window| scope.spawn(|| made(window)));
        for (position, window) in windows.iter().enumerate() {
            let matrices =
                next.take().map_or_else(|| made(window), |thread| thread.join().unwrap_or_default());
            next = windows.get(position + 1).map(|window| scope.spawn(|| made(window)));
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
    })?;
    records.finish();
    println!("\n{:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// The matrices of a window, each made by a thread of its own.
fn made(window: &[Source]) -> Vec<Result<Csr<f32>>> {
    thread::scope(|scope| {
        let running: Vec<_> = window.iter().map(|source| scope.spawn(|| (source.make)())).collect();
        let joined = running.into_iter().map(thread::ScopedJoinHandle::join);
        joined.map(|made| made.unwrap_or_else(|_| Err(anyhow!("its thread panicked")))).collect()
    })
}
