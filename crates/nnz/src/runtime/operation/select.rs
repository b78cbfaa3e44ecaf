//! Chosen rows and columns: slices, gathers and permutations.

use crate::runtime::{Format, Matrix};
use sparse_core::{IntoSelection, Result, Selection, inverse_permutation};

/// Rows and columns.
impl Matrix {
    /// The elements in `rows` and `cols`, ranges or lists, in their order: row `k` of the result is row `rows[k]`. A
    /// list may leave out rows or columns and repeat them.
    ///
    /// The result of CSC is CSC; that of other formats is CSR, or COO for a range of very many rows of COO with far
    /// fewer entries. It is sorted.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
    /// let a = Matrix::from_typed(&Device::host()?, a)?;
    /// let b = a.select(&[1, 0], &[2, 1])?;
    /// assert_eq!(b.to_dense()?.values().to_vec::<f64>()?, [0.0, 3.0, 2.0, 0.0]);
    /// assert_eq!(a.select(.., 1..)?.to_dense()?.values().to_vec::<f64>()?, [0.0, 2.0, 3.0, 0.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](crate::Error::Shape) for a row or a column outside of the matrix;
    /// [`IndexOverflow`](crate::Error::IndexOverflow) if the nnz of the result does not fit the type of offsets; those
    /// of [`to_format`](Self::to_format).
    #[doc(alias("slice"))]
    pub fn select<'s>(&self, rows: impl IntoSelection<'s>, cols: impl IntoSelection<'s>) -> Result<Self> {
        self.selected(&rows.into_selection(self.nrows()), &cols.into_selection(self.ncols()))
    }

    fn selected(&self, rows: &Selection<'_>, cols: &Selection<'_>) -> Result<Self> {
        if let Some(selected) = self.hypersparse_selection(rows, cols)? {
            return Ok(selected);
        }
        let a = if self.format() == Format::Csc { self.clone() } else { self.to_format(Format::Csr)? };
        a.inner.select(rows, cols)
    }

    /// The permuted matrix, whose row `k` is row `rows[k]` and whose column `k` is column `cols[k]`, as SciPy's
    /// `A[rows][:, cols]`; in the format of [`select`](Self::select). Permuting with the [`inverse_permutation`]s
    /// restores the matrix.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Csr::<f64>::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![1.0, 2.0, 3.0])?;
    /// let a = Matrix::from_typed(&Device::host()?, a)?;
    /// assert_eq!(a.permute(&[1, 0], &[0, 1])?.to_dense()?.values().to_vec::<f64>()?, [0.0, 3.0, 1.0, 2.0]);
    /// assert!(a.permute(&[1, 1], &[0, 1]).is_err());
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](crate::Error::Shape) for a list that is no permutation of the rows or columns; those of
    /// [`to_format`](Self::to_format).
    pub fn permute(&self, rows: &[usize], cols: &[usize]) -> Result<Self> {
        inverse_permutation(rows, self.nrows())?;
        inverse_permutation(cols, self.ncols())?;
        self.select(rows, cols)
    }
}
