//! The subject of every operation on one sparse matrix.

use crate::build::{Build, FormatOn};
use crate::call::{Call, Outcome};
use crate::device_matrix::{DeviceMatrix, HostMatrix, PlannedMatrix};
use crate::guarded_operand::GuardedOperand;
use crate::key::Key;
use crate::setting::Setting;
use crate::subject::{Check, Given, PlannedOperation, Subject};
use crate::triplets::Triplets;
use sparse_core::{Algorithm, Backend, PlanOptions, Result};

/// An operation of `B` on a matrix of format `H`, for its subject, which is its own check.
pub(crate) trait MatrixOperation<B: Backend, H: Build>: Check {
    /// The backend's table of algorithms.
    fn algorithms(&self, backend: &B, setting: &Setting) -> &'static [Algorithm];

    /// A plan for `a`.
    fn plan(
        &self,
        backend: &B,
        a: &FormatOn<B, H>,
        setting: &Setting,
        options: &PlanOptions,
    ) -> Result<MatrixPlan<B, H>>;
}

/// A plan on a matrix.
pub(crate) struct MatrixPlan<B: Backend, H: Build> {
    /// The algorithm's name.
    pub(crate) algorithm: &'static str,
    /// Makes one run, as [`PlannedOperation::run`] does.
    pub(crate) run: Box<MatrixRun<B, H>>,
}

type MatrixRun<B, H> = dyn FnMut(&DeviceMatrix<'_, B, H>, &Call, &mut GuardedOperand) -> Result<Outcome>;

/// An operation of one backend in one format.
pub(crate) struct MatrixSubject<B: 'static, H: 'static> {
    backend: B,
    key: Key,
    operation: &'static dyn MatrixOperation<B, H>,
}

impl<B: Backend, H: Build> MatrixSubject<B, H> {
    pub(crate) fn new(backend: &B, key: Key, operation: &'static dyn MatrixOperation<B, H>) -> Self {
        Self { backend: backend.clone(), key, operation }
    }
}

impl<B: Backend, H: Build> Subject for MatrixSubject<B, H> {
    fn key(&self) -> &Key {
        &self.key
    }

    fn check(&self) -> &'static dyn Check {
        self.operation
    }

    fn algorithms(&self, setting: &Setting) -> &'static [Algorithm] {
        self.operation.algorithms(&self.backend, setting)
    }

    fn given<'a>(&'a self, matrix: &'a Triplets) -> Result<Box<dyn Given + 'a>> {
        Ok(Box::new(GivenMatrix { subject: self, hosts: HostMatrix::new(matrix)? }))
    }
}

/// A matrix on the host, and its operation.
struct GivenMatrix<'a, B: 'static, H: 'static> {
    subject: &'a MatrixSubject<B, H>,
    hosts: HostMatrix<'a, H>,
}

impl<B: Backend, H: Build> Given for GivenMatrix<'_, B, H> {
    fn prepare(&self, setting: &Setting, options: &PlanOptions) -> Result<Box<dyn PlannedOperation + '_>> {
        let MatrixSubject { backend, operation, .. } = self.subject;
        let a = DeviceMatrix::new(backend, &self.hosts)?;
        let plan = operation.plan(backend, &a.device, setting, options)?;
        Ok(Box::new(PlannedOnMatrix { a, plan }))
    }
}

/// A matrix in a backend's memory and a plan for it.
struct PlannedOnMatrix<'a, B: Backend, H: Build> {
    a: DeviceMatrix<'a, B, H>,
    plan: MatrixPlan<B, H>,
}

impl<B: Backend, H: Build> PlannedOperation for PlannedOnMatrix<'_, B, H> {
    fn run(&mut self, call: &Call, y: &mut GuardedOperand) -> Result<Outcome> {
        (self.plan.run)(&self.a, call, y)
    }

    fn algorithm(&self) -> Option<&'static str> {
        Some(self.plan.algorithm)
    }

    fn matrix(&mut self) -> Option<&mut dyn PlannedMatrix> {
        Some(&mut self.a)
    }
}
