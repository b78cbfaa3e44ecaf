//! The workspace's chores. `cargo xtask --help` names them.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command prints")]

#[cfg_attr(not(all(feature = "cpu", feature = "cuda", feature = "sycl")), path = "unavailable.rs")]
mod algorithms;
mod bench;
mod ci;
mod compiler;
mod conformance;
mod dist;
#[cfg(any(feature = "cuda", feature = "opencl"))]
mod kernels;
#[cfg(all(feature = "cpu", feature = "cuda", feature = "sycl"))]
mod null_driver;
mod portability;
mod provision;

use clap::Parser;
use std::process::ExitCode;

/// The workspace's chores.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", max_term_width = 110)]
enum Command {
    Conformance(conformance::Args),
    #[command(hide = true)]
    ConformanceChild(conformance::ChildArgs),
    Ci(ci::Args),
    Bench(bench::Args),
    Dist(dist::Args),
    Algorithms(algorithms::Args),
    #[cfg(any(feature = "cuda", feature = "opencl"))]
    #[command(subcommand)]
    Kernels(kernels::Language),
}

fn main() -> ExitCode {
    let done = match Command::parse() {
        Command::Conformance(args) => return report(conformance::run(&args)),
        Command::ConformanceChild(args) => conformance::run_child(&args),
        Command::Ci(args) => ci::run(&args),
        Command::Bench(args) => return report(bench::run(&args)),
        Command::Dist(args) => dist::run(&args),
        Command::Algorithms(args) => algorithms::run(&args),
        #[cfg(any(feature = "cuda", feature = "opencl"))]
        Command::Kernels(args) => kernels::run(&args),
    };
    report(done.map(|()| ExitCode::SUCCESS))
}

fn report(result: anyhow::Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
