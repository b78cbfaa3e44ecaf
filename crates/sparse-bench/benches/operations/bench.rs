//! Times operations of one backend.

use criterion::{Criterion, Throughput};
use sparse_core::{Algorithm, Backend, Error, PlanOptions, Result};

/// The benchmarks of one backend.
pub(crate) struct Bench<'a, B> {
    criterion: &'a mut Criterion,
    /// The backend.
    pub(crate) backend: &'a B,
    name: &'static str,
}

impl<'a, B: Backend> Bench<'a, B> {
    /// Benchmarks whose names begin with `name`.
    pub(crate) fn new(criterion: &'a mut Criterion, backend: &'a B, name: &'static str) -> Self {
        Self { criterion, backend, name }
    }

    /// Times `run` and the wait until the device is done; `bytes` have to move.
    pub(crate) fn time(&mut self, name: &str, bytes: usize, mut run: impl FnMut() -> Result<()>) {
        let mut group = self.criterion.benchmark_group(self.name);
        group.throughput(Throughput::Bytes(bytes as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| run().and_then(|()| self.backend.synchronize()).expect("the operation runs"));
        });
        group.finish();
    }

    /// The plan, unless the backend refuses it, which is printed.
    pub(crate) fn available<P>(&self, name: &str, plan: Result<P>) -> Option<P> {
        match plan {
            Err(error @ Error::Unsupported { .. }) => {
                eprintln!("left out: {}/{name}: {error}", self.name);
                None
            }
            plan => Some(plan.expect("a plan")),
        }
    }
}

/// Names and options: the plan's own choice, and if there are several, every algorithm except `sequential`.
pub(crate) fn algorithms(
    name: &str,
    algorithms: &'static [Algorithm],
) -> impl Iterator<Item = (String, PlanOptions)> {
    let forced = algorithms.iter().filter(|algorithm| algorithms.len() > 1 && algorithm.name != "sequential");
    let forced = forced.map(|algorithm| algorithm.name).map({
        let name = name.to_string();
        move |algorithm| (format!("{name}/{algorithm}"), PlanOptions::forced(algorithm).relaxed())
    });
    std::iter::once((name.to_string(), PlanOptions::default())).chain(forced)
}
