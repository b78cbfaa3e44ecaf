//! `cargo xtask soak`: a server on the loopback under load, for half an hour.

use crate::program::exit_code;
use anyhow::Result;
use provision::root;
use std::process::ExitCode;
use xshell::{Shell, cmd};

/// Asks much of a server.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Parts of the names of scenarios; without them all, and 200 times a server that is killed
    scenarios: Vec<String>,
}

/// Runs the tests that start servers as long as their figures need, in release mode.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let (shell, manifest, scenarios) = (Shell::new()?, root().join("Cargo.toml"), &args.scenarios);
    let crash = if scenarios.is_empty() { &["--test", "crash"][..] } else { &[] };
    let tests = cmd!(
        shell,
        "cargo test --release --quiet --manifest-path {manifest} -p sparse-server --test soak {crash...} -- {scenarios...}"
    );
    exit_code(tests.env("NNZ_SOAK", "full").env("NNZ_KILL_CYCLES", "200"))
}
