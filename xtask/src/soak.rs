//! `cargo xtask soak`: a server on the loopback under load, for half an hour with `--full`.

use crate::program::{exit_code, shell};
use anyhow::Result;
use provision::root;
use std::process::ExitCode;
use xshell::cmd;

/// Asks much of a server.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Parts of the names of scenarios; without them all
    scenarios: Vec<String>,
    /// Runs them as long as their figures need, 200 killed processes and 20 minutes of matrices that come and go among
    /// them; without it for seconds, as CI does
    #[arg(long)]
    full: bool,
    /// Gives the servers of the scenarios so many devices, each with a worker process
    #[arg(long, value_name = "DEVICES", num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    workers: Option<usize>,
    /// The backend of these devices: cpu, cuda or opencl
    #[arg(long, default_value = "cpu")]
    backend: String,
}

/// Runs the scenarios in release mode.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let (shell, manifest, scenarios) = (shell()?, root().join("Cargo.toml"), &args.scenarios);
    let (backend, feature) = (&args.backend, format!("nnz/{}", args.backend));
    let size = if args.full { "full" } else { "short" };
    let tests = cmd!(
        shell,
        "cargo test --release --quiet --manifest-path {manifest} -p sparse-server --features {feature} --test soak -- {scenarios...}"
    );
    let tests = tests.env("NNZ_SOAK", size).env("NNZ_SOAK_BACKEND", backend);
    exit_code(match args.workers {
        Some(count) => tests.env("NNZ_SOAK_WORKERS", count.to_string()),
        None => tests,
    })
}
