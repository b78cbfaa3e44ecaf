//! `C ← alpha·op(A)·B + beta·C`: distributed matrix times dense matrix.

use super::{DistributedBackend, DistributedMatrix, ExchangePlan, LocalRows, RowBlock, SharedTransport};
use crate::transport::Transport;
use sparse_core::backend::SpaceOf;
use sparse_core::op::{Op, SpmmKernel, SpmmPlan, VectorKernel};
use sparse_core::{
    Accumulator, Choice, Dense, DenseView, DenseViewMut, Index, Order, PlanOptions, Result, Space,
    SparseFormat,
};
use std::sync::Arc;

/// A plan for `C ← alpha·op(A)·B + beta·C` with one distributed matrix and one number of columns of B and C.
///
/// B and C are divided by rows as the vectors of [`DistributedSpmvPlan`](super::DistributedSpmvPlan), and a rank passes
/// its own rows of each, in either order. A message has all columns of a row of B.
#[derive(Debug)]
pub struct DistributedSpmmPlan<X, B, T, O = i32>
where
    B: SpmmKernel<RowBlock<T, SpaceOf<B>, O>>,
    T: Accumulator,
    O: Index,
{
    backend: DistributedBackend<X, B>,
    product: LocalSpmm<B, T, O>,
}

impl<X, B, T, O> DistributedSpmmPlan<X, B, T, O>
where
    X: SharedTransport,
    B: SpmmKernel<RowBlock<T, SpaceOf<B>, O>> + VectorKernel<T>,
    T: Accumulator,
    O: Index,
{
    /// Plans the products of both blocks for `columns` columns of B and C: a collective call. A forced algorithm is
    /// that of both.
    ///
    /// # Errors
    /// Those of [`SpmmPlan::new`], of any rank.
    pub fn new(
        backend: &DistributedBackend<X, B>,
        a: &DistributedMatrix<T, SpaceOf<B>, O>,
        op: Op,
        columns: usize,
        options: &PlanOptions,
    ) -> Result<Self> {
        let product = LocalSpmm::new(backend.local(), &a.local, op, columns, options);
        Ok(Self { backend: backend.clone(), product: backend.agree("spmm", product)? })
    }

    /// `C ← alpha·op(A)·B + beta·C`, of which this rank passes its rows of B and C: a collective call with the same
    /// `alpha` and `beta` on all ranks. `beta == 0` does not read C; `alpha == 0` reads neither A nor B.
    ///
    /// ```
    /// use sparse_core::op::Op;
    /// use sparse_core::{Csr, DenseView, DenseViewMut, PlanOptions, reference::Reference};
    /// use sparse_distrib::{DistributedBackend, DistributedMatrix, DistributedSpmmPlan, Local};
    ///
    /// // C = A·B for A with rows (1, 2) and (3, 4), and B with rows (1, 10) and (2, 20); one row on each rank.
    /// let results = Local::run(2, |rank| {
    ///     let backend = DistributedBackend::new(rank, Reference);
    ///     let own = 1.0 + backend.rank() as f64;
    ///     let row = Csr::<f64>::new(1, 2, vec![0, 2], vec![0, 1], vec![2.0 * own - 1.0, 2.0 * own])?;
    ///     let a = DistributedMatrix::from_rows(&backend, &row, None)?;
    ///     let mut plan = DistributedSpmmPlan::new(&backend, &a, Op::None, 2, &PlanOptions::default())?;
    ///     let mut c = [0.0; 2];
    ///     let b = [own, 10.0 * own];
    ///     plan.run(1.0, &a, DenseView::row_major(&b, 1, 2)?, 0.0, DenseViewMut::row_major(&mut c, 1, 2)?)?;
    ///     Ok::<_, sparse_core::Error>(c)
    /// });
    /// let rows: Vec<_> = results.into_iter().map(Result::unwrap).collect();
    /// assert_eq!(rows, [[5.0, 50.0], [11.0, 110.0]]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`SpmmPlan::run`] and of the transport, of any rank.
    pub fn run(
        &mut self,
        alpha: T,
        a: &DistributedMatrix<T, SpaceOf<B>, O>,
        b: DenseView<'_, T, SpaceOf<B>>,
        beta: T,
        c: DenseViewMut<'_, T, SpaceOf<B>>,
    ) -> Result<()> {
        let product = self.product.run(self.backend.transport(), alpha, &a.local, b, beta, c);
        self.backend.agree("spmm", product)
    }

    /// The algorithm of the diagonal block, and the reason.
    pub fn choice(&self) -> &Choice {
        self.product.diagonal.choice()
    }

    /// Bytes of workspace that the plan owns on this rank.
    pub fn workspace_bytes(&self) -> usize {
        self.product.workspace_bytes()
    }
}

/// The plan of one rank's part of the product.
#[derive(Debug)]
struct LocalSpmm<B, T, O>
where
    B: SpmmKernel<RowBlock<T, SpaceOf<B>, O>>,
    T: Accumulator,
    O: Index,
{
    backend: B,
    op: Op,
    columns: usize,
    exchange: Arc<ExchangePlan>,
    diagonal: SpmmPlan<B, RowBlock<T, SpaceOf<B>, O>>,
    off_diagonal: SpmmPlan<B, RowBlock<T, SpaceOf<B>, O>>,
    /// Packs rows of B, or adds partial sums.
    selection: RowBlock<T, SpaceOf<B>, O>,
    selecting: SpmmPlan<B, RowBlock<T, SpaceOf<B>, O>>,
    /// The packed rows of A·B, the ghosts' partial sums of Aᵀ·B, by rows.
    buffer: Dense<T, SpaceOf<B>>,
}

impl<B, T, O> LocalSpmm<B, T, O>
where
    B: SpmmKernel<RowBlock<T, SpaceOf<B>, O>> + VectorKernel<T>,
    T: Accumulator,
    O: Index,
{
    fn new(
        backend: &B,
        a: &LocalRows<T, SpaceOf<B>, O>,
        op: Op,
        columns: usize,
        options: &PlanOptions,
    ) -> Result<Self> {
        let exchange = a.exchange.clone();
        let selection =
            if op.transposes() { exchange.scatter_matrix::<T, O>() } else { exchange.gather_matrix() }?;
        let rows = if op.transposes() { exchange.ghosts() } else { selection.nrows() };
        let buffer = backend.zeros(sparse_core::error::checked_product("rows x columns", rows, columns)?)?;
        let selection = selection.to_device(backend)?;
        let free = PlanOptions { algorithm: None, ..options.clone() };
        Ok(Self {
            backend: backend.clone(),
            op,
            columns,
            exchange,
            diagonal: SpmmPlan::new(backend, &a.diagonal, op, columns, options)?,
            off_diagonal: SpmmPlan::new(backend, &a.off_diagonal, op, columns, options)?,
            selecting: SpmmPlan::new(backend, &selection, Op::None, columns, &free)?,
            selection,
            buffer: Dense::new(buffer, rows, columns, Order::RowMajor)?,
        })
    }

    fn run(
        &mut self,
        transport: &impl Transport,
        alpha: T,
        a: &LocalRows<T, SpaceOf<B>, O>,
        b: DenseView<'_, T, SpaceOf<B>>,
        beta: T,
        mut c: DenseViewMut<'_, T, SpaceOf<B>>,
    ) -> Result<()> {
        if alpha.is_zero() || a.nnz == 0 || self.columns == 0 {
            return self.diagonal.run(T::zero(), &a.diagonal, b, beta, c);
        }
        let outgoing = if self.op.transposes() { self.ghost_sums(alpha, a, b) } else { self.pack(b) };
        let Self { exchange, diagonal, columns, .. } = self;
        let own = || diagonal.run(alpha, &a.diagonal, b, beta, c.reborrow());
        if self.op.transposes() {
            let sums = exchange.to_owners(transport, *columns, outgoing, own)?;
            return self.add(T::one(), Incoming::Sums, a, &sums, c);
        }
        let ghosts = exchange.to_ghosts(transport, *columns, outgoing, own)?;
        self.add(alpha, Incoming::Ghosts, a, &ghosts, c)
    }

    /// The rows of B to send, on the host.
    fn pack(&mut self, b: DenseView<'_, T, SpaceOf<B>>) -> Result<Vec<T>> {
        if self.exchange.sent() == 0 {
            return Ok(vec![]);
        }
        self.selecting.run(T::one(), &self.selection, b, T::zero(), self.buffer.as_view_mut())?;
        self.backend.download(self.buffer.data())
    }

    /// The partial sums for rows of other ranks, on the host.
    fn ghost_sums(
        &mut self,
        alpha: T,
        a: &LocalRows<T, SpaceOf<B>, O>,
        b: DenseView<'_, T, SpaceOf<B>>,
    ) -> Result<Vec<T>> {
        if self.exchange.ghosts() == 0 {
            return Ok(vec![]);
        }
        self.off_diagonal.run(alpha, &a.off_diagonal, b, T::zero(), self.buffer.as_view_mut())?;
        self.backend.download(self.buffer.data())
    }

    /// Adds what came to C.
    fn add(
        &mut self,
        alpha: T,
        incoming: Incoming,
        a: &LocalRows<T, SpaceOf<B>, O>,
        received: &[T],
        c: DenseViewMut<'_, T, SpaceOf<B>>,
    ) -> Result<()> {
        if received.is_empty() {
            return Ok(());
        }
        let (matrix, plan) = match incoming {
            Incoming::Ghosts => (&a.off_diagonal, &mut self.off_diagonal),
            Incoming::Sums => (&self.selection, &mut self.selecting),
        };
        let buffer = self.backend.upload(received)?;
        let received = DenseView::new(
            SpaceOf::<B>::view(&buffer),
            received.len() / self.columns,
            self.columns,
            self.columns,
            Order::RowMajor,
        )?;
        plan.run(alpha, matrix, received, T::one(), c)
    }

    fn workspace_bytes(&self) -> usize {
        let (rows, columns) = self.buffer.shape();
        self.diagonal.workspace_bytes()
            + self.off_diagonal.workspace_bytes()
            + self.selecting.workspace_bytes()
            + rows * columns * size_of::<T>()
    }
}

/// The rows that came from other ranks.
enum Incoming {
    /// Rows of B.
    Ghosts,
    /// Partial sums of rows of C.
    Sums,
}
