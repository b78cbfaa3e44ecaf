//! The child: runs one backend through the table and writes its events as JSON Lines to standard output.

use crate::backends::{self, Known};
use crate::options::Selection;
use anyhow::{Context, Result, bail};
use sparse_conformance::{Reporter, Run, Snapshots, Suite, Tier};
use std::io::{Stdout, stdout};

/// Runs one backend through the table.
#[derive(Debug, clap::Args)]
pub(crate) struct ChildArgs {
    /// The backend.
    #[arg(long)]
    backend: String,
    /// Skip this number of cases, which ran before.
    #[arg(long, default_value = "0")]
    done: usize,
    /// The part of the table that is run, and the number of parts.
    #[arg(long, num_args = 2, default_values = ["0", "1"])]
    part: Vec<usize>,
    #[command(flatten)]
    selection: Selection,
}

impl ChildArgs {
    /// The command line of a child for `backend` and part number `part` of `parts`, when `done` cases of it are done.
    pub(crate) fn command(
        backend: &str,
        (part, parts): (usize, usize),
        done: usize,
        selection: &Selection,
    ) -> Vec<String> {
        let [part, parts, done] = [part, parts, done].map(|number| number.to_string());
        let command = ["child", "--backend", backend, "--part", &part, &parts, "--done", &done];
        let mut command = command.map(String::from).to_vec();
        command.extend(selection.arguments());
        command
    }

    fn through_the_table(
        &self,
        known: Known,
        mut suite: Suite,
        reporter: &mut Reporter<Stdout>,
    ) -> Result<()> {
        std::panic::set_hook(Box::new(|_| {}));
        let [part, parts] = self.part[..] else { bail!("a part has a number and a number of parts") };
        let tier = if known.compiles && suite.caps().is_cpu { Tier::Quick } else { Tier::Ci };
        let (mut cases, filter, reference) =
            (self.selection.cases()?, self.selection.filter(tier), Suite::reference());
        if known.compiles {
            suite.keep_part(&filter, part, parts);
        } else {
            cases = cases.into_iter().skip(part).step_by(parts.max(1)).collect();
        }
        if self.selection.bless && suite.caps().backend != reference.caps().backend {
            bail!("only the serial reference blesses snapshots");
        }
        let folder = self.selection.snapshots.clone().unwrap_or_else(Snapshots::default_folder);
        let mut snapshots =
            if self.selection.bless { Snapshots::bless(folder) } else { Snapshots::compare(folder) };
        let run = Run { suite: &suite, reference: &reference, cases: &cases, filter: &filter };
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
    match (known.open)(&args.selection.threads) {
        Ok(suite) => args.through_the_table(known, suite, &mut reporter),
        Err(error) => {
            reporter.missing(&format!("{error:#}"));
            Ok(())
        }
    }
}
