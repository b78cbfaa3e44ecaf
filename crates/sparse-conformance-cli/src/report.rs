//! The progress and the results of a run: the bar, the summary, and the requested files.

use crate::corpora::Corpus;
use crate::options::Options;
use crate::summary::Summary;
use crate::support::Support;
use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sparse_conformance::{Listener, Record, Status, Tier};
use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write, stderr};
use std::path::PathBuf;
use std::process::ExitCode;

/// Gathers records and shows the progress of the run.
pub(crate) struct Report {
    summary: Summary,
    support: Support,
    json: Option<BufWriter<File>>,
    digests: Vec<String>,
    bar: ProgressBar,
    backend: &'static str,
    /// True once a part of the backend's table has begun.
    begun: bool,
    required_missing: bool,
}

impl Report {
    pub(crate) fn new(options: &Options) -> Result<Self> {
        let create = |path: &PathBuf| File::create(path).with_context(|| path.display().to_string());
        let corpora = options.selection.corpora()?;
        let names = |corpus: &Corpus| corpus.cases.iter().map(|case| case.name.clone()).collect::<Vec<_>>();
        let of_others =
            corpora.iter().filter(|corpus| !corpus.is_of_the_repository).flat_map(names).collect();
        Ok(Self {
            summary: Summary::new(&corpora),
            support: Support::new(options.support.as_ref(), options.pin_support.as_ref(), of_others)?,
            json: options.json.as_ref().map(create).transpose()?.map(BufWriter::new),
            digests: vec![],
            bar: ProgressBar::hidden(),
            backend: "",
            begun: false,
            required_missing: false,
        })
    }

    /// Starts the next backend.
    pub(crate) fn begin(&mut self, backend: &'static str) {
        self.bar.finish_and_clear();
        (self.backend, self.begun) = (backend, false);
    }

    /// Reports a missing backend as skipped, or as a failure if it was requested.
    pub(crate) fn missing(&mut self, backend: &str, reason: &str, required: bool) {
        self.required_missing |= required;
        if required {
            eprintln!("error: the backend {backend} was asked for and is not there: {reason}");
        }
        self.finished(Record::probe(backend, "p2_backend_is_not_there", Status::Skipped, reason));
    }

    pub(crate) fn finish(mut self, options: &Options) -> Result<ExitCode> {
        self.bar.finish_and_clear();
        if let Some(json) = &mut self.json {
            json.flush()?;
        }
        if let Some(path) = &options.digest {
            self.digests.sort_by_cached_key(|line| line.split_once(' ').map(|(_, name)| name.to_owned()));
            self.digests.push(String::new());
            std::fs::write(path, self.digests.join("\n")).with_context(|| path.display().to_string())?;
        }
        print!("{}", self.summary.text(&options.selection));
        self.support.save()?;
        Ok(match () {
            () if self.required_missing => ExitCode::from(3),
            () if self.summary.failed() => ExitCode::FAILURE,
            () => ExitCode::SUCCESS,
        })
    }
}

impl Listener for Report {
    fn opened(&mut self, device: &str, tier: Tier) {
        self.support.opened(self.backend, device);
        self.summary.opened(self.backend, device, tier);
    }

    fn begun(&mut self, cases: usize) {
        if self.begun {
            return self.bar.inc_length(cases as u64);
        }
        self.begun = true;
        let target =
            if stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let style = ProgressStyle::with_template("{prefix} {bar:30} {pos}/{len} {eta} {wide_msg}");
        self.bar = ProgressBar::with_draw_target(Some(cases as u64), target).with_prefix(self.backend);
        if let Ok(style) = style {
            self.bar.set_style(style);
        }
        self.finished(Record::probe(self.backend, "p1_backend_is_there", Status::Pass, ""));
    }

    fn started(&mut self, name: &str, types: &str) {
        self.bar.inc(1);
        self.bar.set_message(format!("{name} {types}"));
    }

    fn finished(&mut self, record: Record) {
        let record = self.support.compare(record);
        if let Some(digest) = record.digest {
            let Record { backend, algorithm, types, .. } = &record;
            self.digests.push(format!("{digest:016x} {backend} {} {types} {algorithm}", record.name()));
        }
        if let Some(json) = &mut self.json {
            let line = serde_json::to_string(&Record { digest: None, ..record.clone() }).unwrap_or_default();
            let _ = writeln!(json, "{line}");
        }
        self.summary.add(record);
    }
}
