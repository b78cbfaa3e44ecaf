//! Row statistics: one pass over the offsets.

use super::SEQUENTIAL;
use crate::Cpu;
use sparse_core::op::{RowStatistics, RowStatisticsKernel};
use sparse_core::{Algorithm, Choice, Csr, Host, Index, PlanOptions, Result, Scalar};

const ALGORITHMS: [Algorithm; 1] = [Algorithm { chosen: "always: it reads the offsets alone", ..SEQUENTIAL }];

impl<T: Scalar, I: Index, O: Index> RowStatisticsKernel<Csr<T, Host, I, O>> for Cpu {
    type Plan = Choice;

    fn row_statistics_algorithms(&self) -> &'static [Algorithm] {
        &ALGORITHMS
    }

    fn plan_row_statistics(&self, _: &Csr<T, Host, I, O>, options: &PlanOptions) -> Result<Choice> {
        options.choose("row_statistics", &ALGORITHMS, ALGORITHMS[0].name, ALGORITHMS[0].chosen)
    }

    unsafe fn row_statistics(&self, _: &mut Choice, a: &Csr<T, Host, I, O>) -> Result<RowStatistics> {
        let lengths = a.offsets().windows(2).map(|ends| ends[1].as_usize() - ends[0].as_usize());
        Ok(RowStatistics::from_lengths(lengths))
    }
}
