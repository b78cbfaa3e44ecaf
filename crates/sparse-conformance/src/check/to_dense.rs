//! Any format to a dense matrix, zeros included; duplicates are added in storage order.

use super::dense_to_csr::LARGEST;
use super::moved::{by_reference, plain_call};
use super::{Check, Expected};
use crate::build::{Build, On};
use crate::case::Problem;
use crate::held::{Held, HeldMatrix};
use crate::memory::{Cell, Frame, Memory, POISON, Placed};
use crate::subject::{Call, Key, Outcome, Setting, Subject, Trial};
use crate::suite::Suite;
use crate::triplets::Triplets;
use sparse_core::op::{ToDenseKernel, ToDensePlan};
use sparse_core::{Algorithm, Order, PlanOptions, Result};
use std::marker::PhantomData;

/// The check of expansion.
#[derive(Debug)]
pub(crate) struct ToDense;

impl Check for ToDense {
    fn settings(&self, _: &Key, problem: &Problem) -> Vec<Setting> {
        if problem.matrix.elements() > LARGEST { vec![] } else { vec![Setting::Plain] }
    }

    fn calls(&self, _: &Setting, problem: &Problem) -> Vec<Call> {
        let Triplets { rows, cols, .. } = problem.matrix;
        let call = |(order, padding)| {
            let frame = Frame { rows, cols, padding, order };
            let call = plain_call(Memory::output(frame, |_, _| POISON));
            Call { label: format!("{order:?} padding={padding}"), ..call }
        };
        [(Order::RowMajor, 0), (Order::RowMajor, 2), (Order::ColMajor, 1)].map(call).into()
    }

    fn misfits(&self, _: &Setting, problem: &Problem) -> Vec<Call> {
        let Triplets { rows, cols, .. } = problem.matrix;
        let frame = |rows, cols| Frame { rows, cols, padding: 0, order: Order::RowMajor };
        [frame(rows + 1, cols), frame(rows, cols + 1)]
            .map(|frame| plain_call(Memory::output(frame, |_, _| POISON)))
            .into()
    }

    fn expected(
        &self,
        key: &Key,
        setting: &Setting,
        call: &Call,
        problem: &Problem,
        reference: &Suite,
    ) -> Result<Expected> {
        by_reference(key, setting, call, problem, reference)
    }
}

/// Expansion of one backend in one format.
#[derive(Debug)]
pub(crate) struct ToDenseSubject<B, H> {
    backend: B,
    key: Key,
    format: PhantomData<fn() -> H>,
}

impl<B, H: Build> ToDenseSubject<B, H> {
    pub(crate) fn new(backend: B) -> Self {
        Self { backend, key: Key::of::<H>("to_dense"), format: PhantomData }
    }
}

struct ToDenseTrial<B: ToDenseKernel<On<B, H>>, H: Build> {
    a: Held<B, H>,
    plan: ToDensePlan<B, On<B, H>>,
}

impl<B: ToDenseKernel<On<B, H>>, H: Build<Scalar: Cell>> Subject for ToDenseSubject<B, H> {
    fn key(&self) -> &Key {
        &self.key
    }

    fn check(&self) -> &'static dyn Check {
        &ToDense
    }

    fn algorithms(&self, _: &Setting) -> &'static [Algorithm] {
        self.backend.to_dense_algorithms()
    }

    fn prepare(&self, matrix: &Triplets, _: &Setting, options: &PlanOptions) -> Result<Box<dyn Trial + '_>> {
        let a = Held::<B, H>::new(&self.backend, matrix)?;
        let plan = ToDensePlan::new(&self.backend, &a.device, options)?;
        Ok(Box::new(ToDenseTrial { a, plan }))
    }
}

impl<B: ToDenseKernel<On<B, H>>, H: Build<Scalar: Cell>> Trial for ToDenseTrial<B, H> {
    fn run(&mut self, _: &Call, y: &mut Memory) -> Result<Outcome> {
        let mut dense = Placed::<B, H::Scalar>::new(&self.a.backend, y)?;
        let run = self.plan.run(&self.a.device, dense.dense_mut()?);
        *y = dense.read(&self.a.backend)?;
        run.map(|()| Outcome::default())
    }

    fn matrix(&mut self) -> Option<&mut dyn HeldMatrix> {
        Some(&mut self.a)
    }
}
