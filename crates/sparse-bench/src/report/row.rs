//! One contender on one workload, as a line of JSON.

use crate::measure::Times;
use serde::{Deserialize, Serialize};

/// What was measured of one contender on one workload.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) op: String,
    pub(crate) workload: String,
    pub(crate) contender: String,
    pub(crate) seconds: Times,
    /// The bytes that had to move.
    pub(crate) bytes: u64,
    /// Entries of the matrix.
    #[serde(default)]
    pub(crate) entries: u64,
    /// Multiplications and additions; 0 where there are none.
    #[serde(default)]
    pub(crate) flops: u64,
    pub(crate) bytes_per_second: f64,
    /// What the gathers alone took, in the same run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gather_seconds: Option<f64>,
    /// The larger of the times that the bytes and the gathers take, over the contender's.
    pub(crate) fraction_of_limit: f64,
    /// This contender's time over ours.
    pub(crate) ratio: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) plan_seconds: Option<f64>,
}

impl Row {
    /// The library: what stands before the colon of the contender's name.
    pub(crate) fn library(&self) -> &str {
        self.contender.split(':').next().unwrap_or_default()
    }

    /// Whether it is the automatic choice of ours, with which all are compared.
    pub(crate) fn is_ours(&self) -> bool {
        self.contender == OURS
    }

    /// The comparison that it belongs to.
    pub(crate) fn case(&self) -> (&str, &str) {
        (&self.op, &self.workload)
    }
}

/// The name of the automatic choice of ours.
pub(crate) const OURS: &str = "ours";

/// The fastest row of a library and its first, which is the library's default; `None` if it has one row only.
pub(crate) fn best_and_default<'a>(rows: &'a [Row], library: &str) -> Option<(&'a Row, &'a Row)> {
    let of_library: Vec<_> = rows.iter().filter(|row| row.library() == library).collect();
    let best = of_library.iter().min_by(|a, b| a.seconds.median.total_cmp(&b.seconds.median))?;
    (of_library.len() > 1).then(|| (*best, of_library[0]))
}

/// The libraries among the rows but ours, in their order.
pub(crate) fn peers(rows: &[Row]) -> Vec<&str> {
    let mut names: Vec<&str> = vec![];
    for name in rows.iter().map(Row::library) {
        if name != OURS && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
