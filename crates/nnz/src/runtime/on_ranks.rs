//! One matrix on all ranks of a transport: products and solvers of a matrix and vectors that rank 0 has.

#[cfg(doc)]
use super::MatrixOnDevices;
use super::fit::factor;
use super::on_devices::{check_lengths, check_operands, half_precision};
use super::rank::{AnyRank, Callback, Computes, HostRows, Layout, Rank, host_rows, on_host, on_host_mut};
use super::{DenseMatrix, Format, Matrix, SolveOptions, Vector};
use crate::device::{Connections, HostBackend, connect_ranks, serial_host_backend};
use crate::{Device, ExchangePath};
use sparse_core::error::checked_product;
use sparse_core::op::Op;
use sparse_core::{Accumulator, DType, Error, Order, Result, c32, c64};
use sparse_device::Device as Accelerator;
use sparse_distrib::{
    DistributedBackend, DistributedVector, Ownership, SharedTransport, Transport, agree, read_rows,
};
use sparse_io::MatrixFile;
use sparse_solvers::{Iteration, Solution};
use std::fmt::{Debug, Formatter};
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::Arc;

/// The rank with the matrix and the vectors.
const ROOT: usize = 0;
const OP: &str = "distribute";

/// A matrix whose rows are divided among ranks by their entries: those of one rank, on its device.
///
/// All calls but those that ask for numbers are collective: all ranks make the same, with the same factors and options.
/// Rank 0 has the matrix, passes vectors in the host's memory and gets results; all others pass `None`. The same number of
/// ranks gives the same bits on every run, which are those of [`MatrixOnDevices`] with as many devices of the same kind.
/// Elements that one rank needs of another's part of a vector travel by NCCL where all ranks of a host have CUDA devices of
/// their own and its library is there, and by the host's memory and the transport otherwise, as
/// [`exchange`](Self::exchange) says.
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
    reading: String,
    exchange: String,
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
        Self::from_root_by(transport, device, a, ExchangePath::Auto)
    }

    /// As [`from_root`](Self::from_root), with a path for what devices exchange, the same on all ranks.
    ///
    /// # Errors
    /// Those of [`from_root`](Self::from_root); on all ranks the reason why the path is not to be had.
    pub fn from_root_by(
        transport: Arc<dyn SharedTransport>,
        device: &Device,
        a: Option<&Matrix>,
        path: ExchangePath,
    ) -> Result<Self> {
        match dtype_of_root(&*transport, a)? {
            DType::F32 => distribute::<f32>(transport, (device, path), a),
            DType::F64 => distribute::<f64>(transport, (device, path), a),
            DType::C32 => distribute::<c32>(transport, (device, path), a),
            DType::C64 => distribute::<c64>(transport, (device, path), a),
            half @ (DType::F16 | DType::Bf16) => Err(half_precision(half)),
        }
    }

    /// Divides the rows of the matrix in a file, which are read as [`Matrix::read_csr`] reads them, with values of type
    /// `dtype`: a collective call with the same `path` and `dtype` on all ranks. The results are those of
    /// [`from_root`](Self::from_root), to the bit.
    ///
    /// Each rank reads its own rows if all ranks reach the file and it is CSR in an `.npz` file or a folder of such parts, or
    /// parses a share of an uncompressed Matrix Market file of coordinates; no rank has the whole matrix then. Otherwise, and
    /// if there are duplicates, rank 0 reads all of it, as [`reading`](Self::reading) says.
    ///
    /// ```
    /// use nnz::distrib::{Local, Transport};
    /// use nnz::{MatrixOnRanks, prelude::*};
    /// use std::sync::Arc;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("a.npz");
    /// Matrix::from_typed(&Device::host()?, nnz::generate::stencil_5::<f64>(8, 8)?)?.write(&path)?;
    /// let entries = Local::run(2, |rank| {
    ///     let a = MatrixOnRanks::read(Arc::new(rank), &Device::host()?, &path, DType::F64)?;
    ///     assert_eq!(a.reading(), "each rank its rows");
    ///     Ok::<_, Error>(a.local_nnz())
    /// });
    /// assert_eq!(entries.into_iter().sum::<Result<usize>>()?, 288);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// On all ranks, with the first rank that failed: those of [`Matrix::read_csr`], or of [`Matrix::read_batch`] for a
    /// batch, at rank 0; those of [`from_root`](Self::from_root).
    pub fn read(
        transport: Arc<dyn SharedTransport>,
        device: &Device,
        path: impl AsRef<Path>,
        dtype: DType,
    ) -> Result<Self> {
        Self::read_by(transport, device, path, dtype, ExchangePath::Auto)
    }

    /// As [`read`](Self::read), with a path for what devices exchange, the same on all ranks.
    ///
    /// # Errors
    /// Those of [`read`](Self::read); on all ranks the reason why the path is not to be had.
    pub fn read_by(
        transport: Arc<dyn SharedTransport>,
        device: &Device,
        file: impl AsRef<Path>,
        dtype: DType,
        path: ExchangePath,
    ) -> Result<Self> {
        let file = file.as_ref();
        match dtype {
            DType::F32 => read::<f32>(transport, (device, path), file),
            DType::F64 => read::<f64>(transport, (device, path), file),
            DType::C32 => read::<c32>(transport, (device, path), file),
            DType::C64 => read::<c64>(transport, (device, path), file),
            half @ (DType::F16 | DType::Bf16) => Err(half_precision(half)),
        }
    }

    /// The reading of the rows: `each rank its rows`, or `rank 0 all rows`, with the reason where they were read from a
    /// file.
    pub fn reading(&self) -> &str {
        &self.reading
    }

    /// The path of elements from one rank's device to another's, and why there is no faster one: `NCCL 2.28.3`, where each
    /// rank of a host has a CUDA device of its own, or `the host's memory (…)`, by way of the transport.
    pub fn exchange(&self) -> &str {
        &self.exchange
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

    /// `A·B` at rank 0, in the order of B.
    ///
    /// ```
    /// use nnz::distrib::{Local, Transport};
    /// use nnz::{MatrixOnRanks, prelude::*};
    /// use std::sync::Arc;
    ///
    /// let products = Local::run(2, |rank| {
    ///     let (device, is_root) = (Device::host()?, rank.rank() == 0);
    ///     let a = is_root.then(|| Matrix::from_typed(&device, Csr::<f64>::identity(3)?)).transpose()?;
    ///     let mut on_ranks = MatrixOnRanks::from_root(Arc::new(rank), &device, a.as_ref())?;
    ///     let b = || DenseMatrix::from_vec(&device, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3, 2, Order::RowMajor);
    ///     on_ranks.matmul(is_root.then(b).transpose()?.as_ref())
    /// });
    /// let c = products.into_iter().next().unwrap()?.unwrap();
    /// assert_eq!(c.values().to_vec::<f64>()?, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`spmm`](Self::spmm).
    pub fn matmul(&mut self, b: Option<&DenseMatrix>) -> Result<Option<DenseMatrix>> {
        let rows = self.layout.rows.len();
        let zeros = |b: &DenseMatrix| DenseMatrix::zeros(&self.host, self.dtype, rows, b.ncols(), b.order());
        let c = b.filter(|_| self.is_root()).map(zeros).transpose();
        let mut c = self.agree("spmm", c)?;
        self.spmm(Op::None, 1.0, b, 0.0, c.as_mut())?;
        Ok(c)
    }

    /// `C ← alpha·op(A)·B + beta·C` at rank 0, for dense B and C; a `beta` of zero does not read C. The plan serves further
    /// products by this `op` with as many columns.
    ///
    /// # Errors
    /// On all ranks: [`Operands`](Error::Operands) if rank 0 has no matrices, types differ, they are not in the host's memory,
    /// or a factor does not fit the type; [`Shape`](Error::Shape) for matrices of other shapes; those of any rank's device.
    pub fn spmm(
        &mut self,
        op: Op,
        alpha: impl Into<c64>,
        b: Option<&DenseMatrix>,
        beta: impl Into<c64>,
        c: Option<&mut DenseMatrix>,
    ) -> Result<()> {
        let Layout { rows, columns, .. } = &self.layout;
        let (rows, inner) = if op.transposes() { (columns, rows) } else { (rows, columns) };
        let own = match (self.is_root(), b, c.as_deref()) {
            (false, ..) => Ok(0),
            (true, Some(b), Some(c)) => self.check_dense((b, inner), (c, rows)),
            (true, ..) => Err(Error::operands("spmm", "rank 0 has no matrices")),
        };
        let width = self.agree("spmm", own)? as u64;
        let width = self.transport.broadcast(ROOT, width.to_le_bytes().to_vec())?;
        let width = u64::from_le_bytes(width.try_into().unwrap_or_default()) as usize;
        let (by_b, by_c) = (times(inner, width)?, times(rows, width)?);
        let row_major = |dense: &DenseMatrix| dense.to_order(Order::RowMajor).map(DenseMatrix::into_values);
        let own = self.is_root().then_some(b.zip(c.as_deref())).flatten();
        let copies = own.map(|(b, c)| Ok((row_major(b)?, row_major(c)?))).transpose();
        let (b, mut y) = self.agree("spmm", copies)?.unzip();
        self.rank.multiply_dense(
            op,
            width,
            alpha.into(),
            (b.as_ref(), &by_b),
            beta.into(),
            (y.as_mut(), &by_c),
        )?;
        let stored = y.zip(c).map(|(y, c)| {
            let result = DenseMatrix::new(y, rows.len(), width, width, Order::RowMajor)?;
            *c = result.to_order(c.order())?;
            Ok(())
        });
        self.agree("spmm", stored.unwrap_or(Ok(())))
    }

    /// The number of columns of B and C at the root, if they fit the matrix.
    fn check_dense(
        &self,
        (b, inner): (&DenseMatrix, &Ownership),
        (c, rows): (&DenseMatrix, &Ownership),
    ) -> Result<usize> {
        let needed = [(inner.len(), b.ncols()), (rows.len(), b.ncols())];
        for ((name, dense), (rows, columns)) in [("B", b), ("C", c)].into_iter().zip(needed) {
            let found = (dense.nrows(), dense.ncols());
            if found != (rows, columns) {
                let (m, n) = found;
                let reason = format!("{name} is {m} x {n} where {rows} x {columns} is needed");
                return Err(Error::shape("spmm", reason));
            }
        }
        let operands = [("B", b.values()), ("C", c.values())];
        check_operands("spmm", (self.dtype, &self.host), &operands)?;
        Ok(b.ncols())
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
    (device, path): (&Device, ExchangePath),
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
    let Connections { mut peers, name } = connect_ranks::<T>(&*transport, device, path)?;
    let rank: Box<dyn AnyRank<T>> = match device {
        Device::Cpu(backend) => Box::new(Rank::from_root(transport.clone(), backend, ROOT, rows)?),
        Device::Accelerator(backend, _) => {
            Box::new(Rank::from_root(transport.clone(), backend, ROOT, rows)?.with_peers(peers.pop()))
        }
    };
    join(transport, device, rank, ("rank 0 all rows".into(), name))
}

/// Each rank its rows, or the root all rows.
fn read<T: Accumulator>(
    transport: Arc<dyn SharedTransport>,
    (device, path): (&Device, ExchangePath),
    file: &Path,
) -> Result<MatrixOnRanks>
where
    HostBackend: Computes<T>,
    Accelerator: Computes<T>,
{
    let rows: HostRows<T> = match read_rows(&*transport, file) {
        Ok(rows) => rows,
        Err(reason) => return read_at_root::<T>(transport, (device, path), file, &reason),
    };
    let Connections { mut peers, name } = connect_ranks::<T>(&*transport, device, path)?;
    let rank: Box<dyn AnyRank<T>> = match device {
        Device::Cpu(backend) => Box::new(Rank::from_rows(transport.clone(), backend, &rows, None)?),
        Device::Accelerator(backend, _) => {
            let rank = Rank::from_rows(transport.clone(), backend, &rows, None)?;
            Box::new(rank.with_peers(peers.pop()))
        }
    };
    join(transport, device, rank, ("each rank its rows".into(), name))
}

fn read_at_root<T: Accumulator>(
    transport: Arc<dyn SharedTransport>,
    (device, path): (&Device, ExchangePath),
    file: &Path,
    reason: &Error,
) -> Result<MatrixOnRanks>
where
    HostBackend: Computes<T>,
    Accelerator: Computes<T>,
{
    let read = || {
        let (file, host) = (MatrixFile::open(file)?, Device::Cpu(serial_host_backend()?));
        Matrix::read_csr(&host, &file, T::DTYPE)
    };
    let a = (transport.rank() == ROOT).then(read).transpose();
    let a = agree(&*transport, ROOT, OP, a)?;
    let distributed = distribute::<T>(transport, (device, path), a.as_ref())?;
    let reading = format!("{} ({reason})", distributed.reading);
    Ok(MatrixOnRanks { reading, ..distributed })
}

/// A rank with its rows, which came and exchange elements in these ways.
fn join<T: Accumulator>(
    transport: Arc<dyn SharedTransport>,
    device: &Device,
    rank: Box<dyn AnyRank<T>>,
    (reading, exchange): (String, String),
) -> Result<MatrixOnRanks> {
    let host = agree(&*transport, ROOT, OP, serial_host_backend())?;
    Ok(MatrixOnRanks {
        device: device.clone(),
        host: Device::Cpu(HostBackend::clone(&host)),
        dtype: T::DTYPE,
        reading,
        exchange,
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
    /// As [`multiply`](Self::multiply), with matrices of `columns` columns, row-major.
    fn multiply_dense(
        &mut self,
        op: Op,
        columns: usize,
        alpha: c64,
        b: (Option<&Vector>, &Ownership),
        beta: c64,
        c: (Option<&mut Vector>, &Ownership),
    ) -> Result<()>;
    fn solve(
        &mut self,
        options: &SolveOptions,
        b: (Option<&Vector>, &Ownership),
        x: (Option<&mut Vector>, &Ownership),
        callback: &mut Callback<'_>,
    ) -> Result<Solution>;
}

/// The division of the elements of a row-major matrix of `width` columns.
fn times(rows: &Ownership, width: usize) -> Result<Ownership> {
    let elements = |rank| checked_product("rows x columns", rows.range(rank).len(), width);
    Ownership::from_lengths((0..rows.ranks()).map(elements).collect::<Result<Vec<_>>>()?)
}

struct TypedRank<T> {
    /// The backend that scatters and gathers the root's vectors.
    host: DistributedBackend<Arc<dyn SharedTransport>, HostBackend>,
    rank: Box<dyn AnyRank<T>>,
}

impl<T: Accumulator> TypedRank<T> {
    /// This rank's elements of a vector of the root.
    fn scatter(&self, whole: Option<&Vector>, division: &Ownership) -> Result<Vec<T>> {
        let whole = whole.map(on_host::<T>).transpose()?;
        Ok(DistributedVector::scatter(&self.host, ROOT, division, whole)?.local().to_vec())
    }

    /// This rank's elements of the operand with factor `beta`; zeros if `beta` is 0, when it is not read.
    fn scatter_unless_zero(&self, beta: T, whole: Option<&Vector>, division: &Ownership) -> Result<Vec<T>> {
        match beta.is_zero() {
            true => Ok(vec![T::zero(); division.range(self.host.rank()).len()]),
            false => self.scatter(whole, division),
        }
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
        let mut own_y = self.scatter_unless_zero(beta, y.as_deref(), rows)?;
        self.rank.multiply(op, alpha, &own_x, beta, &mut own_y)?;
        self.gather(&own_y, rows, y)
    }

    fn multiply_dense(
        &mut self,
        op: Op,
        columns: usize,
        alpha: c64,
        (b, inner): (Option<&Vector>, &Ownership),
        beta: c64,
        (c, rows): (Option<&mut Vector>, &Ownership),
    ) -> Result<()> {
        let (alpha, beta) = (factor::<T>("spmm", "alpha", alpha)?, factor::<T>("spmm", "beta", beta)?);
        let own_b = self.scatter(b, inner)?;
        let mut own_c = self.scatter_unless_zero(beta, c.as_deref(), rows)?;
        self.rank.multiply_dense(op, columns, alpha, &own_b, beta, &mut own_c)?;
        self.gather(&own_c, rows, c)
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
