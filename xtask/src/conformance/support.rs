//! The support matrix of a backend: its refusals, which a file in the repository pins.

use anyhow::{Context, Result, ensure};
use sparse_conformance::{Record, Status};
use std::collections::BTreeSet;
use std::path::Path;

/// Refusals: `spmv/ell row_per_thread: ell`, an operation, an algorithm, and the unsupported request.
#[derive(Debug, Default)]
pub(super) struct Support(BTreeSet<String>);

impl Support {
    pub(super) fn add(&mut self, record: &Record) {
        if record.status == Status::Unsupported {
            let Record { op, algorithm, reason, .. } = record;
            let what = reason.split(" is not supported").next().unwrap_or(reason);
            self.0.insert(format!("{op} {algorithm}: {what}\n"));
        }
    }

    fn text(&self) -> String {
        self.0.iter().map(String::as_str).collect()
    }

    /// Writes the file.
    pub(super) fn pin(&self, path: &Path) -> Result<()> {
        std::fs::write(path, self.text()).with_context(|| path.display().to_string())
    }

    /// An error unless the file has the same refusals.
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

    fn record(op: &str, status: Status) -> Record {
        let probe = Record::probe("opencl", "case", status, "ell is not supported: too wide");
        Record { op: op.into(), algorithm: "gather".into(), ..probe }
    }

    #[test]
    fn what_is_refused_is_pinned() {
        let mut support = Support::default();
        for (op, status) in
            [("spmv", Status::Unsupported), ("spmm", Status::Pass), ("spmv", Status::Unsupported)]
        {
            support.add(&record(op, status));
        }
        assert_eq!(support.text(), "spmv gather: ell\n");
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(support.compare(file.path()).unwrap_err().to_string().contains("spmv gather: ell"));
        support.pin(file.path()).unwrap();
        support.compare(file.path()).unwrap();
    }
}
