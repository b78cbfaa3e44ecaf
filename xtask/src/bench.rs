//! `cargo xtask bench`: builds `sparse-bench` and passes the arguments to it.

use crate::provision::{mkl, python_packages, sycl, viennacl};
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::process::{Command, ExitCode};
use xshell::{Shell, cmd};

/// Benchmarks ours beside its peers.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    /// Arguments of `sparse-bench`; `--help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

impl Args {
    /// True if the arguments name a backend.
    fn names(&self, backend: &str) -> bool {
        let mut values = self.arguments.iter().filter_map(|argument| argument.rsplit('=').next());
        values.any(|value| value == backend)
    }
}

/// Runs the benchmark, with peers for the CPU and OpenCL and with the runtime for SYCL. Returns its exit code.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let shell = Shell::new()?;
    let variables = match ["sycl", "opencl", "cuda"].map(|backend| args.names(backend)) {
        [true, ..] => sycl(&shell, None)?.into_iter().map(|(name, value)| (name, value.into())).collect(),
        [_, true, _] => viennacl().into_iter().collect(),
        [.., true] => vec![],
        _ => peers(&shell)?,
    };
    let _variables: Vec<_> = variables.into_iter().map(|(name, value)| shell.push_env(name, value)).collect();
    let manifest = crate::ci::root().join("Cargo.toml");
    let arguments = &args.arguments;
    let cargo = cmd!(
        shell,
        "cargo run --release --quiet --manifest-path {manifest} -p sparse-bench -- {arguments...}"
    );
    let status = Command::from(cargo).status().context("cargo does not start")?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// The environment variables for SciPy, and for MKL where PyPI has it for this machine.
fn peers(shell: &Shell) -> Result<Vec<(&'static str, OsString)>> {
    let mut peers = vec![("PYTHONPATH", python_packages(shell)?.into())];
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        peers.push(("LD_LIBRARY_PATH", mkl(shell)?.into()));
    }
    Ok(peers)
}
