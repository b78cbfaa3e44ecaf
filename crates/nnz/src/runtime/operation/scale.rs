//! Scaling by rows and columns.

use crate::runtime::dispatch::operand_errors::mismatch;
use crate::runtime::dispatch::runtime_format::unavailable;
use crate::runtime::{DenseMatrix, Matrix, Vector};
use sparse_core::backend::zeroed_vec;
use sparse_core::{Error, Order, Result, Scalar, c64, with_dtype};

const OP: &str = "scaled_by";

/// Scaling by rows and columns.
impl Matrix {
    /// `diag(rows)·A·diag(cols)`: element (i, j) times `rows[i]` and `cols[j]`, in a matrix with the pattern of A, so
    /// that plans for A fit it. For CSR, CSC, COO and batches. `None` leaves the rows or columns as they are.
    ///
    /// It is a sampled product of two columns, with the cached plans of [`sddmm`](Self::sddmm).
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, Csr::<f64>::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![1.0, 2.0, 3.0])?)?;
    /// let (rows, cols) = (Vector::from_slice(&device, &[10.0, 1.0])?, Vector::from_slice(&device, &[1.0, 0.5])?);
    /// let scaled = a.scaled_by(Some(&rows), Some(&cols))?;
    /// assert_eq!(scaled.to_dense()?.values().to_vec::<f64>()?, [10.0, 10.0, 0.0, 1.5]);
    /// let by_columns = a.scaled_by(None, Some(&cols))?;
    /// assert_eq!(by_columns.to_dense()?.values().to_vec::<f64>()?, [1.0, 1.0, 0.0, 1.5]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Operands`](Error::Operands) for factors of another type or device, [`Shape`](Error::Shape) unless there is one
    /// for each row or column, [`Unsupported`](Error::Unsupported) for formats that pad rows; what the device's runtime
    /// reports.
    #[doc(alias("scale", "scale_rows", "scale_columns", "diags"))]
    pub fn scaled_by(&self, rows: Option<&Vector>, cols: Option<&Vector>) -> Result<Self> {
        if self.sddmm_algorithms().is_empty() {
            return Err(unavailable(OP, self.format()));
        }
        if let (Some(_), Some(_)) = (rows, cols) {
            // One after the other, since the product of two factors may overflow where the scaled element does not.
            return self.scaled_by(rows, None)?.scaled_by(None, cols);
        }
        let column = |name, factors: Option<&Vector>, n| match factors {
            Some(factors) => {
                self.check_scaling(name, factors, n)?;
                DenseMatrix::new(factors.clone(), factors.len(), 1, factors.len(), Order::ColMajor)
            }
            None => DenseMatrix::new(self.ones(n)?, n, 1, n, Order::ColMajor),
        };
        self.sddmm(&column("rows", rows, self.nrows())?, &column("cols", cols, self.ncols())?)
    }

    /// Fails unless there are `n` factors of the type and on the device of the matrix.
    fn check_scaling(&self, name: &'static str, factors: &Vector, n: usize) -> Result<()> {
        if factors.dtype() != self.dtype() || factors.device().context() != self.device().context() {
            return Err(mismatch(OP, self.as_operand(), &[factors.as_operand(name)]));
        }
        if factors.len() != n {
            let reason = format_args!("{name} has {} elements where {n} are needed", factors.len());
            return Err(Error::shape(OP, reason));
        }
        Ok(())
    }

    /// A vector of ones beside the matrix.
    pub(in crate::runtime) fn ones(&self, len: usize) -> Result<Vector> {
        with_dtype!(self.dtype(), T => {
            let mut ones: Vec<T> = zeroed_vec(len)?;
            ones.fill(T::from_c64(c64::ONE));
            Vector::from_vec(self.device(), ones)
        })
    }
}
