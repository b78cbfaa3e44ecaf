//! One matrix on all ranks of a transport: products and solvers of a matrix and vectors that rank 0 has.

#[cfg(doc)]
use super::MatrixOnDevices;
use super::fit::factor;
use super::on_devices::{check_lengths, check_operands, half_precision};
use super::rank::{AnyRank, Callback, Computes, Layout, Rank, host_rows, on_host, on_host_mut};
use super::{Format, Matrix, SolveOptions, Vector};
use crate::Device;
use crate::device::{HostBackend, serial_host_backend};
use sparse_core::op::Op;
use sparse_core::{Accumulator, DType, Error, Result, c32, c64};
use sparse_device::Device as Accelerator;
use sparse_distrib::{DistributedBackend, DistributedVector, Ownership, SharedTransport, Transport, agree};
use sparse_solvers::{Iteration, Solution};
use std::fmt::{Debug, Formatter};
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

/// The rank with the matrix and the vectors.
const ROOT: usize = 0;
const OP: &str = "distribute";

/// A matrix whose rows are divided among ranks by their entries: those of one rank, on its device.
///
/// All calls but those that ask for numbers are collective: all ranks make the same, with the same factors and options.
/// Rank 0 has the matrix, passes vectors in the host's memory and gets results; all others pass `None`. The same number of
/// ranks gives the same bits on every run, which are those of [`MatrixOnDevices`] with as many devices of the same kind.
///
/// ```
/// use nnz::distrib::{Local, Transport};
/// use nnz::{MatrixOnRanks, Method, SolveOptions, prelude::*};
/// use std::sync::Arc;
///
/// let iterations = Local::run(3, |rank| {
///     let (device, is_root) = (Device::host()?, rank.rank() == 0); // over MPI a distrib::Mpi of each process
///     let a = is_root.then(|| Matrix::from_typed(&device, nnz::generate::stencil_5::<f64>(8, 8)?)).transpose()?;
///     let mut on_ranks = MatrixOnRanks::from_root(Arc::new(rank), &device, a.as_ref())?;
///     let ones = is_root.then(|| Vector::from_vec(&device, vec![1.0; 64])).transpose()?;
///     let b = on_ranks.matvec(ones.as_ref())?;
///     let (x, solution) = on_ranks.solve(b.as_ref(), &SolveOptions::by(Method::Cg))?;
///     if let (Some(mut x), Some(ones)) = (x, ones) {
///         x.axpby(1.0, &ones, -1.0)?;
///         assert!(x.nrm2()? < 1e-9);
///     }
///     Ok::<_, Error>(solution.iterations)
/// });
/// let iterations = iterations.into_iter().collect::<Result<Vec<_>>>()?;
/// assert!(iterations.iter().all(|&all| all == iterations[0]));
/// # Ok::<(), Error>(())
/// ```
pub struct MatrixOnRanks {
    transport: Arc<dyn SharedTransport>,
    device: Device,
    host: Device,
    dtype: DType,
    layout: Layout,
    rank: Box<dyn AnyTypedRank>,
}

impl MatrixOnRanks {
    /// Divides the rows of the matrix that rank 0 has among all ranks of `transport`, by their entries, as CSR with 32-bit
    /// indices: a collective call. `device` is this rank's own.
    ///
    /// # Errors
    /// On all ranks, with the first rank that failed: [`Operands`](Error::Operands) if rank 0 has no matrix;
    /// [`Format`](Error::Format) if its rows are not sorted or have duplicates; those of [`Matrix::distribute`].
    pub fn from_root(
        transport: Arc<dyn SharedTransport>,
        device: &Device,
        a: Option<&Matrix>,
    ) -> Result<Self> {
        match dtype_of_root(&*transport, a)? {
            DType::F32 => distribute::<f32>(transport, device, a),
            DType::F64 => distribute::<f64>(transport, device, a),
            DType::C32 => distribute::<c32>(transport, device, a),
            DType::C64 => distribute::<c64>(transport, device, a),
            half @ (DType::F16 | DType::Bf16) => Err(half_precision(half)),
        }
    }

    /// This rank's device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// This rank's rows.
    pub fn rows(&self) -> Range<usize> {
        self.layout.rows.range(self.transport.rank())
    }

    /// (rows, columns) of the whole matrix.
    pub fn shape(&self) -> (usize, usize) {
        (self.layout.rows.len(), self.layout.columns.len())
    }

    /// The type of the values.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The number of stored entries of the whole matrix.
    pub fn nnz(&self) -> usize {
        self.layout.nnz
    }

    /// The number of stored entries of this rank's rows.
    pub fn local_nnz(&self) -> usize {
        self.layout.local_nnz
    }

    /// The number of elements of x that other ranks send to this one for a product A·x.
    pub fn remote_columns(&self) -> usize {
        self.layout.ghosts
    }

    /// `A·x` at rank 0.
    ///
    /// # Errors
    /// Those of [`spmv`](Self::spmv).
    pub fn matvec(&mut self, x: Option<&Vector>) -> Result<Option<Vector>> {
        let rows = self.layout.rows.len();
        let mut y = self.agree("spmv", self.zeros(rows))?;
        self.spmv(Op::None, 1.0, x, 0.0, y.as_mut())?;
        Ok(y)
    }

    /// `y ← alpha·op(A)·x + beta·y` at rank 0; a `beta` of zero does not read `y`. The plan serves further products by this
    /// `op`.
    ///
    /// # Errors
    /// On all ranks: those of [`MatrixOnDevices::spmv`]; [`Operands`](Error::Operands) if rank 0 has no vectors.
    pub fn spmv(
        &mut self,
        op: Op,
        alpha: impl Into<c64>,
        x: Option<&Vector>,
        beta: impl Into<c64>,
        y: Option<&mut Vector>,
    ) -> Result<()> {
        let Layout { rows, columns, .. } = &self.layout;
        let (rows, columns) = if op.transposes() { (columns, rows) } else { (rows, columns) };
        self.check_vectors("spmv", [("x", x, columns), ("y", y.as_deref(), rows)])?;
        self.rank.multiply(op, alpha.into(), (x, columns), beta.into(), (y, rows))
    }

    /// The solution of A·x = b at rank 0, sought from x = 0, and how the iteration ended at all ranks. Not to converge is no
    /// error.
    ///
    /// # Errors
    /// Those of [`solve_from`](Self::solve_from).
    pub fn solve(
        &mut self,
        b: Option<&Vector>,
        options: &SolveOptions,
    ) -> Result<(Option<Vector>, Solution)> {
        let columns = self.layout.columns.len();
        let mut x = self.agree("solve", self.zeros(columns))?;
        let solution = self.solve_from(b, x.as_mut(), options, |_| ControlFlow::Continue(()))?;
        Ok((x, solution))
    }

    /// Solves A·x = b from the `x` of rank 0, which gets the last iterate. The `callback` of rank 0 is called after each
    /// computation of the residual's norm, and may stop.
    ///
    /// # Errors
    /// On all ranks: those of [`MatrixOnDevices::solve_from`]; [`Operands`](Error::Operands) if rank 0 has no vectors.
    pub fn solve_from(
        &mut self,
        b: Option<&Vector>,
        x: Option<&mut Vector>,
        options: &SolveOptions,
        mut callback: impl FnMut(Iteration) -> ControlFlow<()> + Send,
    ) -> Result<Solution> {
        let Layout { rows, columns, .. } = &self.layout;
        self.check_vectors("solve", [("b", b, rows), ("x", x.as_deref(), columns)])?;
        self.rank.solve(options, (b, rows), (x, columns), &mut callback)
    }

    fn is_root(&self) -> bool {
        self.transport.rank() == ROOT
    }

    /// Zeros at the root.
    fn zeros(&self, len: usize) -> Result<Option<Vector>> {
        self.is_root().then(|| Vector::zeros(&self.host, self.dtype, len)).transpose()
    }

    fn agree<R>(&self, op: &'static str, own: Result<R>) -> Result<R> {
        agree(&*self.transport, ROOT, op, own)
    }

    /// Fails on all ranks unless the root has vectors that fit.
    fn check_vectors(
        &self,
        op: &'static str,
        vectors: [(&'static str, Option<&Vector>, &Ownership); 2],
    ) -> Result<()> {
        self.agree(op, if self.is_root() { self.check_own(op, vectors) } else { Ok(()) })
    }

    fn check_own(
        &self,
        op: &'static str,
        vectors: [(&'static str, Option<&Vector>, &Ownership); 2],
    ) -> Result<()> {
        let [(first, Some(x), of_x), (second, Some(y), of_y)] = vectors else {
            return Err(Error::operands(op, "rank 0 has no vectors"));
        };
        check_lengths(op, [(first, x.len(), of_x.len()), (second, y.len(), of_y.len())])?;
        check_operands(op, (self.dtype, &self.host), &[(first, x), (second, y)])
    }
}

impl Debug for MatrixOnRanks {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let (rows, (all, columns)) = (self.rows(), self.shape());
        write!(f, "MatrixOnRanks(rows {rows:?} of {all} x {columns}, {} on {})", self.dtype, self.device)
    }
}

/// The type of the root's values: a collective call.
fn dtype_of_root(transport: &dyn SharedTransport, a: Option<&Matrix>) -> Result<DType> {
    let own = match a {
        Some(a) if transport.rank() == ROOT => Ok(a.dtype().name()),
        None if transport.rank() == ROOT => Err(Error::operands(OP, "rank 0 has no matrix")),
        _ => Ok(""),
    };
    let name = transport.broadcast(ROOT, agree(transport, ROOT, OP, own)?.as_bytes().to_vec())?;
    String::from_utf8_lossy(&name).parse().map_err(|reason: String| Error::operands(OP, reason))
}

fn distribute<T: Accumulator>(
    transport: Arc<dyn SharedTransport>,
    device: &Device,
    a: Option<&Matrix>,
) -> Result<MatrixOnRanks>
where
    HostBackend: Computes<T>,
    Accelerator: Computes<T>,
{
    let a = a.filter(|_| transport.rank() == ROOT);
    let csr = agree(&*transport, ROOT, OP, a.map(|a| a.to_format(Format::Csr)).transpose())?;
    let arrays = agree(&*transport, ROOT, OP, csr.as_ref().map(Matrix::on_host).transpose())?;
    let rows = csr.as_ref().zip(arrays.as_ref()).map(|(csr, arrays)| host_rows::<T>(csr, arrays));
    let rows = agree(&*transport, ROOT, OP, rows.transpose())?;
    let rank: Box<dyn AnyRank<T>> = match device {
        Device::Cpu(backend) => Box::new(Rank::from_root(transport.clone(), backend, ROOT, rows)?),
        Device::Accelerator(backend, _) => Box::new(Rank::from_root(transport.clone(), backend, ROOT, rows)?),
    };
    let host = agree(&*transport, ROOT, OP, serial_host_backend())?;
    Ok(MatrixOnRanks {
        device: device.clone(),
        host: Device::Cpu(host.clone()),
        dtype: T::DTYPE,
        layout: rank.layout(),
        rank: Box::new(TypedRank { host: DistributedBackend::new(transport.clone(), host), rank }),
        transport,
    })
}

/// A rank whose type of values is hidden, too. The vectors are the root's, and beside each stands its division. Every call
/// is collective.
trait AnyTypedRank: Send {
    fn multiply(
        &mut self,
        op: Op,
        alpha: c64,
        x: (Option<&Vector>, &Ownership),
        beta: c64,
        y: (Option<&mut Vector>, &Ownership),
    ) -> Result<()>;
    fn solve(
        &mut self,
        options: &SolveOptions,
        b: (Option<&Vector>, &Ownership),
        x: (Option<&mut Vector>, &Ownership),
        callback: &mut Callback<'_>,
    ) -> Result<Solution>;
}

struct TypedRank<T> {
    /// Where vectors of the root are divided and gathered.
    host: DistributedBackend<Arc<dyn SharedTransport>, HostBackend>,
    rank: Box<dyn AnyRank<T>>,
}

impl<T: Accumulator> TypedRank<T> {
    /// This rank's elements of a vector of the root.
    fn scatter(&self, whole: Option<&Vector>, division: &Ownership) -> Result<Vec<T>> {
        let whole = whole.map(on_host::<T>).transpose()?;
        Ok(DistributedVector::scatter(&self.host, ROOT, division, whole)?.local().to_vec())
    }

    /// Copies the elements of all ranks to a vector of the root.
    fn gather(&self, own: &[T], division: &Ownership, whole: Option<&mut Vector>) -> Result<()> {
        let all = DistributedVector::from_local(&self.host, division, own)?.gather(&self.host, ROOT)?;
        match all.zip(whole) {
            Some((all, whole)) => on_host_mut::<T>(whole).map(|whole| whole.copy_from_slice(&all)),
            None => Ok(()),
        }
    }
}

impl<T: Accumulator> AnyTypedRank for TypedRank<T> {
    fn multiply(
        &mut self,
        op: Op,
        alpha: c64,
        (x, columns): (Option<&Vector>, &Ownership),
        beta: c64,
        (y, rows): (Option<&mut Vector>, &Ownership),
    ) -> Result<()> {
        let (alpha, beta) = (factor::<T>("spmv", "alpha", alpha)?, factor::<T>("spmv", "beta", beta)?);
        let own_x = self.scatter(x, columns)?;
        let mut own_y = match beta.is_zero() {
            true => vec![T::zero(); rows.range(self.host.rank()).len()],
            false => self.scatter(y.as_deref(), rows)?,
        };
        self.rank.multiply(op, alpha, &own_x, beta, &mut own_y)?;
        self.gather(&own_y, rows, y)
    }

    fn solve(
        &mut self,
        options: &SolveOptions,
        (b, rows): (Option<&Vector>, &Ownership),
        (x, columns): (Option<&mut Vector>, &Ownership),
        callback: &mut Callback<'_>,
    ) -> Result<Solution> {
        let (own_b, mut own_x) = (self.scatter(b, rows)?, self.scatter(x.as_deref(), columns)?);
        let callback = (self.host.rank() == ROOT).then_some(callback);
        let solution = self.rank.solve(options, &own_b, &mut own_x, callback)?;
        self.gather(&own_x, columns, x)?;
        Ok(solution)
    }
}
