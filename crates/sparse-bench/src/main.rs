//! Ours beside its peers, in one run: medians of interleaved runs, with the bytes that had to move.
//!
//! `cargo xtask bench` builds and runs this; it needs nothing at run time but, for SciPy's figures, a Python that
//! finds SciPy (`PYTHONPATH`).

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command talks to its user")]

mod limit;
mod measure;
mod op;
mod peer;
mod report;
mod workload;

use anyhow::{Result, bail};
use backend_cpu::Cpu;
use clap::{Parser, ValueEnum};
use report::Report;
use std::path::PathBuf;

/// A set of benchmarks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Suite {
    /// Dense → CSR, COO → CSR, SpMV and SpMM on the processor.
    Cpu,
}

/// Runs a suite and prints its table.
#[derive(Debug, Parser)]
#[command(name = "sparse-bench")]
struct Arguments {
    /// The suite.
    #[arg(long, value_enum, default_value = "cpu")]
    suite: Suite,
    /// Only workloads of this name; may be repeated.
    #[arg(long, value_name = "NAME")]
    matrix: Vec<String>,
    /// Only this operation: dense_to_csr, coo_to_csr, spmv, spmm; may be repeated.
    #[arg(long, value_name = "OP")]
    op: Vec<String>,
    /// Columns of the dense operand of SpMM; may be repeated.
    #[arg(long, value_name = "K", default_values_t = [32, 256])]
    k: Vec<usize>,
    /// Timed runs of each contender.
    #[arg(long, default_value_t = 21)]
    rounds: usize,
    /// Threads of our backend; all by default.
    #[arg(long)]
    threads: Option<usize>,
    /// Small workloads and few runs: shows that everything runs, not how fast.
    #[arg(long)]
    smoke: bool,
    /// Write the figures as JSON Lines.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// What every benchmark needs.
struct Context {
    backend: Cpu,
    rounds: usize,
    smoke: bool,
    wanted: Vec<String>,
    columns: Vec<usize>,
    limits: limit::Limits,
}

impl Context {
    fn wants(&self, workload: &str) -> bool {
        self.wanted.is_empty() || self.wanted.iter().any(|name| name == workload)
    }
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let threads = match arguments.threads {
        Some(threads) => threads,
        None => Cpu::new()?.threads(),
    };
    let backend = Cpu::with(threads, backend_cpu::Simd::detect())?;
    let limits = limit::measure(threads, arguments.smoke);
    let context = Context {
        backend,
        rounds: if arguments.smoke { 3 } else { arguments.rounds },
        smoke: arguments.smoke,
        wanted: arguments.matrix,
        columns: if arguments.smoke { vec![8] } else { arguments.k },
        limits,
    };
    let mut report = Report::new(&context, arguments.json.as_deref())?;
    let Suite::Cpu = arguments.suite;
    if let Some(unknown) = arguments.op.iter().find(|name| op::ALL.iter().all(|(known, _)| known != name)) {
        bail!("no operation is called `{unknown}`");
    }
    for (name, run) in op::ALL {
        if arguments.op.is_empty() || arguments.op.iter().any(|wanted| wanted == name) {
            run(&context, &mut report)?;
        }
    }
    report.summary();
    Ok(())
}
