//! Sorting: a copy whose indices ascend; entries with one coordinate keep their order.

use super::bound_pattern::BoundPattern;
use crate::backend::{Backend, SpaceOf};
use crate::error::Result;
use crate::format::SparseFormat;
use crate::plan::{Algorithm, Choice, KernelPlan, PlanOptions};

/// Entries in order of their coordinates: implemented by backends, called through [`SortPlan`].
pub trait SortKernel<M: SparseFormat<Space = SpaceOf<Self>>>: Backend {
    /// A plan for one pattern, with its workspace.
    type Plan: KernelPlan;

    /// The algorithms for this format, the default first.
    fn sort_algorithms(&self) -> &'static [Algorithm];

    /// Chooses an algorithm and allocates what it needs.
    ///
    /// # Errors
    /// [`Unsupported`](crate::Error::Unsupported) if the forced algorithm does not exist.
    fn plan_sort(&self, a: &M, options: &PlanOptions) -> Result<Self::Plan>;

    /// A copy of `a` with its entries in order; equal coordinates keep their order.
    ///
    /// # Errors
    /// An error of the device's runtime.
    ///
    /// # Safety
    /// `plan` was made by this backend for the pattern of `a`, which is in its context.
    unsafe fn run_sort(&self, plan: &mut Self::Plan, a: &M) -> Result<M>;
}

/// A plan that sorts the entries of matrices of one pattern.
#[derive(Debug)]
pub struct SortPlan<B: SortKernel<M>, M: SparseFormat<Space = SpaceOf<B>>> {
    backend: B,
    bound: BoundPattern,
    kernel: B::Plan,
}

impl<B: SortKernel<M>, M: SparseFormat<Space = SpaceOf<B>>> SortPlan<B, M> {
    /// A plan for the pattern of `a`.
    ///
    /// # Errors
    /// [`WrongContext`](crate::Error::WrongContext) if `a` is in another context; else those of
    /// [`SortKernel::plan_sort`].
    pub fn new(backend: &B, a: &M, options: &PlanOptions) -> Result<Self> {
        let bound = BoundPattern::new("sort", backend.context(), a.context(), a.pattern_id())?;
        let kernel = backend.plan_sort(a, options)?;
        Ok(Self { backend: backend.clone(), bound, kernel })
    }

    /// A copy of `a` with its entries in order; equal coordinates keep their order.
    ///
    /// ```
    /// use sparse_core::op::SortPlan;
    /// use sparse_core::{Coo, PlanOptions, reference::Reference};
    ///
    /// let a = Coo::<f64>::from_triplets(2, 2, [(1, 0, 3.0), (0, 1, 1.0)])?;
    /// let sorted = SortPlan::new(&Reference, &a, &PlanOptions::once())?.run(&a)?;
    /// assert!(sorted.triplets().eq([(0, 1, 1.0), (1, 0, 3.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`PlanMismatch`](crate::Error::PlanMismatch) for another pattern.
    pub fn run(&mut self, a: &M) -> Result<M> {
        self.bound.check(a.pattern_id())?;
        // SAFETY: the plan was made for this pattern, and `BoundPattern::new` checked its context.
        unsafe { self.backend.run_sort(&mut self.kernel, a) }
    }

    /// The algorithm that runs, and the reason.
    pub fn choice(&self) -> &Choice {
        self.kernel.choice()
    }
}
