//! Results: a status for every subject, case and algorithm.

use serde::{Deserialize, Serialize};
use std::fmt::{self, Display};

/// How a case ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// As it must be.
    Pass,
    /// Not as it must be.
    Fail,
    /// The backend, or the format, refuses the case and says why.
    Unsupported,
    /// Known to fail, and it did.
    ExpectedFailure,
    /// Not run, for the reason given (rule P2).
    Skipped,
}

impl Status {
    /// All of them.
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
    /// How it ended.
    pub status: Status,
    /// Why, where it did not pass.
    pub reason: String,
    /// A hash of every result's bits, of reproducible algorithms alone.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub digest: Option<u64>,
}

impl Record {
    /// The record of what concerns a backend as a whole (rules P1 and P2).
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

/// Hears of cases as they run.
pub trait Listener {
    /// Before anything else, the name of the device that the backend runs on; once for each process.
    fn opened(&mut self, _device: &str) {}
    /// Before the first of so many cases, each of one subject; once for each part of the table that runs by itself.
    fn begun(&mut self, _cases: usize) {}
    /// Before a subject runs a case, so that a crash can be named.
    fn started(&mut self, name: &str, types: &str);
    /// After each algorithm.
    fn finished(&mut self, record: Record);
}

/// Keeps all records.
impl Listener for Vec<Record> {
    fn started(&mut self, _: &str, _: &str) {}

    fn finished(&mut self, record: Record) {
        self.push(record);
    }
}
