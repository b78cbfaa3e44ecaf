//! Statistics of the row lengths.

use crate::array_dump::ArrayDump;
use crate::build::{Build, FormatOn};
use crate::call::Outcome;
use crate::key::Key;
use crate::matrix_subject::{MatrixOperation, MatrixPlan, MatrixSubject};
use crate::setting::Setting;
use crate::subject::Check;
use crate::suite::Suite;
use sparse_core::catalog::Operation;
use sparse_core::op::{RowStatisticsKernel, RowStatisticsPlan};
use sparse_core::{Algorithm, PlanOptions, Result};

/// The check of row statistics.
#[derive(Debug)]
pub(crate) struct RowStatistics;

impl Suite {
    /// Statistics of the rows of format `H`.
    pub fn row_statistics<B: RowStatisticsKernel<FormatOn<B, H>>, H: Build>(
        &mut self,
        backend: &B,
    ) -> &mut Self {
        self.add(MatrixSubject::<B, H>::new(backend, Key::of::<H>(Operation::RowStatistics), &RowStatistics))
    }
}

impl Check for RowStatistics {}

impl<B: RowStatisticsKernel<FormatOn<B, H>>, H: Build> MatrixOperation<B, H> for RowStatistics {
    fn algorithms(&self, backend: &B, _: &Setting) -> &'static [Algorithm] {
        backend.row_statistics_algorithms()
    }

    fn plan(
        &self,
        backend: &B,
        a: &FormatOn<B, H>,
        _: &Setting,
        options: &PlanOptions,
    ) -> Result<MatrixPlan<B, H>> {
        let mut plan = RowStatisticsPlan::new(backend, a, options)?;
        Ok(MatrixPlan {
            algorithm: plan.choice().algorithm,
            run: Box::new(move |a, _, _| {
                let found = plan.run(&a.device)?;
                let made = ArrayDump::default()
                    .sizes(
                        "rows, nnz, empty, shortest, longest",
                        &[found.rows, found.nnz, found.empty, found.shortest, found.longest],
                    )
                    .integers("histogram", &found.histogram)
                    .values("mean, deviation", &[found.mean, found.deviation])
                    .into_owned();
                Ok(Outcome { made, ..Outcome::default() })
            }),
        })
    }
}
