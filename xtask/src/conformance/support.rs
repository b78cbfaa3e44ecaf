//! What a backend refuses: its support matrix, which a file in the repository pins.

use anyhow::{Context, Result, ensure};
use sparse_conformance::{Record, Status};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// How many cases were refused, by operation, algorithm and reason.
#[derive(Debug, Default)]
pub(super) struct Support(BTreeMap<(String, String, String), usize>);

impl Support {
    pub(super) fn add(&mut self, record: &Record) {
        if record.status == Status::Unsupported {
            let Record { op, algorithm, reason, .. } = record;
            *self.0.entry((op.clone(), algorithm.clone(), reason.clone())).or_default() += 1;
        }
    }

    fn text(&self) -> String {
        self.0.iter().fold(String::new(), |mut text, ((op, algorithm, reason), count)| {
            let _ = writeln!(text, "{op} {algorithm} {count}: {reason}");
            text
        })
    }

    /// An error unless the file says the same.
    pub(super) fn compare(&self, pinned: &Path) -> Result<()> {
        let known = std::fs::read_to_string(pinned).with_context(|| pinned.display().to_string())?;
        let found = self.text();
        ensure!(known == found, "{} is pinned, but this was refused:\n{found}", pinned.display());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(op: &str, status: Status) -> Record {
        let probe = Record::probe("opencl", "case", status, "too wide");
        Record { op: op.into(), algorithm: "gather".into(), ..probe }
    }

    #[test]
    fn what_is_refused_is_counted_and_pinned() {
        let mut support = Support::default();
        for (op, status) in
            [("spmv", Status::Unsupported), ("spmm", Status::Pass), ("spmv", Status::Unsupported)]
        {
            support.add(&refused(op, status));
        }
        assert_eq!(support.text(), "spmv gather 2: too wide\n");
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(support.compare(file.path()).unwrap_err().to_string().contains("gather 2: too wide"));
        std::fs::write(file.path(), support.text()).unwrap();
        support.compare(file.path()).unwrap();
    }
}
