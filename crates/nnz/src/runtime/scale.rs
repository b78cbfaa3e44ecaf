//! Scaling by rows and columns.

use super::{DenseMatrix, Matrix, Vector};
use sparse_core::backend::zeroed_vec;
use sparse_core::{Order, Result, Scalar, c64, with_dtype};

/// Scaling by rows and columns.
impl Matrix {
    /// `diag(rows)·A·diag(cols)`: element (i, j) times `rows[i]` and `cols[j]`, in a matrix that shares the pattern of A; of
    /// CSR, CSC and COO. `None` leaves the rows or columns as they are.
    ///
    /// It is a sampled product of two columns, by the plans that [`sddmm`](Self::sddmm) keeps.
    ///
    /// # Errors
    /// As [`sddmm`](Self::sddmm), whose U and V are `rows` and `cols`.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device: Device = "cpu".parse()?;
    /// let a = Matrix::from_typed(&device, Csr::<f64>::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![1.0, 2.0, 3.0])?)?;
    /// let (rows, cols) = (Vector::from_slice(&device, &[10.0, 1.0])?, Vector::from_slice(&device, &[1.0, 0.5])?);
    /// let scaled = a.scaled_by(Some(&rows), Some(&cols))?;
    /// assert_eq!(scaled.to_dense()?.values().to_vec::<f64>()?, [10.0, 10.0, 0.0, 1.5]);
    /// let by_columns = a.scaled_by(None, Some(&cols))?;
    /// assert_eq!(by_columns.to_dense()?.values().to_vec::<f64>()?, [1.0, 1.0, 0.0, 1.5]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn scaled_by(&self, rows: Option<&Vector>, cols: Option<&Vector>) -> Result<Self> {
        let column = |factors: Option<&Vector>, n| match factors {
            Some(factors) => {
                DenseMatrix::new(factors.clone(), factors.len(), 1, factors.len(), Order::ColMajor)
            }
            None => DenseMatrix::new(self.ones(n)?, n, 1, n, Order::ColMajor),
        };
        self.sddmm(&column(rows, self.nrows())?, &column(cols, self.ncols())?)
    }

    /// A vector of ones beside the matrix.
    pub(super) fn ones(&self, len: usize) -> Result<Vector> {
        with_dtype!(self.dtype(), T => {
            let mut ones: Vec<T> = zeroed_vec(len)?;
            ones.fill(T::from_c64(c64::ONE));
            Vector::from_vec(self.device(), ones)
        })
    }
}
