//! Row statistics: the number of rows of each length, counted by blocks of rows.

use super::SEQUENTIAL;
use super::plan::CpuPlan;
use crate::Cpu;
use crate::parallel::chunks;
use sparse_core::op::{RowStatistics, RowStatisticsKernel};
use sparse_core::reference::Reference;
use sparse_core::{Algorithm, AlgorithmSet, Csr, Host, Index, PlanOptions, Result, Scalar, algorithms};

algorithms! {
    /// The algorithms of row statistics.
    pub enum RowStatisticsAlgorithm {
        LengthCounts = Algorithm::new("length_counts", "always: it reads the offsets alone");
        Sequential = SEQUENTIAL;
    }
}

/// Rows whose lengths are counted together.
const COUNTED_ROWS: usize = 64 * 1024;

/// Lengths below this have one counter each.
const COUNTERS: usize = 1024;

impl<T: Scalar, I: Index, O: Index> RowStatisticsKernel<Csr<T, Host, I, O>> for Cpu {
    type Plan = CpuPlan<RowStatisticsAlgorithm>;

    fn row_statistics_algorithms(&self) -> &'static [Algorithm] {
        RowStatisticsAlgorithm::table(&|_| true)
    }

    fn plan_row_statistics(&self, _: &Csr<T, Host, I, O>, options: &PlanOptions) -> Result<Self::Plan> {
        let automatic = RowStatisticsAlgorithm::LengthCounts;
        CpuPlan::new("row_statistics", options, automatic, automatic.row().chosen)
    }

    unsafe fn run_row_statistics(
        &self,
        plan: &mut Self::Plan,
        a: &Csr<T, Host, I, O>,
    ) -> Result<RowStatistics> {
        match plan.algorithm {
            RowStatisticsAlgorithm::LengthCounts => Ok(statistics(self, a.offsets())),
            RowStatisticsAlgorithm::Sequential => {
                // SAFETY: the caller makes the reference's promises of the plan and the operands.
                unsafe { Reference.run_row_statistics(&mut plan.reference, a) }
            }
        }
    }
}

fn statistics<O: Index>(cpu: &Cpu, offsets: &[O]) -> RowStatistics {
    let rows = offsets.len() - 1;
    let counts = cpu.map(rows, chunks(rows, COUNTED_ROWS), |rows| counts(&offsets[rows.start..=rows.end]));
    RowStatistics::from_counts(counts.into_iter().flatten())
}

/// (length, number of rows with it); a long length may occur more than once.
fn counts<O: Index>(offsets: &[O]) -> Vec<(usize, usize)> {
    let mut counters = [0; COUNTERS];
    let mut counts = vec![];
    for ends in offsets.windows(2) {
        let length = ends[1].as_usize() - ends[0].as_usize();
        match counters.get_mut(length) {
            Some(counter) => *counter += 1,
            None => counts.push((length, 1)),
        }
    }
    counts.extend(counters.into_iter().enumerate());
    counts
}
