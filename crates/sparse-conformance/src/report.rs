//! Results: a status for every subject, case and algorithm.

use crate::case::Tier;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display};

/// The result of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The result is as expected.
    Pass,
    /// The result is not as expected.
    Fail,
    /// The backend, or the format, refuses the case with a reason.
    Unsupported,
    /// Known to fail, and it failed.
    ExpectedFailure,
    /// Not run, for the reason given.
    Skipped,
}

impl Status {
    /// All statuses.
    pub const ALL: [Self; 5] =
        [Self::Pass, Self::Fail, Self::Unsupported, Self::ExpectedFailure, Self::Skipped];
}

impl Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Unsupported => "unsupported",
            Self::ExpectedFailure => "expected_failure",
            Self::Skipped => "skipped",
        })
    }
}

/// One line of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Operation and format: `spmv/csr`.
    pub op: String,
    /// The case.
    pub case: String,
    /// The backend.
    pub backend: String,
    /// The algorithm; `auto` for the plan's own choice.
    pub algorithm: String,
    /// Value, index and offset type.
    pub types: String,
    /// The result.
    pub status: Status,
    /// The reason, if it did not pass.
    pub reason: String,
    /// A hash of every result's bits, only of reproducible algorithms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub digest: Option<u64>,
}

impl Record {
    /// The record of a backend as a whole, when it is not there or is probed.
    pub fn probe(backend: &str, case: &str, status: Status, reason: &str) -> Self {
        Self {
            op: "probe".into(),
            case: case.into(),
            backend: backend.into(),
            algorithm: String::new(),
            types: String::new(),
            status,
            reason: reason.into(),
            digest: None,
        }
    }

    /// `spmv/csr/<case>`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.op, self.case)
    }
}

/// Receives the events of cases as they run.
pub trait Listener {
    /// Called before anything else with the name of the device that the backend runs on and the last tier that runs
    /// there; once for each process.
    fn opened(&mut self, _device: &str, _tier: Tier) {}
    /// Called before the first of `cases` cases, each of one subject; once for each part of the table that runs by
    /// itself.
    fn begun(&mut self, _cases: usize) {}
    /// Called before a subject runs a case, so that a crash can be named.
    fn started(&mut self, name: &str, types: &str);
    /// Called after each algorithm.
    fn finished(&mut self, record: Record);
}

/// Collects all records.
impl Listener for Vec<Record> {
    fn started(&mut self, _: &str, _: &str) {}

    fn finished(&mut self, record: Record) {
        self.push(record);
    }
}
