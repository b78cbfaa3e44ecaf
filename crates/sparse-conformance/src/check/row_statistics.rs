//! Statistics of the row lengths.

use super::moved::{by_reference, plain_call};
use super::{Check, Expected};
use crate::build::{Build, On};
use crate::case::Problem;
use crate::held::{Held, HeldMatrix};
use crate::memory::Memory;
use crate::portrait::Portrait;
use crate::subject::{Call, Key, Outcome, Setting, Subject, Trial};
use crate::suite::Suite;
use crate::triplets::Triplets;
use sparse_core::op::{RowStatisticsKernel, RowStatisticsPlan};
use sparse_core::{Algorithm, PlanOptions, Result, c64};
use std::marker::PhantomData;

/// The check of row statistics.
#[derive(Debug)]
pub(crate) struct RowStatistics;

impl Check for RowStatistics {
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

/// Row statistics of one backend in one format.
#[derive(Debug)]
pub(crate) struct RowStatisticsSubject<B, H> {
    backend: B,
    key: Key,
    format: PhantomData<fn() -> H>,
}

impl<B, H: Build> RowStatisticsSubject<B, H> {
    pub(crate) fn new(backend: B) -> Self {
        Self { backend, key: Key::of::<H>("row_statistics"), format: PhantomData }
    }
}

struct RowStatisticsTrial<B: RowStatisticsKernel<On<B, H>>, H: Build> {
    a: Held<B, H>,
    plan: RowStatisticsPlan<B, On<B, H>>,
}

impl<B: RowStatisticsKernel<On<B, H>>, H: Build> Subject for RowStatisticsSubject<B, H> {
    fn key(&self) -> &Key {
        &self.key
    }

    fn check(&self) -> &'static dyn Check {
        &RowStatistics
    }

    fn algorithms(&self, _: &Setting) -> &'static [Algorithm] {
        self.backend.row_statistics_algorithms()
    }

    fn prepare(&self, matrix: &Triplets, _: &Setting, options: &PlanOptions) -> Result<Box<dyn Trial + '_>> {
        let a = Held::<B, H>::new(&self.backend, matrix)?;
        let plan = RowStatisticsPlan::new(&self.backend, &a.device, options)?;
        Ok(Box::new(RowStatisticsTrial { a, plan }))
    }
}

impl<B: RowStatisticsKernel<On<B, H>>, H: Build> Trial for RowStatisticsTrial<B, H> {
    fn run(&mut self, _: &Call, _: &mut Memory) -> Result<Outcome> {
        let found = self.plan.run(&self.a.device)?;
        let counts = [found.rows, found.nnz, found.empty, found.shortest, found.longest];
        let made = Portrait::default()
            .integers("rows, nnz, empty, shortest, longest", counts.map(|count| count as i64))
            .integers("histogram", found.histogram.iter().map(|&count| count as i64))
            .values("mean, deviation", [found.mean, found.deviation].map(|value| c64::new(value, 0.0)));
        Ok(Outcome { made, ..Outcome::default() })
    }

    fn matrix(&mut self) -> Option<&mut dyn HeldMatrix> {
        Some(&mut self.a)
    }
}
