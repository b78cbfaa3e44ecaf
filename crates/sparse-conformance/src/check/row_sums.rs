//! The sums of the rows.

use crate::build::{Build, On};
use crate::call::Call;
use crate::case::{Case, Problem};
use crate::error_bound::sums;
use crate::guarded_operand::{Cell, Frame, GuardedOperand, POISON};
use crate::key::Key;
use crate::matrix_subject::{MatrixOperation, MatrixPlan, MatrixSubject};
use crate::setting::Setting;
use crate::subject::{Check, Expected};
use crate::suite::Suite;
use sparse_core::catalog::Operation;
use sparse_core::op::{Op, RowSumsKernel, RowSumsPlan};
use sparse_core::{Algorithm, PlanOptions, Result, c64};

/// The check of row sums.
#[derive(Debug)]
pub(crate) struct RowSums;

/// A call with an output of NaN.
fn call(rows: usize) -> Call {
    Call::plain(GuardedOperand::output(Frame::vector(rows), |_, _| POISON))
}

impl Suite {
    /// The sums of the rows of format `H`.
    pub fn row_sums<B: RowSumsKernel<On<B, H>>, H: Build<Scalar: Cell>>(&mut self, backend: &B) -> &mut Self {
        self.add(MatrixSubject::<B, H>::new(backend, Key::of::<H>(Operation::RowSums), &RowSums))
    }
}

impl Check for RowSums {
    /// Which NaN the sum of infinities is, nothing promises.
    fn takes(&self, case: &Case) -> bool {
        case.name != "v1_special_values"
    }

    fn calls(&self, _: &Setting, problem: &Problem) -> Vec<Call> {
        vec![call(problem.matrix.rows)]
    }

    fn misfits(&self, _: &Setting, problem: &Problem) -> Vec<Call> {
        vec![call(problem.matrix.rows + 1)]
    }

    fn is_of_all_formats(&self) -> bool {
        true
    }

    fn expected(&self, _: &Setting, _: &Call, problem: &Problem) -> Option<Expected> {
        let arithmetic = &problem.arithmetic;
        let sums = sums(&problem.matrix, Op::None, |_| c64::ONE, arithmetic).into_iter();
        let y = sums.map(|sum| sum.bounded(problem.is_exact(), arithmetic)).collect();
        Some(Expected { y, ..Expected::default() })
    }
}

impl<B: RowSumsKernel<On<B, H>>, H: Build<Scalar: Cell>> MatrixOperation<B, H> for RowSums {
    fn check(&self) -> &'static dyn Check {
        &Self
    }

    fn algorithms(&self, backend: &B, _: &Setting) -> &'static [Algorithm] {
        backend.row_sums_algorithms()
    }

    fn plan(
        &self,
        backend: &B,
        a: &On<B, H>,
        _: &Setting,
        options: &PlanOptions,
    ) -> Result<MatrixPlan<B, H>> {
        let mut plan = RowSumsPlan::new(backend, a, options)?;
        Ok(Box::new(move |a, call, y| {
            call.on::<B, H::Scalar>(a.backend, y, &mut |_, y| {
                plan.run(&a.device, y.vector_mut()).map(|()| None)
            })
        }))
    }
}
