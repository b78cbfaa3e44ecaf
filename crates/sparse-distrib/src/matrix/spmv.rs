//! `y ← alpha·op(A)·x + beta·y`: distributed matrix times distributed vector.

use super::local_rows::check_ownership;
use super::{BlockOn, DistributedBackend, DistributedMatrix, DistributedVector, LocalSpmv};
use crate::transport::Transport;
use sparse_core::backend::SpaceOf;
use sparse_core::op::{Op, SpmvKernel, VectorKernel};
use sparse_core::{Accumulator, Choice, Index, KernelPlan, PlanOptions, Result};

/// A plan for `y ← alpha·op(A)·x + beta·y` with one distributed matrix.
///
/// A product sends what [`ExchangePlan`](super::ExchangePlan) says, and one message more to rank 0 and back, by which
/// ranks agree that no rank failed.
#[derive(Debug)]
pub struct DistributedSpmvPlan<X, B, T, O = i32>
where
    B: SpmvKernel<BlockOn<B, T, O>>,
    T: Accumulator,
    O: Index,
{
    backend: DistributedBackend<X, B>,
    op: Op,
    product: LocalSpmv<B, T, O>,
}

impl<X, B, T, O> DistributedSpmvPlan<X, B, T, O>
where
    X: Transport,
    B: SpmvKernel<BlockOn<B, T, O>> + VectorKernel<T>,
    T: Accumulator,
    O: Index,
{
    /// Plans the products of both blocks: a collective call. A forced algorithm is that of both.
    ///
    /// # Errors
    /// Those of [`SpmvPlan::new`](sparse_core::op::SpmvPlan::new), of any rank.
    pub fn new(
        backend: &DistributedBackend<X, B>,
        a: &DistributedMatrix<T, SpaceOf<B>, O>,
        op: Op,
        options: &PlanOptions,
    ) -> Result<Self> {
        let product = LocalSpmv::new(backend.local(), &a.local, op, options);
        Ok(Self { backend: backend.clone(), op, product: backend.agree("spmv", product)? })
    }

    /// `y ← alpha·op(A)·x + beta·y`: a collective call with the same `alpha` and `beta` on all ranks. `beta == 0` does
    /// not read y; `alpha == 0` reads neither A nor x.
    ///
    /// ```
    /// use sparse_core::op::Op;
    /// use sparse_core::{Csr, PlanOptions, reference::Reference};
    /// use sparse_distrib::{
    ///     DistributedBackend, DistributedMatrix, DistributedSpmvPlan, DistributedVector, Local,
    /// };
    ///
    /// // y = 2·Aᵀ·x for A with rows (1, 2) and (3, 4), one on each rank.
    /// let results = Local::run(2, |rank| {
    ///     let backend = DistributedBackend::new(rank, Reference);
    ///     let first = 1.0 + 2.0 * backend.rank() as f64;
    ///     let row = Csr::<f64>::new(1, 2, vec![0, 2], vec![0, 1], vec![first, first + 1.0])?;
    ///     let a = DistributedMatrix::from_rows(&backend, &row, None)?;
    ///     let mut plan = DistributedSpmvPlan::new(&backend, &a, Op::Transpose, &PlanOptions::default())?;
    ///     let x = DistributedVector::from_local(&backend, a.row_ownership(), &[1.0])?;
    ///     let mut y = DistributedVector::zeros(&backend, a.col_ownership())?;
    ///     plan.run(2.0, &a, &x, 0.0, &mut y)?;
    ///     y.gather(&backend, 0)
    /// });
    /// assert_eq!(results[0].as_ref().unwrap(), &Some(vec![8.0, 12.0]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`](sparse_core::Error::Shape) if x is not divided as the columns of op(A), or y as its rows; the
    /// errors of [`SpmvPlan::run`](sparse_core::op::SpmvPlan::run) and of the transport, of any rank.
    pub fn run(
        &mut self,
        alpha: T,
        a: &DistributedMatrix<T, SpaceOf<B>, O>,
        x: &DistributedVector<T, SpaceOf<B>>,
        beta: T,
        y: &mut DistributedVector<T, SpaceOf<B>>,
    ) -> Result<()> {
        let (rows, cols) = self.op.orient(a.row_ownership(), a.col_ownership());
        check_ownership("spmv", "x", cols, x.ownership())?;
        check_ownership("spmv", "y", rows, y.ownership())?;
        let product =
            self.product.run(self.backend.transport(), alpha, &a.local, x.local(), beta, y.local_mut());
        a.abandon_after(self.backend.agree("spmv", product))
    }

    /// The algorithm of the diagonal block, and the reason.
    pub fn choice(&self) -> &Choice {
        self.product.choice()
    }

    /// Bytes of workspace that the plan owns on this rank.
    pub fn workspace_bytes(&self) -> usize {
        self.product.workspace_bytes()
    }
}
