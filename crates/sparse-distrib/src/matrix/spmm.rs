//! `C ← alpha·op(A)·B + beta·C`: distributed matrix times dense matrix.

use super::product_exchange::ProductExchange;
use super::spans::{RowSpans, SpanPlans, SpansSpmm};
use super::{BlockOn, DistributedBackend, DistributedMatrix, ExchangePlan, RowsOn};
use crate::transport::Transport;
use sparse_core::backend::SpaceOf;
use sparse_core::error::checked_product;
use sparse_core::op::{Op, SpmmKernel, SpmmPlan, VectorKernel};
use sparse_core::space::View as _;
use sparse_core::{
    Accumulator, Choice, Dense, DenseView, DenseViewMut, Index, Order, PlanOptions, Result, Space,
    SparseFormat,
};

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
        a.abandon_after(self.backend.agree("spmm", product))
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
    columns: usize,
    exchange: ProductExchange<B, T>,
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
            let plans =
                SpanPlans::new(&matrix, |block| SpmmPlan::new(backend, block, Op::None, columns, &options))?;
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
        let selection = Selection::new(backend, &a.exchange, op, columns, options)?;
        let rows = match &selection {
            Selection::Pack(matrix, _) => matrix.nrows(),
            Selection::Add(..) => a.exchange.ghosts(),
        };
        let exchange = ProductExchange::new(backend, &a.exchange, op.transposes(), columns, a.peers.clone())?;
        let buffer = backend.zeros(checked_product("rows x columns", rows, columns)?)?;
        Ok(Self {
            columns,
            diagonal: SpmmPlan::new(backend, &a.diagonal, op, columns, options)?,
            off_diagonal: SpanPlans::new(&a.off_diagonal, |block| {
                SpmmPlan::new(backend, block, op, columns, options)
            })?,
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
        let prepared = self.prepare(alpha, a, b);
        let Self { exchange, diagonal, off_diagonal, selection, columns, buffer, .. } = self;
        let outgoing = SpaceOf::<B>::view(buffer.data());
        let own = || diagonal.run(alpha, &a.diagonal, b, beta, c.reborrow());
        let Some(received) = exchange.run(transport, prepared, outgoing, own)? else { return Ok(()) };
        let rows = received.len() / *columns;
        let received = DenseView::new(received, rows, *columns, *columns, Order::RowMajor)?;
        match selection {
            Selection::Add(matrix, plans) => plans.add(T::one(), matrix, received, c),
            Selection::Pack(..) => off_diagonal.add(alpha, &a.off_diagonal, received, c),
        }
    }

    /// Enqueues what this rank sends: rows of B, or partial sums for rows of other ranks.
    fn prepare(&mut self, alpha: T, a: &RowsOn<B, T, O>, b: DenseView<'_, T, SpaceOf<B>>) -> Result<()> {
        let Self { off_diagonal, selection, buffer, .. } = self;
        match selection {
            Selection::Pack(..) if a.exchange.sent() == 0 => Ok(()),
            Selection::Pack(matrix, plan) => plan.run(T::one(), matrix, b, T::zero(), buffer.as_view_mut()),
            Selection::Add(..) if a.exchange.ghosts() == 0 => Ok(()),
            Selection::Add(..) => off_diagonal.transposed(alpha, &a.off_diagonal, b, buffer.as_view_mut()),
        }
    }

    fn workspace_bytes(&self) -> usize {
        let (rows, columns) = self.buffer.shape();
        self.diagonal.workspace_bytes()
            + self.off_diagonal.workspace_bytes()
            + self.selection.workspace_bytes()
            + self.exchange.workspace_bytes()
            + rows * columns * size_of::<T>()
    }
}
