//! The subject of every operation on one sparse matrix.

use crate::build::{Build, On};
use crate::check::Check;
use crate::held::{Held, HeldMatrix, Hosts};
use crate::memory::Memory;
use crate::subject::{Call, Given, Key, Outcome, Setting, Subject, Trial};
use crate::triplets::Triplets;
use sparse_core::{Algorithm, Backend, PlanOptions, Result};
use std::marker::PhantomData;

/// An operation of `B` on a matrix of format `H`, as its subject needs it.
pub(crate) trait MatrixOperation<B: Backend, H: Build>: Sized + 'static {
    /// The operation's plan.
    type Plan;

    /// What the operation must do.
    const CHECK: &'static dyn Check;

    /// Its name for this format.
    fn key() -> Key;

    /// The backend's table of algorithms.
    fn algorithms(backend: &B, setting: &Setting) -> &'static [Algorithm];

    /// A plan for `a`.
    fn plan(backend: &B, a: &On<B, H>, setting: &Setting, options: &PlanOptions) -> Result<Self::Plan>;

    /// One run, as [`Trial::run`] has it.
    fn run(trial: &mut MatrixTrial<'_, B, H, Self>, call: &Call, y: &mut Memory) -> Result<Outcome>;
}

/// An operation of one backend in one format.
pub(crate) struct MatrixSubject<B, H, P> {
    backend: B,
    key: Key,
    operation: PhantomData<fn() -> (H, P)>,
}

impl<B: Backend, H: Build, P: MatrixOperation<B, H>> MatrixSubject<B, H, P> {
    pub(crate) fn new(backend: B) -> Self {
        Self { backend, key: P::key(), operation: PhantomData }
    }
}

impl<B: Backend, H: Build, P: MatrixOperation<B, H>> Subject for MatrixSubject<B, H, P> {
    fn key(&self) -> &Key {
        &self.key
    }

    fn check(&self) -> &'static dyn Check {
        P::CHECK
    }

    fn algorithms(&self, setting: &Setting) -> &'static [Algorithm] {
        P::algorithms(&self.backend, setting)
    }

    fn given<'a>(&'a self, matrix: &'a Triplets) -> Result<Box<dyn Given + 'a>> {
        Ok(Box::new(GivenMatrix { subject: self, hosts: Hosts::new(matrix)? }))
    }
}

/// A matrix on the host, and what is to be done with it.
struct GivenMatrix<'a, B, H, P> {
    subject: &'a MatrixSubject<B, H, P>,
    hosts: Box<Hosts<'a, H>>,
}

impl<B: Backend, H: Build, P: MatrixOperation<B, H>> Given for GivenMatrix<'_, B, H, P> {
    fn prepare(&self, setting: &Setting, options: &PlanOptions) -> Result<Box<dyn Trial + '_>> {
        let a = Held::new(&self.subject.backend, &self.hosts)?;
        let plan = P::plan(a.backend, &a.device, setting, options)?;
        Ok(Box::new(MatrixTrial::<B, H, P> { a, plan, setting: *setting }))
    }
}

/// A matrix in a backend's memory and a plan for it.
pub(crate) struct MatrixTrial<'a, B: Backend, H: Build, P: MatrixOperation<B, H>> {
    pub(crate) a: Box<Held<'a, B, H>>,
    pub(crate) plan: P::Plan,
    pub(crate) setting: Setting,
}

impl<B: Backend, H: Build, P: MatrixOperation<B, H>> Trial for MatrixTrial<'_, B, H, P> {
    fn run(&mut self, call: &Call, y: &mut Memory) -> Result<Outcome> {
        P::run(self, call, y)
    }

    fn matrix(&mut self) -> Option<&mut dyn HeldMatrix> {
        Some(self.a.as_mut())
    }
}
