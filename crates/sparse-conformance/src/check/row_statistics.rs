//! Statistics of the row lengths.

use super::Check;
use crate::build::{Build, On};
use crate::matrix_subject::{MatrixOperation, MatrixTrial};
use crate::memory::Memory;
use crate::portrait::Portrait;
use crate::subject::{Call, Key, Outcome, Setting};
use sparse_core::op::{RowStatisticsKernel, RowStatisticsPlan};
use sparse_core::{Algorithm, PlanOptions, Result};

/// The check of row statistics.
#[derive(Debug)]
pub(crate) struct RowStatistics;

impl Check for RowStatistics {}

impl<B: RowStatisticsKernel<On<B, H>>, H: Build> MatrixOperation<B, H> for RowStatistics {
    type Plan = RowStatisticsPlan<B, On<B, H>>;
    const CHECK: &'static dyn Check = &Self;

    fn key() -> Key {
        Key::of::<H>("row_statistics")
    }

    fn algorithms(backend: &B, _: &Setting) -> &'static [Algorithm] {
        backend.row_statistics_algorithms()
    }

    fn plan(backend: &B, a: &On<B, H>, _: &Setting, options: &PlanOptions) -> Result<Self::Plan> {
        RowStatisticsPlan::new(backend, a, options)
    }

    fn run(trial: &mut MatrixTrial<'_, B, H, Self>, _: &Call, _: &mut Memory) -> Result<Outcome> {
        let found = trial.plan.run(&trial.a.device)?;
        let made = Portrait::default()
            .integers(
                "rows, nnz, empty, shortest, longest",
                &[found.rows, found.nnz, found.empty, found.shortest, found.longest],
            )
            .integers("histogram", &found.histogram)
            .values("mean, deviation", &[found.mean, found.deviation]);
        Ok(Outcome { made, ..Outcome::default() })
    }
}
