//! The suites of the CPU: one benchmark per operation.

mod add;
pub(crate) mod cg;
mod checked;
mod context;
mod coo_to_csr;
mod dense_batch;
mod dense_to_csr;
pub(crate) mod formats;
mod galerkin;
mod io;
mod sddmm;
mod spgemm;
mod spmm;
mod spmv;
mod trisolve;

use crate::arguments::{Arguments, PeerName, Suite};
use crate::choice;
use crate::limit::Machine;
use crate::measure::{Contender, Rounds};
use crate::peer::interface::Products;
use crate::peer::mkl::Mkl;
use crate::product::available;
use crate::report::Report;
use crate::value::{Value, with_type};
use anyhow::{Result, ensure};
use backend_cpu::Cpu;
use context::Context;
use sparse_core::Csr;
use std::time::{Duration, Instant};

/// Seconds of the timed runs of one contender on the CPU, at most.
const BUDGET: f64 = 2.5;
/// Seconds of a contender's runs after which the caches have its data, not those of the one before.
const WARM_UP: f64 = 0.02;
/// Twice the time after which idle threads go to sleep.
const PAUSE: Duration = Duration::from_millis(2);

/// Times one operation on all of its workloads.
type Run = fn(&Context<'_>, &mut Report) -> Result<()>;

/// All operations by name.
fn operations<T: Value>() -> [(&'static str, Run); 14] {
    [
        ("dense_to_csr", dense_to_csr::run::<T>),
        ("coo_to_csr", coo_to_csr::run::<T>),
        ("spmv", spmv::run::<T>),
        ("spmm", spmm::run::<T>),
        ("sddmm", sddmm::run::<T>),
        ("spgemm", spgemm::run::<T>),
        ("galerkin", galerkin::run::<T>),
        ("add", add::run::<T>),
        ("trisolve", trisolve::run::<T>),
        ("cg", cg::run::<T>),
        ("io", io::run::<T>),
        ("seed-001", dense_batch::run::<T>),
        ("seed-003", formats::run::<T>),
        ("seed-004", spmm::run_on_graphs::<T>),
    ]
}

/// A contender that makes a new matrix in every run, once its matrix is the expected one.
fn made<'a, T: Value>(
    name: &str,
    mut make: impl FnMut() -> sparse_core::Result<Csr<T>> + 'a,
    expected: &Csr<T>,
) -> Result<Contender<'a>> {
    ensure!(make()? == *expected, "{name}: the CSR differs from the reference");
    Ok(Contender::new(name, move || Ok(make().map(drop)?)))
}

/// Runs the suite of the CPU.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    arguments.check_ops(&operations::<f32>().map(|(name, _)| name))?;
    let threads = match arguments.threads {
        Some(threads) => threads,
        None => Cpu::new()?.threads(),
    };
    let backend = Cpu::with(threads, backend_cpu::Simd::detect())?;
    let mkl = arguments.wants_peer(PeerName::Mkl).then(|| Mkl::connect(threads));
    let mkl = mkl.and_then(|mkl| available("mkl", mkl));
    if arguments.suite == Suite::Choice {
        let clock = |times: usize, work: &mut dyn FnMut() -> sparse_core::Result<()>| {
            let start = Instant::now();
            (0..times).try_for_each(|_| work())?;
            Ok(start.elapsed().as_secs_f64())
        };
        return choice::run(&backend, &clock, PAUSE, mkl.as_ref(), arguments);
    }
    let peer = mkl.as_ref().map_or("no MKL".into(), Products::name);
    let machine = Machine::new(threads)?;
    let reading = machine.reading(arguments.smoke);
    let limit = reading.bandwidth()?;
    let features = sparse_core::Backend::caps(&backend).features.join(" ");
    let name = format!("{threads} threads, {features}; {peer}; reads {:.1} GB/s", limit / 1e9);
    let rounds = match arguments.rounds(BUDGET) {
        few if arguments.smoke => few,
        rounds => Rounds { warm_up: WARM_UP, pause: PAUSE, ..rounds },
    };
    let mut report = Report::new(&name, limit, rounds, arguments)?.reading(reading);
    let context = Context { arguments, backend, machine, mkl };
    for value_type in arguments.types()? {
        let operations = with_type!(value_type, T => operations::<T>());
        for (_, run) in operations.iter().filter(|(name, _)| arguments.wants_op(name)) {
            run(&context, &mut report)?;
        }
    }
    report.finish()
}
