//! `C ← alpha·op(A)·B + beta·C`: distributed matrix times dense matrix.

use super::spans::{RowSpans, SpansSpmm};
use super::{BlockOn, DistributedBackend, DistributedMatrix, ExchangePlan, RowsOn};
use crate::transport::Transport;
use sparse_core::backend::SpaceOf;
use sparse_core::error::checked_product;
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
    B: SpmmKernel<BlockOn<B, T, O>>,
    T: Accumulator,
    O: Index,
{
    backend: DistributedBackend<X, B>,
    product: LocalSpmm<B, T, O>,
}

impl<X, B, T, O> DistributedSpmmPlan<X, B, T, O>
where
    X: Transport,
    B: SpmmKernel<BlockOn<B, T, O>> + VectorKernel<T>,
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
    B: SpmmKernel<BlockOn<B, T, O>>,
    T: Accumulator,
    O: Index,
{
    backend: B,
    op: Op,
    columns: usize,
    exchange: Arc<ExchangePlan>,
    diagonal: SpmmPlan<B, BlockOn<B, T, O>>,
    off_diagonal: SpansSpmm<B, T, O>,
    selection: Selection<B, T, O>,
    /// The packed rows of A·B, the ghosts' partial sums of Aᵀ·B, by rows.
    buffer: Dense<T, SpaceOf<B>>,
}

/// A matrix of ones, and the plan of its product.
#[derive(Debug)]
enum Selection<B, T, O>
where
    B: SpmmKernel<BlockOn<B, T, O>>,
    T: Accumulator,
    O: Index,
{
    /// Packs rows of B.
    Pack(BlockOn<B, T, O>, SpmmPlan<B, BlockOn<B, T, O>>),
    /// Adds partial sums.
    Add(RowSpans<T, SpaceOf<B>, O>, SpansSpmm<B, T, O>),
}

impl<B, T, O> Selection<B, T, O>
where
    B: SpmmKernel<BlockOn<B, T, O>> + VectorKernel<T>,
    T: Accumulator,
    O: Index,
{
    fn new(
        backend: &B,
        exchange: &ExchangePlan,
        op: Op,
        columns: usize,
        options: &PlanOptions,
    ) -> Result<Self> {
        let options = PlanOptions { algorithm: None, ..options.clone() };
        if op.transposes() {
            let matrix = RowSpans::new(&exchange.scatter_matrix()?)?.to_device(backend)?;
            let plans = SpansSpmm::new(backend, &matrix, Op::None, columns, &options)?;
            return Ok(Self::Add(matrix, plans));
        }
        let matrix = exchange.gather_matrix()?.to_device(backend)?;
        let plan = SpmmPlan::new(backend, &matrix, Op::None, columns, &options)?;
        Ok(Self::Pack(matrix, plan))
    }

    fn workspace_bytes(&self) -> usize {
        match self {
            Self::Pack(_, plan) => plan.workspace_bytes(),
            Self::Add(_, plans) => plans.workspace_bytes(),
        }
    }
}

impl<B, T, O> LocalSpmm<B, T, O>
where
    B: SpmmKernel<BlockOn<B, T, O>> + VectorKernel<T>,
    T: Accumulator,
    O: Index,
{
    fn new(backend: &B, a: &RowsOn<B, T, O>, op: Op, columns: usize, options: &PlanOptions) -> Result<Self> {
        let exchange = a.exchange.clone();
        let selection = Selection::new(backend, &exchange, op, columns, options)?;
        let rows = match &selection {
            Selection::Pack(matrix, _) => matrix.nrows(),
            Selection::Add(..) => exchange.ghosts(),
        };
        let buffer = backend.zeros(checked_product("rows x columns", rows, columns)?)?;
        Ok(Self {
            backend: backend.clone(),
            op,
            columns,
            diagonal: SpmmPlan::new(backend, &a.diagonal, op, columns, options)?,
            off_diagonal: SpansSpmm::new(backend, &a.off_diagonal, op, columns, options)?,
            selection,
            buffer: Dense::new(buffer, rows, columns, Order::RowMajor)?,
            exchange,
        })
    }

    fn run(
        &mut self,
        transport: &impl Transport,
        alpha: T,
        a: &RowsOn<B, T, O>,
        b: DenseView<'_, T, SpaceOf<B>>,
        beta: T,
        mut c: DenseViewMut<'_, T, SpaceOf<B>>,
    ) -> Result<()> {
        if alpha.is_zero() || a.nnz == 0 || self.columns == 0 {
            return self.diagonal.run(T::zero(), &a.diagonal, b, beta, c);
        }
        let outgoing = if self.op.transposes() { self.ghost_sums(alpha, a, b) } else { self.pack(b) };
        let Self { backend, exchange, diagonal, off_diagonal, selection, columns, op, .. } = self;
        let own = || diagonal.run(alpha, &a.diagonal, b, beta, c.reborrow());
        let received = match op.transposes() {
            true => exchange.to_owners(transport, *columns, outgoing, own)?,
            false => exchange.to_ghosts(transport, *columns, outgoing, own)?,
        };
        if received.is_empty() {
            return Ok(());
        }
        let (rows, buffer) = (received.len() / *columns, backend.upload(&received)?);
        let received =
            DenseView::new(SpaceOf::<B>::view(&buffer), rows, *columns, *columns, Order::RowMajor)?;
        match selection {
            Selection::Add(matrix, plans) => plans.add(T::one(), matrix, received, c),
            Selection::Pack(..) => off_diagonal.add(alpha, &a.off_diagonal, received, c),
        }
    }

    /// The rows of B to send, on the host.
    fn pack(&mut self, b: DenseView<'_, T, SpaceOf<B>>) -> Result<Vec<T>> {
        if self.exchange.sent() == 0 {
            return Ok(vec![]);
        }
        if let Selection::Pack(matrix, plan) = &mut self.selection {
            plan.run(T::one(), matrix, b, T::zero(), self.buffer.as_view_mut())?;
        }
        self.backend.download(self.buffer.data())
    }

    /// The partial sums for rows of other ranks, on the host.
    fn ghost_sums(
        &mut self,
        alpha: T,
        a: &RowsOn<B, T, O>,
        b: DenseView<'_, T, SpaceOf<B>>,
    ) -> Result<Vec<T>> {
        if self.exchange.ghosts() == 0 {
            return Ok(vec![]);
        }
        self.off_diagonal.transposed(alpha, &a.off_diagonal, b, self.buffer.as_view_mut())?;
        self.backend.download(self.buffer.data())
    }

    fn workspace_bytes(&self) -> usize {
        let (rows, columns) = self.buffer.shape();
        self.diagonal.workspace_bytes()
            + self.off_diagonal.workspace_bytes()
            + self.selection.workspace_bytes()
            + rows * columns * size_of::<T>()
    }
}
