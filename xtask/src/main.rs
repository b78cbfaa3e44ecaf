//! The workspace's chores. `cargo xtask --help` names them.
//!
//! It starts programs, and computes nothing itself, so that cargo builds it in seconds.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command prints")]

mod bench;
mod ci;
mod dist;
mod parallel_steps;
mod portability;
mod program;
mod soak;

use clap::Parser;
use program::{ForwardedArguments, HARNESS};
use std::process::ExitCode;

/// The workspace's chores.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", max_term_width = 110)]
enum Command {
    /// Runs the conformance table.
    Conformance(ForwardedArguments),
    Ci(ci::Args),
    /// Benchmarks ours beside its peers.
    Bench(ForwardedArguments),
    Dist(dist::Args),
    Soak(soak::Args),
    /// Rewrites docs/algorithm-tables.md.
    Algorithms(ForwardedArguments),
    /// Compiles the kernels of a language.
    Kernels(ForwardedArguments),
}

fn main() -> ExitCode {
    let done = match Command::parse() {
        Command::Conformance(args) => HARNESS.run(&args.arguments),
        Command::Ci(args) => ci::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Bench(args) => bench::run(&args.arguments),
        Command::Dist(args) => dist::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Soak(args) => soak::run(&args),
        Command::Algorithms(args) => HARNESS.run(&args.after("algorithms")),
        Command::Kernels(args) => HARNESS.run(&args.after("kernels")),
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
