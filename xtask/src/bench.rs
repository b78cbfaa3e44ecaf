//! `cargo xtask bench`: starts `sparse-bench` where it finds its peers.

use crate::program::{BENCH, exit_code, shell};
use anyhow::Result;
use provision::{mkl, python_packages, sycl, viennacl};
use std::ffi::OsString;
use std::process::ExitCode;
use xshell::Shell;

/// The variables of an environment.
type Variables = Vec<(&'static str, OsString)>;

/// Runs the benchmark, with peers for the CPU and OpenCL and with the runtime for SYCL. The figures of `seed-001` have
/// no peers. Returns its exit code.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    let shell = shell()?;
    let variables = match ["sycl", "opencl", "cuda", "seed-001"].map(|name| names(arguments, name)) {
        [true, ..] => sycl(&shell, None)?.into_iter().map(|(name, value)| (name, value.into())).collect(),
        [_, true, ..] => viennacl().into_iter().collect(),
        [.., true, _] | [.., true] => vec![],
        _ => peers(&shell)?,
    };
    exit_code(BENCH.command(&shell, arguments).envs(variables))
}

/// True if the arguments name a backend or a suite.
fn names(arguments: &[String], name: &str) -> bool {
    let mut values = arguments.iter().filter_map(|argument| argument.rsplit('=').next());
    values.any(|value| value == name)
}

/// The environment variables for SciPy, and for MKL where PyPI has it for this machine.
pub(crate) fn peers(shell: &Shell) -> Result<Variables> {
    let mut peers = vec![("PYTHONPATH", python_packages(shell)?.into())];
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        peers.push(("LD_LIBRARY_PATH", mkl(shell)?.into()));
    }
    Ok(peers)
}
