//! A sorted copy; entries with one coordinate keep their order.

use super::moved::{by_reference, plain_call};
use super::{Check, Expected};
use crate::build::{Build, On};
use crate::case::Problem;
use crate::held::{Held, HeldMatrix};
use crate::memory::Memory;
use crate::subject::{Call, Key, Outcome, Setting, Subject, Trial};
use crate::suite::Suite;
use crate::triplets::Triplets;
use sparse_core::op::{SortKernel, SortPlan};
use sparse_core::{Algorithm, PlanOptions, Result};
use std::marker::PhantomData;

/// The check of sorting.
#[derive(Debug)]
pub(crate) struct Sort;

impl Check for Sort {
    fn settings(&self, _: &Key, _: &Problem) -> Vec<Setting> {
        vec![Setting::Plain]
    }

    fn calls(&self, _: &Setting, _: &Problem) -> Vec<Call> {
        vec![plain_call(Memory::none())]
    }

    fn scope(&self, key: &Key, _: &Setting) -> Option<String> {
        Some(key.format.clone())
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

/// Sorting of one backend in one format.
#[derive(Debug)]
pub(crate) struct SortSubject<B, H> {
    backend: B,
    key: Key,
    format: PhantomData<fn() -> H>,
}

impl<B, H: Build> SortSubject<B, H> {
    pub(crate) fn new(backend: B) -> Self {
        Self { backend, key: Key::of::<H>("sort"), format: PhantomData }
    }
}

struct SortTrial<B: SortKernel<On<B, H>>, H: Build> {
    a: Held<B, H>,
    plan: SortPlan<B, On<B, H>>,
}

impl<B: SortKernel<On<B, H>>, H: Build> Subject for SortSubject<B, H> {
    fn key(&self) -> &Key {
        &self.key
    }

    fn check(&self) -> &'static dyn Check {
        &Sort
    }

    fn algorithms(&self, _: &Setting) -> &'static [Algorithm] {
        self.backend.sort_algorithms()
    }

    fn prepare(&self, matrix: &Triplets, _: &Setting, options: &PlanOptions) -> Result<Box<dyn Trial + '_>> {
        let a = Held::<B, H>::new(&self.backend, matrix)?;
        let plan = SortPlan::new(&self.backend, &a.device, options)?;
        Ok(Box::new(SortTrial { a, plan }))
    }
}

impl<B: SortKernel<On<B, H>>, H: Build> Trial for SortTrial<B, H> {
    fn run(&mut self, _: &Call, _: &mut Memory) -> Result<Outcome> {
        let made = self.plan.run(&self.a.device)?;
        Outcome::of::<B, H>(&made, &self.a.backend)
    }

    fn matrix(&mut self) -> Option<&mut dyn HeldMatrix> {
        Some(&mut self.a)
    }
}
