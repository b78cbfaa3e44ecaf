//! `C ← alpha·op(A)·B + beta·C`: sparse matrix times dense matrix.

use super::bound_pattern::BoundPattern;
use super::{AccOf, Op, VectorKernel};
use crate::backend::{Backend, SpaceOf};
use crate::error::Result;
use crate::format::{DenseView, DenseViewMut, SparseFormat};
use crate::plan::{Algorithm, Choice, KernelPlan, PlanOptions};
use crate::scalar::Scalar;
use crate::space::{View, ViewMut};

/// `C ← alpha·op(A)·B + beta·C`: implemented by backends, called through [`SpmmPlan`].
pub trait SpmmKernel<M: SparseFormat<Space = SpaceOf<Self>>>: Backend {
    /// A plan for one pattern, with its workspace.
    type Plan: KernelPlan;

    /// The algorithms for this format and `op`, the default first.
    fn spmm_algorithms(&self, op: Op) -> &'static [Algorithm];

    /// Inspects the pattern, chooses an algorithm for `columns` columns of B and allocates what it needs.
    ///
    /// # Errors
    /// [`Unsupported`](crate::Error::Unsupported) if the forced algorithm does not exist or does not take this
    /// pattern; [`OutOfMemory`](crate::Error::OutOfMemory).
    fn plan_spmm(&self, a: &M, op: Op, columns: usize, options: &PlanOptions) -> Result<Self::Plan>;

    /// Runs the plan. `beta == 0` does not read C; every element of C is written, its padding never.
    ///
    /// # Errors
    /// An error of the device's runtime.
    ///
    /// # Safety
    /// `plan` was made by `plan_spmm` of this backend for the pattern of `a`; B has as many rows as op(A) has columns,
    /// C as many as op(A) has rows, and both have as many columns as the plan was made for; all are in this backend's
    /// context. Nothing is checked again here. No operand is empty, and `alpha` is not zero.
    unsafe fn run_spmm(
        &self,
        plan: &mut Self::Plan,
        alpha: AccOf<M>,
        a: &M,
        b: DenseView<'_, M::Scalar, SpaceOf<Self>>,
        beta: AccOf<M>,
        c: DenseViewMut<'_, M::Scalar, SpaceOf<Self>>,
    ) -> Result<()>;
}

/// A plan for `C ← alpha·op(A)·B + beta·C` with one pattern and one number of columns; values may change between
/// runs, as may the order and the leading dimension of B and C.
#[derive(Debug)]
pub struct SpmmPlan<B: SpmmKernel<M>, M: SparseFormat<Space = SpaceOf<B>>> {
    backend: B,
    bound: BoundPattern,
    op: Op,
    columns: usize,
    kernel: B::Plan,
}

impl<B, M> SpmmPlan<B, M>
where
    B: SpmmKernel<M> + VectorKernel<M::Scalar>,
    M: SparseFormat<Space = SpaceOf<B>>,
{
    /// Inspects the pattern of `a` and chooses an algorithm for `columns` columns of B and C.
    ///
    /// ```
    /// use sparse_core::op::{Op, SpmmPlan};
    /// use sparse_core::{Csr, PlanOptions, reference::Reference};
    ///
    /// let a = Csr::<f32>::identity(2)?;
    /// let plan = SpmmPlan::new(&Reference, &a, Op::None, 32, &PlanOptions::default())?;
    /// assert_eq!(plan.choice().algorithm, "sequential");
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`WrongContext`](crate::Error::WrongContext) if `a` is in another context; else those of
    /// [`SpmmKernel::plan_spmm`].
    pub fn new(backend: &B, a: &M, op: Op, columns: usize, options: &PlanOptions) -> Result<Self> {
        let bound = BoundPattern::new("spmm", backend.context(), a.context(), a.pattern_id())?;
        let kernel = backend.plan_spmm(a, op, columns, options)?;
        Ok(Self { backend: backend.clone(), bound, op, columns, kernel })
    }

    /// `C ← alpha·op(A)·B + beta·C`. `beta == 0` does not read C; `alpha == 0` reads neither `a` nor B.
    ///
    /// ```
    /// use sparse_core::op::{Op, SpmmPlan};
    /// use sparse_core::{Csr, DenseView, DenseViewMut, PlanOptions, reference::Reference};
    ///
    /// let a = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
    /// let mut plan = SpmmPlan::new(&Reference, &a, Op::None, 2, &PlanOptions::default())?;
    /// let b = DenseView::col_major(&[1.0, 2.0, 3.0, 10.0, 20.0, 30.0], 3, 2)?;
    /// let mut c = [0.0; 4];
    /// plan.run(1.0, &a, b, 0.0, DenseViewMut::row_major(&mut c, 2, 2)?)?;
    /// assert_eq!(c, [7.0, 70.0, 6.0, 60.0]);
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
        b: DenseView<'_, M::Scalar, SpaceOf<B>>,
        beta: AccOf<M>,
        mut c: DenseViewMut<'_, M::Scalar, SpaceOf<B>>,
    ) -> Result<()> {
        let (rows, cols) = self.op.shape(a);
        self.bound.check_operands(
            a.pattern_id(),
            &[
                ("the number of rows of B", cols, b.nrows()),
                ("the number of rows of C", rows, c.nrows()),
                ("the number of columns of B", self.columns, b.ncols()),
                ("the number of columns of C", self.columns, c.ncols()),
            ],
            &[("the matrix", a.context()), ("B", b.data().context()), ("C", c.data_mut().context())],
        )?;
        if rows == 0 || self.columns == 0 {
            return Ok(());
        }
        if a.nnz() == 0 || alpha.is_zero() {
            // SAFETY: C is in this backend's context.
            return unsafe { self.backend.scale_dense(beta, c) };
        }
        // SAFETY: pattern, shapes and contexts were checked above; there is work to do.
        unsafe { self.backend.run_spmm(&mut self.kernel, alpha, a, b, beta, c) }
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
