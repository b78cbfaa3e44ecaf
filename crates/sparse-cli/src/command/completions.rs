//! `nnz completions`: completion scripts for shells.

use crate::arguments::Arguments;
use crate::context::Context;
use anyhow::Result;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

/// Writes a completion script for a shell to stdout
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "nnz", &mut script);
        context.print(String::from_utf8_lossy(&script).trim_end())
    }
}
