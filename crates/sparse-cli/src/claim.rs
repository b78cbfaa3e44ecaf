//! The limit of memory for claimed sizes, by the data behind them.

use crate::text::bytes;
use anyhow::{Result, ensure};
use nnz::Matrix;

/// Bytes that any claim may take.
const ALWAYS: usize = 1 << 30;
/// The largest claim, in multiples of the bytes of the data.
const FACTOR: usize = 256;

/// Fails if `what` would take far more bytes than its source data.
pub(crate) fn check(what: &str, needed: usize, data: usize) -> Result<()> {
    ensure!(
        needed <= ALWAYS.max(data.saturating_mul(FACTOR)),
        "{what} would take {}, which entries of {} do not justify",
        bytes(needed as u64),
        bytes(data as u64)
    );
    Ok(())
}

/// Fails if a number for each row and column would take far more bytes than the entries.
pub(crate) fn check_lines(a: &Matrix) -> Result<()> {
    check_each("row and column", a.nrows().saturating_add(a.ncols()), a)
}

/// Fails if an array with a number for each of `count` rows or columns would take far more memory than the entries.
pub(crate) fn check_each(line: &str, count: usize, a: &Matrix) -> Result<()> {
    let data = a.nnz().saturating_mul(a.dtype().bytes());
    check(&format!("a number for each {line}"), count.saturating_mul(size_of::<usize>()), data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_claims_need_data() {
        assert!(check("y", ALWAYS, 0).is_ok());
        assert!(check("y", ALWAYS + 1, ALWAYS / FACTOR + 1).is_ok());
        let error = check("y", 32_000_000_000, 16).unwrap_err();
        assert_eq!(error.to_string(), "y would take 29.8 GiB, which entries of 16 B do not justify");
    }
}
