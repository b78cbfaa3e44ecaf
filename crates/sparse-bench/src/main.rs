//! Ours beside its peers, in one run: medians of interleaved runs, with the bytes that had to move.
//!
//! `cargo xtask bench` builds and runs this; it needs nothing at run time but, for SciPy's figures, a Python that
//! finds SciPy (`PYTHONPATH`), and for cuSPARSE's its library (`LD_LIBRARY_PATH`).

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command talks to its user")]

mod device;
mod limit;
mod measure;
mod op;
mod peer;
mod report;
mod workload;

use anyhow::{Result, bail};
use backend_cpu::Cpu;
use backend_cuda::CuDriver;
use backend_opencl::ClDriver;
use clap::{Parser, ValueEnum};
use limit::Machine;
use measure::Rounds;
use peer::mkl::Mkl;
use report::Report;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// A set of benchmarks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Suite {
    /// Dense → CSR, COO → CSR, SpMV and SpMM on the processor.
    Cpu,
    /// The same on a CUDA device (NNZ_CUDA_DEVICE names it), beside cuSPARSE.
    Cuda,
    /// The same on an OpenCL device (NNZ_OPENCL_DEVICE names it).
    Opencl,
}

/// Runs a suite and prints its table. Exits with 3 where the suite's device is missing.
#[derive(Debug, Parser)]
#[command(name = "sparse-bench")]
struct Arguments {
    /// The suite.
    #[arg(long, value_enum, default_value = "cpu")]
    suite: Suite,
    /// Only workloads of this name; may be repeated.
    #[arg(long, value_name = "NAME")]
    matrix: Vec<String>,
    /// Only this operation: dense_to_csr, coo_to_csr, spmv, spmm, on devices coo_spmv too; may be repeated.
    #[arg(long, value_name = "OP")]
    op: Vec<String>,
    /// Columns of the dense operand of SpMM; may be repeated.
    #[arg(long, value_name = "K", default_values_t = [32, 256])]
    k: Vec<usize>,
    /// Timed runs of each contender.
    #[arg(long, default_value_t = 21)]
    rounds: usize,
    /// Threads of our CPU backend; all by default.
    #[arg(long)]
    threads: Option<usize>,
    /// Small workloads and few runs: shows that everything runs, not how fast.
    #[arg(long)]
    smoke: bool,
    /// Write the figures as JSON Lines.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl Arguments {
    /// Whether an operation is asked for.
    fn wants_op(&self, op: &str) -> bool {
        self.op.is_empty() || self.op.iter().any(|name| name == op)
    }

    /// Whether a workload is asked for.
    fn wants(&self, workload: &str) -> bool {
        self.matrix.is_empty() || self.matrix.iter().any(|name| name == workload)
    }

    /// The columns of SpMM.
    fn columns(&self) -> &[usize] {
        if self.smoke { &[8] } else { &self.k }
    }

    /// How often contenders run, with `budget` seconds for each.
    fn rounds(&self, budget: f64) -> Rounds {
        Rounds::new(if self.smoke { 3 } else { self.rounds }, budget)
    }

    /// An error if an operation is asked for that is not among `known`.
    fn check_ops(&self, known: &[&str]) -> Result<()> {
        match self.op.iter().find(|name| !known.contains(&name.as_str())) {
            Some(unknown) => {
                bail!("no operation of this suite is called `{unknown}`: there are {}", known.join(", "))
            }
            None => Ok(()),
        }
    }
}

/// What the timed runs of one contender may take on the CPU, in seconds.
const BUDGET: f64 = 2.5;
/// Runs of so many seconds leave caches that matter to the next.
const SHORT: f64 = 0.02;
/// Twice the time after which threads that wait for work go to sleep.
const PAUSE: Duration = Duration::from_millis(2);

/// What every benchmark of the CPU needs.
struct Context<'a> {
    arguments: &'a Arguments,
    backend: Cpu,
    machine: Machine,
    mkl: Option<Mkl>,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    match arguments.suite {
        Suite::Cpu => run_cpu(&arguments).map(|()| ExitCode::SUCCESS),
        Suite::Cuda => device::run::<CuDriver>(&arguments),
        Suite::Opencl => device::run::<ClDriver>(&arguments),
    }
}

fn run_cpu(arguments: &Arguments) -> Result<()> {
    arguments.check_ops(&op::ALL.map(|(name, _)| name))?;
    let threads = match arguments.threads {
        Some(threads) => threads,
        None => Cpu::new()?.threads(),
    };
    let backend = Cpu::with(threads, backend_cpu::Simd::detect())?;
    let mkl = Mkl::connect(threads).inspect_err(|error| eprintln!("left out: {error:#}")).ok();
    let peer = mkl.as_ref().map_or(Ok("no MKL".into()), Mkl::name)?;
    let machine = Machine::new(threads)?;
    let limit = machine.read_bandwidth(arguments.smoke)?;
    let features = sparse_core::Backend::caps(&backend).features.join(" ");
    let name = format!("{threads} threads, {features}; {peer}; reads {:.1} GB/s", limit / 1e9);
    let rounds = Rounds { short: SHORT, pause: PAUSE, ..arguments.rounds(BUDGET) };
    let mut report = Report::new(&name, limit, rounds, arguments.json.as_deref())?;
    let context = Context { arguments, backend, machine, mkl };
    for (name, run) in op::ALL {
        if arguments.wants_op(name) {
            run(&context, &mut report)?;
        }
    }
    report.summary();
    Ok(())
}
