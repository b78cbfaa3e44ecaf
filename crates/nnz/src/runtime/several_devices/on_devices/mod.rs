//! One matrix whose rows are divided among several devices, its products and solvers.

mod distribute;
mod thread_per_device;
mod turn;
mod typed_ranks;
mod vector;

use crate::Device;
#[cfg(doc)]
use crate::runtime::Method;
use crate::runtime::dispatch::operand_errors::{check_lengths, check_operands};
use crate::runtime::{SolveOptions, Vector};
use sparse_core::op::Op;
use sparse_core::{DType, Error, Result, c64};
use sparse_distrib::Ownership;
use sparse_solvers::{Iteration, Solution};
use std::fmt::{Debug, Formatter};
use std::ops::{ControlFlow, Range};
use turn::Turn;
use typed_ranks::AnyRanks;

pub use vector::VectorOnDevices;

/// A matrix whose rows are divided among devices by their entries, as
/// [`Matrix::distribute`](crate::runtime::Matrix::distribute) makes it.
///
/// Vectors are in the host's memory, and each device gets its part of them, or they stay on the devices
/// ([`VectorOnDevices`]). Devices compute at the same time. Elements that one device needs from another's part travel
/// on an [`ExchangePath`](crate::ExchangePath): among CUDA devices, without passing through the host's memory. The same
/// devices give the same bits on every run and on every path. A row is added in another order than on one device:
/// results differ by rounding, within the bound of a product.
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

    /// Solves A·x = b from x = 0: the solution, and how the iteration ended. A solver that does not converge is no
    /// error.
    ///
    /// # Errors
    /// Those of [`solve_from`](Self::solve_from).
    pub fn solve(&mut self, b: &Vector, options: &SolveOptions) -> Result<(Vector, Solution)> {
        let mut x = Vector::zeros(&self.host, self.dtype, self.columns.len())?;
        let solution = self.solve_from(b, &mut x, options, |_| ControlFlow::Continue(()))?;
        Ok((x, solution))
    }

    /// Solves A·x = b from the given `x`, which gets the last iterate. `callback` is called after each computation of
    /// the residual's norm, by the thread of the first device, and may stop. It may not use a [`VectorOnDevices`] of
    /// this matrix, which would wait for the solver to end.
    ///
    /// # Errors
    /// Those of [`Matrix::solve`](crate::runtime::Matrix::solve) and [`spmv`](Self::spmv);
    /// [`Unsupported`](Error::Unsupported) for [`Method::EnqueuedCg`].
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
