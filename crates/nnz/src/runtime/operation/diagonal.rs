//! Elements on one diagonal.

use crate::runtime::{Matrix, Vector};
use crate::{Device, IndexType};
use sparse_core::backend::zeroed_vec;
use sparse_core::{Csr, Host, Index, Result, Scalar, c64, with_dtype};

/// Diagonals.
impl Matrix {
    /// The elements (i, i + k) from the first row that has one: zeros where nothing is stored, the sum of duplicates.
    ///
    /// An accelerator finds the entries by an element-wise product with a matrix of ones on the diagonal, and copies
    /// only these to the host.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 2], vec![1.0, 2.0, 3.0])?;
    /// let a = Matrix::from_typed(&Device::host()?, a)?;
    /// assert_eq!(a.diagonal(0)?.to_vec::<f64>()?, [1.0, 0.0]);
    /// assert_eq!(a.diagonal(1)?.to_vec::<f64>()?, [0.0, 3.0]);
    /// assert_eq!(a.diagonal(-1)?.to_vec::<f64>()?, [0.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory) if the host cannot allocate the diagonal; those of
    /// [`to_format`](Self::to_format).
    pub fn diagonal(&self, k: isize) -> Result<Vector> {
        let offset = k.unsigned_abs();
        let (first_row, first_col) = if k < 0 { (offset, 0) } else { (0, offset) };
        let (rows, cols) = self.shape();
        let len = rows.saturating_sub(first_row).min(cols.saturating_sub(first_col));
        let mut elements: Vec<c64> = zeroed_vec(len)?;
        self.entries_on_diagonal((first_row, first_col), len)?.for_each_entry(&mut |row, col, value| {
            if row >= first_row && col >= first_col && row - first_row == col - first_col {
                elements[row - first_row] += value;
            }
        })?;
        with_dtype!(self.dtype(), T => {
            let rounded = elements.into_iter().map(T::from_c64).collect();
            Vector::from_vec(self.device(), rounded)
        })
    }

    /// A matrix with the entries of the diagonal of `len` elements that begins at `first`: the matrix itself where its
    /// entries are on the host, and a batch, which has no element-wise product.
    fn entries_on_diagonal(&self, first: (usize, usize), len: usize) -> Result<Self> {
        if matches!(self.device(), Device::Cpu(_)) || self.members().is_some() {
            return Ok(self.clone());
        }
        let a = self.to_csr_or_csc()?;
        with_dtype!(a.dtype(), T => match (a.index_type(), a.offset_type()) {
            (IndexType::I32, Some(IndexType::I64)) => a.multiply(&a.ones_on_diagonal::<T, i32, i64>(first, len)?),
            (IndexType::I32, _) => a.multiply(&a.ones_on_diagonal::<T, i32, i32>(first, len)?),
            (IndexType::I64, _) => a.multiply(&a.ones_on_diagonal::<T, i64, i64>(first, len)?),
        })
    }

    /// Ones on the diagonal of `len` elements that begins at `first`, in a matrix of this shape on this device.
    fn ones_on_diagonal<T: Scalar, I: Index, O: Index>(
        &self,
        (row, col): (usize, usize),
        len: usize,
    ) -> Result<Self> {
        let one = T::from_c64(c64::ONE);
        let ones = (0..len).map(|k| (row + k, col + k, one));
        let matrix = Csr::<T, Host, I, O>::from_triplets(self.nrows(), self.ncols(), ones)?;
        Self::from_typed(self.device(), matrix)
    }
}
