//! The product of one rank: its rows as a matrix format, and their plan.

use super::product_exchange::ProductExchange;
use super::spans::{RowSpans, SpanPlans, SpansSpmv};
use super::{BlockOn, DistributedBackend, ExchangePlan, RowBlock, RowsOn, SharedTransport};
use crate::transport::Transport;
use sparse_core::backend::{Buf, SpaceOf, ViewMutOf, ViewOf};
use sparse_core::format::Transfer;
use sparse_core::op::vector::scal;
use sparse_core::op::{Op, SpmvKernel, SpmvPlan, VectorKernel};
use sparse_core::peer::PeerExchange;
use sparse_core::space::View as _;
use sparse_core::{
    Accumulator, Algorithm, Choice, ContextId, Error, Host, Index, KernelPlan, PatternId, PlanOptions,
    Result, Space, SparseFormat,
};
use std::sync::Arc;

/// One rank's rows of a distributed matrix, as a matrix format for plans and solvers of a [`DistributedBackend`].
///
/// Its sizes are those of the rank: its rows, and the columns that it owns. [`nnz`](SparseFormat::nnz) is that of the
/// whole matrix, so that all ranks agree whether there is a product.
#[derive(Debug)]
pub struct LocalRows<T: Accumulator, S: Space = Host, O: Index = i32> {
    pub(super) diagonal: RowBlock<T, S, O>,
    pub(super) off_diagonal: RowSpans<T, S, O>,
    pub(super) exchange: Arc<ExchangePlan>,
    pub(super) peers: Option<Arc<dyn PeerExchange<T, S>>>,
    pub(super) nnz: usize,
}

impl<T: Accumulator, S: Space, O: Index> SparseFormat for LocalRows<T, S, O> {
    type Scalar = T;
    type Space = S;
    type In<U: Space> = LocalRows<T, U, O>;
    const FORMAT: &'static str = "distributed";

    fn nrows(&self) -> usize {
        self.diagonal.nrows()
    }

    fn ncols(&self) -> usize {
        self.diagonal.ncols()
    }

    fn nnz(&self) -> usize {
        self.nnz
    }

    fn pattern_id(&self) -> PatternId {
        self.diagonal.pattern_id()
    }

    fn context(&self) -> ContextId {
        self.diagonal.context()
    }

    /// The peers are those of the old memory, so the copy has none.
    fn transfer<U: Space>(&self, transfer: &impl Transfer<S, U>) -> Result<Self::In<U>> {
        Ok(LocalRows {
            diagonal: self.diagonal.transfer(transfer)?,
            off_diagonal: self.off_diagonal.transfer(transfer)?,
            exchange: self.exchange.clone(),
            peers: None,
            nnz: self.nnz,
        })
    }
}

/// The plan of one rank's part of a product with [`LocalRows`].
#[derive(Debug)]
pub struct LocalSpmv<B, T, O = i32>
where
    B: SpmvKernel<BlockOn<B, T, O>>,
    T: Accumulator,
    O: Index,
{
    backend: B,
    op: Op,
    exchange: ProductExchange<B, T>,
    diagonal: SpmvPlan<B, BlockOn<B, T, O>>,
    off_diagonal: SpansSpmv<B, T, O>,
    selection: Selection<B, T, O>,
    /// The packed elements of A·x, the ghosts' partial sums of Aᵀ·x.
    buffer: Buf<B, T>,
}

/// A matrix of ones, and the plan of its product.
#[derive(Debug)]
enum Selection<B, T, O>
where
    B: SpmvKernel<BlockOn<B, T, O>>,
    T: Accumulator,
    O: Index,
{
    /// x is sent whole.
    All,
    /// Packs elements of x.
    Pack(BlockOn<B, T, O>, SpmvPlan<B, BlockOn<B, T, O>>),
    /// Adds partial sums.
    Add(RowSpans<T, SpaceOf<B>, O>, SpansSpmv<B, T, O>),
}

impl<B, T, O> Selection<B, T, O>
where
    B: SpmvKernel<BlockOn<B, T, O>> + VectorKernel<T>,
    T: Accumulator,
    O: Index,
{
    fn new(backend: &B, exchange: &ExchangePlan, op: Op, options: &PlanOptions) -> Result<Self> {
        let options = PlanOptions { algorithm: None, ..options.clone() };
        if op.transposes() {
            let matrix = RowSpans::new(&exchange.scatter_matrix()?)?.to_device(backend)?;
            let plans = SpanPlans::new(&matrix, |block| SpmvPlan::new(backend, block, Op::None, &options))?;
            return Ok(Self::Add(matrix, plans));
        }
        if exchange.is_all_gather() {
            return Ok(Self::All);
        }
        let matrix = exchange.gather_matrix()?.to_device(backend)?;
        let plan = SpmvPlan::new(backend, &matrix, Op::None, &options)?;
        Ok(Self::Pack(matrix, plan))
    }

    fn workspace_bytes(&self) -> usize {
        match self {
            Self::All => 0,
            Self::Pack(_, plan) => plan.workspace_bytes(),
            Self::Add(_, plans) => plans.workspace_bytes(),
        }
    }
}

impl<B, T, O> LocalSpmv<B, T, O>
where
    B: SpmvKernel<BlockOn<B, T, O>> + VectorKernel<T>,
    T: Accumulator,
    O: Index,
{
    /// Plans the products with both blocks. A forced algorithm is that of both.
    pub(super) fn new(backend: &B, a: &RowsOn<B, T, O>, op: Op, options: &PlanOptions) -> Result<Self> {
        let selection = Selection::new(backend, &a.exchange, op, options)?;
        let buffer = match &selection {
            Selection::All => 0,
            Selection::Pack(..) => a.exchange.sent(),
            Selection::Add(..) => a.exchange.ghosts(),
        };
        let exchange = ProductExchange::new(backend, &a.exchange, op.transposes(), 1, a.peers.clone())?;
        Ok(Self {
            backend: backend.clone(),
            op,
            diagonal: SpmvPlan::new(backend, &a.diagonal, op, options)?,
            off_diagonal: SpanPlans::new(&a.off_diagonal, |block| {
                SpmvPlan::new(backend, block, op, options)
            })?,
            selection,
            buffer: backend.zeros(buffer)?,
            exchange,
        })
    }

    /// `y ← alpha·op(A)·x + beta·y` for the elements of this rank. After an error the other ranks do not wait.
    pub(super) fn run(
        &mut self,
        transport: &impl Transport,
        alpha: T,
        a: &RowsOn<B, T, O>,
        x: ViewOf<'_, B, T>,
        beta: T,
        y: ViewMutOf<'_, B, T>,
    ) -> Result<()> {
        if alpha.is_zero() || a.nnz == 0 {
            return scal::<B, T>(&self.backend, beta, y);
        }
        match self.op {
            Op::None => self.multiply(transport, alpha, a, x, beta, y),
            Op::Transpose | Op::ConjugateTranspose => {
                self.multiply_transposed(transport, alpha, a, x, beta, y)
            }
        }
    }

    fn multiply(
        &mut self,
        transport: &impl Transport,
        alpha: T,
        a: &RowsOn<B, T, O>,
        x: ViewOf<'_, B, T>,
        beta: T,
        mut y: ViewMutOf<'_, B, T>,
    ) -> Result<()> {
        let Self { exchange, diagonal, off_diagonal, selection, buffer, .. } = self;
        let packed = match selection {
            Selection::Pack(matrix, plan) if matrix.nrows() > 0 => {
                plan.run(T::one(), matrix, x, T::zero(), SpaceOf::<B>::view_mut(buffer))
            }
            _ => Ok(()),
        };
        let own = || diagonal.run(alpha, &a.diagonal, x, beta, SpaceOf::<B>::reborrow::<T>(&mut y));
        let ghosts = match selection {
            Selection::All => exchange.run(transport, packed, x, own)?,
            _ => exchange.run(transport, packed, SpaceOf::<B>::view(buffer), own)?,
        };
        match ghosts {
            Some(ghosts) => off_diagonal.add(alpha, &a.off_diagonal, ghosts, y),
            None => Ok(()),
        }
    }

    fn multiply_transposed(
        &mut self,
        transport: &impl Transport,
        alpha: T,
        a: &RowsOn<B, T, O>,
        x: ViewOf<'_, B, T>,
        beta: T,
        mut y: ViewMutOf<'_, B, T>,
    ) -> Result<()> {
        let Self { exchange, diagonal, off_diagonal, selection, buffer, .. } = self;
        let summed = match a.exchange.ghosts() {
            0 => Ok(()),
            _ => off_diagonal.transposed(alpha, &a.off_diagonal, x, SpaceOf::<B>::view_mut(buffer)),
        };
        let sums = exchange.run(transport, summed, SpaceOf::<B>::view(buffer), || {
            diagonal.run(alpha, &a.diagonal, x, beta, SpaceOf::<B>::reborrow::<T>(&mut y))
        })?;
        match (selection, sums) {
            (Selection::Add(matrix, plans), Some(sums)) => plans.add(T::one(), matrix, sums, y),
            _ => Ok(()),
        }
    }
}

impl<B, T, O> KernelPlan for LocalSpmv<B, T, O>
where
    B: SpmvKernel<BlockOn<B, T, O>> + VectorKernel<T>,
    T: Accumulator,
    O: Index,
{
    /// The choice for the diagonal block.
    fn choice(&self) -> &Choice {
        self.diagonal.choice()
    }

    fn workspace_bytes(&self) -> usize {
        let selection = self.selection.workspace_bytes();
        let buffer = SpaceOf::<B>::view::<T>(&self.buffer).len() * size_of::<T>();
        let products = self.diagonal.workspace_bytes() + self.off_diagonal.workspace_bytes();
        products + selection + buffer + self.exchange.workspace_bytes()
    }
}

/// The product as solvers call it. An error is deferred to the next reduction, a collective call; a rank without rows
/// sends and receives nothing, since its plan returns at once.
impl<X, B, T, O> SpmvKernel<RowsOn<B, T, O>> for DistributedBackend<X, B>
where
    X: SharedTransport,
    B: SpmvKernel<BlockOn<B, T, O>> + VectorKernel<T>,
    T: Accumulator,
    O: Index,
{
    type Plan = LocalSpmv<B, T, O>;

    fn spmv_algorithms(&self, op: Op) -> &'static [Algorithm] {
        self.local().spmv_algorithms(op)
    }

    fn plan_spmv(&self, a: &RowsOn<B, T, O>, op: Op, options: &PlanOptions) -> Result<Self::Plan> {
        LocalSpmv::new(self.local(), a, op, options)
    }

    unsafe fn run_spmv(
        &self,
        plan: &mut Self::Plan,
        alpha: T,
        a: &RowsOn<B, T, O>,
        x: ViewOf<'_, Self, T>,
        beta: T,
        y: ViewMutOf<'_, Self, T>,
    ) -> Result<()> {
        self.defer(plan.run(self.transport(), alpha, a, x, beta, y))
    }
}

/// An error unless a vector is divided as the product needs it.
pub(super) fn check_ownership(
    op: &'static str,
    operand: &str,
    needed: &super::Ownership,
    found: &super::Ownership,
) -> Result<()> {
    if needed == found {
        return Ok(());
    }
    let reason =
        format!("{operand} is divided at {:?} where {:?} is needed", found.starts(), needed.starts());
    Err(Error::shape(op, reason))
}
