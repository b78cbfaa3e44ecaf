//! The elements in chosen rows and columns.

use crate::build::{Build, FormatOn};
use crate::call::Outcome;
use crate::case::Problem;
use crate::key::Key;
use crate::matrix_subject::{MatrixOperation, MatrixPlan, MatrixSubject};
use crate::setting::{Chosen, Setting};
use crate::subject::Check;
use crate::suite::Suite;
use sparse_core::catalog::Operation;
use sparse_core::op::{SelectKernel, SelectPlan};
use sparse_core::{Algorithm, Error, PlanOptions, Result, SparseFormat};

/// The check of selections.
#[derive(Debug)]
pub(crate) struct Select;

impl Suite {
    /// Selections from format `H`.
    pub fn select<B: SelectKernel<FormatOn<B, H>>, H: Build>(&mut self, backend: &B) -> &mut Self {
        self.add(MatrixSubject::<B, H>::new(backend, Key::of::<H>(Operation::Select), &Select))
    }
}

impl Check for Select {
    fn settings(&self, _: &Key, _: &Problem) -> Vec<Setting> {
        Chosen::ALL.map(Setting::Chosen).into()
    }
}

impl<B: SelectKernel<FormatOn<B, H>>, H: Build> MatrixOperation<B, H> for Select {
    fn algorithms(&self, backend: &B, _: &Setting) -> &'static [Algorithm] {
        backend.select_algorithms()
    }

    fn plan(
        &self,
        backend: &B,
        a: &FormatOn<B, H>,
        setting: &Setting,
        options: &PlanOptions,
    ) -> Result<MatrixPlan<B, H>> {
        let Setting::Chosen(chosen) = setting else {
            return Err(Error::unsupported("select", "the setting is of another operation"));
        };
        let (rows, cols) = chosen.of((a.nrows(), a.ncols()));
        let mut plan = SelectPlan::new(backend, a, rows, cols, options)?;
        Ok(MatrixPlan {
            algorithm: plan.choice().algorithm,
            run: Box::new(move |a, _, _| Outcome::of::<B, H>(&plan.run(&a.device)?, a.backend)),
        })
    }
}
