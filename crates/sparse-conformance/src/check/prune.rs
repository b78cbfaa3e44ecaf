//! A copy without zeros, or without entries up to a tolerance.

use super::Check;
use crate::build::{Build, On};
use crate::case::Problem;
use crate::matrix_subject::{MatrixOperation, MatrixTrial};
use crate::memory::Memory;
use crate::subject::{Call, Key, Outcome, Setting};
use sparse_core::op::{PruneKernel, PrunePlan};
use sparse_core::{Algorithm, PlanOptions, Result};

/// The check of pruning.
#[derive(Debug)]
pub(crate) struct Prune;

impl Check for Prune {
    fn settings(&self, _: &Key, _: &Problem) -> Vec<Setting> {
        vec![Setting::Keep(None), Setting::Keep(Some(3.0))]
    }
}

impl<B: PruneKernel<On<B, H>>, H: Build> MatrixOperation<B, H> for Prune {
    type Plan = PrunePlan<B, On<B, H>>;
    const CHECK: &'static dyn Check = &Self;

    fn key() -> Key {
        Key::of::<H>("prune")
    }

    fn algorithms(backend: &B, _: &Setting) -> &'static [Algorithm] {
        backend.prune_algorithms()
    }

    fn plan(backend: &B, a: &On<B, H>, _: &Setting, options: &PlanOptions) -> Result<Self::Plan> {
        PrunePlan::new(backend, a, options)
    }

    fn run(trial: &mut MatrixTrial<'_, B, H, Self>, _: &Call, _: &mut Memory) -> Result<Outcome> {
        let made = trial.plan.run(&trial.a.device, trial.setting.keep())?;
        Outcome::of::<B, H>(&made, trial.a.backend)
    }
}
