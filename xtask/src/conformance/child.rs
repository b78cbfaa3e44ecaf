//! The child: one backend through the table, events as JSON Lines on standard output.

use super::{Selection, backends};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use sparse_conformance::{Case, Filter, Listener, Record, Run, Snapshots, Suite};
use std::io::{BufWriter, Stdout, Write, stdout};

/// The exit status of a child whose backend is not there.
pub(super) const NOT_THERE: i32 = 3;

/// What the child tells the parent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Event {
    /// The backend is not there, for this reason.
    Missing(String),
    /// So many cases may run.
    Total(usize),
    /// A case runs now, in these types.
    Started(String, String),
    /// It ended.
    Finished(Record),
}

/// Runs one backend through the table.
#[derive(Debug, clap::Args)]
pub(crate) struct ChildArgs {
    /// The backend.
    #[arg(long)]
    backend: String,
    #[command(flatten)]
    selection: Selection,
}

impl ChildArgs {
    /// The command line of a child for `backend`.
    pub(super) fn command(backend: &str, selection: &Selection) -> Vec<String> {
        let mut command = vec!["conformance-child".into(), "--backend".into(), backend.into()];
        command.extend(selection.arguments());
        command
    }
}

/// Every event is a line, written at once: what stands last when the process dies is the case that it died of.
struct Pipe(BufWriter<Stdout>);

impl Pipe {
    fn send(&mut self, event: &Event) {
        let sent = serde_json::to_writer(&mut self.0, event).map_err(std::io::Error::from);
        let sent = sent.and_then(|()| self.0.write_all(b"\n")).and_then(|()| self.0.flush());
        if sent.is_err() {
            std::process::exit(1);
        }
    }
}

impl Listener for Pipe {
    fn started(&mut self, name: &str, types: &str) {
        self.send(&Event::Started(name.into(), types.into()));
    }

    fn finished(&mut self, record: Record) {
        self.send(&Event::Finished(record));
    }
}

/// The child's main function.
pub(crate) fn run(args: &ChildArgs) -> Result<()> {
    let mut pipe = Pipe(BufWriter::new(stdout()));
    let known =
        backends::find(&args.backend).with_context(|| format!("no backend is called {}", args.backend))?;
    let suite = match (known.open)(args.selection.threads) {
        Ok(suite) => suite,
        Err(error) => {
            pipe.send(&Event::Missing(format!("{error:#}")));
            std::process::exit(NOT_THERE);
        }
    };
    std::panic::set_hook(Box::new(|_| {}));
    through_the_table(&suite, &args.selection, &mut pipe)
}

fn through_the_table(suite: &Suite, selection: &Selection, pipe: &mut Pipe) -> Result<()> {
    let (cases, filter) = (selection.cases()?, selection.filter());
    let reference = Suite::reference();
    let run = Run { suite, reference: &reference, cases: &cases, filter: &filter };
    pipe.send(&Event::Total(run.len()));
    let folder = selection.snapshots.clone().unwrap_or_else(Snapshots::default_folder);
    if !selection.bless {
        run.run(&mut Snapshots::compare(folder), pipe);
        return Ok(());
    }
    if suite.caps().backend != reference.caps().backend {
        bail!("only the serial reference blesses snapshots");
    }
    let mut snapshots = Snapshots::bless(folder);
    run.run(&mut snapshots, pipe);
    Ok(snapshots.save()?)
}

impl Selection {
    pub(super) fn cases(&self) -> Result<Vec<Case>> {
        let mut cases = sparse_conformance::table();
        for folder in &self.corpus {
            let corpus = sparse_conformance::corpus(folder);
            cases.extend(corpus.with_context(|| format!("the corpus {}", folder.display()))?);
        }
        Ok(cases)
    }

    pub(super) fn filter(&self) -> Filter {
        Filter { tier: self.tier, op: self.op.clone(), case: self.case.clone() }
    }
}
