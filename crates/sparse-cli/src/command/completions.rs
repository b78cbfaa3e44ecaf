//! `nnz completions`: completion scripts for shells.

use crate::arguments::Arguments;
use crate::context::Context;
use anyhow::Result;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

/// Prints a completion script for a shell
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(ignore_case = true)]
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        context.print(script(self.shell).trim_end())
    }
}

fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "nnz", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn every_shell_completes_every_subcommand() {
        let command = Arguments::command();
        for &shell in Shell::value_variants() {
            let script = script(shell);
            for subcommand in command.get_subcommands() {
                assert!(script.contains(subcommand.get_name()), "{shell}: {}", subcommand.get_name());
            }
        }
    }
}
