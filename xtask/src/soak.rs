//! `cargo xtask soak`: a server on the loopback under load, for half an hour.

use crate::program::exit_code;
use anyhow::Result;
use provision::root;
use std::process::ExitCode;
use xshell::{Shell, cmd};

/// Asks much of a server.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Parts of the names of scenarios; without them all, and 200 times a server, front end or worker that is killed
    scenarios: Vec<String>,
    /// Gives the servers of the scenarios so many devices, each with a worker process
    #[arg(long, value_name = "DEVICES", num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    workers: Option<usize>,
    /// The backend of these devices: cpu, cuda or opencl
    #[arg(long, default_value = "cpu")]
    backend: String,
}

/// Runs the tests that start servers as long as their figures need, in release mode.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let (shell, manifest, scenarios) = (Shell::new()?, root().join("Cargo.toml"), &args.scenarios);
    let crash = if scenarios.is_empty() { &["--test", "crash"][..] } else { &[] };
    let (backend, feature) = (&args.backend, format!("nnz/{}", args.backend));
    let tests = cmd!(
        shell,
        "cargo test --release --quiet --no-fail-fast --manifest-path {manifest} -p sparse-server --features {feature} --test soak {crash...} -- {scenarios...}"
    );
    let tests = tests.env("NNZ_SOAK", "full").env("NNZ_SOAK_BACKEND", backend).env("NNZ_KILL_CYCLES", "200");
    exit_code(match args.workers {
        Some(count) => tests.env("NNZ_SOAK_WORKERS", count.to_string()),
        None => tests,
    })
}
