//! The sums of the rows: `s ← A·1`.

use super::bound::Bound;
use crate::backend::{Backend, SpaceOf, ViewMutOf};
use crate::error::Result;
use crate::format::SparseFormat;
use crate::plan::{Algorithm, Choice, KernelPlan, PlanOptions};
use crate::space::ViewMut;

/// Implemented by backends, called through [`RowSumsPlan`].
pub trait RowSumsKernel<M: SparseFormat<Space = SpaceOf<Self>>>: Backend {
    /// A plan for one pattern, with its workspace.
    type Plan: KernelPlan;

    /// The algorithms for this format, the default first.
    fn row_sums_algorithms(&self) -> &'static [Algorithm];

    /// Chooses an algorithm and allocates what it needs.
    ///
    /// # Errors
    /// [`Unsupported`](crate::Error::Unsupported) if the forced algorithm does not exist.
    fn plan_row_sums(&self, a: &M, options: &PlanOptions) -> Result<Self::Plan>;

    /// Writes the sum of every row of `a`.
    ///
    /// # Errors
    /// An error of the device's runtime.
    ///
    /// # Safety
    /// `plan` was made by this backend for the pattern of `a`; `sums` has an element for each row; both live in its
    /// context. There is a row.
    unsafe fn row_sums(
        &self,
        plan: &mut Self::Plan,
        a: &M,
        sums: ViewMutOf<'_, Self, M::Scalar>,
    ) -> Result<()>;
}

/// A plan that sums the rows of matrices of one pattern.
#[derive(Debug)]
pub struct RowSumsPlan<B: RowSumsKernel<M>, M: SparseFormat<Space = SpaceOf<B>>> {
    backend: B,
    bound: Bound,
    kernel: B::Plan,
}

impl<B: RowSumsKernel<M>, M: SparseFormat<Space = SpaceOf<B>>> RowSumsPlan<B, M> {
    /// A plan for the pattern of `a`.
    ///
    /// ```
    /// use sparse_core::op::RowSumsPlan;
    /// use sparse_core::{Csr, PlanOptions, reference::Reference};
    ///
    /// let a = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 4.0])?;
    /// let mut sums = [f64::NAN; 2];
    /// RowSumsPlan::new(&Reference, &a, &PlanOptions::once())?.run(&a, &mut sums)?;
    /// assert_eq!(sums, [3.0, 4.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`WrongContext`](crate::Error::WrongContext) if `a` lives elsewhere; else those of
    /// [`RowSumsKernel::plan_row_sums`].
    pub fn new(backend: &B, a: &M, options: &PlanOptions) -> Result<Self> {
        let bound = Bound::new("row_sums", backend.context(), a.context(), a.pattern_id())?;
        let kernel = backend.plan_row_sums(a, options)?;
        Ok(Self { backend: backend.clone(), bound, kernel })
    }

    /// Writes the sum of every row of `a`, in the accumulator's type and rounded once.
    ///
    /// # Errors
    /// [`PlanMismatch`](crate::Error::PlanMismatch), [`Shape`](crate::Error::Shape),
    /// [`WrongContext`](crate::Error::WrongContext).
    pub fn run(&mut self, a: &M, sums: ViewMutOf<'_, B, M::Scalar>) -> Result<()> {
        let rows = a.rows();
        self.bound.check_operands(
            a.pattern_id(),
            &[("the length of the output", rows, sums.len())],
            &[("the output", sums.context())],
        )?;
        if rows == 0 {
            return Ok(());
        }
        // SAFETY: pattern, length and contexts were checked; there is a row.
        unsafe { self.backend.row_sums(&mut self.kernel, a, sums) }
    }

    /// The algorithm that runs, and the reason.
    pub fn choice(&self) -> &Choice {
        self.kernel.choice()
    }
}
