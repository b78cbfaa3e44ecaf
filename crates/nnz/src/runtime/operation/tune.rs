//! Fitting the choice of algorithms to a device, by the times of products on it.

use crate::runtime::{DenseMatrix, Format, Matrix, MatrixSpmmPlan, MatrixSpmvPlan, Vector};
use crate::{Accelerator, Device};
use sparse_core::op::Op;
use sparse_core::{DType, Error, Order, PlanOptions, Result};
use sparse_device::Thresholds;
use sparse_generate::families::Half;
use std::time::Instant;

/// Columns of B in the products with dense matrices that are timed.
const COLUMNS: [usize; 2] = [32, 128];

/// The part of the device's memory that the operands of one product may take.
const OPERANDS_PART: u64 = 16;

/// The part of the device's memory that the matrices may take.
const MATRICES_PART: u64 = 4;

/// Bytes of an entry in f32 and in f64, with their columns.
const ENTRY_BYTES: u64 = 20;

/// Approximate seconds of the products that are timed together.
const ROUND: f64 = 1e-3;

/// The most products that are timed together.
const MAX_REPETITIONS: usize = 200;

/// Number of timings of each algorithm, of which the least counts.
const ROUNDS: usize = 5;

/// An algorithm that takes this many times as long as the fastest is timed once.
const SLOW_RATIO: f64 = 4.0;

/// Tried multiples of a threshold, as numerator and denominator.
const MULTIPLES: [(usize, usize); 6] = [(1, 4), (1, 2), (3, 4), (3, 2), (2, 1), (4, 1)];

/// The least gain, of the mean ratio, for which a threshold is changed.
const MIN_GAIN: f64 = 5e-4;

/// Fits the [`Thresholds`] of a device to the times of its own algorithms.
///
/// [`measure`](Self::measure) times y ← A·x and C ← A·B by every reproducible algorithm. [`fit`](Self::fit) then
/// changes one threshold after the other to minimize the time of the algorithms that plans choose, as the geometric
/// mean over the fitting matrices. The new thresholds are used only if they also improve the judging matrices. The bits
/// of a product may change with its algorithm, but not from one run to the next.
///
/// ```
/// # fn main() -> nnz::Result<()> {
/// use nnz::generate::families;
/// use nnz::{Device, Matrix, Tuner};
///
/// # fn tune(device: &Device) -> Result<(), Box<dyn std::error::Error>> {
/// let mut tuner = Tuner::new(device)?;
/// for member in families::members() {
///     let a = Matrix::from_typed(device, member.generate::<f32>(1)?)?;
///     tuner.measure(&a, member.half)?; // false where the device is full
/// }
/// let tuned = tuner.fit()?; // the device has them from now on
/// println!("{:.3} before, {:.3} now", tuned.judged.before, tuned.judged.after);
/// if tuned.is_better() {
///     tuned.thresholds.store(device.caps())?; // and every later process, too
/// }
/// # Ok(())
/// # }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Tuner {
    device: Device,
    accelerator: Accelerator,
    products: Vec<TimedProduct>,
    /// Approximate bytes of the measured matrices on the device.
    bytes: u64,
}

/// Fitted thresholds, and how near the algorithms that plans choose come to the fastest: the outcome of [`Tuner::fit`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tuned {
    /// The thresholds that the device has now.
    pub thresholds: Thresholds,
    /// Time of the chosen algorithm over that of the fastest, for products with the fitting matrices.
    pub fitted: TunedChange,
    /// The change for products with the judging matrices.
    pub judged: TunedChange,
}

/// The time of the chosen algorithms over that of the fastest, a geometric mean, before and after tuning.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TunedChange {
    /// The ratio with the thresholds that the device had.
    pub before: f64,
    /// The ratio with the best thresholds found.
    pub after: f64,
}

impl Tuned {
    /// True if the thresholds have changed, and plans take less time with them than before.
    pub fn is_better(&self) -> bool {
        self.fitted.after < self.fitted.before && self.judged.after <= self.judged.before
    }
}

impl Tuner {
    /// A tuner of the device, without measurements.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for the CPU backend: its choices do not depend on thresholds.
    pub fn new(device: &Device) -> Result<Self> {
        let Device::Accelerator(accelerator, _) = device else {
            let reason = "its plans choose without measured thresholds";
            return Err(Error::unsupported("tuning the CPU backend", reason));
        };
        Ok(Self { device: device.clone(), accelerator: accelerator.clone(), products: vec![], bytes: 0 })
    }

    /// Times the products with a matrix, which stays on the device: with a vector in f32 and, where the device has it,
    /// f64, and with dense matrices of 32 and 128 columns in f32, where these fit the device. False, and nothing is
    /// timed, if the matrices would take more than a quarter of the device's memory.
    ///
    /// # Errors
    /// An error of the device, such as [`Error::OutOfMemory`].
    pub fn measure(&mut self, a: &Matrix, half: Half) -> Result<bool> {
        let bytes = self.bytes + ENTRY_BYTES * (a.nnz() + a.nrows()) as u64;
        if self.device.caps().memory_bytes.is_some_and(|memory| bytes > memory / MATRICES_PART) {
            return Ok(false);
        }
        self.bytes = bytes;
        let a = a.to_device(&self.device)?.to_format(Format::Csr)?.cast(DType::F32)?;
        if self.device.caps().f64 {
            self.time(Product { a: a.cast(DType::F64)?, columns: None }, half)?;
        }
        for columns in COLUMNS {
            let product = Product { a: a.clone(), columns: Some(columns) };
            if self.fits_device(&product) {
                self.time(product, half)?;
            }
        }
        self.time(Product { a, columns: None }, half)?;
        Ok(true)
    }

    /// The thresholds that the device has.
    pub fn thresholds(&self) -> Thresholds {
        self.accelerator.thresholds()
    }

    /// The number of products that were timed.
    pub fn products(&self) -> usize {
        self.products.len()
    }

    /// Finds better thresholds and gives them to the device, if it finds any.
    ///
    /// # Errors
    /// An error of the device.
    pub fn fit(&self) -> Result<Tuned> {
        let before = self.thresholds();
        let found = self.search(before);
        let tuned = found.and_then(|found| {
            let change = |half| -> Result<TunedChange> {
                Ok(TunedChange { before: self.mean(half, "", before)?, after: self.mean(half, "", found)? })
            };
            Ok(Tuned { thresholds: found, fitted: change(Half::Fit)?, judged: change(Half::Judge)? })
        });
        let thresholds = match &tuned {
            Ok(tuned) if tuned.is_better() => tuned.thresholds,
            _ => before,
        };
        self.accelerator.set_thresholds(thresholds);
        Ok(Tuned { thresholds, ..tuned? })
    }

    /// The best thresholds on the way from `start` that changes one after the other.
    fn search(&self, start: Thresholds) -> Result<Thresholds> {
        descend(start, |name, thresholds| {
            let op = name.split('.').next().unwrap_or_default();
            self.mean(Half::Fit, op, *thresholds)
        })
    }

    /// The geometric mean, over the products of a half by an operation whose name begins with `op`, of the time of the
    /// chosen algorithm over that of the fastest; 1 without products.
    fn mean(&self, half: Half, op: &str, thresholds: Thresholds) -> Result<f64> {
        self.accelerator.set_thresholds(thresholds);
        let timed = self.products.iter().filter(|timed| timed.half == half);
        let timed = timed.filter(|timed| timed.product.op().starts_with(op));
        let logarithms = timed.map(|timed| Ok(timed.over_fastest()?.ln())).collect::<Result<Vec<f64>>>()?;
        Ok((logarithms.iter().sum::<f64>() / logarithms.len().max(1) as f64).exp())
    }

    /// True if B and C are a small part of the device's memory.
    fn fits_device(&self, product: &Product) -> bool {
        let columns = product.columns.unwrap_or(1) as u64;
        let bytes = (product.a.nrows() + product.a.ncols()) as u64 * columns * size_of::<f32>() as u64;
        self.device.caps().memory_bytes.is_none_or(|memory| bytes <= memory / OPERANDS_PART)
    }

    fn time(&mut self, product: Product, half: Half) -> Result<()> {
        let times = product.times()?;
        self.products.push(TimedProduct { product, half, times });
        Ok(())
    }
}

/// Changes one threshold after the other to the multiple for which `mean` is least, which takes the name of the
/// threshold that has changed.
fn descend(start: Thresholds, mut mean: impl FnMut(&str, &Thresholds) -> Result<f64>) -> Result<Thresholds> {
    let mut best = start;
    for name in Thresholds::names() {
        let value = best.get(name).unwrap_or_default();
        let mut least = mean(name, &best)?;
        for (numerator, denominator) in MULTIPLES {
            let mut changed = best;
            changed.set(name, value.saturating_mul(numerator) / denominator)?;
            let found = mean(name, &changed)?;
            if found < least - MIN_GAIN {
                (best, least) = (changed, found);
            }
        }
    }
    Ok(best)
}

/// A product and the times of its algorithms.
#[derive(Debug)]
struct TimedProduct {
    product: Product,
    half: Half,
    /// Seconds by algorithm.
    times: Vec<(&'static str, f64)>,
}

impl TimedProduct {
    /// The time of the algorithm that a plan chooses over that of the fastest; 1 for one that was not timed.
    fn over_fastest(&self) -> Result<f64> {
        let chosen = self.product.plan(&PlanOptions::often())?.algorithm();
        let seconds = self.times.iter().find(|(name, _)| *name == chosen).map(|timed| timed.1);
        Ok(seconds.map_or(1.0, |seconds| seconds / self.fastest()))
    }

    fn fastest(&self) -> f64 {
        self.times.iter().map(|timed| timed.1).fold(f64::INFINITY, f64::min)
    }
}

/// A product of a matrix with a vector, or with a dense matrix of this number of columns.
#[derive(Debug)]
struct Product {
    a: Matrix,
    columns: Option<usize>,
}

enum Plan {
    Spmv(MatrixSpmvPlan),
    Spmm(MatrixSpmmPlan),
}

impl Plan {
    fn algorithm(&self) -> &'static str {
        match self {
            Self::Spmv(plan) => plan.choice().algorithm,
            Self::Spmm(plan) => plan.choice().algorithm,
        }
    }
}

impl Product {
    /// The operation, as names of thresholds begin.
    fn op(&self) -> &'static str {
        if self.columns.is_none() { "spmv" } else { "spmm" }
    }

    fn plan(&self, options: &PlanOptions) -> Result<Plan> {
        Ok(match self.columns {
            None => Plan::Spmv(self.a.plan_spmv(Op::None, options)?),
            Some(columns) => Plan::Spmm(self.a.plan_spmm(Op::None, columns, options)?),
        })
    }

    /// The seconds of each algorithm that a plan may choose and that takes the matrix.
    fn times(&self) -> Result<Vec<(&'static str, f64)>> {
        let algorithms = match self.columns {
            None => self.a.spmv_algorithms(Op::None),
            Some(_) => self.a.spmm_algorithms(Op::None),
        };
        let mut run = self.runner()?;
        let (mut times, mut fastest) = (vec![], f64::INFINITY);
        for algorithm in algorithms.iter().filter(|algorithm| algorithm.is_choosable()) {
            // An algorithm that does not take this matrix is not among those that a plan chooses from.
            let Ok(mut plan) = self.plan(&PlanOptions::forced(algorithm.name)) else { continue };
            let seconds = self.seconds(|| run(&mut plan), fastest)?;
            fastest = fastest.min(seconds);
            times.push((algorithm.name, seconds));
        }
        Ok(times)
    }

    /// A function that runs a plan of this product with operands of its own.
    fn runner(&self) -> Result<impl FnMut(&mut Plan) -> Result<()>> {
        let (device, dtype, a) = (self.a.device(), self.a.dtype(), self.a.clone());
        let (rows, cols, columns) = (a.nrows(), a.ncols(), self.columns.unwrap_or(1));
        let dense = |rows, columns| DenseMatrix::zeros(device, dtype, rows, columns, Order::RowMajor);
        let (b, mut c) = (dense(cols, columns)?, dense(rows, columns)?);
        let (x, mut y) = (Vector::zeros(device, dtype, cols)?, Vector::zeros(device, dtype, rows)?);
        Ok(move |plan: &mut Plan| match plan {
            Plan::Spmv(plan) => plan.run(1.0, &a, &x, 0.0, &mut y),
            Plan::Spmm(plan) => plan.run(1.0, &a, &b, 0.0, &mut c),
        })
    }

    /// The least seconds of several runs; of an algorithm that is slow beside `fastest`, those of a single run.
    fn seconds(&self, mut run: impl FnMut() -> Result<()>, fastest: f64) -> Result<f64> {
        let mut timed = |repetitions: usize| -> Result<f64> {
            let started = Instant::now();
            (0..repetitions).try_for_each(|_| run())?;
            self.a.device().synchronize()?;
            Ok(started.elapsed().as_secs_f64() / repetitions as f64)
        };
        timed(1)?; // kernels are compiled, pages are touched
        let once = timed(1)?;
        if once > SLOW_RATIO * fastest.max(ROUND / MAX_REPETITIONS as f64) {
            return Ok(once);
        }
        let repetitions = ((ROUND / once) as usize).clamp(1, MAX_REPETITIONS);
        (0..ROUNDS).try_fold(once, |least, _| Ok(least.min(timed(repetitions)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_that_matters_moves_and_the_others_stay() {
        const NAME: &str = "spmv.long_rows.block_from";
        let start = Thresholds::H100;
        let value = start.get(NAME).unwrap();
        let found = descend(start, |_, thresholds| {
            let now = thresholds.get(NAME).unwrap();
            Ok(if now <= value / 2 { 1.0 } else { 1.5 })
        });
        let mut expected = start;
        expected.set(NAME, value / 4).unwrap();
        assert_eq!(found.unwrap(), expected, "the first multiple tried of those that gain");
    }

    #[test]
    fn thresholds_that_judging_matrices_lose_by_are_not_better() {
        let change = |before, after| TunedChange { before, after };
        let tuned = |fitted, judged| Tuned { thresholds: Thresholds::H100, fitted, judged };
        assert!(tuned(change(1.2, 1.1), change(1.1, 1.1)).is_better());
        assert!(!tuned(change(1.2, 1.1), change(1.1, 1.11)).is_better());
        assert!(!tuned(change(1.2, 1.2), change(1.1, 1.0)).is_better());
    }
}
