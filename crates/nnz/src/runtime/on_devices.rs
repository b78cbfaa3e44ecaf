//! One matrix on several devices: products and solvers over the rows that each of them has.

#[cfg(doc)]
use super::Method;
use super::operand_errors::{check_lengths, check_operands, factor, half_precision};
use super::rank::{AnyRank, Callback, Rank, RankKernels, host_rows, on_host, on_host_mut};
use super::thread_per_device::on_all;
use super::vector_on_devices::{AnyParts, Parts};
use super::{Format, Matrix, SolveOptions, Vector, VectorOnDevices};
use crate::device::{Connections, HostBackend, connect};
use crate::{Device, ExchangePath};
use sparse_core::op::Op;
use sparse_core::{Accumulator, DType, Error, Result, c32, c64};
use sparse_device::Device as Accelerator;
use sparse_distrib::{Local, Ownership};
use sparse_solvers::{Iteration, Solution};
use std::fmt::{Debug, Formatter};
use std::ops::{ControlFlow, Range};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A matrix whose rows are divided among devices by their entries, as [`Matrix::distribute`] makes it.
///
/// Vectors are in the host's memory, and each device gets its part of them, or stay on the devices
/// ([`VectorOnDevices`]). Devices compute at the same time. What one
/// needs of another's part travels on an [`ExchangePath`]: among CUDA devices it does not pass through the host's
/// memory. The same devices give the same bits on every run, whatever the path. A row is added in another order than on
/// one device: results differ by rounding, within the bound of a product.
///
/// ```
/// use nnz::{Method, SolveOptions, prelude::*};
///
/// let cpu = Device::host()?;
/// let a = Matrix::from_typed(&cpu, nnz::generate::stencil_5::<f64>(8, 8)?)?;
/// let mut divided = a.distribute(&[cpu.clone(), Device::host()?])?; // as well cuda:0 and cuda:1
/// let ones = Vector::from_vec(&cpu, vec![1.0; 64])?;
/// let b = divided.matvec(&ones)?;
/// assert_eq!(b.to_vec::<f64>()?, a.matvec(&ones)?.to_vec::<f64>()?); // small integers
///
/// let (mut x, solution) = divided.solve(&b, &SolveOptions::new(Method::Cg))?;
/// x.axpby(1.0, &ones, -1.0)?;
/// assert!(solution.converged() && x.nrm2()? < 1e-9);
/// # Ok::<(), Error>(())
/// ```
pub struct MatrixOnDevices {
    devices: Vec<Device>,
    host: Device,
    dtype: DType,
    nnz: usize,
    rows: Ownership,
    columns: Ownership,
    exchange: String,
    turn: Turn,
    ranks: Box<dyn AnyRanks>,
}

/// The turns of the operations of a matrix and its vectors, which all use one transport.
#[derive(Debug, Clone, Default)]
pub(super) struct Turn(Arc<Mutex<()>>);

impl Turn {
    /// Waits for the operation of another thread.
    pub(super) fn take(&self) -> MutexGuard<'_, ()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails unless both are of one matrix.
    pub(super) fn check(&self, op: &'static str, other: &Self) -> Result<()> {
        match Arc::ptr_eq(&self.0, &other.0) {
            true => Ok(()),
            false => {
                Err(Error::operands(op, "a vector on devices goes with the matrix that it was made for"))
            }
        }
    }
}

/// Several devices.
impl Matrix {
    /// A copy of the matrix with its rows divided among `devices` by their entries, as CSR with 32-bit indices. A
    /// device may be there several times.
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) without devices; [`Unsupported`](Error::Unsupported) for values of 16 bits;
    /// [`IndexOverflow`](Error::IndexOverflow) where a device would get 2³¹ entries or more; those of
    /// [`to_format`](Self::to_format), and what a device's runtime reports.
    pub fn distribute(&self, devices: &[Device]) -> Result<MatrixOnDevices> {
        self.distribute_by(devices, ExchangePath::Auto)
    }

    /// As [`distribute`](Self::distribute), with a path for what devices exchange.
    ///
    /// ```
    /// # use nnz::{ExchangePath, prelude::*};
    /// let cpu = Device::host()?;
    /// let a = Matrix::from_typed(&cpu, nnz::generate::stencil_5::<f64>(8, 8)?)?;
    /// assert_eq!(a.distribute(&[cpu.clone()])?.exchange(), "the host's memory");
    /// let refused = a.distribute_by(&[cpu.clone(), cpu], ExchangePath::Nccl).unwrap_err();
    /// assert!(refused.to_string().ends_with("cpu is not a CUDA device"));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`distribute`](Self::distribute); the reason why the path is not to be had.
    pub fn distribute_by(&self, devices: &[Device], path: ExchangePath) -> Result<MatrixOnDevices> {
        match self.dtype() {
            DType::F32 => distribute::<f32>(self, devices, path),
            DType::F64 => distribute::<f64>(self, devices, path),
            DType::C32 => distribute::<c32>(self, devices, path),
            DType::C64 => distribute::<c64>(self, devices, path),
            half @ (DType::F16 | DType::Bf16) => Err(half_precision(half)),
        }
    }
}

impl MatrixOnDevices {
    /// The devices, in the order of their rows.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// The rows of each device.
    pub fn rows(&self) -> impl Iterator<Item = Range<usize>> {
        (0..self.devices.len()).map(|rank| self.rows.range(rank))
    }

    /// The path of elements from one device to another, and why there is no faster one: `NCCL 2.28.3`, `peer copies`,
    /// `the host's memory (…)`.
    pub fn exchange(&self) -> &str {
        &self.exchange
    }

    /// (rows, columns).
    pub fn shape(&self) -> (usize, usize) {
        (self.rows.len(), self.columns.len())
    }

    /// The type of the values.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The number of stored entries of all devices.
    pub fn nnz(&self) -> usize {
        self.nnz
    }

    /// `A·x`.
    ///
    /// # Errors
    /// Those of [`spmv`](Self::spmv).
    pub fn matvec(&mut self, x: &Vector) -> Result<Vector> {
        let mut y = Vector::zeros(&self.host, self.dtype, self.rows.len())?;
        self.spmv(Op::None, 1.0, x, 0.0, &mut y)?;
        Ok(y)
    }

    /// `y ← alpha·op(A)·x + beta·y`; a `beta` of zero does not read `y`. The plan serves further products by this `op`.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let cpu = Device::host()?;
    /// let a = Matrix::from_typed(&cpu, Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?)?;
    /// let x = Vector::from_slice(&cpu, &[1.0, 10.0])?;
    /// let mut y = Vector::zeros(&cpu, DType::F64, 3)?;
    /// a.distribute(&[cpu.clone(), cpu])?.spmv(Op::Transpose, 2.0, &x, 0.0, &mut y)?;
    /// assert_eq!(y.to_vec::<f64>()?, [2.0, 60.0, 4.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Operands`](Error::Operands) if types differ, vectors are not in the host's memory, or a factor does not fit
    /// the type, and with the number of the first device that failed; [`Shape`](Error::Shape) for vectors of other
    /// lengths.
    pub fn spmv(
        &mut self,
        op: Op,
        alpha: impl Into<c64>,
        x: &Vector,
        beta: impl Into<c64>,
        y: &mut Vector,
    ) -> Result<()> {
        let (rows, columns) = op.orient(&self.rows, &self.columns);
        check_lengths("spmv", [("x", x.len(), columns.len()), ("y", y.len(), rows.len())])?;
        check_operands("spmv", (self.dtype, &self.host), &[("x", x), ("y", y)])?;
        let _turn = self.turn.take();
        self.ranks.multiply(op, alpha.into(), (x, columns), beta.into(), (y, rows))
    }

    /// A copy of `y` on the devices, divided as the rows of A.
    ///
    /// # Errors
    /// Those of [`spmv`](Self::spmv).
    pub fn upload_rows(&mut self, y: &Vector) -> Result<VectorOnDevices> {
        self.upload("y", y, self.rows.clone())
    }

    /// A copy of `x` on the devices, divided as the columns of A; of a square matrix, this is as the rows.
    ///
    /// # Errors
    /// Those of [`spmv`](Self::spmv).
    pub fn upload_columns(&mut self, x: &Vector) -> Result<VectorOnDevices> {
        self.upload("x", x, self.columns.clone())
    }

    fn upload(&mut self, name: &'static str, x: &Vector, division: Ownership) -> Result<VectorOnDevices> {
        check_lengths("upload", [(name, x.len(), division.len())])?;
        check_operands("upload", (self.dtype, &self.host), &[(name, x)])?;
        let _turn = self.turn.take();
        let (dtype, host, turn) = (self.dtype, self.host.clone(), self.turn.clone());
        Ok(VectorOnDevices { parts: self.ranks.upload(x, &division)?, division, dtype, host, turn })
    }

    /// `A·x` on the devices, for an x on them.
    ///
    /// # Errors
    /// Those of [`spmv_resident`](Self::spmv_resident).
    pub fn matvec_resident(&mut self, x: &VectorOnDevices) -> Result<VectorOnDevices> {
        let mut y = self.upload_rows(&Vector::zeros(&self.host, self.dtype, self.rows.len())?)?;
        self.spmv_resident(Op::None, 1.0, x, 0.0, &mut y)?;
        Ok(y)
    }

    /// `y ← alpha·op(A)·x + beta·y` for vectors that are on the devices and stay there: as [`spmv`](Self::spmv), with
    /// the same bits.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let cpu = Device::host()?;
    /// let a = Matrix::from_typed(&cpu, Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?)?;
    /// let mut a = a.distribute(&[cpu.clone(), cpu.clone()])?;
    /// let x = a.upload_rows(&Vector::from_slice(&cpu, &[1.0, 10.0])?)?;
    /// let mut y = a.upload_columns(&Vector::zeros(&cpu, DType::F64, 3)?)?;
    /// a.spmv_resident(Op::Transpose, 2.0, &x, 0.0, &mut y)?; // Aᵀ: x is divided as the rows
    /// assert_eq!(y.to_host()?.to_vec::<f64>()?, [2.0, 60.0, 4.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Operands`](Error::Operands) if a vector is of another matrix, a factor does not fit the type, and with the
    /// number of the first device that failed; [`Shape`](Error::Shape) for an x that is not divided as the columns of
    /// op(A), or a y that is not divided as its rows.
    pub fn spmv_resident(
        &mut self,
        op: Op,
        alpha: impl Into<c64>,
        x: &VectorOnDevices,
        beta: impl Into<c64>,
        y: &mut VectorOnDevices,
    ) -> Result<()> {
        let (rows, columns) = op.orient(&self.rows, &self.columns);
        for (name, vector, division) in [("x", x, columns), ("y", &*y, rows)] {
            self.turn.check("spmv", &vector.turn)?;
            if vector.division != *division {
                let other = if *division == self.rows { "rows" } else { "columns" };
                return Err(Error::shape(
                    "spmv",
                    format_args!("{name} is not divided as the {other} of the matrix"),
                ));
            }
        }
        let _turn = self.turn.take();
        self.ranks.multiply_parts(op, alpha.into(), &*x.parts, beta.into(), &mut *y.parts)
    }

    /// The solution of A·x = b, sought from x = 0, and how the iteration ended. Not to converge is no error.
    ///
    /// # Errors
    /// Those of [`solve_from`](Self::solve_from).
    pub fn solve(&mut self, b: &Vector, options: &SolveOptions) -> Result<(Vector, Solution)> {
        let mut x = Vector::zeros(&self.host, self.dtype, self.columns.len())?;
        let solution = self.solve_from(b, &mut x, options, |_| ControlFlow::Continue(()))?;
        Ok((x, solution))
    }

    /// Solves A·x = b from the `x` that is given, which gets the last iterate. `callback` is called after each
    /// computation of the residual's norm, by the thread of the first device, and may stop. It may not use a
    /// [`VectorOnDevices`] of this matrix, which would wait for the solver to end.
    ///
    /// # Errors
    /// Those of [`Matrix::solve`] and [`spmv`](Self::spmv); [`Unsupported`](Error::Unsupported) for
    /// [`Method::EnqueuedCg`].
    pub fn solve_from(
        &mut self,
        b: &Vector,
        x: &mut Vector,
        options: &SolveOptions,
        mut callback: impl FnMut(Iteration) -> ControlFlow<()> + Send,
    ) -> Result<Solution> {
        let (rows, columns) = self.shape();
        check_lengths("solve", [("b", b.len(), rows), ("x", x.len(), columns)])?;
        check_operands("solve", (self.dtype, &self.host), &[("b", b), ("x", x)])?;
        let _turn = self.turn.take();
        self.ranks.solve(options, (b, &self.rows), (x, &self.columns), &mut callback)
    }
}

impl Debug for MatrixOnDevices {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let (rows, columns) = self.shape();
        write!(f, "MatrixOnDevices({rows} x {columns}, {} entries of {}, on", self.nnz, self.dtype)?;
        self.devices.iter().try_for_each(|device| write!(f, " {device}"))?;
        f.write_str(")")
    }
}

/// The ranks of all devices, whose types of values are hidden. Vectors have the type and are on the host; beside each
/// stands its division.
trait AnyRanks: Send {
    fn multiply(
        &mut self,
        op: Op,
        alpha: c64,
        x: (&Vector, &Ownership),
        beta: c64,
        y: (&mut Vector, &Ownership),
    ) -> Result<()>;
    /// A copy on the devices.
    fn upload(&mut self, x: &Vector, division: &Ownership) -> Result<Box<dyn AnyParts>>;
    /// As [`multiply`](Self::multiply), with vectors that [`upload`](Self::upload) has made.
    fn multiply_parts(
        &mut self,
        op: Op,
        alpha: c64,
        x: &dyn AnyParts,
        beta: c64,
        y: &mut dyn AnyParts,
    ) -> Result<()>;
    fn solve(
        &mut self,
        options: &SolveOptions,
        b: (&Vector, &Ownership),
        x: (&mut Vector, &Ownership),
        callback: &mut Callback<'_>,
    ) -> Result<Solution>;
}

fn distribute<T: Accumulator>(a: &Matrix, devices: &[Device], path: ExchangePath) -> Result<MatrixOnDevices>
where
    HostBackend: RankKernels<T>,
    Accelerator: RankKernels<T>,
{
    let csr = a.to_format(Format::Csr)?;
    let host = csr.on_host()?;
    let csr = host_rows::<T>(&csr, &host)?;
    let rows = csr.divide(devices.len())?;
    let parts: Vec<_> = (0..devices.len()).map(|rank| csr.rows(rows.range(rank))).collect::<Result<_>>()?;
    let columns = match a.nrows() == a.ncols() {
        true => rows.clone(),
        false => Ownership::even(a.ncols(), devices.len())?,
    };
    let Connections { peers, name: exchange } = connect::<T>(devices, path)?;
    let items = Local::group(devices.len()).into_iter().enumerate().zip(devices).zip(parts).collect();
    let ranks = on_all(items, |(((rank, end), device), part)| -> Result<Box<dyn AnyRank<T>>> {
        Ok(match device {
            Device::Cpu(backend) => Box::new(Rank::from_rows(Arc::new(end), backend, &part, Some(&columns))?),
            Device::Accelerator(backend, _) => {
                let peers = peers.get(rank).cloned();
                Box::new(Rank::from_rows(Arc::new(end), backend, &part, Some(&columns))?.with_peers(peers))
            }
        })
    })?;
    Ok(MatrixOnDevices {
        devices: devices.to_vec(),
        host: Device::host_with_threads(1)?,
        dtype: T::DTYPE,
        nnz: a.nnz(),
        rows,
        columns,
        exchange,
        turn: Turn::default(),
        ranks: Box::new(Ranks(ranks)),
    })
}

/// The ranks of all devices.
struct Ranks<T>(Vec<Box<dyn AnyRank<T>>>);

impl<T: Accumulator> AnyRanks for Ranks<T> {
    fn multiply(
        &mut self,
        op: Op,
        alpha: c64,
        (x, columns): (&Vector, &Ownership),
        beta: c64,
        (y, rows): (&mut Vector, &Ownership),
    ) -> Result<()> {
        let (alpha, beta) = (factor::<T>("spmv", "alpha", alpha)?, factor::<T>("spmv", "beta", beta)?);
        let (x, y) = (on_host(x)?, on_host_mut(y)?);
        let parts = parts(x, columns).zip(parts_mut(y, rows));
        let items = self.0.iter_mut().zip(parts).collect();
        on_all(items, |(rank, (x, y))| rank.multiply(op, alpha, x, beta, y)).map(drop)
    }

    fn upload(&mut self, x: &Vector, division: &Ownership) -> Result<Box<dyn AnyParts>> {
        let items = self.0.iter_mut().zip(parts(on_host::<T>(x)?, division)).collect();
        Ok(Box::new(Parts(on_all(items, |(rank, x)| rank.upload(division, x))?)))
    }

    fn multiply_parts(
        &mut self,
        op: Op,
        alpha: c64,
        x: &dyn AnyParts,
        beta: c64,
        y: &mut dyn AnyParts,
    ) -> Result<()> {
        let (alpha, beta) = (factor::<T>("spmv", "alpha", alpha)?, factor::<T>("spmv", "beta", beta)?);
        let parts = Parts::<T>::of(x)?.0.iter().zip(&mut Parts::<T>::of_mut(y)?.0);
        let items = self.0.iter_mut().zip(parts).collect();
        on_all(items, |(rank, (x, y))| rank.multiply_parts(op, alpha, &**x, beta, &mut **y)).map(drop)
    }

    fn solve(
        &mut self,
        options: &SolveOptions,
        (b, rows): (&Vector, &Ownership),
        (x, columns): (&mut Vector, &Ownership),
        callback: &mut Callback<'_>,
    ) -> Result<Solution> {
        let (b, x) = (on_host(b)?, on_host_mut(x)?);
        let parts = parts(b, rows).zip(parts_mut(x, columns));
        let mut callback = Some(callback);
        let items = self.0.iter_mut().zip(parts).map(|item| (item, callback.take())).collect();
        let solutions = on_all(items, |((rank, (b, x)), callback)| rank.solve(options, b, x, callback))?;
        solutions.first().copied().ok_or_else(|| Error::shape("solve", "there are no devices"))
    }
}

/// The part of each rank.
fn parts<'a, T>(x: &'a [T], ownership: &Ownership) -> impl Iterator<Item = &'a [T]> {
    (0..ownership.ranks()).map(|rank| &x[ownership.range(rank)])
}

/// The part of each rank, to be changed.
pub(super) fn parts_mut<'a, T>(
    mut x: &'a mut [T],
    ownership: &Ownership,
) -> impl Iterator<Item = &'a mut [T]> {
    (0..ownership.ranks()).map(move |rank| {
        let (part, rest) = std::mem::take(&mut x).split_at_mut(ownership.range(rank).len());
        x = rest;
        part
    })
}
