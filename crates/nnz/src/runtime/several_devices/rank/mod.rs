//! One rank of a matrix that is divided among devices or ranks, over a transport and a backend that are hidden.

mod local_vector;
mod rows;

use crate::runtime::{Method, PreconditionerKind, SolveOptions, Vector};
use local_vector::LocalVector;
use rows::AnyRows;
use sparse_core::backend::SpaceOf;
use sparse_core::op::{Op, SpmmKernel, SpmvKernel, VectorKernel};
use sparse_core::peer::PeerExchange;
use sparse_core::{
    Accumulator, Csr, DenseView, DenseViewMut, Error, Order, PlanOptions, Result, Space, SparseFormat,
};
use sparse_distrib::{
    DistributedBackend, DistributedBiCgStab, DistributedCg, DistributedMatrix, DistributedSpmmPlan,
    DistributedSpmvPlan, DistributedVector, Ownership, SharedTransport,
};
use sparse_solvers::{Iteration, Jacobi, Solution, inverse_diagonal_of_block};
use std::any::Any;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

pub(in crate::runtime) use local_vector::{AnyLocalVector, other_matrix};
pub(in crate::runtime) use rows::{HostRows, host_rows};

/// Sees each iteration, and may stop.
pub(in crate::runtime) type Callback<'a> = dyn FnMut(Iteration) -> ControlFlow<()> + Send + 'a;

/// A rank whose backend is hidden. Every call is collective.
pub(in crate::runtime) trait AnyRank<T>: Send {
    fn multiply(&mut self, op: Op, alpha: T, x: &[T], beta: T, y: &mut [T]) -> Result<()>;
    /// A copy of this rank's elements of a vector in the memory of its backend.
    fn upload(&mut self, division: &Ownership, x: &[T]) -> Result<Box<dyn AnyLocalVector<T>>>;
    /// As [`multiply`](Self::multiply), of parts that [`upload`](Self::upload) has made for this rank.
    fn multiply_parts(
        &mut self,
        op: Op,
        alpha: T,
        x: &dyn AnyLocalVector<T>,
        beta: T,
        y: &mut dyn AnyLocalVector<T>,
    ) -> Result<()>;
    /// `C ← alpha·op(A)·B + beta·C` of `columns` columns; this rank's rows of B and C are row-major.
    fn multiply_dense(
        &mut self,
        op: Op,
        columns: usize,
        alpha: T,
        b: &[T],
        beta: T,
        c: &mut [T],
    ) -> Result<()>;
    fn solve(
        &mut self,
        options: &SolveOptions,
        b: &[T],
        x: &mut [T],
        callback: Option<&mut Callback<'_>>,
    ) -> Result<Solution>;
    fn sizes(&self) -> RankSizes;
}

/// The sizes of a divided matrix: the rows and columns of each rank, and the entries of all and of this rank.
pub(in crate::runtime) struct RankSizes {
    pub(in crate::runtime) rows: Ownership,
    pub(in crate::runtime) columns: Ownership,
    pub(in crate::runtime) nnz: usize,
    pub(in crate::runtime) local_nnz: usize,
    pub(in crate::runtime) ghosts: usize,
}

/// A backend with the products of ranks and their solvers.
pub(in crate::runtime) trait RankKernels<T: Accumulator>:
    SpmvKernel<Csr<T, SpaceOf<Self>>> + SpmmKernel<Csr<T, SpaceOf<Self>>> + VectorKernel<T>
{
}

impl<B, T: Accumulator> RankKernels<T> for B where
    B: SpmvKernel<Csr<T, SpaceOf<B>>> + SpmmKernel<Csr<T, SpaceOf<B>>> + VectorKernel<T>
{
}

/// The transport of ranks, whose type is hidden, so that products and solvers are compiled once for all transports.
type Transport = Arc<dyn SharedTransport>;

type RankBackend<B> = DistributedBackend<Transport, B>;

/// The rows of one rank.
pub(in crate::runtime) struct Rank<B, T>
where
    B: RankKernels<T>,
    T: Accumulator,
{
    backend: RankBackend<B>,
    a: DistributedMatrix<T, SpaceOf<B>>,
    /// The plan of the last product with a vector.
    plan: Option<(Op, DistributedSpmvPlan<Transport, B, T>)>,
    /// The plan of the last product with a dense matrix, with the matrix's number of columns.
    dense_plan: Option<(Op, usize, DistributedSpmmPlan<Transport, B, T>)>,
}

impl<B, T> Rank<B, T>
where
    B: RankKernels<T>,
    T: Accumulator,
{
    /// A rank that has its rows. Columns are divided as `columns` says, or as [`DistributedMatrix::from_rows`] does.
    pub(in crate::runtime) fn from_rows(
        end: Transport,
        backend: &B,
        rows: &HostRows<T>,
        columns: Option<&Ownership>,
    ) -> Result<Self> {
        let backend = DistributedBackend::new(end, backend.clone());
        let a = DistributedMatrix::from_rows(&backend, rows, columns)?;
        Ok(Self { backend, a, plan: None, dense_plan: None })
    }

    /// The same rank, which exchanges elements by `peers`, if there are any.
    pub(in crate::runtime) fn with_peers(
        mut self,
        peers: Option<Arc<dyn PeerExchange<T, SpaceOf<B>>>>,
    ) -> Self {
        if let Some(peers) = peers {
            self.a = self.a.with_peers(peers);
        }
        self
    }

    /// A rank that gets its rows of rank `root`, which has all of them.
    pub(in crate::runtime) fn from_root(
        end: Transport,
        backend: &B,
        root: usize,
        all: Option<&dyn AnyRows<T>>,
    ) -> Result<Self> {
        let backend = DistributedBackend::new(end, backend.clone());
        let division = all.map(|all| Ok((all.divide(backend.ranks())?, all.ncols()))).transpose();
        let rows =
            |rows| all.ok_or_else(|| Error::operands("distribute", "the root has no rows"))?.rows(rows);
        let a = DistributedMatrix::from_root_rows(&backend, root, division, rows)?;
        Ok(Self { backend, a, plan: None, dense_plan: None })
    }

    /// `y ← alpha·op(A)·x + beta·y`
    fn run(
        &mut self,
        op: Op,
        alpha: T,
        x: &DistributedVector<T, SpaceOf<B>>,
        beta: T,
        y: &mut DistributedVector<T, SpaceOf<B>>,
    ) -> Result<()> {
        let mut plan = self.take_plan(op)?;
        plan.run(alpha, &self.a, x, beta, y)?;
        self.plan = Some((op, plan));
        Ok(())
    }

    fn take_plan(&mut self, op: Op) -> Result<DistributedSpmvPlan<Transport, B, T>> {
        match self.plan.take() {
            Some((planned, plan)) if planned == op => Ok(plan),
            _ => DistributedSpmvPlan::new(&self.backend, &self.a, op, &PlanOptions::default()),
        }
    }

    fn take_dense_plan(&mut self, op: Op, columns: usize) -> Result<DistributedSpmmPlan<Transport, B, T>> {
        match self.dense_plan.take() {
            Some((planned, width, plan)) if (planned, width) == (op, columns) => Ok(plan),
            _ => DistributedSpmmPlan::new(&self.backend, &self.a, op, columns, &PlanOptions::default()),
        }
    }

    /// Copies this rank's elements of `x` to the host.
    fn download(&self, x: &DistributedVector<T, SpaceOf<B>>, host: &mut [T]) -> Result<()> {
        self.backend.agree("download", self.backend.local().download_into(x.local(), host))
    }

    /// The preconditioner of this kind, `None` for no preconditioner: a collective call.
    fn preconditioner(&self, kind: &PreconditionerKind) -> Result<Option<Jacobi<RankBackend<B>, T>>> {
        match kind {
            PreconditionerKind::None => Ok(None),
            PreconditionerKind::Jacobi => self.backend.agree("solve", self.jacobi()).map(Some),
            other => {
                let reason = "jacobi is the preconditioner that several have";
                Err(Error::unsupported(format_args!("{other} on several devices or ranks"), reason))
            }
        }
    }

    fn jacobi(&self) -> Result<Jacobi<RankBackend<B>, T>> {
        let block = self.a.diagonal_block().to_host(self.backend.local())?;
        let first = self.a.row_ownership().range(self.backend.rank()).start;
        Jacobi::from_inverse_diagonal(&self.backend, inverse_diagonal_of_block(&block, first)?)
    }
}

impl<B, T> AnyRank<T> for Rank<B, T>
where
    B: RankKernels<T>,
    T: Accumulator,
{
    fn multiply(&mut self, op: Op, alpha: T, x: &[T], beta: T, host_y: &mut [T]) -> Result<()> {
        let (backend, a) = (&self.backend, &self.a);
        let (rows, columns) = op.orient(a.row_ownership(), a.col_ownership());
        let x = DistributedVector::from_local(backend, columns, x)?;
        let mut y = match beta.is_zero() {
            true => DistributedVector::zeros(backend, rows)?,
            false => DistributedVector::from_local(backend, rows, host_y)?,
        };
        self.run(op, alpha, &x, beta, &mut y)?;
        self.download(&y, host_y)
    }

    fn upload(&mut self, division: &Ownership, x: &[T]) -> Result<Box<dyn AnyLocalVector<T>>> {
        let vector = DistributedVector::from_local(&self.backend, division, x)?;
        Ok(Box::new(LocalVector { backend: self.backend.clone(), vector }))
    }

    fn multiply_parts(
        &mut self,
        op: Op,
        alpha: T,
        x: &dyn AnyLocalVector<T>,
        beta: T,
        y: &mut dyn AnyLocalVector<T>,
    ) -> Result<()> {
        let (x, y) = (LocalVector::<B, T>::of(x)?, LocalVector::<B, T>::of_mut(y)?);
        self.run(op, alpha, &x.vector, beta, &mut y.vector)
    }

    fn multiply_dense(
        &mut self,
        op: Op,
        columns: usize,
        alpha: T,
        b: &[T],
        beta: T,
        host_c: &mut [T],
    ) -> Result<()> {
        let mut plan = self.take_dense_plan(op, columns)?;
        let local = self.backend.local();
        let uploaded = local.upload(b).and_then(|b| Ok((b, local.upload(host_c)?)));
        let (b, mut c) = self.backend.agree("spmm", uploaded)?;
        let (rows, inner) = op.orient(self.a.row_ownership(), self.a.col_ownership());
        let (rows, inner) = (rows.range(self.backend.rank()).len(), inner.range(self.backend.rank()).len());
        let views = DenseView::new(SpaceOf::<B>::view(&b), inner, columns, columns, Order::RowMajor);
        let c_view =
            DenseViewMut::new(SpaceOf::<B>::view_mut(&mut c), rows, columns, columns, Order::RowMajor);
        let (b, c_view) = self.backend.agree("spmm", views.and_then(|b| Ok((b, c_view?))))?;
        plan.run(alpha, &self.a, b, beta, c_view)?;
        self.dense_plan = Some((op, columns, plan));
        let local = self.backend.local();
        self.backend.agree("download", local.download_into(SpaceOf::<B>::view(&c), host_c))
    }

    fn solve(
        &mut self,
        options: &SolveOptions,
        b: &[T],
        host_x: &mut [T],
        mut callback: Option<&mut Callback<'_>>,
    ) -> Result<Solution> {
        let (backend, a) = (&self.backend, &self.a);
        let SolveOptions { method, preconditioner, solver: options } = options;
        let b = DistributedVector::from_local(backend, a.row_ownership(), b)?;
        let mut x = DistributedVector::from_local(backend, a.col_ownership(), host_x)?;
        let preconditioner = self.preconditioner(preconditioner)?;
        let mut panic = None;
        let decide = |iteration| {
            let stops = stops(callback.as_deref_mut(), iteration, &mut panic);
            match backend.transport().broadcast(0, vec![u8::from(stops)]) {
                Ok(message) if message == [0] => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            }
        };
        let solved = match method {
            Method::Cg => {
                DistributedCg::new(backend, a, preconditioner, options)?.solve(a, &b, &mut x, decide)
            }
            Method::BiCgStab => {
                DistributedBiCgStab::new(backend, a, preconditioner, options)?.solve(a, &b, &mut x, decide)
            }
            other => {
                let others = "CG and BiCGSTAB run on several";
                return Err(Error::unsupported(format_args!("{other} on several devices or ranks"), others));
            }
        };
        let solved = solved.and_then(|solution| self.download(&x, host_x).map(|()| solution));
        match panic {
            Some(payload) => resume_unwind(payload),
            None => solved,
        }
    }

    fn sizes(&self) -> RankSizes {
        RankSizes {
            rows: self.a.row_ownership().clone(),
            columns: self.a.col_ownership().clone(),
            nnz: self.a.nnz(),
            local_nnz: self.a.local_nnz(),
            ghosts: self.a.exchange_plan().ghosts(),
        }
    }
}

pub(in crate::runtime) fn on_host<T: Accumulator>(x: &Vector) -> Result<&[T]> {
    x.as_slice().ok_or_else(|| not_on_host::<T>())
}

pub(in crate::runtime) fn on_host_mut<T: Accumulator>(x: &mut Vector) -> Result<&mut [T]> {
    x.as_mut_slice().ok_or_else(|| not_on_host::<T>())
}

fn not_on_host<T: Accumulator>() -> Error {
    Error::operands("distribute", format_args!("vectors of {} in the host's memory are needed", T::DTYPE))
}

/// True if the callback of this rank, which decides for all, stops the solver. A panic of it stops all ranks, and is
/// stored, to be resumed once no rank waits.
fn stops(
    callback: Option<&mut Callback<'_>>,
    iteration: Iteration,
    panic: &mut Option<Box<dyn Any + Send>>,
) -> bool {
    let call = || callback.is_some_and(|callback| callback(iteration).is_break());
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|payload| {
        *panic = Some(payload);
        true
    })
}
