//! Row statistics: the number of rows of each length, counted by blocks of rows.

use super::{SEQUENTIAL, is_sequential};
use crate::Cpu;
use crate::parallel::chunks;
use sparse_core::op::{RowStatistics, RowStatisticsKernel};
use sparse_core::reference::Reference;
use sparse_core::{Algorithm, Choice, Csr, Host, Index, PlanOptions, Result, Scalar};

const ALGORITHMS: [Algorithm; 2] =
    [Algorithm::new("length_counts", "always: it reads the offsets alone"), SEQUENTIAL];

/// Rows whose lengths are counted together.
const COUNTED_ROWS: usize = 64 * 1024;

/// Lengths below this have one counter each.
const COUNTERS: usize = 1024;

impl<T: Scalar, I: Index, O: Index> RowStatisticsKernel<Csr<T, Host, I, O>> for Cpu {
    type Plan = Choice;

    fn row_statistics_algorithms(&self) -> &'static [Algorithm] {
        &ALGORITHMS
    }

    fn plan_row_statistics(&self, _: &Csr<T, Host, I, O>, options: &PlanOptions) -> Result<Choice> {
        options.choose("row_statistics", &ALGORITHMS, ALGORITHMS[0].name, ALGORITHMS[0].chosen)
    }

    unsafe fn row_statistics(&self, plan: &mut Choice, a: &Csr<T, Host, I, O>) -> Result<RowStatistics> {
        if is_sequential(plan) {
            // SAFETY: the caller makes the reference's promises of the plan and the operands.
            return unsafe { Reference.row_statistics(plan, a) };
        }
        let rows = a.offsets().len() - 1;
        let counts =
            self.map(rows, chunks(rows, COUNTED_ROWS), |rows| counts(&a.offsets()[rows.start..=rows.end]));
        Ok(RowStatistics::from_counts(counts.into_iter().flatten()))
    }
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
