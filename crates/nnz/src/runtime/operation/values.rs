//! Values apart from the pattern: taken out, replaced, and mapped by a function.

use crate::runtime::{Matrix, Vector};
use sparse_core::{Error, Result, Scalar};

/// Values apart from the pattern.
impl Matrix {
    /// A copy of the values, one for each entry in the order of the entries, on the device of the matrix; of CSR, CSC,
    /// COO and batches.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
    /// let a = Matrix::from_typed(&Device::host()?, a)?;
    /// assert_eq!(a.values()?.to_vec::<f64>()?, [1.0, 2.0, 3.0]);
    /// assert_eq!(a.values()?.nrm2()?, a.norm(nnz::Norm::Frobenius)?);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Unsupported`](crate::Error::Unsupported) for formats that pad rows; what the device's runtime reports.
    #[doc(alias = "data")]
    pub fn values(&self) -> Result<Vector> {
        let mut values = Vector::zeros(self.device(), self.dtype(), self.nnz())?;
        self.any().copy_values(&mut values)?;
        Ok(values)
    }

    /// The same pattern with these values, one for each entry in the order of the entries; of CSR, CSC, COO and
    /// batches. Plans stay valid, except those of a matrix over borrowed arrays, whose pattern is copied.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&Device::host()?, Csr::<f64>::identity(2)?)?;
    /// let a = a.with_values(&Vector::from_slice(a.device(), &[3.0, 4.0])?)?;
    /// assert_eq!(a.to_dense()?.values().to_vec::<f64>()?, [3.0, 0.0, 0.0, 4.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Operands`](crate::Error::Operands) if types or devices differ; [`Format`](crate::Error::Format) if there are
    /// not as many values as entries; [`Unsupported`](crate::Error::Unsupported) for other formats.
    pub fn with_values(&self, values: &Vector) -> Result<Self> {
        self.any().with_values(values)
    }

    /// The same pattern with `f` of each value; of CSR, CSC, COO and batches. Values that become zero stay entries,
    /// and elements that are not stored stay zero.
    ///
    /// The host computes it: values of an accelerator are copied to the host and back. Plans stay valid, as for
    /// [`with_values`](Self::with_values).
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let counts = Csr::<f32>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 0.0, 3.0])?;
    /// let counts = Matrix::from_typed(&Device::host()?, counts)?;
    /// let logarithms = counts.map_values(f32::ln_1p)?;
    /// assert_eq!(logarithms.values()?.to_vec::<f32>()?, [2.0_f32.ln(), 0.0, 4.0_f32.ln()]);
    /// let halves = counts.map_values(|count: f32| count / 2.0)?;
    /// assert_eq!(halves.values()?.to_vec::<f32>()?, [0.5, 0.0, 1.5]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Operands`](crate::Error::Operands) if the values are not of type `T`; else as [`values`](Self::values).
    #[doc(alias("log1p", "abs", "power", "sqrt"))]
    pub fn map_values<T: Scalar>(&self, f: impl FnMut(T) -> T) -> Result<Self> {
        if T::DTYPE != self.dtype() {
            let reason = format_args!("the values are {}, the function is of {}", self.dtype(), T::DTYPE);
            return Err(Error::operands("map_values", reason));
        }
        let values = self.values()?.to_vec::<T>()?;
        let mapped: Vec<T> = values.into_iter().map(f).collect();
        self.with_values(&Vector::from_vec(self.device(), mapped)?)
    }
}
