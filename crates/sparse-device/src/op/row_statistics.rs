//! Statistics of row lengths: the offsets are read back, and the host adds them up.

use crate::Device;
use crate::buffer::RawBuffer;
use crate::program::Defines;
use sparse_core::op::{RowStatistics, RowStatisticsKernel};
use sparse_core::{Algorithm, Backend, Choice, Csr, Index, PlanOptions, Result, Scalar};

const READ_BACK: &[Algorithm] = &[Algorithm::new("read_back", "always: the host sums up the offsets")];

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
        let rows = offsets.len - 1;
        let offset = offsets.index_type();
        let defines = Defines::default().index(offset).offset(offset).set("BLOCK", self.inner.block);
        let kernel = self.kernel("row_lengths", "row_lengths_longest", defines)?;
        let partials = self.partials(self.launch(&kernel).size(rows).buffer(offsets), rows)?;
        Ok(partials.into_iter().max().unwrap_or(0) as usize)
    }
}

impl<T: Scalar, I: Index, O: Index> RowStatisticsKernel<Csr<T, Device, I, O>> for Device {
    type Plan = Choice;

    fn row_statistics_algorithms(&self) -> &'static [Algorithm] {
        READ_BACK
    }

    fn plan_row_statistics(&self, _: &Csr<T, Device, I, O>, options: &PlanOptions) -> Result<Choice> {
        options.choose("row_statistics", READ_BACK, "read_back", "there is no other")
    }

    unsafe fn row_statistics(&self, _: &mut Choice, a: &Csr<T, Device, I, O>) -> Result<RowStatistics> {
        Ok(RowStatistics::from_lengths(self.row_lengths(a)?))
    }
}
