//! Prefix sums of arrays: TPS, HPS and VPS, inclusive and exclusive. The array is the case's matrix in dense form.

use crate::call::{Call, Outcome};
use crate::case::Problem;
use crate::guarded_operand::{Cell, Frame, GuardedOperand};
use crate::key::Key;
use crate::setting::Setting;
use crate::subject::{Check, Given, PlannedOperation, Subject};
use crate::suite::Suite;
use crate::triplets::Triplets;
use sparse_core::catalog::Operation;
use sparse_core::op::{ScanElement, ScanKernel, ScanKind, ScanOrder, ScanPlan};
use sparse_core::{Algorithm, DType, PlanOptions, Result, c64};
use std::marker::PhantomData;

/// The check of scans.
#[derive(Debug)]
pub(crate) struct Scan;

/// The most elements of an array.
const LARGEST: usize = 1 << 18;

/// The old elements of outputs: no sum of the table.
const UNWRITTEN: c64 = c64::new(-1_234_567.0, 0.0);

fn call(problem: &Problem, x: usize, y: usize) -> Call {
    let elements = problem.matrix.dense();
    // The sum makes +0 of −0, which integers lack.
    let element = |row: usize, _| c64::ZERO + elements.get(row).unwrap_or(&c64::ZERO);
    let y = GuardedOperand::output(Frame::vector(y), |_, _| UNWRITTEN);
    Call { x: GuardedOperand::output(Frame::vector(x), element), ..Call::plain(y) }
}

impl Suite {
    /// Scans of `T`.
    pub fn scan<B: ScanKernel<T>, T: ScanElement + Cell>(&mut self, backend: &B) -> &mut Self {
        self.add(ScanSubject::<B, T>::new(backend.clone()))
    }
}

impl Check for Scan {
    fn settings(&self, _: &Key, problem: &Problem) -> Vec<Setting> {
        let Triplets { rows, cols, .. } = problem.matrix;
        let integer = |value: f64| value.fract() == 0.0 && value.abs() <= f64::from(i32::MAX);
        let integers = problem.matrix.entries.iter().all(|entry| integer(entry.2.re));
        if problem.matrix.elements() > LARGEST || !integers {
            return vec![];
        }
        let orders = [ScanOrder::Flat, ScanOrder::RowMajor, ScanOrder::ColumnMajor].into_iter();
        let settings = orders.flat_map(|order| {
            [ScanKind::Inclusive, ScanKind::Exclusive].map(|kind| Setting::Scan { rows, cols, order, kind })
        });
        settings.collect()
    }

    fn calls(&self, _: &Setting, problem: &Problem) -> Vec<Call> {
        let len = problem.matrix.rows * problem.matrix.cols;
        vec![call(problem, len, len)]
    }

    fn invalid_calls(&self, _: &Setting, problem: &Problem) -> Vec<Call> {
        let len = problem.matrix.rows * problem.matrix.cols;
        vec![call(problem, len + 1, len), call(problem, len, len + 1)]
    }

    /// Distinguishes the types, since sums wrap at different numbers.
    fn scope(&self, key: &Key, _: &Setting) -> Option<String> {
        Some(key.types.clone())
    }
}

/// Scans of one backend.
#[derive(Debug)]
pub(crate) struct ScanSubject<B, T> {
    backend: B,
    key: Key,
    element: PhantomData<fn() -> T>,
}

impl<B, T> ScanSubject<B, T> {
    pub(crate) fn new(backend: B) -> Self {
        let types = std::any::type_name::<T>().to_string();
        let key = Key { op: Operation::Scan.name(), format: "array".into(), types, dtype: DType::F64 };
        Self { backend, key, element: PhantomData }
    }
}

struct PlannedScan<'a, B: ScanKernel<T>, T: ScanElement> {
    backend: &'a B,
    plan: ScanPlan<B, T>,
}

impl<B: ScanKernel<T>, T: ScanElement + Cell> Subject for ScanSubject<B, T> {
    fn key(&self) -> &Key {
        &self.key
    }

    fn check(&self) -> &'static dyn Check {
        &Scan
    }

    fn algorithms(&self, setting: &Setting) -> &'static [Algorithm] {
        let Setting::Scan { order, .. } = *setting else { return &[] };
        self.backend.scan_algorithms(order)
    }

    fn given<'a>(&'a self, _: &'a Triplets) -> Result<Box<dyn Given + 'a>> {
        Ok(Box::new(self))
    }
}

impl<B: ScanKernel<T>, T: ScanElement + Cell> Given for ScanSubject<B, T> {
    fn prepare(&self, setting: &Setting, options: &PlanOptions) -> Result<Box<dyn PlannedOperation + '_>> {
        let Setting::Scan { rows, cols, order, kind } = *setting else {
            return Err(sparse_core::Error::unsupported(setting, "a scan takes the shape of an array"));
        };
        let plan = ScanPlan::new(&self.backend, (rows, cols), order, kind, options)?;
        Ok(Box::new(PlannedScan { backend: &self.backend, plan }))
    }
}

impl<B: ScanKernel<T>, T: ScanElement + Cell> PlannedOperation for PlannedScan<'_, B, T> {
    fn run(&mut self, call: &Call, y: &mut GuardedOperand) -> Result<Outcome> {
        let plan = &mut self.plan;
        call.on::<B, T>(self.backend, y, &mut |x, y| plan.run(x.vector(), y.vector_mut()).map(|()| None))
    }

    fn algorithm(&self) -> Option<&'static str> {
        Some(self.plan.choice().algorithm)
    }
}
