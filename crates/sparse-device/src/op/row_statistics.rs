//! Statistics of the row lengths: the offsets are read back, and the host sums up.

use crate::program::Defines;
use crate::{Buffer, Device};
use sparse_core::op::{RowStatistics, RowStatisticsKernel};
use sparse_core::{
    Algorithm, Axis, Backend, Choice, Compressed, Csr, Index, Matrix, PlanOptions, Result, Scalar, Space,
};

const READ_BACK: &[Algorithm] = &[Algorithm::new("read_back", "always: the host sums up the offsets")];

/// The entries of a compressed row or column in the mean, rounded up.
pub(super) fn mean_length<A: Axis, T: Scalar, S: Space, I: Index, O: Index>(
    a: &Compressed<A, T, S, I, O>,
) -> usize {
    a.nnz().div_ceil(a.pattern().major().max(1))
}

impl Device {
    /// The length of the longest of the rows between these offsets, found on the device.
    pub(super) fn longest_row<O: Index>(&self, offsets: &Buffer<O>) -> Result<usize> {
        let rows = offsets.len - 1;
        let defines = Defines::default().index::<O>().offset::<O>().set("BLOCK", self.inner.block);
        let kernel = self.kernel("row_lengths", "row_lengths_longest", defines)?;
        let partials: Vec<i64> = self.partials(self.launch(&kernel).size(rows).buffer(offsets), rows)?;
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
        let offsets = self.download(a.offsets())?;
        let lengths = offsets.windows(2).map(|ends| ends[1].as_usize() - ends[0].as_usize());
        Ok(RowStatistics::from_lengths(lengths))
    }
}
