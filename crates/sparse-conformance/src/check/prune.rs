//! A copy without zeros, or without entries up to a tolerance.

use super::moved::{by_reference, plain_call};
use super::{Check, Expected};
use crate::build::{Build, On};
use crate::case::Problem;
use crate::held::{Held, HeldMatrix};
use crate::memory::Memory;
use crate::subject::{Call, Key, Outcome, Setting, Subject, Trial};
use crate::suite::Suite;
use crate::triplets::Triplets;
use sparse_core::op::{Keep, PruneKernel, PrunePlan};
use sparse_core::{Algorithm, PlanOptions, Result};
use std::marker::PhantomData;

/// The check of pruning.
#[derive(Debug)]
pub(crate) struct Prune;

impl Check for Prune {
    fn settings(&self, _: &Key, _: &Problem) -> Vec<Setting> {
        vec![Setting::Keep(None), Setting::Keep(Some(3.0))]
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

/// Pruning of one backend in one format.
#[derive(Debug)]
pub(crate) struct PruneSubject<B, H> {
    backend: B,
    key: Key,
    format: PhantomData<fn() -> H>,
}

impl<B, H: Build> PruneSubject<B, H> {
    pub(crate) fn new(backend: B) -> Self {
        Self { backend, key: Key::of::<H>("prune"), format: PhantomData }
    }
}

struct PruneTrial<B: PruneKernel<On<B, H>>, H: Build> {
    a: Held<B, H>,
    plan: PrunePlan<B, On<B, H>>,
    keep: Keep<H::Scalar>,
}

impl<B: PruneKernel<On<B, H>>, H: Build> Subject for PruneSubject<B, H> {
    fn key(&self) -> &Key {
        &self.key
    }

    fn check(&self) -> &'static dyn Check {
        &Prune
    }

    fn algorithms(&self, _: &Setting) -> &'static [Algorithm] {
        self.backend.prune_algorithms()
    }

    fn prepare(
        &self,
        matrix: &Triplets,
        setting: &Setting,
        options: &PlanOptions,
    ) -> Result<Box<dyn Trial + '_>> {
        let a = Held::<B, H>::new(&self.backend, matrix)?;
        let plan = PrunePlan::new(&self.backend, &a.device, options)?;
        Ok(Box::new(PruneTrial { a, plan, keep: setting.keep() }))
    }
}

impl<B: PruneKernel<On<B, H>>, H: Build> Trial for PruneTrial<B, H> {
    fn run(&mut self, _: &Call, _: &mut Memory) -> Result<Outcome> {
        let made = self.plan.run(&self.a.device, self.keep)?;
        Outcome::of::<B, H>(&made, &self.a.backend)
    }

    fn matrix(&mut self) -> Option<&mut dyn HeldMatrix> {
        Some(&mut self.a)
    }
}
