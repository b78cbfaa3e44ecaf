//! A sorted copy; entries with one coordinate keep their order.

use super::Check;
use crate::build::{Build, On};
use crate::matrix_subject::{MatrixOperation, MatrixTrial};
use crate::memory::Memory;
use crate::subject::{Call, Key, Outcome, Setting};
use sparse_core::op::{SortKernel, SortPlan};
use sparse_core::{Algorithm, PlanOptions, Result};

/// The check of sorting.
#[derive(Debug)]
pub(crate) struct Sort;

impl Check for Sort {}

impl<B: SortKernel<On<B, H>>, H: Build> MatrixOperation<B, H> for Sort {
    type Plan = SortPlan<B, On<B, H>>;
    const CHECK: &'static dyn Check = &Self;

    fn key() -> Key {
        Key::of::<H>("sort")
    }

    fn algorithms(backend: &B, _: &Setting) -> &'static [Algorithm] {
        backend.sort_algorithms()
    }

    fn plan(backend: &B, a: &On<B, H>, _: &Setting, options: &PlanOptions) -> Result<Self::Plan> {
        SortPlan::new(backend, a, options)
    }

    fn run(trial: &mut MatrixTrial<'_, B, H, Self>, _: &Call, _: &mut Memory) -> Result<Outcome> {
        Outcome::of::<B, H>(&trial.plan.run(&trial.a.device)?, trial.a.backend)
    }
}
