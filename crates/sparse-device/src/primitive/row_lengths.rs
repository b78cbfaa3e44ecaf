//! Statistics of row lengths, computed on the device when needed.

use crate::Device;
use crate::buffer::RawBuffer;
use crate::defines::Defines;
use sparse_core::{Backend, Csr, Index, Result, Scalar};
use std::cell::OnceCell;

/// A longer row counts as a hub: a plan for a single call then splits rows. Matrices with fewer than [`LEAST_WITH_HUB`]
/// entries are not inspected.
const LONGEST_UNPLANNED: usize = 2048;
const LEAST_WITH_HUB: usize = 1 << 16;

/// Statistics of row lengths, each computed on the device at its first use.
#[derive(Debug)]
pub(crate) struct LazyRowLengths<'a> {
    backend: &'a Device,
    offsets: &'a RawBuffer,
    longest: OnceCell<usize>,
    filled: OnceCell<usize>,
    limited: OnceCell<usize>,
}

impl<'a> LazyRowLengths<'a> {
    /// The statistics of the rows with these offsets.
    pub(crate) fn new(backend: &'a Device, offsets: &'a RawBuffer) -> Self {
        Self { backend, offsets, longest: OnceCell::new(), filled: OnceCell::new(), limited: OnceCell::new() }
    }

    /// The length of the longest row.
    pub(crate) fn longest(&self) -> Result<usize> {
        get_or_try_init(&self.longest, || self.backend.longest_row(self.offsets))
    }

    /// The number of non-empty rows.
    pub(crate) fn filled(&self) -> Result<usize> {
        get_or_try_init(&self.filled, || self.backend.filled_rows(self.offsets))
    }

    /// The sum over rows of min(length, 32) (`LIMIT` of the kernel), so that a few long rows do not matter.
    pub(crate) fn limited(&self) -> Result<usize> {
        get_or_try_init(&self.limited, || self.backend.limited_lengths(self.offsets))
    }

    /// True if a row has more than [`LONGEST_UNPLANNED`] entries: one work-item would take longer for it than a plan
    /// takes, even for a single product. Small matrices are not inspected.
    pub(crate) fn has_hub(&self, nnz: usize) -> Result<bool> {
        Ok(nnz >= LEAST_WITH_HUB && self.longest()? > LONGEST_UNPLANNED)
    }
}

/// The value of a cell; `find` computes it if the cell is empty.
fn get_or_try_init(cell: &OnceCell<usize>, find: impl FnOnce() -> Result<usize>) -> Result<usize> {
    match cell.get() {
        Some(&value) => Ok(value),
        None => find().map(|value| *cell.get_or_init(|| value)),
    }
}

impl Device {
    /// The lengths of the rows, from offsets that the host reads.
    pub(crate) fn row_lengths<T: Scalar, I: Index, O: Index>(
        &self,
        a: &Csr<T, Device, I, O>,
    ) -> Result<Vec<usize>> {
        let offsets = self.download(a.offsets())?;
        Ok(offsets.windows(2).map(|ends| ends[1].as_usize() - ends[0].as_usize()).collect())
    }

    /// The length of the longest of the rows between these offsets, found on the device.
    pub(crate) fn longest_row(&self, offsets: &RawBuffer) -> Result<usize> {
        let partials = self.partial_lengths("row_lengths_longest", offsets)?;
        Ok(partials.into_iter().max().unwrap_or(0) as usize)
    }

    /// The number of rows between these offsets that have entries, found on the device.
    fn filled_rows(&self, offsets: &RawBuffer) -> Result<usize> {
        Ok(self.partial_lengths("row_lengths_filled", offsets)?.into_iter().sum::<i64>() as usize)
    }

    /// The sum of the lengths of the rows between these offsets, up to 32 each, found on the device.
    fn limited_lengths(&self, offsets: &RawBuffer) -> Result<usize> {
        Ok(self.partial_lengths("row_lengths_limited", offsets)?.into_iter().sum::<i64>() as usize)
    }

    /// The partial results of a kernel over the lengths of rows.
    fn partial_lengths(&self, entry: &'static str, offsets: &RawBuffer) -> Result<Vec<i64>> {
        let rows = offsets.len - 1;
        let offset = offsets.index_type();
        let defines = Defines::default().index(offset).offset(offset).set("BLOCK", self.inner.block);
        let kernel = self.kernel("row_lengths", entry, defines)?;
        self.partials(self.launch(&kernel).size(rows).buffer(offsets), rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparse_core::Error;

    #[test]
    fn a_number_is_found_once_and_an_error_is_not_remembered() {
        let cell = OnceCell::new();
        assert!(get_or_try_init(&cell, || Err(Error::operands("test", "refused"))).is_err());
        assert_eq!(get_or_try_init(&cell, || Ok(7)).unwrap(), 7);
        assert_eq!(get_or_try_init(&cell, || unreachable!("it is known")).unwrap(), 7);
    }
}
