//! The lengths of rows.

use crate::Device;
use crate::buffer::RawBuffer;
use crate::defines::Defines;
use sparse_core::{Backend, Csr, Index, Result, Scalar};

/// The longest row that a product of one call leaves to a work-item or a warp, and the entries of a matrix from which on
/// it is worth the time to look for a longer one.
const LONGEST_UNPLANNED: usize = 2048;
const LEAST_WITH_HUB: usize = 1 << 16;

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
    pub(crate) fn filled_rows(&self, offsets: &RawBuffer) -> Result<usize> {
        Ok(self.partial_lengths("row_lengths_filled", offsets)?.into_iter().sum::<i64>() as usize)
    }

    /// True if a row is so long that a single product, too, is better planned than left to a work-item for that row:
    /// [`LONGEST_UNPLANNED`] steps take as long as a plan. Small matrices are not looked at.
    pub(crate) fn has_hub(&self, offsets: &RawBuffer, nnz: usize) -> Result<bool> {
        Ok(nnz >= LEAST_WITH_HUB && self.longest_row(offsets)? > LONGEST_UNPLANNED)
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
