//! Selection: the elements in chosen rows and columns, in the order in which they are chosen.

use super::bound_pattern::BoundPattern;
use crate::backend::{Backend, SpaceOf};
use crate::error::Result;
use crate::format::{IntoSelection, Selection, SparseFormat};
use crate::plan::{Algorithm, Choice, KernelPlan, PlanOptions};

/// Chosen rows and columns: implemented by backends, called through [`SelectPlan`].
pub trait SelectKernel<M: SparseFormat<Space = SpaceOf<Self>>>: Backend {
    /// A plan for one pattern and one selection, with its workspace.
    type Plan: KernelPlan;

    /// The algorithms for this format, the default first.
    fn select_algorithms(&self) -> &'static [Algorithm];

    /// Chooses an algorithm and allocates what it needs. `a` has the rows and columns.
    ///
    /// # Errors
    /// [`Unsupported`](crate::Error::Unsupported) if the forced algorithm does not exist;
    /// [`IndexOverflow`](crate::Error::IndexOverflow) if an extent or the nnz of the result does not fit its type.
    fn plan_select(
        &self,
        a: &M,
        rows: &Selection<'_>,
        cols: &Selection<'_>,
        options: &PlanOptions,
    ) -> Result<Self::Plan>;

    /// The elements of `a` in the rows and columns of the plan. Entries of a row (CSR) or column (CSC) come in the
    /// order in which they are stored, copies of one by their new places.
    ///
    /// # Errors
    /// As for [`plan_select`](Self::plan_select); an error of the device's runtime.
    ///
    /// # Safety
    /// `plan` was made by this backend for the pattern of `a`, which is in its context.
    unsafe fn run_select(&self, plan: &mut Self::Plan, a: &M) -> Result<M>;
}

/// A plan that takes the same rows and columns of matrices of one pattern.
#[derive(Debug)]
pub struct SelectPlan<B: SelectKernel<M>, M: SparseFormat<Space = SpaceOf<B>>> {
    backend: B,
    bound: BoundPattern,
    kernel: B::Plan,
}

impl<B: SelectKernel<M>, M: SparseFormat<Space = SpaceOf<B>>> SelectPlan<B, M> {
    /// A plan for the pattern of `a`: row `k` of results is the row at place `k` of `rows`, and so with columns. A list
    /// may leave out rows or columns and repeat them.
    ///
    /// # Errors
    /// [`WrongContext`](crate::Error::WrongContext) if `a` is in another context; [`Shape`](crate::Error::Shape) for a
    /// row or a column outside of it; else those of [`SelectKernel::plan_select`].
    pub fn new<'s>(
        backend: &B,
        a: &M,
        rows: impl IntoSelection<'s>,
        cols: impl IntoSelection<'s>,
        options: &PlanOptions,
    ) -> Result<Self> {
        let bound = BoundPattern::new("select", backend.context(), a.context(), a.pattern_id())?;
        let (rows, cols) = (rows.into_selection(a.nrows()), cols.into_selection(a.ncols()));
        rows.check_below("row", a.nrows())?;
        cols.check_below("column", a.ncols())?;
        let kernel = backend.plan_select(a, &rows, &cols, options)?;
        Ok(Self { backend: backend.clone(), bound, kernel })
    }

    /// The elements of `a` in the rows and columns of the plan.
    ///
    /// ```
    /// use sparse_core::op::SelectPlan;
    /// use sparse_core::{Csr, PlanOptions, reference::Reference};
    ///
    /// let a = Csr::<f64>::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)])?;
    /// let mut plan = SelectPlan::new(&Reference, &a, &[1, 0, 0], &[0, 1], &PlanOptions::default())?;
    /// assert!(plan.run(&a)?.triplets().eq([(0, 1, 3.0), (1, 0, 1.0), (2, 0, 1.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`PlanMismatch`](crate::Error::PlanMismatch) for another pattern; else those of [`SelectKernel::run_select`].
    pub fn run(&mut self, a: &M) -> Result<M> {
        self.bound.check(a.pattern_id())?;
        // SAFETY: the plan was made for this pattern, and `BoundPattern::new` checked its context.
        unsafe { self.backend.run_select(&mut self.kernel, a) }
    }

    /// The algorithm that runs, and the reason.
    pub fn choice(&self) -> &Choice {
        self.kernel.choice()
    }
}
