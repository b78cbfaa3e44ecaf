//! The command `conformance`.

#![allow(clippy::print_stderr, reason = "a command prints")]

use clap::Parser;
use sparse_conformance_cli::Cli;
use std::process::ExitCode;

fn main() -> ExitCode {
    Cli::parse().run().unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
