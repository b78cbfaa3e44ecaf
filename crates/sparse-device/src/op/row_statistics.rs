//! Statistics of row lengths: the offsets are copied to the host, which computes the statistics.

use super::available_algorithms::Needs;
use crate::Device;
use sparse_core::op::{RowStatistics, RowStatisticsKernel};
use sparse_core::{Algorithm, Choice, Csr, Index, PlanOptions, Result, Scalar, algorithms};

algorithms! {
    /// The algorithms of row statistics.
    enum RowStatisticsAlgorithm needs Needs {
        ReadBack = Algorithm::new("read_back", "always: the host sums up the offsets"), Needs::Nothing;
    }
}

impl<T: Scalar, I: Index, O: Index> RowStatisticsKernel<Csr<T, Device, I, O>> for Device {
    type Plan = Choice;

    fn row_statistics_algorithms(&self) -> &'static [Algorithm] {
        self.offered::<RowStatisticsAlgorithm>()
    }

    fn plan_row_statistics(&self, _: &Csr<T, Device, I, O>, options: &PlanOptions) -> Result<Choice> {
        let (RowStatisticsAlgorithm::ReadBack, choice) =
            self.choose_only("row_statistics", options, RowStatisticsAlgorithm::ReadBack)?;
        Ok(choice)
    }

    unsafe fn run_row_statistics(&self, _: &mut Choice, a: &Csr<T, Device, I, O>) -> Result<RowStatistics> {
        Ok(RowStatistics::from_lengths(self.row_lengths(a)?))
    }
}
