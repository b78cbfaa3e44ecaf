//! Any format to a dense matrix, zeros included; duplicates are added in storage order.

use super::dense_to_csr::LARGEST;
use crate::build::{Build, FormatOn};
use crate::call::Call;
use crate::case::Problem;
use crate::guarded_operand::{Cell, Frame};
use crate::key::Key;
use crate::matrix_subject::{MatrixOperation, MatrixPlan, MatrixSubject};
use crate::setting::Setting;
use crate::subject::Check;
use crate::suite::Suite;
use crate::triplets::Triplets;
use sparse_core::catalog::Operation;
use sparse_core::op::{ToDenseKernel, ToDensePlan};
use sparse_core::{Algorithm, Order, PlanOptions, Result};

/// The check of expansion.
#[derive(Debug)]
pub(crate) struct ToDense;

impl Suite {
    /// Expansion of format `H` to dense matrices.
    pub fn to_dense<B, H>(&mut self, backend: &B) -> &mut Self
    where
        B: ToDenseKernel<FormatOn<B, H>>,
        H: Build<Scalar: Cell>,
    {
        self.add(MatrixSubject::<B, H>::new(backend, Key::of::<H>(Operation::ToDense), &ToDense))
    }
}

impl Check for ToDense {
    fn settings(&self, _: &Key, problem: &Problem) -> Vec<Setting> {
        if problem.matrix.elements() > LARGEST { vec![] } else { vec![Setting::Plain] }
    }

    fn calls(&self, _: &Setting, problem: &Problem) -> Vec<Call> {
        let Triplets { rows, cols, .. } = problem.matrix;
        let call = |(order, padding)| {
            let frame = Frame { rows, cols, padding, order };
            let call = Call::with_output(frame);
            Call { label: format!("{order:?} padding={padding}"), ..call }
        };
        [(Order::RowMajor, 0), (Order::RowMajor, 2), (Order::ColMajor, 1)].map(call).into()
    }

    fn invalid_calls(&self, _: &Setting, problem: &Problem) -> Vec<Call> {
        let Triplets { rows, cols, .. } = problem.matrix;
        let frame = |rows, cols| Frame { rows, cols, padding: 0, order: Order::RowMajor };
        [frame(rows + 1, cols), frame(rows, cols + 1)].map(Call::with_output).into()
    }

    fn is_of_all_formats(&self) -> bool {
        true
    }
}

impl<B: ToDenseKernel<FormatOn<B, H>>, H: Build<Scalar: Cell>> MatrixOperation<B, H> for ToDense {
    fn algorithms(&self, backend: &B, _: &Setting) -> &'static [Algorithm] {
        backend.to_dense_algorithms()
    }

    fn plan(
        &self,
        backend: &B,
        a: &FormatOn<B, H>,
        _: &Setting,
        options: &PlanOptions,
    ) -> Result<MatrixPlan<B, H>> {
        let mut plan = ToDensePlan::new(backend, a, options)?;
        Ok(MatrixPlan {
            algorithm: plan.choice().algorithm,
            run: Box::new(move |a, call, y| {
                call.on::<B, H::Scalar>(a.backend, y, &mut |_, y| {
                    plan.run(&a.device, y.dense_mut()?).map(|()| None)
                })
            }),
        })
    }
}
