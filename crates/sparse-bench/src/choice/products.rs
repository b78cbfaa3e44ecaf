//! The products of a matrix, each by every algorithm.

use super::{Clock, Multiplies};
use crate::arguments::Arguments;
use crate::measure::{Contender, Rounds, interleave};
use crate::workload::Pattern;
use anyhow::Result;
use sparse_core::backend::{Buf, SpaceOf};
use sparse_core::op::{Op, SpmmKernel, SpmmPlan, SpmvKernel, SpmvPlan, VectorKernel};
use sparse_core::space::Buffer as _;
use sparse_core::{
    Algorithm, Csr, DenseView, DenseViewMut, Order, PlanOptions, Scalar, Space, SparseFormat, c64, cast_slice,
};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The most timed runs of each algorithm.
const MOST_ROUNDS: usize = 7;

/// Seconds of timed runs of an algorithm after which there are fewer.
const BUDGET: f64 = 0.02;

/// Seconds of the repetitions that are timed together, about.
const ROUND: f64 = 5e-4;

/// The most repetitions that are timed together.
const MOST_REPETITIONS: usize = 100;

/// Runs of each algorithm, of which the fastest estimates its time.
const FIRST_RUNS: usize = 3;

/// Time of an algorithm over the fastest's from which on it is not run again.
const HOPELESS: f64 = 8.0;

/// An algorithm of devices that takes many times as long as the others with many columns: it is run only if it is
/// chosen.
const SLOW_WITH_COLUMNS: &str = "row_per_thread";

/// The times of one product.
#[derive(Debug, serde::Serialize)]
pub(super) struct Product {
    pub(super) op: String,
    /// The algorithm of an automatic plan.
    pub(super) chosen: &'static str,
    /// Microseconds by algorithm.
    pub(super) us: BTreeMap<&'static str, f64>,
}

impl Product {
    /// The fastest algorithm.
    pub(super) fn best(&self) -> Option<&'static str> {
        self.us.iter().min_by(|a, b| a.1.total_cmp(b.1)).map(|(name, _)| *name)
    }

    /// The time of the chosen algorithm over that of the fastest.
    pub(super) fn ratio(&self) -> Option<f64> {
        Some(self.us.get(self.chosen)? / self.us[self.best()?])
    }
}

/// Enqueues a product.
type Work<'a> = Box<dyn FnMut() -> sparse_core::Result<()> + 'a>;

/// The common operands of all measurements.
pub(super) struct Bench<'a, B: Multiplies> {
    backend: &'a B,
    clock: &'a Clock<'a>,
    arguments: &'a Arguments,
    rounds: Rounds,
    pattern: Pattern,
    /// Dense operands of the largest product so far.
    b: Buf<B, f32>,
    c: Buf<B, f32>,
}

impl<'a, B: Multiplies> Bench<'a, B> {
    pub(super) fn new(backend: &'a B, clock: &'a Clock<'a>, arguments: &'a Arguments) -> Result<Self> {
        let asked = arguments.rounds(BUDGET);
        Ok(Self {
            backend,
            clock,
            arguments,
            rounds: Rounds { most: asked.most.min(MOST_ROUNDS), ..asked },
            pattern: Pattern::new(0),
            b: backend.zeros(0)?,
            c: backend.zeros(0)?,
        })
    }

    /// Measures every selected product.
    pub(super) fn products(&mut self, host: &Csr<f32>) -> Result<Vec<Product>> {
        let a: Csr<f32, SpaceOf<B>> = host.to_device(self.backend)?;
        let mut products = vec![];
        if self.arguments.wants_op("spmv") {
            products.push(self.spmv(&a)?);
            if self.backend.caps().f64 {
                let values = self.backend.upload(&cast_slice::<f32, f64>(host.values())?)?;
                products.push(self.spmv(&a.with_values(values)?)?);
            }
        }
        if self.arguments.wants_op("spmm") {
            for &columns in self.arguments.columns() {
                products.push(self.spmm(&a, columns)?);
            }
        }
        Ok(products)
    }

    fn spmv<T: Scalar>(&self, a: &Csr<T, SpaceOf<B>>) -> Result<Product>
    where
        B: SpmvKernel<Csr<T, SpaceOf<B>>> + VectorKernel<T>,
    {
        let x = self.backend.upload(&cast_slice::<f32, T>(&self.pattern.filled(a.cols()))?)?;
        let y = RefCell::new(self.backend.zeros::<T>(a.rows())?);
        let plan = |options: &PlanOptions| SpmvPlan::new(self.backend, a, Op::None, options);
        let (one, zero) = (T::Acc::from_c64(c64::ONE), T::Acc::ZERO);
        let work = |options: &PlanOptions| -> sparse_core::Result<Work<'_>> {
            let (mut plan, x, y) = (plan(options)?, SpaceOf::<B>::view(&x), &y);
            Ok(Box::new(move || plan.run(one, a, x, zero, SpaceOf::<B>::view_mut(&mut y.borrow_mut()))))
        };
        let algorithms = SpmvKernel::<Csr<T, SpaceOf<B>>>::spmv_algorithms(self.backend, Op::None);
        let chosen = plan(&automatic())?.choice().algorithm;
        let us = self.times(algorithms.iter(), work)?;
        Ok(Product { op: format!("spmv {}", T::DTYPE), chosen, us })
    }

    fn spmm(&mut self, a: &Csr<f32, SpaceOf<B>>, columns: usize) -> Result<Product> {
        let (rows, cols) = (a.rows(), a.cols());
        self.enlarge(rows * columns, cols * columns)?;
        let c = RefCell::new(std::mem::replace(&mut self.c, self.backend.zeros(0)?));
        let b = SpaceOf::<B>::slice(SpaceOf::<B>::view(&self.b), 0..cols * columns);
        let b = DenseView::new(b, cols, columns, columns, Order::RowMajor)?;
        let plan = |options: &PlanOptions| SpmmPlan::new(self.backend, a, Op::None, columns, options);
        let work = |options: &PlanOptions| -> sparse_core::Result<Work<'_>> {
            let (mut plan, c) = (plan(options)?, &c);
            Ok(Box::new(move || {
                let mut c = c.borrow_mut();
                let c = SpaceOf::<B>::slice_mut(SpaceOf::<B>::view_mut(&mut c), 0..rows * columns);
                plan.run(1.0, a, b, 0.0, DenseViewMut::new(c, rows, columns, columns, Order::RowMajor)?)
            }))
        };
        let chosen = plan(&automatic())?.choice().algorithm;
        let algorithms = SpmmKernel::<Csr<f32, SpaceOf<B>>>::spmm_algorithms(self.backend, Op::None);
        let is_fast =
            |algorithm: &&Algorithm| algorithm.name != SLOW_WITH_COLUMNS || algorithm.name == chosen;
        let us = self.times(algorithms.iter().filter(is_fast), work)?;
        self.c = c.into_inner();
        Ok(Product { op: format!("spmm k={columns}"), chosen, us })
    }

    /// Enlarges the dense operands where they are too small for C and B; B is not all zeros.
    fn enlarge(&mut self, of_c: usize, of_b: usize) -> Result<()> {
        if self.c.len() < of_c {
            self.c = self.backend.zeros(0)?;
            self.c = self.backend.zeros(of_c)?;
        }
        if self.b.len() < of_b {
            self.b = self.backend.zeros(0)?;
            self.b = self.backend.zeros(of_b)?;
            let period = self.backend.upload(self.pattern.period())?;
            for start in (0..of_b).step_by(period.len()) {
                let end = of_b.min(start + period.len());
                let from = SpaceOf::<B>::slice(SpaceOf::<B>::view(&period), 0..end - start);
                let to = SpaceOf::<B>::slice_mut(SpaceOf::<B>::view_mut(&mut self.b), start..end);
                self.backend.copy(from, to)?;
            }
        }
        Ok(())
    }

    /// The microseconds of each reproducible algorithm that takes the matrix.
    fn times<'w>(
        &self,
        algorithms: impl Iterator<Item = &'static Algorithm>,
        work: impl Fn(&PlanOptions) -> sparse_core::Result<Work<'w>>,
    ) -> Result<BTreeMap<&'static str, f64>> {
        let mut works = vec![];
        for algorithm in algorithms.filter(|algorithm| algorithm.reproducible) {
            if let Ok(mut work) = work(&PlanOptions::forced(algorithm.name)) {
                let mut once = f64::INFINITY;
                for _ in 0..FIRST_RUNS {
                    once = once.min((self.clock)(1, &mut work)?);
                }
                works.push((algorithm.name, work, once));
            }
        }
        let fastest = works.iter().map(|(.., once)| *once).fold(f64::INFINITY, f64::min);
        let mut us: BTreeMap<_, _> =
            works.iter().map(|(name, _, once)| (*name, microseconds(*once))).collect();
        works.retain(|(.., once)| *once <= HOPELESS * fastest);
        let names: Vec<_> = works.iter().map(|(name, ..)| *name).collect();
        let contenders = works.into_iter().map(|(name, mut work, once)| {
            let repetitions = ((ROUND / once) as usize).clamp(1, MOST_REPETITIONS);
            let seconds = move || Ok((self.clock)(repetitions, &mut work)? / repetitions as f64);
            Contender::external(name, seconds)
        });
        let times = interleave(&mut contenders.collect::<Vec<_>>(), self.rounds)?;
        us.extend(names.into_iter().zip(times.into_iter().map(|times| microseconds(times.median))));
        Ok(us)
    }
}

/// Options of a plan that runs often.
fn automatic() -> PlanOptions {
    PlanOptions { expected_calls: 1000, ..PlanOptions::default() }
}

/// Microseconds to three places.
fn microseconds(seconds: f64) -> f64 {
    (seconds * 1e9).round() / 1e3
}
