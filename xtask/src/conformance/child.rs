//! The child: one backend through the table, what happens as JSON Lines on standard output.

use super::{Selection, backends};
use anyhow::{Context, Result, bail};
use sparse_conformance::{Reporter, Run, Snapshots, Suite};
use std::io::{Stdout, stdout};

/// Runs one backend through the table.
#[derive(Debug, clap::Args)]
pub(crate) struct ChildArgs {
    /// The backend.
    #[arg(long)]
    backend: String,
    /// Leave out the first so many cases, which ran before.
    #[arg(long, default_value = "0")]
    done: usize,
    #[command(flatten)]
    selection: Selection,
}

impl ChildArgs {
    /// The command line of a child for `backend`, when so many cases are done.
    pub(super) fn command(backend: &str, done: usize, selection: &Selection) -> Vec<String> {
        let mut command = ["conformance-child", "--backend", backend, "--done", &done.to_string()]
            .map(String::from)
            .to_vec();
        command.extend(selection.arguments());
        command
    }

    fn through_the_table(&self, suite: &Suite, reporter: &mut Reporter<Stdout>) -> Result<()> {
        std::panic::set_hook(Box::new(|_| {}));
        let (cases, filter, reference) =
            (self.selection.cases()?, self.selection.filter(), Suite::reference());
        if self.selection.bless && suite.caps().backend != reference.caps().backend {
            bail!("only the serial reference blesses snapshots");
        }
        let folder = self.selection.snapshots.clone().unwrap_or_else(Snapshots::default_folder);
        let mut snapshots =
            if self.selection.bless { Snapshots::bless(folder) } else { Snapshots::compare(folder) };
        let run = Run { suite, reference: &reference, cases: &cases, filter: &filter };
        run.resume(self.done, &mut snapshots, reporter);
        if self.selection.bless {
            snapshots.save()?;
        }
        reporter.ended();
        Ok(())
    }
}

/// The child's main function.
pub(crate) fn run(args: &ChildArgs) -> Result<()> {
    let mut reporter = Reporter::new(stdout());
    let known =
        backends::find(&args.backend).with_context(|| format!("no backend is called {}", args.backend))?;
    match (known.open)(args.selection.threads) {
        Ok(suite) => args.through_the_table(&suite, &mut reporter),
        Err(error) => {
            reporter.missing(&format!("{error:#}"));
            Ok(())
        }
    }
}
