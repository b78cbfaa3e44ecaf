//! Arithmetic of vectors: dot products, norms, sums and scaling.

use super::Vector;
use sparse_core::{Error, Result, Scalar, c64};

/// Arithmetic.
impl Vector {
    /// Σ conj(x_i)·y_i, with x this vector.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let x = Vector::from_slice(&Device::host()?, &[1.0, 2.0])?;
    /// assert_eq!(x.dot(&x)?, c64::new(5.0, 0.0));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Operands`](crate::Error::Operands) if types or devices differ, [`Shape`](crate::Error::Shape) if lengths do.
    pub fn dot(&self, y: &Self) -> Result<c64> {
        self.check("dot", ("x", self), ("y", y))?;
        self.inner.dot(y)
    }

    /// sqrt(Σ |x_i|²), without overflow or underflow on the way.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// assert_eq!(Vector::from_slice(&Device::host()?, &[3.0_f32, 4.0])?.nrm2()?, 5.0);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// An error of the device's runtime.
    pub fn nrm2(&self) -> Result<f64> {
        self.inner.nrm2()
    }

    /// `y ← alpha·x + beta·y`, with y this vector; a `beta` of zero does not read it.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::host()?;
    /// let mut y = Vector::from_slice(&device, &[1.0, 1.0])?;
    /// y.axpby(2.0, &Vector::from_slice(&device, &[1.0, 2.0])?, -1.0)?;
    /// assert_eq!(y.to_vec::<f64>()?, [1.0, 3.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`dot`](Self::dot), and [`Operands`](crate::Error::Operands) for a factor that does not fit the type.
    pub fn axpby(&mut self, alpha: impl Into<c64>, x: &Self, beta: impl Into<c64>) -> Result<()> {
        self.check("axpby", ("y", self), ("x", x))?;
        self.inner.axpby(alpha.into(), x, beta.into())
    }

    /// `x ← factor·x`, with x this vector.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let mut x = Vector::from_slice(&Device::host()?, &[1.0, 2.0])?;
    /// x.scale(3.0)?;
    /// assert_eq!(x.to_vec::<f64>()?, [3.0, 6.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`axpby`](Self::axpby).
    pub fn scale(&mut self, factor: impl Into<c64>) -> Result<()> {
        self.inner.scale(factor.into())
    }

    /// `f` of each element, as [`Matrix::map_values`](crate::Matrix::map_values) of a matrix: the host computes it, and
    /// elements of an accelerator are copied to the host and back.
    ///
    /// ```
    /// # use nnz::{Each, Reduction, prelude::*};
    /// let a = Csr::<f64>::from_triplets(2, 2, [(0, 0, 1.0), (0, 1, 3.0), (1, 1, 5.0)])?;
    /// let a = Matrix::from_typed(&Device::host()?, a)?;
    /// let inverse_sums = a.reduce(Each::Row, Reduction::Sum)?.map_values(|sum: f64| 1.0 / sum)?;
    /// let averages = a.scaled_by(Some(&inverse_sums), None)?;
    /// assert_eq!(averages.values()?.to_vec::<f64>()?, [0.25, 0.75, 1.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Operands`](crate::Error::Operands) if the elements are not of type `T`; an error of the device's runtime.
    pub fn map_values<T: Scalar>(&self, f: impl FnMut(T) -> T) -> Result<Self> {
        if T::DTYPE != self.dtype() {
            let reason = format_args!("the elements are {}, the function is of {}", self.dtype(), T::DTYPE);
            return Err(Error::operands("map_values", reason));
        }
        Self::from_vec(self.device(), self.to_vec::<T>()?.into_iter().map(f).collect())
    }
}
