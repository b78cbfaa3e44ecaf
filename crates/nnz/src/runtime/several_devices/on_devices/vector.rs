//! Vectors that are divided among devices and stay there.

use super::thread_per_device::on_all;
use super::turn::Turn;
use crate::Device;
use crate::runtime::Vector;
use crate::runtime::dispatch::operand_errors::factor;
use crate::runtime::several_devices::rank::{AnyLocalVector, on_host_mut, other_matrix};
use sparse_core::{Accumulator, DType, Error, Result, c64};
use sparse_distrib::Ownership;
use std::any::Any;
use std::fmt::{Debug, Formatter};

#[cfg(doc)]
use super::MatrixOnDevices;

/// A vector that is divided among the devices of a [`MatrixOnDevices`] as its rows or its columns, and stays in their
/// memories: [`MatrixOnDevices::upload_rows`], [`upload_columns`](MatrixOnDevices::upload_columns) and
/// [`matvec_resident`](MatrixOnDevices::matvec_resident) make it.
///
/// Vectors of different matrices do not go together. Operations of one matrix and its vectors run one after the other.
/// Sums are made in the order of the devices: the same devices give the same bits on every run.
///
/// ```
/// use nnz::prelude::*;
///
/// // The largest eigenvalue of a symmetric matrix by the power method: no vector passes through the host.
/// let cpu = Device::host()?;
/// let a = Matrix::from_typed(&cpu, nnz::generate::stencil_5::<f64>(4, 4)?)?;
/// let mut a = a.distribute(&[cpu.clone(), cpu.clone()])?; // as well cuda:0 and cuda:1
/// let start: Vec<f64> = (0..16).map(|k| if (k / 4 + k) % 2 == 0 { 1.0 } else { -1.0 }).collect();
/// let mut x = a.upload_columns(&Vector::from_vec(&cpu, start)?)?;
/// let mut y = a.matvec_resident(&x)?;
/// let mut largest = 0.0;
/// for _ in 0..60 {
///     x.axpby(1.0 / y.nrm2()?, &y, 0.0)?; // x = y / ‖y‖
///     a.spmv_resident(Op::None, 1.0, &x, 0.0, &mut y)?;
///     largest = x.dot(&y)?.re;
/// }
/// assert!((largest - (4.0 + 4.0 * (std::f64::consts::PI / 5.0).cos())).abs() < 1e-9);
/// assert_eq!(y.to_host()?.len(), 16);
/// # Ok::<(), Error>(())
/// ```
pub struct VectorOnDevices {
    pub(super) parts: Box<dyn AnyParts>,
    pub(super) division: Ownership,
    pub(super) dtype: DType,
    pub(super) host: Device,
    /// The lock shared by the matrix and all its vectors.
    pub(super) turn: Turn,
}

impl VectorOnDevices {
    /// The number of elements.
    pub fn len(&self) -> usize {
        self.division.len()
    }

    /// True if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// A copy in the host's memory.
    ///
    /// # Errors
    /// [`Operands`](Error::Operands) with the number of the first device that failed.
    pub fn to_host(&self) -> Result<Vector> {
        let mut x = Vector::zeros(&self.host, self.dtype, self.len())?;
        let _turn = self.turn.take();
        self.parts.download(&self.division, &mut x)?;
        Ok(x)
    }

    /// `y ← alpha·x + beta·y`, with y this vector; a `beta` of zero does not read it.
    ///
    /// # Errors
    /// [`Operands`](Error::Operands) if `x` is of another matrix, for a factor that the type does not hold, and with
    /// the number of the first device that failed; [`Shape`](Error::Shape) if `x` is divided otherwise.
    pub fn axpby(&mut self, alpha: impl Into<c64>, x: &Self, beta: impl Into<c64>) -> Result<()> {
        self.check("axpby", x)?;
        let _turn = self.turn.take();
        self.parts.axpby(alpha.into(), &*x.parts, beta.into())
    }

    /// `Σ conj(x_i)·y_i`, with x this vector.
    ///
    /// # Errors
    /// As [`axpby`](Self::axpby).
    pub fn dot(&self, y: &Self) -> Result<c64> {
        self.check("dot", y)?;
        let _turn = self.turn.take();
        self.parts.dot(&*y.parts)
    }

    /// sqrt(Σ |x_i|²), without overflow or underflow on the way.
    ///
    /// # Errors
    /// [`Operands`](Error::Operands) with the number of the first device that failed.
    pub fn nrm2(&self) -> Result<f64> {
        let _turn = self.turn.take();
        self.parts.nrm2()
    }

    fn check(&self, op: &'static str, other: &Self) -> Result<()> {
        self.turn.check(op, &other.turn)?;
        match self.division == other.division {
            true => Ok(()),
            false => Err(Error::shape(op, "one vector is divided as the rows, the other as the columns")),
        }
    }
}

impl Debug for VectorOnDevices {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let (len, devices) = (self.len(), self.division.ranks());
        write!(f, "VectorOnDevices({len} elements of {} on {devices} devices)", self.dtype)
    }
}

/// The parts of all devices, whose types of values are hidden.
pub(super) trait AnyParts: Send {
    fn download(&self, division: &Ownership, x: &mut Vector) -> Result<()>;
    fn axpby(&mut self, alpha: c64, x: &dyn AnyParts, beta: c64) -> Result<()>;
    fn dot(&self, y: &dyn AnyParts) -> Result<c64>;
    fn nrm2(&self) -> Result<f64>;
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

/// The part of each device.
pub(super) struct Parts<T>(pub(super) Vec<Box<dyn AnyLocalVector<T>>>);

impl<T: Accumulator> Parts<T> {
    /// The parts of a vector of the same matrix.
    pub(super) fn of(parts: &dyn AnyParts) -> Result<&Self> {
        parts.as_any().downcast_ref().ok_or_else(other_matrix)
    }

    /// As [`of`](Self::of), to be changed.
    pub(super) fn of_mut(parts: &mut dyn AnyParts) -> Result<&mut Self> {
        parts.as_any_mut().downcast_mut().ok_or_else(other_matrix)
    }
}

impl<T: Accumulator> AnyParts for Parts<T> {
    fn download(&self, division: &Ownership, x: &mut Vector) -> Result<()> {
        let items = self.0.iter().zip(parts_mut(on_host_mut::<T>(x)?, division)).collect();
        on_all(items, |(part, host)| part.download(host)).map(drop)
    }

    fn axpby(&mut self, alpha: c64, x: &dyn AnyParts, beta: c64) -> Result<()> {
        let (alpha, beta) = (factor::<T>("axpby", "alpha", alpha)?, factor::<T>("axpby", "beta", beta)?);
        let items = self.0.iter_mut().zip(&Self::of(x)?.0).collect();
        on_all(items, |(y, x)| y.axpby(alpha, &**x, beta)).map(drop)
    }

    fn dot(&self, y: &dyn AnyParts) -> Result<c64> {
        let items = self.0.iter().zip(&Self::of(y)?.0).collect();
        let sums = on_all(items, |(x, y)| x.dot(&**y))?;
        Ok(sums.first().map_or_else(c64::default, |sum| sum.to_c64()))
    }

    fn nrm2(&self) -> Result<f64> {
        let norms = on_all(self.0.iter().collect(), |x| x.nrm2())?;
        Ok(norms.first().copied().unwrap_or_default())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

/// The part of each rank.
pub(super) fn parts<'a, T>(x: &'a [T], ownership: &Ownership) -> impl Iterator<Item = &'a [T]> {
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
