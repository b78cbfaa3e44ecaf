//! Ours beside its peers, in one run: medians of interleaved runs, with the bytes that had to move.
//!
//! `cargo xtask bench` builds and runs this; it needs nothing at run time except, for SciPy's figures, a Python that
//! finds SciPy (`PYTHONPATH`), for cuSPARSE's its library (`LD_LIBRARY_PATH`), and for ViennaCL's the library compiled
//! from `peer/viennacl.cpp` (`NNZ_VIENNACL`).

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command talks to its user")]

mod arguments;
mod check;
mod choice;
mod device;
mod limit;
mod measure;
mod op;
mod peer;
mod report;
mod workload;

use anyhow::Result;
use arguments::{Arguments, PeerName, Suite, Target};
use backend_cpu::Cpu;
use clap::Parser;
use limit::Machine;
use measure::{Contender, Rounds};
use peer::mkl::Mkl;
use report::Report;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use workload::Pattern;

/// Seconds of the timed runs of one contender on the CPU, at most.
const BUDGET: f64 = 2.5;
/// Seconds of a contender's runs after which the caches have its data, not those of the one before.
const WARM_UP: f64 = 0.02;
/// Twice the time after which idle threads go to sleep.
const PAUSE: Duration = Duration::from_millis(2);

/// The common data of every benchmark of the CPU.
struct Context<'a> {
    arguments: &'a Arguments,
    backend: Cpu,
    machine: Machine,
    mkl: Option<Mkl>,
    pattern: Pattern,
}

impl Context<'_> {
    /// The contenders of a library, if it is selected; a refusal of the operands is printed.
    fn peer<'c, I: IntoIterator<Item = Contender<'c>>>(
        &self,
        name: PeerName,
        contenders: impl FnOnce() -> Result<I>,
    ) -> impl Iterator<Item = Contender<'c>> {
        let found = self.arguments.wants_peer(name).then(contenders);
        let found = found.and_then(|found| found.inspect_err(|error| eprintln!("left out: {error}")).ok());
        found.into_iter().flatten()
    }
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    if !arguments.from.is_empty() {
        return Report::recorded(&arguments)?.finish().map(|()| ExitCode::SUCCESS);
    }
    match arguments.target() {
        Target::Cpu => run_cpu(&arguments).map(|()| ExitCode::SUCCESS),
        Target::Cuda => device::run::<device::Cuda>(&arguments),
        Target::Opencl => device::run::<device::OpenCl>(&arguments),
        #[cfg(feature = "sycl")]
        Target::Sycl => device::run::<device::Sycl>(&arguments),
    }
}

fn run_cpu(arguments: &Arguments) -> Result<()> {
    arguments.check_ops(&op::ALL.map(|(name, _)| name))?;
    let threads = match arguments.threads {
        Some(threads) => threads,
        None => Cpu::new()?.threads(),
    };
    let backend = Cpu::with(threads, backend_cpu::Simd::detect())?;
    if arguments.suite == Suite::Choice {
        let clock = |times: usize, work: &mut dyn FnMut() -> sparse_core::Result<()>| {
            let start = Instant::now();
            (0..times).try_for_each(|_| work())?;
            Ok(start.elapsed().as_secs_f64())
        };
        return choice::run(&backend, &clock, arguments);
    }
    let mkl = arguments.wants_peer(PeerName::Mkl).then(|| Mkl::connect(threads));
    let mkl = mkl.and_then(|mkl| mkl.inspect_err(|error| eprintln!("left out: {error:#}")).ok());
    let peer = mkl.as_ref().map_or(Ok("no MKL".into()), Mkl::name)?;
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
    let pattern = Pattern::new(arguments.most_columns());
    let context = Context { arguments, backend, machine, mkl, pattern };
    for (name, run) in op::ALL {
        if arguments.wants_op(name) {
            run(&context, &mut report)?;
        }
    }
    report.finish()
}
