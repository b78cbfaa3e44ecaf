//! The table at the end: operations × backends, and the commands that repeat failures.

use super::Selection;
use sparse_conformance::{Record, Status};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The most failures shown in full.
const SHOWN: usize = 40;

/// Counts of every status, and the records that did not pass.
#[derive(Debug, Default)]
pub(super) struct Summary {
    counts: BTreeMap<(String, String), [usize; 5]>,
    failures: Vec<Record>,
    skipped: Vec<Record>,
}

impl Summary {
    pub(super) fn add(&mut self, record: Record) {
        let counts = self.counts.entry((record.op.clone(), record.backend.clone())).or_default();
        counts[record.status as usize] += 1;
        match record.status {
            Status::Fail => self.failures.push(record),
            Status::Skipped if record.op == "probe" => self.skipped.push(record),
            _ => {}
        }
    }

    pub(super) fn failed(&self) -> bool {
        !self.failures.is_empty()
    }

    pub(super) fn text(&self, selection: &Selection) -> String {
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
        for record in &self.skipped {
            let _ = writeln!(text, "skipped: {}: {}", record.backend, record.reason);
        }
        for record in self.failures.iter().take(SHOWN) {
            let _ = writeln!(text, "\nFAIL {} [{} {}]", record.name(), record.types, record.algorithm);
            let _ = writeln!(text, "  {}\n  {}", record.reason, command(record, selection));
        }
        let more = self.failures.len().saturating_sub(SHOWN);
        if more > 0 {
            let _ = writeln!(text, "\n… and {more} failures more; --json has them all");
        }
        let passed: usize = self.counts.values().map(|counts| counts[Status::Pass as usize]).sum();
        let _ = writeln!(text, "\n{passed} passed, {} failed", self.failures.len());
        text
    }
}

/// The command that runs the failed case again; the whole selection if the failure is in no case.
fn command(record: &Record, selection: &Selection) -> String {
    let mut again = selection.clone();
    if record.op != "probe" {
        again.op = Some(record.op.clone());
        again.case = Some(record.case.clone());
    }
    format!("cargo xtask conformance --backend {} {}", record.backend, again.arguments().join(" "))
}
