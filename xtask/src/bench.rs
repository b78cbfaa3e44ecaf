//! `cargo xtask bench`: builds `sparse-bench` and hands the arguments on.

use crate::provision::python_packages;
use anyhow::Result;
use xshell::{Shell, cmd};

/// Benchmarks ours beside its peers.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    /// Arguments of `sparse-bench`; `--help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Runs the benchmark, with SciPy within Python's reach.
pub(crate) fn run(args: &Args) -> Result<()> {
    let shell = Shell::new()?;
    let packages = python_packages(&shell)?;
    let _path = shell.push_env("PYTHONPATH", packages);
    let manifest = crate::ci::root().join("Cargo.toml");
    let arguments = &args.arguments;
    Ok(cmd!(
        shell,
        "cargo run --release --quiet --manifest-path {manifest} -p sparse-bench -- {arguments...}"
    )
    .quiet()
    .run()?)
}
