//! The products of a matrix, each by every algorithm of ours and of another library.

use super::backend::{Clock, Multiplies};
use super::measurement::{Measurement, Times};
use crate::arguments::Arguments;
use crate::measure::{Contender, Rounds, interleave};
use crate::peer::interface::Products;
use crate::product::Product;
use crate::value::Value;
use crate::workload::Pattern;
use anyhow::Result;
use sparse_core::backend::{Buf, SpaceOf};
use sparse_core::op::{Op, SpmmKernel, SpmmPlan, SpmvKernel, SpmvPlan};
use sparse_core::space::Buffer as _;
use sparse_core::{
    Algorithm, Csr, DenseView, DenseViewMut, Order, PlanOptions, Space, SparseFormat, cast_slice,
};
use std::cell::RefCell;
use std::time::Duration;

/// The most timed runs of each algorithm.
const MAX_ROUNDS: usize = 7;

/// Seconds of timed runs of an algorithm after which there are fewer.
const BUDGET: f64 = 0.02;

/// Seconds of the repetitions that are timed together, about.
const ROUND: f64 = 5e-4;

/// The most repetitions that are timed together.
const MAX_REPETITIONS: usize = 100;

/// Runs of each algorithm, of which the fastest estimates its time.
const FIRST_RUNS: usize = 3;

/// An algorithm that takes this many times as long as the fastest is not run again.
const SLOW_RATIO: f64 = 8.0;

/// The ratio at which an algorithm of the other library is not run again; only its best one counts.
const PEER_SLOW_RATIO: f64 = 3.0;

/// An algorithm this many times over that ratio is run once.
const CLEARLY: f64 = 2.0;

/// Elements at either end of a result that are compared.
const SAMPLE: usize = 1 << 14;

/// The largest difference of two sums of a few thousand small numbers in single precision, relative to the sum or 1.
const TOLERANCE: f64 = 1e-3;

/// An algorithm of devices that takes many times as long as the others with many columns: it is run only if it is
/// chosen.
const SLOW_WITH_COLUMNS: &str = "row_per_thread";

/// Enqueues a product.
type Work<'a> = Box<dyn FnMut() -> sparse_core::Result<()> + 'a>;

/// A product by an algorithm of this name.
type Named<'a> = (String, Work<'a>);

/// The common operands of all measurements.
pub(super) struct Bench<'a, B: Multiplies<T>, P, T: Value> {
    backend: &'a B,
    clock: &'a Clock<'a>,
    peer: Option<&'a P>,
    pub(super) arguments: &'a Arguments,
    rounds: Rounds,
    /// Dense operands of the largest product so far.
    b: Buf<B, T>,
    c: Buf<B, T>,
}

impl<'a, B, P, T> Bench<'a, B, P, T>
where
    B: Multiplies<T> + Multiplies<f64>,
    P: Products<SpaceOf<B>>,
    T: Value,
{
    pub(super) fn new(
        backend: &'a B,
        clock: &'a Clock<'a>,
        pause: Duration,
        peer: Option<&'a P>,
        arguments: &'a Arguments,
    ) -> Result<Self> {
        let asked = arguments.rounds(BUDGET);
        Ok(Self {
            backend,
            clock,
            peer,
            arguments,
            rounds: Rounds { most: asked.most.min(MAX_ROUNDS), pause, ..asked },
            b: backend.zeros(0)?,
            c: backend.zeros(0)?,
        })
    }

    /// True if the products run on the host's processors.
    pub(super) fn is_on_cpu(&self) -> bool {
        self.backend.caps().is_cpu
    }

    /// Measures every selected product; SpMV in double precision too, unless a type is requested.
    pub(super) fn products(&mut self, host: &Csr<T>) -> Result<Vec<Measurement>> {
        let a: Csr<T, SpaceOf<B>> = host.to_device(self.backend)?;
        let mut products = vec![];
        if self.arguments.wants_op("spmv") {
            products.push(self.spmv(&a)?);
            if self.arguments.also_in_double::<T>() && self.backend.caps().f64 {
                let values = self.backend.upload(&cast_slice::<T, f64>(host.values())?)?;
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

    fn spmv<U: Value>(&self, a: &Csr<U, SpaceOf<B>>) -> Result<Measurement>
    where
        B: Multiplies<U>,
    {
        let x = self.backend.upload(&Pattern::<U>::new(0).filled(a.ncols()))?;
        let y = RefCell::new(self.backend.zeros::<U>(a.nrows())?);
        let plan = |options: &PlanOptions| SpmvPlan::new(self.backend, a, Op::None, options);
        let work = |options: &PlanOptions| -> sparse_core::Result<Work<'_>> {
            let (mut plan, x, y) = (plan(options)?, SpaceOf::<B>::view(&x), &y);
            Ok(Box::new(move || plan.run(U::ONE, a, x, U::ZERO, SpaceOf::<B>::view_mut(&mut y.borrow_mut()))))
        };
        let algorithms = SpmvKernel::<Csr<U, SpaceOf<B>>>::spmv_algorithms(self.backend, Op::None);
        let chosen = plan(&PlanOptions::often())?.choice().algorithm;
        let theirs = self.peer.map(|peer| peer.spmv(a, SpaceOf::<B>::view(&x))).transpose()?;
        let theirs = self.theirs(theirs.unwrap_or_default(), &y, a.nrows(), work(&PlanOptions::often())?)?;
        let (us, peers) = self.times(self.ours(algorithms.iter(), chosen, work), theirs)?;
        Ok(Measurement { op: self.op(format!("spmv {}", U::DTYPE)), chosen, us, peers })
    }

    fn spmm(&mut self, a: &Csr<T, SpaceOf<B>>, columns: usize) -> Result<Measurement> {
        let (rows, cols) = (a.nrows(), a.ncols());
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
                let c = DenseViewMut::new(c, rows, columns, columns, Order::RowMajor)?;
                plan.run(T::ONE, a, b, T::ZERO, c)
            }))
        };
        let chosen = plan(&PlanOptions::often())?.choice().algorithm;
        let algorithms = SpmmKernel::<Csr<T, SpaceOf<B>>>::spmm_algorithms(self.backend, Op::None);
        let is_fast =
            |algorithm: &&Algorithm| algorithm.name != SLOW_WITH_COLUMNS || algorithm.name == chosen;
        let theirs = self.peer.map(|peer| peer.spmm(a, b)).transpose()?;
        let theirs =
            self.theirs(theirs.unwrap_or_default(), &c, rows * columns, work(&PlanOptions::often())?)?;
        let (us, peers) = self.times(self.ours(algorithms.iter().filter(is_fast), chosen, work), theirs)?;
        self.c = c.into_inner();
        Ok(Measurement { op: self.op(T::name_of(&format!("spmm k={columns}"))), chosen, us, peers })
    }

    /// The name of an operation, and that it is timed with a cold cache.
    fn op(&self, name: String) -> String {
        if self.arguments.cold { name + " cold" } else { name }
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
            let period = self.backend.upload(Pattern::new(0).period())?;
            for start in (0..of_b).step_by(period.len()) {
                let end = of_b.min(start + period.len());
                let from = SpaceOf::<B>::slice(SpaceOf::<B>::view(&period), 0..end - start);
                let to = SpaceOf::<B>::slice_mut(SpaceOf::<B>::view_mut(&mut self.b), start..end);
                self.backend.copy(from, to)?;
            }
        }
        Ok(())
    }

    /// The product by each algorithm of ours that a plan may choose and that takes the matrix; the chosen one by an
    /// automatic plan, which has looked at the columns and may give it other lanes.
    fn ours<'w>(
        &self,
        algorithms: impl Iterator<Item = &'static Algorithm>,
        chosen: &str,
        work: impl Fn(&PlanOptions) -> sparse_core::Result<Work<'w>>,
    ) -> Vec<Named<'w>> {
        let choosable = algorithms.filter(|algorithm| algorithm.is_choosable());
        let named = |name: &str| {
            let options = if name == chosen { PlanOptions::often() } else { PlanOptions::forced(name) };
            Some((name.into(), work(&options).ok()?))
        };
        choosable.filter_map(|algorithm| named(algorithm.name)).collect()
    }

    /// The products of the other library that agree with `ours`; the others are printed. Each writes the first `len`
    /// elements of the output.
    fn theirs<'w, U: Value>(
        &self,
        products: Vec<Product<'w, U, SpaceOf<B>>>,
        output: &'w RefCell<Buf<B, U>>,
        len: usize,
        mut ours: Work<'_>,
    ) -> Result<Vec<Named<'w>>> {
        if products.is_empty() {
            return Ok(vec![]);
        }
        let expected = self.sampled(&mut ours, output, len)?;
        let mut theirs = vec![];
        for Product { name, mut run, .. } in products {
            let mut work: Work<'w> = Box::new(move || {
                let mut output = output.borrow_mut();
                run(SpaceOf::<B>::slice_mut(SpaceOf::<B>::view_mut(&mut output), 0..len))
            });
            match self.sampled(&mut work, output, len) {
                Ok(found) if agree(&found, &expected) => theirs.push((name, work)),
                Ok(_) => eprintln!("left out: {name}: its result differs from ours"),
                Err(error) => eprintln!("left out: {name}: {error:#}"),
            }
        }
        Ok(theirs)
    }

    /// The first and the last elements that the work writes of `len`.
    fn sampled<U: Value>(
        &self,
        work: &mut Work<'_>,
        output: &RefCell<Buf<B, U>>,
        len: usize,
    ) -> sparse_core::Result<Vec<U>> {
        let samples = [0..len.min(SAMPLE), len.saturating_sub(SAMPLE)..len];
        let unset = self.backend.upload(&vec![U::from_c64(f64::NAN.into()); len.min(SAMPLE)])?;
        for sample in samples.clone() {
            let mut output = output.borrow_mut();
            let to = SpaceOf::<B>::slice_mut(SpaceOf::<B>::view_mut(&mut output), sample);
            self.backend.copy(SpaceOf::<B>::view(&unset), to)?;
        }
        work()?;
        let mut found = vec![U::ZERO; 2 * len.min(SAMPLE)];
        for (sample, found) in samples.into_iter().zip(found.chunks_mut(len.clamp(1, SAMPLE))) {
            let output = output.borrow();
            self.backend.download_into(SpaceOf::<B>::slice(SpaceOf::<B>::view(&output), sample), found)?;
        }
        Ok(found)
    }

    /// The microseconds of ours and of theirs, all of them interleaved.
    fn times(&self, ours: Vec<Named<'_>>, theirs: Vec<Named<'_>>) -> Result<(Times, Times)> {
        let (mut our_times, ours) = self.first_runs(ours, SLOW_RATIO)?;
        let (mut their_times, theirs) = self.first_runs(theirs, PEER_SLOW_RATIO)?;
        let count = ours.len();
        let (names, mut contenders): (Vec<_>, Vec<_>) = ours
            .into_iter()
            .chain(theirs)
            .map(|((name, mut work), once)| {
                let repetitions = ((ROUND / once) as usize).clamp(1, MAX_REPETITIONS);
                let seconds = move || Ok((self.clock)(repetitions, &mut work)? / repetitions as f64);
                (name.clone(), Contender::external(name, seconds))
            })
            .unzip();
        let medians = interleave(&mut contenders, self.rounds)?.into_iter();
        let mut named = names.into_iter().zip(medians.map(|times| microseconds(times.median)));
        our_times.extend(named.by_ref().take(count));
        their_times.extend(named);
        Ok((our_times, their_times))
    }

    /// The microseconds of the fastest of a few runs of each, and those that are not `slow_ratio` times as long as the
    /// least, with their seconds.
    fn first_runs<'w>(
        &self,
        works: Vec<Named<'w>>,
        slow_ratio: f64,
    ) -> sparse_core::Result<(Times, Vec<(Named<'w>, f64)>)> {
        let (mut timed, mut fastest) = (vec![], f64::INFINITY);
        for (name, mut work) in works {
            let mut once = f64::INFINITY;
            for _ in 0..FIRST_RUNS {
                once = once.min((self.clock)(1, &mut work)?);
                if once > CLEARLY * slow_ratio * fastest {
                    break;
                }
            }
            fastest = fastest.min(once);
            timed.push(((name, work), once));
        }
        let times = timed.iter().map(|((name, _), once)| (name.clone(), microseconds(*once))).collect();
        timed.retain(|(_, once)| *once <= slow_ratio * fastest);
        Ok((times, timed))
    }
}

/// True if no element differs by more than rounding.
fn agree<T: Value>(found: &[T], expected: &[T]) -> bool {
    let is_near = |(found, expected): (&T, &T)| {
        let (found, expected) = (found.to_c64(), expected.to_c64());
        (found - expected).norm() <= TOLERANCE * (1.0 + expected.norm())
    };
    found.iter().zip(expected).all(is_near)
}

/// Microseconds to three places.
fn microseconds(seconds: f64) -> f64 {
    (seconds * 1e9).round() / 1e3
}
