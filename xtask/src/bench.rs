//! `cargo xtask bench`: builds `sparse-bench` and hands the arguments on.

use crate::provision::{mkl, python_packages};
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
    /// Whether it runs on the CPU, which is the default.
    fn is_of_cpu(&self) -> bool {
        let mut values = self.arguments.iter().filter_map(|argument| argument.rsplit('=').next());
        !values.any(|value| ["cuda", "opencl"].contains(&value))
    }
}

/// Runs the benchmark, that of the CPU with its peers within reach. Its exit code becomes ours.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let shell = Shell::new()?;
    let peers = if args.is_of_cpu() { peers(&shell)? } else { vec![] };
    let _peers: Vec<_> = peers.into_iter().map(|(name, value)| shell.push_env(name, value)).collect();
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

/// The variables under which SciPy is found, and MKL where PyPI has it for this machine.
fn peers(shell: &Shell) -> Result<Vec<(&'static str, OsString)>> {
    let mut peers = vec![("PYTHONPATH", python_packages(shell)?.into())];
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        peers.push(("LD_LIBRARY_PATH", mkl(shell)?.into()));
    }
    Ok(peers)
}
