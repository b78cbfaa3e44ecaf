//! A copy without zeros, or without entries up to a tolerance.

use crate::build::{Build, FormatOn};
use crate::call::Outcome;
use crate::case::Problem;
use crate::key::Key;
use crate::matrix_subject::{MatrixOperation, MatrixPlan, MatrixSubject};
use crate::setting::Setting;
use crate::subject::Check;
use crate::suite::Suite;
use sparse_core::catalog::Operation;
use sparse_core::op::{PruneKernel, PrunePlan};
use sparse_core::{Algorithm, PlanOptions, Result};

/// The check of pruning.
#[derive(Debug)]
pub(crate) struct Prune;

impl Suite {
    /// Pruning in format `H`.
    pub fn prune<B: PruneKernel<FormatOn<B, H>>, H: Build>(&mut self, backend: &B) -> &mut Self {
        self.add(MatrixSubject::<B, H>::new(backend, Key::of::<H>(Operation::Prune), &Prune))
    }
}

impl Check for Prune {
    fn settings(&self, _: &Key, _: &Problem) -> Vec<Setting> {
        vec![Setting::Keep(None), Setting::Keep(Some(3.0))]
    }
}

impl<B: PruneKernel<FormatOn<B, H>>, H: Build> MatrixOperation<B, H> for Prune {
    fn algorithms(&self, backend: &B, _: &Setting) -> &'static [Algorithm] {
        backend.prune_algorithms()
    }

    fn plan(
        &self,
        backend: &B,
        a: &FormatOn<B, H>,
        setting: &Setting,
        options: &PlanOptions,
    ) -> Result<MatrixPlan<B, H>> {
        let (mut plan, keep) = (PrunePlan::new(backend, a, options)?, setting.keep());
        Ok(MatrixPlan {
            algorithm: plan.choice().algorithm,
            run: Box::new(move |a, _, _| Outcome::of::<B, H>(&plan.run(&a.device, keep)?, a.backend)),
        })
    }
}
