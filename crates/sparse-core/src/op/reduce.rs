//! Reductions of the lines that a format stores, the rows of CSR and the columns of CSC, to one number each.
//!
//! Elements that are not stored are zeros, and count, as in SciPy. For the lines of the other direction convert first:
//! CSC has the columns of CSR.
//!
//! | reduction | of a line with n elements v |
//! |---|---|
//! | [`Reduction::Sum`] | `Σ v` |
//! | [`Reduction::Mean`] | `m = Σ v / n` |
//! | [`Reduction::Variance`] | `Σ abs(v − m)² / n`, as NumPy's `var` |
//! | [`Reduction::Min`], [`Reduction::Max`] | the smallest, the largest v, of real numbers |
//! | [`Reduction::Norm1`] | `Σ abs(v)` |
//! | [`Reduction::Norm2`] | `sqrt(Σ abs(v)²)` |
//! | [`Reduction::NormInfinity`] | the largest `abs(v)` |
//!
//! They are computed in the accumulator's type and rounded once. Entries of one coordinate count as their sum. A line
//! with NaN gives NaN. Variances read a line twice, so that nothing cancels; 2-norms too, so that no square overflows.

use super::RealOf;
use super::bound_pattern::BoundPattern;
use crate::backend::{Backend, SpaceOf, ViewMutOf};
use crate::error::{Error, Result};
use crate::format::{Axis, Compressed, SparseFormat};
use crate::index::Index;
use crate::plan::{Algorithm, Choice, KernelPlan, PlanOptions};
use crate::scalar::{Accumulator, Real, Scalar};
use crate::space::{Space, ViewMut as _};
use crate::{DType, c64};
use num_traits::Float;
use std::fmt::{self, Display};
use std::str::FromStr;

/// A reduction of a row or a column to one number. Elements that are not stored are zeros, and count.
///
/// ```
/// use sparse_core::op::Reduction;
///
/// assert_eq!("norm2".parse::<Reduction>()?, Reduction::Norm2);
/// assert_eq!(Reduction::Variance.to_string(), "variance");
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// The sum.
    Sum,
    /// The sum divided by the number of elements.
    Mean,
    /// The mean of the squared distances from the mean.
    Variance,
    /// The smallest element, of real numbers.
    Min,
    /// The largest element, of real numbers.
    Max,
    /// The sum of the magnitudes.
    Norm1,
    /// The square root of the sum of the squared magnitudes.
    Norm2,
    /// The largest magnitude.
    NormInfinity,
}

impl Reduction {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Sum,
        Self::Mean,
        Self::Variance,
        Self::Min,
        Self::Max,
        Self::Norm1,
        Self::Norm2,
        Self::NormInfinity,
    ];

    /// The name in options and files: `sum`, `mean`, `variance`, `min`, `max`, `norm1`, `norm2`, `norminf`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Mean => "mean",
            Self::Variance => "variance",
            Self::Min => "min",
            Self::Max => "max",
            Self::Norm1 => "norm1",
            Self::Norm2 => "norm2",
            Self::NormInfinity => "norminf",
        }
    }

    /// True if complex numbers have it: all but the smallest and the largest.
    pub fn is_of_complex(self) -> bool {
        !matches!(self, Self::Min | Self::Max)
    }

    /// True if lines without elements have it, which is 0 then: sums and norms.
    pub fn is_of_empty(self) -> bool {
        !matches!(self, Self::Mean | Self::Variance | Self::Min | Self::Max)
    }

    /// True if entries of one coordinate must be added before: all but sums and means.
    pub fn needs_unique(self) -> bool {
        !matches!(self, Self::Sum | Self::Mean)
    }

    /// An error unless `count` lines of `extent` elements of this type have the reduction. No lines have every one.
    ///
    /// ```
    /// use sparse_core::{DType, op::Reduction};
    ///
    /// assert!(Reduction::Mean.check(DType::F64, (0, 0)).is_ok());
    /// assert!(Reduction::Mean.check(DType::F64, (2, 0)).is_err());
    /// assert!(Reduction::Max.check(DType::C64, (2, 3)).is_err());
    /// ```
    ///
    /// # Errors
    /// [`Unsupported`](Error::Unsupported) for the smallest and the largest of complex numbers;
    /// [`Shape`](Error::Shape) for means, variances, smallest and largest elements of lines without elements.
    pub fn check(self, dtype: DType, (count, extent): (usize, usize)) -> Result<()> {
        if dtype.is_complex() && !self.is_of_complex() {
            return Err(Error::unsupported("the least or largest of complex numbers", "they have no order"));
        }
        if count > 0 && extent == 0 && !self.is_of_empty() {
            let reason = "the rows or columns have no elements; only their sums and norms exist";
            return Err(Error::shape("reduce", reason));
        }
        Ok(())
    }

    /// The reduction of a line of `extent` elements, of which these are stored, each once.
    ///
    /// ```
    /// use sparse_core::op::Reduction;
    ///
    /// assert_eq!(Reduction::Max.of_line(&[-1.0, -2.0], 3), 0.0); // an element that is not stored
    /// assert_eq!(Reduction::Variance.of_line(&[3.0], 3), 2.0);
    /// ```
    pub fn of_line<T: Scalar>(self, stored: &[T], extent: usize) -> T {
        let has_zeros = stored.len() < extent;
        T::from_acc(match self {
            Self::Sum => sum(stored),
            Self::Mean => sum(stored) / count::<T>(extent),
            Self::Variance => variance(stored, extent),
            Self::Min => real_extreme(stored, has_zeros, RealOf::<T>::infinity(), |a, b| a < b),
            Self::Max => real_extreme(stored, has_zeros, RealOf::<T>::neg_infinity(), |a, b| a > b),
            Self::Norm1 => magnitudes(stored).fold(T::Acc::ZERO, |sum, v| sum + T::Acc::from_real(v)),
            Self::Norm2 => T::Acc::from_real(norm2(stored)),
            Self::NormInfinity => T::Acc::from_real(largest(stored)),
        })
    }
}

impl Display for Reduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Reduction {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let unknown = || Error::unknown_name("reduction", name, &Self::ALL.map(Self::name));
        Self::ALL.into_iter().find(|known| known.name() == name).ok_or_else(unknown)
    }
}

fn sum<T: Scalar>(stored: &[T]) -> T::Acc {
    stored.iter().fold(T::Acc::ZERO, |sum, v| sum + v.to_acc())
}

fn magnitudes<T: Scalar>(stored: &[T]) -> impl Iterator<Item = RealOf<T>> + '_ {
    stored.iter().map(|v| v.to_acc().abs())
}

/// A number of elements in the accumulator's type.
fn count<T: Scalar>(n: usize) -> T::Acc {
    T::Acc::from_c64(c64::new(n as f64, 0.0))
}

/// The mean of the squared distances from the mean.
fn variance<T: Scalar>(stored: &[T], extent: usize) -> T::Acc {
    let mean = sum(stored) / count::<T>(extent);
    let zeros = count::<T>(extent.saturating_sub(stored.len())) * T::Acc::from_real(mean.abs_squared());
    let squares = stored.iter().map(|v| T::Acc::from_real((v.to_acc() - mean).abs_squared()));
    squares.fold(zeros, |sum, square| sum + square) / count::<T>(extent)
}

/// The value that `better` prefers; NaN if one of them is.
fn pick<R: Real>(found: R, next: R, better: fn(R, R) -> bool) -> R {
    if next.is_nan() || better(next, found) { next } else { found }
}

/// The smallest or largest of the real parts, from zero where an element is not stored, else from `least`.
fn real_extreme<T: Scalar>(
    stored: &[T],
    has_zeros: bool,
    least: RealOf<T>,
    better: fn(RealOf<T>, RealOf<T>) -> bool,
) -> T::Acc {
    let start = if has_zeros { T::Acc::ZERO.re() } else { least };
    T::Acc::from_real(stored.iter().fold(start, |found, v| pick(found, v.to_acc().re(), better)))
}

fn largest<T: Scalar>(stored: &[T]) -> RealOf<T> {
    magnitudes(stored).fold(T::Acc::ZERO.re(), |found, v| pick(found, v, |a, b| a > b))
}

/// The root of the sum of squares, each divided by the largest.
fn norm2<T: Scalar>(stored: &[T]) -> RealOf<T> {
    let scale = largest(stored);
    if scale == T::Acc::ZERO.re() || !Float::is_finite(scale) {
        return scale;
    }
    let squares = magnitudes(stored).map(|v| (v / scale) * (v / scale));
    squares.fold(T::Acc::ZERO.re(), |sum, square| sum + square).sqrt() * scale
}

/// A format that stores lines one after another: the rows of CSR, the columns of CSC.
pub trait StoredLines: SparseFormat {
    /// The number of lines, and the elements of each.
    ///
    /// ```
    /// use sparse_core::{Csc, op::StoredLines};
    ///
    /// assert_eq!(Csc::<f64>::zeros(2, 3)?.lines(), (3, 2));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    fn lines(&self) -> (usize, usize);
}

impl<A: Axis, T: Scalar, S: Space, I: Index, O: Index> StoredLines for Compressed<A, T, S, I, O> {
    fn lines(&self) -> (usize, usize) {
        (self.pattern().major(), self.pattern().minor())
    }
}

/// Reductions of rows or columns: implemented by backends, called through [`ReducePlan`].
pub trait ReduceKernel<M: StoredLines<Space = SpaceOf<Self>>>: Backend {
    /// A plan for one pattern, with its workspace.
    type Plan: KernelPlan;

    /// The algorithms for this format, the default first.
    fn reduce_algorithms(&self) -> &'static [Algorithm];

    /// Chooses an algorithm and finds what depends on the pattern of `a` alone; [`Reduction::check`] allows `by`.
    ///
    /// # Errors
    /// [`Unsupported`](crate::Error::Unsupported) if the forced algorithm does not exist.
    fn plan_reduce(&self, by: Reduction, a: &M, options: &PlanOptions) -> Result<Self::Plan>;

    /// Writes a number for each line of `a`, of which there is at least one.
    ///
    /// # Errors
    /// An error of the device's runtime.
    ///
    /// # Safety
    /// `plan` was made by this backend for the pattern of `a`, which is in its context, as `y` is; `y` has an element
    /// for each line.
    unsafe fn run_reduce(
        &self,
        plan: &mut Self::Plan,
        a: &M,
        y: ViewMutOf<'_, Self, M::Scalar>,
    ) -> Result<()>;
}

/// A plan that reduces the lines of matrices of one pattern.
#[derive(Debug)]
pub struct ReducePlan<B: ReduceKernel<M>, M: StoredLines<Space = SpaceOf<B>>> {
    backend: B,
    bound: BoundPattern,
    kernel: B::Plan,
}

impl<B: ReduceKernel<M>, M: StoredLines<Space = SpaceOf<B>>> ReducePlan<B, M> {
    /// A plan for the pattern of `a`.
    ///
    /// # Errors
    /// [`WrongContext`](crate::Error::WrongContext) if `a` is in another context; those of [`Reduction::check`] and of
    /// [`ReduceKernel::plan_reduce`].
    pub fn new(backend: &B, by: Reduction, a: &M, options: &PlanOptions) -> Result<Self> {
        let bound = BoundPattern::new("reduce", backend.context(), a.context(), a.pattern_id())?;
        by.check(M::Scalar::DTYPE, a.lines())?;
        let kernel = backend.plan_reduce(by, a, options)?;
        Ok(Self { backend: backend.clone(), bound, kernel })
    }

    /// Writes a number for each row of CSR, or each column of CSC, to `y`, which is not read.
    ///
    /// ```
    /// use sparse_core::op::{ReducePlan, Reduction};
    /// use sparse_core::{Csr, PlanOptions, reference::Reference};
    ///
    /// let a = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![3.0, -4.0, -2.0])?;
    /// let mut y = [f64::NAN; 2];
    /// ReducePlan::new(&Reference, Reduction::Norm2, &a, &PlanOptions::default())?.run(&a, &mut y)?;
    /// assert_eq!(y, [5.0, 2.0]);
    /// ReducePlan::new(&Reference, Reduction::Max, &a, &PlanOptions::default())?.run(&a, &mut y)?;
    /// assert_eq!(y, [3.0, 0.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`PlanMismatch`](crate::Error::PlanMismatch) for another pattern; [`WrongContext`](crate::Error::WrongContext)
    /// if `y` is in another context; [`Shape`](crate::Error::Shape) unless it has an element for each line; else those
    /// of [`ReduceKernel::run_reduce`].
    pub fn run(&mut self, a: &M, y: ViewMutOf<'_, B, M::Scalar>) -> Result<()> {
        let (lines, _) = a.lines();
        let contexts = [("the matrix", a.context()), ("y", y.context())];
        self.bound.check_operands(a.pattern_id(), &[("the length of y", lines, y.len())], &contexts)?;
        if lines == 0 {
            return Ok(());
        }
        // SAFETY: pattern, length and contexts were checked above.
        unsafe { self.backend.run_reduce(&mut self.kernel, a, y) }
    }

    /// The algorithm that runs, and the reason.
    pub fn choice(&self) -> &Choice {
        self.kernel.choice()
    }

    /// Bytes of workspace that the plan owns.
    pub fn workspace_bytes(&self) -> usize {
        self.kernel.workspace_bytes()
    }
}
