//! One contender on one workload, as a line of JSON.

use crate::measure::{PeakMemory, Times};
use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader};
use std::path::Path;

/// The measurements of one contender on one workload.
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
    /// Multiplications and additions; 0 if there are none.
    #[serde(default)]
    pub(crate) flops: u64,
    pub(crate) bytes_per_second: f64,
    /// Seconds that the bytes take at the bandwidth of the same run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stream_seconds: Option<f64>,
    /// Seconds of the kernel with only the gathers, in the same run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gather_seconds: Option<f64>,
    /// The larger of the times that the bytes and the gathers take, over the contender's.
    pub(crate) fraction_of_limit: f64,
    /// This contender's time over ours.
    pub(crate) ratio: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) plan_seconds: Option<f64>,
    /// The algorithm that an automatic plan chose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) algorithm: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) peak_memory: Option<PeakMemory>,
}

impl Row {
    /// The library: the contender's name before the colon.
    pub(crate) fn library(&self) -> &str {
        self.contender.split(':').next().unwrap_or_default()
    }

    /// True for the automatic choice of ours, with which all are compared.
    pub(crate) fn is_ours(&self) -> bool {
        self.contender == OURS
    }

    /// The numbers of calls for which this one is ahead of another one, plans included; `None` if the other one has no
    /// plan.
    pub(crate) fn lead(&self, other: &Self) -> Option<String> {
        let plan = self.plan_seconds.unwrap_or(0.0) - other.plan_seconds?;
        let gain = other.seconds.median - self.seconds.median;
        let calls = plan / gain;
        Some(match (plan > 0.0, gain > 0.0) {
            (false, true) => "always".into(),
            (true, true) => format!("after {:.0} calls", calls.ceil()),
            (false, false) if calls >= 1.0 => format!("for {:.0} calls", calls.floor()),
            (_, false) => "never".into(),
        })
    }

    /// The comparison that it belongs to.
    pub(crate) fn case(&self) -> (&str, &str) {
        (&self.op, &self.workload)
    }
}

/// The rows of an earlier run.
pub(super) fn read(path: &Path) -> Result<Vec<Row>> {
    let file = std::fs::File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let row = |(number, line): (usize, std::io::Result<String>)| {
        serde_json::from_str(&line?).with_context(|| format!("{}, line {}", path.display(), number + 1))
    };
    BufReader::new(file).lines().enumerate().map(row).collect()
}

/// The name of the automatic choice of ours.
pub(crate) const OURS: &str = "ours";

/// The rows of a library; of ours, the plan's choice.
fn of<'a>(rows: &'a [Row], library: &str) -> impl Iterator<Item = &'a Row> {
    rows.iter().filter(move |row| row.library() == library && (library != OURS || row.is_ours()))
}

/// The fastest row of a library.
pub(crate) fn best<'a>(rows: &'a [Row], library: &str) -> Option<&'a Row> {
    of(rows, library).min_by(|a, b| a.seconds.median.total_cmp(&b.seconds.median))
}

/// The fastest row of a library and its first, which is the library's default; `None` if it has one row only.
pub(crate) fn best_and_default<'a>(rows: &'a [Row], library: &str) -> Option<(&'a Row, &'a Row)> {
    let default = of(rows, library).next()?;
    (of(rows, library).count() > 1).then(|| Some((best(rows, library)?, default)))?
}

/// The libraries among the rows except ours, in their order.
pub(crate) fn peers(rows: &[Row]) -> Vec<&str> {
    let mut names: Vec<&str> = vec![];
    for name in rows.iter().map(Row::library) {
        if name != OURS && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A row of a contender with these seconds: p10, median and p90.
    pub(in super::super) fn row(op: &str, workload: &str, contender: &str, seconds: [f64; 3]) -> Row {
        let [p10, median, p90] = seconds;
        Row {
            op: op.into(),
            workload: workload.into(),
            contender: contender.into(),
            seconds: Times { median, p10, p90 },
            bytes: 1000,
            entries: 100,
            flops: 200,
            bytes_per_second: 1000.0 / median,
            stream_seconds: None,
            gather_seconds: None,
            fraction_of_limit: 0.5,
            ratio: median,
            plan_seconds: None,
            algorithm: None,
            peak_memory: None,
        }
    }

    #[test]
    fn who_is_ahead_depends_on_the_calls() {
        let of = |plan_seconds, median| Row { plan_seconds, ..row("spmv", "arxiv", "ours", [median; 3]) };
        let lead = |one: Row, other: Row| one.lead(&other).unwrap();
        assert_eq!(lead(of(Some(11.0), 1.0), of(Some(1.0), 3.0)), "after 5 calls");
        assert_eq!(lead(of(None, 3.0), of(Some(10.0), 1.0)), "for 5 calls");
        assert_eq!(lead(of(Some(1.0), 1.0), of(Some(2.0), 2.0)), "always");
        assert_eq!(lead(of(Some(2.0), 2.0), of(Some(1.0), 1.0)), "never");
        assert_eq!(lead(of(Some(1.5), 2.0), of(Some(2.0), 1.0)), "never");
        assert!(of(Some(1.0), 1.0).lead(&of(None, 2.0)).is_none());
    }

    #[test]
    fn rows_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.jsonl");
        let rows = [row("spmv", "arxiv", "ours", [1.0; 3]), row("spmv", "arxiv", "scipy", [2.0; 3])];
        let lines: Vec<_> = rows.iter().map(|row| serde_json::to_string(row).unwrap()).collect();
        std::fs::write(&path, lines.join("\n")).unwrap();
        let read = read(&path).unwrap();
        assert_eq!(read.iter().map(|row| row.seconds.median).collect::<Vec<_>>(), [1.0, 2.0]);
        std::fs::write(&path, "{}").unwrap();
        assert!(super::read(&path).unwrap_err().to_string().contains("line 1"));
    }

    #[test]
    fn the_first_of_a_library_is_its_default_and_the_fastest_its_best() {
        let names = ["ours", "mkl:csrmv", "mkl:inspector", "scipy"];
        let rows: Vec<_> = names.into_iter().zip([1.0, 3.0, 2.0, 4.0]).collect();
        let rows: Vec<_> = rows.into_iter().map(|(name, s)| row("spmv", "arxiv", name, [s; 3])).collect();
        assert_eq!(peers(&rows), ["mkl", "scipy"]);
        let (best, default) = best_and_default(&rows, "mkl").unwrap();
        assert_eq!((&best.contender[..], &default.contender[..]), ("mkl:inspector", "mkl:csrmv"));
        assert!(best_and_default(&rows, "scipy").is_none());
    }
}
