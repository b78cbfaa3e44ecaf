//! Statistics of the row lengths, for every format.

use super::{Entries, Reference, algorithms, sequential};
use crate::error::Result;
use crate::op::{RowStatistics, RowStatisticsKernel};
use crate::plan::{Algorithm, Choice, PlanOptions};

impl<M: Entries> RowStatisticsKernel<M> for Reference {
    type Plan = Choice;

    fn row_statistics_algorithms(&self) -> &'static [Algorithm] {
        algorithms()
    }

    fn plan_row_statistics(&self, _: &M, options: &PlanOptions) -> Result<Choice> {
        sequential("row_statistics", options)
    }

    unsafe fn run_row_statistics(&self, _: &mut Choice, a: &M) -> Result<RowStatistics> {
        let mut lengths = vec![0; a.nrows()];
        a.entries().for_each(|(i, _, _)| lengths[i] += 1);
        Ok(RowStatistics::from_lengths(lengths))
    }
}
