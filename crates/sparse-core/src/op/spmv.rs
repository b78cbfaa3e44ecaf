//! `y ← alpha·op(A)·x + beta·y`: sparse matrix times dense vector.

use super::bound_pattern::BoundPattern;
use super::{AccOf, Op, VectorKernel};
use crate::backend::{Backend, SpaceOf, ViewMutOf, ViewOf};
use crate::error::Result;
use crate::format::SparseFormat;
use crate::plan::{Algorithm, Choice, KernelPlan, PlanOptions};
use crate::scalar::Scalar;
use crate::space::{View, ViewMut};

/// `y ← alpha·op(A)·x + beta·y`: implemented by backends, called through [`SpmvPlan`].
pub trait SpmvKernel<M: SparseFormat<Space = SpaceOf<Self>>>: Backend {
    /// A plan for one pattern, with its workspace.
    type Plan: KernelPlan;

    /// The algorithms for this format and `op`, the default first.
    fn spmv_algorithms(&self, op: Op) -> &'static [Algorithm];

    /// Inspects the pattern, chooses an algorithm and allocates what it needs.
    ///
    /// # Errors
    /// [`Unsupported`](crate::Error::Unsupported) if the forced algorithm does not exist or does not take this
    /// pattern; [`OutOfMemory`](crate::Error::OutOfMemory).
    fn plan_spmv(&self, a: &M, op: Op, options: &PlanOptions) -> Result<Self::Plan>;

    /// Runs the plan. `beta == 0` does not read `y`; every element of `y` is written.
    ///
    /// # Errors
    /// An error of the device's runtime.
    ///
    /// # Safety
    /// `plan` was made by `plan_spmv` of this backend for the pattern of `a`; `x` has as many elements as op(A) has
    /// columns, `y` as many as it has rows; all are in this backend's context. Nothing is checked again here. Matrix
    /// and output are not empty, and `alpha` is not zero.
    unsafe fn run_spmv(
        &self,
        plan: &mut Self::Plan,
        alpha: AccOf<M>,
        a: &M,
        x: ViewOf<'_, Self, M::Scalar>,
        beta: AccOf<M>,
        y: ViewMutOf<'_, Self, M::Scalar>,
    ) -> Result<()>;
}

/// A plan for `y ← alpha·op(A)·x + beta·y` with one pattern; values may change between runs.
///
/// The tables of algorithms are in `docs/algorithm-tables.md`; [`choice`](Self::choice) says what was chosen and
/// why.
///
/// ```
/// use sparse_core::op::{Op, SpmvPlan};
/// use sparse_core::{Csr, PlanOptions, reference::Reference};
///
/// let mut a = Csr::<f64>::identity(2)?;
/// let mut plan = SpmvPlan::new(&Reference, &a, Op::None, &PlanOptions::default())?;
/// let mut y = [0.0; 2];
/// plan.run(1.0, &a, &[1.0, 2.0], 0.0, &mut y)?;
/// a.values_mut()[1] = 10.0; // other values in the same pattern: no new plan
/// plan.run(1.0, &a, &[1.0, 2.0], 0.0, &mut y)?;
/// assert_eq!(y, [1.0, 20.0]);
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug)]
pub struct SpmvPlan<B: SpmvKernel<M>, M: SparseFormat<Space = SpaceOf<B>>> {
    backend: B,
    bound: BoundPattern,
    op: Op,
    kernel: B::Plan,
}

impl<B, M> SpmvPlan<B, M>
where
    B: SpmvKernel<M> + VectorKernel<M::Scalar>,
    M: SparseFormat<Space = SpaceOf<B>>,
{
    /// Inspects the pattern of `a` and chooses an algorithm.
    ///
    /// ```
    /// use sparse_core::op::{Op, SpmvPlan};
    /// use sparse_core::{Csr, PlanOptions, reference::Reference};
    ///
    /// let a = Csr::<f64>::identity(2)?;
    /// let few = PlanOptions { expected_calls: 3, ..PlanOptions::default() };
    /// let plan = SpmvPlan::new(&Reference, &a, Op::Transpose, &few)?;
    /// assert_eq!(plan.choice().algorithm, "sequential");
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`WrongContext`](crate::Error::WrongContext) if `a` is in another context; else those of
    /// [`SpmvKernel::plan_spmv`].
    pub fn new(backend: &B, a: &M, op: Op, options: &PlanOptions) -> Result<Self> {
        let bound = BoundPattern::new("spmv", backend.context(), a.context(), a.pattern_id())?;
        let kernel = backend.plan_spmv(a, op, options)?;
        Ok(Self { backend: backend.clone(), bound, op, kernel })
    }

    /// `y ← alpha·op(A)·x + beta·y`. `beta == 0` does not read `y`; `alpha == 0` reads neither `a` nor `x`.
    ///
    /// ```
    /// use sparse_core::op::{Op, SpmvPlan};
    /// use sparse_core::{Csr, PlanOptions, reference::Reference};
    ///
    /// let a = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
    /// let mut plan = SpmvPlan::new(&Reference, &a, Op::None, &PlanOptions::default())?;
    /// let mut y = [1.0, 1.0];
    /// plan.run(2.0, &a, &[1.0, 1.0, 1.0], -1.0, &mut y)?; // y = 2·A·x − y
    /// assert_eq!(y, [5.0, 5.0]);
    /// let error = plan.run(1.0, &a, &[1.0], 0.0, &mut y).unwrap_err();
    /// assert_eq!(error.to_string(), "spmv: the length of x is 1 where 3 is needed");
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`PlanMismatch`](crate::Error::PlanMismatch) for another pattern, [`Shape`](crate::Error::Shape) and
    /// [`WrongContext`](crate::Error::WrongContext) for wrong operands, all before anything is written.
    pub fn run(
        &mut self,
        alpha: AccOf<M>,
        a: &M,
        x: ViewOf<'_, B, M::Scalar>,
        beta: AccOf<M>,
        y: ViewMutOf<'_, B, M::Scalar>,
    ) -> Result<()> {
        let (rows, cols) = self.op.shape(a);
        self.bound.check_operands(
            a.pattern_id(),
            &[("the length of x", cols, x.len()), ("the length of y", rows, y.len())],
            &[("the matrix", a.context()), ("x", x.context()), ("y", y.context())],
        )?;
        if rows == 0 {
            return Ok(());
        }
        if a.nnz() == 0 || alpha.is_zero() {
            // SAFETY: y is in this backend's context.
            return unsafe { self.backend.scal(beta.into(), y) };
        }
        // SAFETY: pattern, shapes and contexts were checked above; there is work to do.
        unsafe { self.backend.run_spmv(&mut self.kernel, alpha, a, x, beta, y) }
    }

    /// The algorithm that runs, and the reason.
    ///
    /// ```
    /// # use sparse_core::{Csr, PlanOptions, op::{Op, SpmvPlan}, reference::Reference};
    /// # let a = Csr::<f64>::identity(2)?;
    /// let plan = SpmvPlan::new(&Reference, &a, Op::None, &PlanOptions::default())?;
    /// let choice = plan.choice();
    /// assert_eq!((choice.algorithm, choice.reason.as_str()), ("sequential", "the reference has no other"));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn choice(&self) -> &Choice {
        self.kernel.choice()
    }

    /// Bytes of workspace that the plan owns.
    ///
    /// ```
    /// # use sparse_core::{Csr, PlanOptions, op::{Op, SpmvPlan}, reference::Reference};
    /// # let a = Csr::<f64>::identity(2)?;
    /// let plan = SpmvPlan::new(&Reference, &a, Op::None, &PlanOptions::default())?;
    /// assert_eq!(plan.workspace_bytes(), 16); // a sum for each row
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn workspace_bytes(&self) -> usize {
        self.kernel.workspace_bytes()
    }
}
