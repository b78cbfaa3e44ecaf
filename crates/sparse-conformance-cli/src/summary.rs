//! The table at the end: operations × backends, and the commands that repeat failures.

use crate::corpora::Corpus;
use crate::options::Selection;
use sparse_conformance::{Record, Status, Tier};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The most failures shown in full.
const SHOWN: usize = 40;

/// Counts of every status, the records that did not pass, and the real matrices that ran.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    counts: BTreeMap<(String, String), [usize; 5]>,
    /// The device of each backend, and the last tier that ran there.
    devices: BTreeMap<String, (String, Tier)>,
    failures: Vec<Record>,
    skipped: Vec<Record>,
    /// The names of real matrices, by their origin.
    real: Vec<(String, BTreeSet<String>)>,
    /// The cases that ran.
    ran: BTreeSet<String>,
}

impl Summary {
    /// An empty summary of a run with these real matrices.
    pub(crate) fn new(corpora: &[Corpus]) -> Self {
        let names = |corpus: &Corpus| corpus.cases.iter().map(|case| case.name.clone()).collect();
        let real = corpora.iter().map(|corpus| (corpus.origin.clone(), names(corpus))).collect();
        Self { real, ..Self::default() }
    }

    pub(crate) fn opened(&mut self, backend: &str, device: &str, tier: Tier) {
        self.devices.insert(backend.into(), (device.into(), tier));
    }

    pub(crate) fn add(&mut self, record: Record) {
        let counts = self.counts.entry((record.op.clone(), record.backend.clone())).or_default();
        counts[record.status as usize] += 1;
        if record.status != Status::Skipped && !self.ran.contains(&record.case) {
            self.ran.insert(record.case.clone());
        }
        match record.status {
            Status::Fail => self.failures.push(record),
            Status::Skipped if record.op == "probe" => self.skipped.push(record),
            _ => {}
        }
    }

    pub(crate) fn failed(&self) -> bool {
        !self.failures.is_empty()
    }

    pub(crate) fn text(&self, selection: &Selection) -> String {
        let mut text = String::new();
        let _ = write!(text, "{:<26} {:<10}", "operation", "backend");
        Status::ALL.iter().for_each(|status| {
            let _ = write!(text, " {status:>16}");
        });
        for ((op, backend), counts) in &self.counts {
            let _ = write!(text, "\n{op:<26} {backend:<10}");
            counts.iter().for_each(|count| {
                let _ = write!(text, " {count:>16}");
            });
        }
        text.push('\n');
        for (backend, (device, tier)) in &self.devices {
            let _ = writeln!(text, "{backend}: tier {tier} on {device}");
        }
        for record in &self.skipped {
            let _ = writeln!(text, "skipped: {}: {}", record.backend, record.reason);
        }
        for record in self.failures.iter().take(SHOWN) {
            let _ = writeln!(text, "\nFAIL {} [{} {}]", record.name(), record.types, record.algorithm);
            let _ = writeln!(text, "  {}\n  {}", record.reason, self.command(record, selection));
        }
        let more = self.failures.len().saturating_sub(SHOWN);
        if more > 0 {
            let _ = writeln!(text, "\n… and {more} failures more; --json has them all");
        }
        let passed: usize = self.counts.values().map(|counts| counts[Status::Pass as usize]).sum();
        let _ = writeln!(text, "\nreal matrices: {}", self.real_matrices());
        let _ = writeln!(text, "{passed} passed, {} failed{}", self.failures.len(), threads(selection));
        text
    }

    /// The number of real matrices that ran: `8 of the repository, 32 of /data`.
    fn real_matrices(&self) -> String {
        let ran = self.real.iter().map(|(origin, names)| (names.intersection(&self.ran).count(), origin));
        let parts: Vec<_> = ran
            .filter(|(count, _)| *count > 0)
            .map(|(count, origin)| format!("{count} of {origin}"))
            .collect();
        if parts.is_empty() { "none".into() } else { parts.join(", ") }
    }

    /// The command that runs the failed case again; the whole selection if the failure is in no case.
    fn command(&self, record: &Record, selection: &Selection) -> String {
        let mut again = selection.clone();
        again.tier = self.devices.get(&record.backend).map_or(selection.tier, |(_, tier)| Some(*tier));
        if record.op != "probe" {
            again.op = Some(record.op.clone());
            again.case = Some(record.case.clone());
        }
        format!("cargo xtask conformance --backend {} {}", record.backend, again.arguments().join(" "))
    }
}

/// The numbers of threads that each check ran with, where they are several.
fn threads(selection: &Selection) -> String {
    let several = selection.threads.len() > 1;
    if several { format!(", each with {} threads", selection.threads_text(" and ")) } else { String::new() }
}
