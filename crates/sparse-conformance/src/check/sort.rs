//! A sorted copy; entries with one coordinate keep their order.

use crate::build::{Build, FormatOn};
use crate::call::Outcome;
use crate::key::Key;
use crate::matrix_subject::{MatrixOperation, MatrixPlan, MatrixSubject};
use crate::setting::Setting;
use crate::subject::Check;
use crate::suite::Suite;
use sparse_core::catalog::Operation;
use sparse_core::op::{SortKernel, SortPlan};
use sparse_core::{Algorithm, PlanOptions, Result};

/// The check of sorting.
#[derive(Debug)]
pub(crate) struct Sort;

impl Suite {
    /// Sorting in format `H`.
    pub fn sort<B: SortKernel<FormatOn<B, H>>, H: Build>(&mut self, backend: &B) -> &mut Self {
        self.add(MatrixSubject::<B, H>::new(backend, Key::of::<H>(Operation::Sort), &Sort))
    }
}

impl Check for Sort {}

impl<B: SortKernel<FormatOn<B, H>>, H: Build> MatrixOperation<B, H> for Sort {
    fn algorithms(&self, backend: &B, _: &Setting) -> &'static [Algorithm] {
        backend.sort_algorithms()
    }

    fn plan(
        &self,
        backend: &B,
        a: &FormatOn<B, H>,
        _: &Setting,
        options: &PlanOptions,
    ) -> Result<MatrixPlan<B, H>> {
        let mut plan = SortPlan::new(backend, a, options)?;
        Ok(MatrixPlan {
            algorithm: plan.choice().algorithm,
            run: Box::new(move |a, _, _| Outcome::of::<B, H>(&plan.run(&a.device)?, a.backend)),
        })
    }
}
