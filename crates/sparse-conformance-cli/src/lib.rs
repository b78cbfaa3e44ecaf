//! The harness: the conformance table on the backends of this workspace.
//!
//! [`sparse_conformance`] knows a backend by its traits alone. This crate lists our backends, runs each in child
//! processes, and compares the checks that they refuse with the files in `support`. `cargo xtask conformance` builds
//! and starts its program `conformance`, which runs on machines without cargo too.
//!
//! Two chores that need the same backends are subcommands, left out of the help: `algorithms`, behind
//! `cargo xtask algorithms`, and `kernels`, behind `cargo xtask kernels`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command prints")]

#[cfg(all(feature = "cpu", feature = "cuda", feature = "sycl"))]
mod algorithms;
mod backends;
mod child;
mod corpora;
#[cfg(any(feature = "cuda", feature = "opencl"))]
mod kernels;
mod options;
mod report;
mod summary;
mod support;
mod table;

use anyhow::Result;
use std::process::ExitCode;

/// Runs the conformance table.
///
/// Every algorithm of every operation runs on every case, for every backend that is there. Exit status: 0 all passed,
/// 1 something failed, 2 usage, 3 a backend that was asked for is not there.
#[derive(Debug, clap::Parser)]
#[command(name = "conformance", max_term_width = 110)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub struct Cli {
    #[command(flatten)]
    table: options::Options,
    #[command(subcommand)]
    chore: Option<Chore>,
}

/// Programs that run in place of the table, or for it.
#[derive(Debug, clap::Subcommand)]
enum Chore {
    #[command(hide = true)]
    Child(child::ChildArgs),
    #[cfg(all(feature = "cpu", feature = "cuda", feature = "sycl"))]
    #[command(hide = true)]
    Algorithms(algorithms::Args),
    #[cfg(any(feature = "cuda", feature = "opencl"))]
    #[command(hide = true, subcommand)]
    Kernels(kernels::Language),
}

impl Cli {
    /// Runs what the command line asks for, and returns the exit status.
    ///
    /// # Errors
    /// Those of the operating system, and of what runs.
    pub fn run(self) -> Result<ExitCode> {
        match self.chore {
            None => return table::run(&self.table),
            Some(Chore::Child(args)) => child::run(&args)?,
            #[cfg(all(feature = "cpu", feature = "cuda", feature = "sycl"))]
            Some(Chore::Algorithms(args)) => algorithms::run(&args)?,
            #[cfg(any(feature = "cuda", feature = "opencl"))]
            Some(Chore::Kernels(args)) => kernels::run(&args)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}
