//! A chore that this program was built without.

use anyhow::{Result, bail};

/// Left out of this program, which was built without the features cpu, cuda and sycl.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _arguments: Vec<String>,
}

/// Fails, naming the features that the chore needs.
pub(crate) fn run(_: &Args) -> Result<()> {
    bail!("this needs a program with the features cpu, cuda and sycl, all of which are on by default")
}
