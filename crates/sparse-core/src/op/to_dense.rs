//! Any sparse format to a dense matrix; duplicates are added in storage order.

use super::bound_pattern::BoundPattern;
use crate::backend::{Backend, SpaceOf};
use crate::error::Result;
use crate::format::{DenseViewMut, SparseFormat};
use crate::plan::{Algorithm, Choice, KernelPlan, PlanOptions};
use crate::space::ViewMut;

/// Sparse to dense: implemented by backends, called through [`ToDensePlan`].
pub trait ToDenseKernel<M: SparseFormat<Space = SpaceOf<Self>>>: Backend {
    /// A plan for one pattern, with its workspace.
    type Plan: KernelPlan;

    /// The algorithms for this format, the default first.
    fn to_dense_algorithms(&self) -> &'static [Algorithm];

    /// Chooses an algorithm and allocates what it needs.
    ///
    /// # Errors
    /// [`Unsupported`](crate::Error::Unsupported) if the forced algorithm does not exist.
    fn plan_to_dense(&self, a: &M, options: &PlanOptions) -> Result<Self::Plan>;

    /// Writes every element of the view, padding excepted.
    ///
    /// # Errors
    /// An error of the device's runtime.
    ///
    /// # Safety
    /// `plan` was made by this backend for the pattern of `a`; `dense` has its shape; both are in its context. The
    /// shape is not empty.
    unsafe fn run_to_dense(
        &self,
        plan: &mut Self::Plan,
        a: &M,
        dense: DenseViewMut<'_, M::Scalar, SpaceOf<Self>>,
    ) -> Result<()>;
}

/// A plan that expands matrices of one pattern.
#[derive(Debug)]
pub struct ToDensePlan<B: ToDenseKernel<M>, M: SparseFormat<Space = SpaceOf<B>>> {
    backend: B,
    bound: BoundPattern,
    kernel: B::Plan,
}

impl<B: ToDenseKernel<M>, M: SparseFormat<Space = SpaceOf<B>>> ToDensePlan<B, M> {
    /// A plan for the pattern of `a`.
    ///
    /// ```
    /// use sparse_core::op::ToDensePlan;
    /// use sparse_core::{Coo, DenseViewMut, PlanOptions, reference::Reference};
    ///
    /// let a = Coo::<f64>::from_triplets(1, 2, [(0, 1, 1.0), (0, 1, 2.0)])?;
    /// let mut dense = [f64::NAN; 2];
    /// let mut plan = ToDensePlan::new(&Reference, &a, &PlanOptions::once())?;
    /// plan.run(&a, DenseViewMut::row_major(&mut dense, 1, 2)?)?;
    /// assert_eq!(dense, [0.0, 3.0]); // duplicates are added
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`WrongContext`](crate::Error::WrongContext) if `a` is in another context; else those of
    /// [`ToDenseKernel::plan_to_dense`].
    pub fn new(backend: &B, a: &M, options: &PlanOptions) -> Result<Self> {
        let bound = BoundPattern::new("to_dense", backend.context(), a.context(), a.pattern_id())?;
        let kernel = backend.plan_to_dense(a, options)?;
        Ok(Self { backend: backend.clone(), bound, kernel })
    }

    /// Writes `a` to `dense`, zeros included.
    ///
    /// # Errors
    /// [`PlanMismatch`](crate::Error::PlanMismatch), [`Shape`](crate::Error::Shape),
    /// [`WrongContext`](crate::Error::WrongContext).
    pub fn run(&mut self, a: &M, mut dense: DenseViewMut<'_, M::Scalar, SpaceOf<B>>) -> Result<()> {
        let (rows, cols) = (a.nrows(), a.ncols());
        self.bound.check_operands(
            a.pattern_id(),
            &[
                ("the number of rows of the output", rows, dense.nrows()),
                ("the number of columns of the output", cols, dense.ncols()),
            ],
            &[("the output", dense.data_mut().context())],
        )?;
        if rows == 0 || cols == 0 {
            return Ok(());
        }
        // SAFETY: pattern, shape and contexts were checked; there is work to do.
        unsafe { self.backend.run_to_dense(&mut self.kernel, a, dense) }
    }

    /// The algorithm that runs, and the reason.
    pub fn choice(&self) -> &Choice {
        self.kernel.choice()
    }
}
