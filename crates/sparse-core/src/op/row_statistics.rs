//! Statistics of row lengths, which plans use to choose algorithms.

use super::bound_pattern::BoundPattern;
use crate::backend::{Backend, SpaceOf};
use crate::error::Result;
use crate::format::SparseFormat;
use crate::plan::{Algorithm, Choice, KernelPlan, PlanOptions};

/// Statistics of row lengths: implemented by backends, called through [`RowStatisticsPlan`].
pub trait RowStatisticsKernel<M: SparseFormat<Space = SpaceOf<Self>>>: Backend {
    /// A plan for one pattern, with its workspace.
    type Plan: KernelPlan;

    /// The algorithms for this format, the default first.
    fn row_statistics_algorithms(&self) -> &'static [Algorithm];

    /// Chooses an algorithm and allocates what it needs.
    ///
    /// # Errors
    /// [`Unsupported`](crate::Error::Unsupported) if the forced algorithm does not exist.
    fn plan_row_statistics(&self, a: &M, options: &PlanOptions) -> Result<Self::Plan>;

    /// The statistics of the rows of `a`.
    ///
    /// # Errors
    /// An error of the device's runtime.
    ///
    /// # Safety
    /// `plan` was made by this backend for the pattern of `a`, which is in its context.
    unsafe fn run_row_statistics(&self, plan: &mut Self::Plan, a: &M) -> Result<RowStatistics>;
}

/// A plan that computes the [`RowStatistics`] of matrices of one pattern.
#[derive(Debug)]
pub struct RowStatisticsPlan<B: RowStatisticsKernel<M>, M: SparseFormat<Space = SpaceOf<B>>> {
    backend: B,
    bound: BoundPattern,
    kernel: B::Plan,
}

impl<B: RowStatisticsKernel<M>, M: SparseFormat<Space = SpaceOf<B>>> RowStatisticsPlan<B, M> {
    /// A plan for the pattern of `a`.
    ///
    /// # Errors
    /// [`WrongContext`](crate::Error::WrongContext) if `a` is in another context; else those of
    /// [`RowStatisticsKernel::plan_row_statistics`].
    pub fn new(backend: &B, a: &M, options: &PlanOptions) -> Result<Self> {
        let bound = BoundPattern::new("row_statistics", backend.context(), a.context(), a.pattern_id())?;
        let kernel = backend.plan_row_statistics(a, options)?;
        Ok(Self { backend: backend.clone(), bound, kernel })
    }

    /// The statistics of the rows of `a`.
    ///
    /// ```
    /// use sparse_core::op::RowStatisticsPlan;
    /// use sparse_core::{Csr, PlanOptions, reference::Reference};
    ///
    /// let a = Csr::<f64>::new(3, 3, vec![0, 0, 3, 4], vec![0, 1, 2, 0], vec![1.0; 4])?;
    /// let rows = RowStatisticsPlan::new(&Reference, &a, &PlanOptions::once())?.run(&a)?;
    /// assert_eq!((rows.empty, rows.longest, rows.nnz), (1, 3, 4));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`PlanMismatch`](crate::Error::PlanMismatch) for another pattern.
    pub fn run(&mut self, a: &M) -> Result<RowStatistics> {
        self.bound.check(a.pattern_id())?;
        // SAFETY: the plan was made for this pattern, and `BoundPattern::new` checked its context.
        unsafe { self.backend.run_row_statistics(&mut self.kernel, a) }
    }

    /// The algorithm that runs, and the reason.
    pub fn choice(&self) -> &Choice {
        self.kernel.choice()
    }
}

/// A summary of the row lengths of a matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct RowStatistics {
    /// The number of rows.
    pub rows: usize,
    /// The number of entries.
    pub nnz: usize,
    /// Rows without entries.
    pub empty: usize,
    /// The length of the shortest row.
    pub shortest: usize,
    /// The length of the longest row.
    pub longest: usize,
    /// `nnz / rows`; 0 without rows.
    pub mean: f64,
    /// The standard deviation of the lengths.
    pub deviation: f64,
    /// Numbers of rows with a length in `2^(k-1)..2^k`; `histogram[0]` counts empty rows.
    pub histogram: Vec<usize>,
}

impl RowStatistics {
    /// The statistics of rows of these lengths.
    ///
    /// ```
    /// use sparse_core::op::RowStatistics;
    ///
    /// let rows = RowStatistics::from_lengths([0, 1, 2, 5]);
    /// assert_eq!((rows.mean, rows.longest), (2.0, 5));
    /// assert_eq!(rows.histogram, [1, 1, 1, 1]); // 0, 1, 2 to 3, 4 to 7 entries
    /// ```
    pub fn from_lengths(lengths: impl IntoIterator<Item = usize>) -> Self {
        Self::from_counts(lengths.into_iter().map(|length| (length, 1)))
    }

    /// The statistics of rows by (length, number of such rows); a length may occur more than once.
    ///
    /// ```
    /// use sparse_core::op::RowStatistics;
    ///
    /// let rows = RowStatistics::from_counts([(5, 1_000_000), (3, 4)]);
    /// assert_eq!((rows.rows, rows.nnz, rows.shortest), (1_000_004, 5_000_012, 3));
    /// ```
    pub fn from_counts(counts: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let (mut rows, mut nnz, mut longest, mut shortest) = (0, 0, 0, usize::MAX);
        let mut squares = 0_u128;
        let mut histogram = vec![0; 1];
        for (length, count) in counts.into_iter().filter(|&(_, count)| count > 0) {
            rows += count;
            nnz += length * count;
            squares += (length as u128).pow(2) * count as u128;
            shortest = shortest.min(length);
            longest = longest.max(length);
            let bin = (usize::BITS - length.leading_zeros()) as usize;
            if bin >= histogram.len() {
                histogram.resize(bin + 1, 0);
            }
            histogram[bin] += count;
        }
        let n = (rows as f64).max(1.0);
        let mean = nnz as f64 / n;
        let variance = (squares as f64 / n - mean * mean).max(0.0);
        Self {
            rows,
            nnz,
            empty: histogram[0],
            shortest: if rows == 0 { 0 } else { shortest },
            longest,
            mean,
            deviation: libm::sqrt(variance),
            histogram,
        }
    }
}
