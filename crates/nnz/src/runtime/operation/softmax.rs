//! The softmax of rows and columns over their entries.

use super::reduce::Each;
use crate::runtime::Matrix;
use sparse_core::Result;

impl Matrix {
    /// The softmax of each row or column over its entries, `exp(a_ij − m) / Σ exp(a_ij − m)` with the largest value m,
    /// in a matrix of the same pattern: CSR of rows, CSC of columns. Elements that are not stored count as −∞.
    ///
    /// ```
    /// use nnz::{Each, prelude::*};
    /// let a = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![800.0, 800.0, -3.0])?;
    /// let a = Matrix::from_typed(&Device::host()?, a)?;
    /// let weights = a.softmax(Each::Row)?;
    /// assert_eq!(weights.to_dense()?.values().to_vec::<f64>()?, [0.5, 0.0, 0.5, 0.0, 1.0, 0.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Unsupported`](crate::Error::Unsupported) for complex values and batches; those of
    /// [`to_format`](Self::to_format).
    pub fn softmax(&self, each: Each) -> Result<Self> {
        self.to_format(each.format())?.any().softmax()
    }
}
