//! Builds a CSR matrix row by row.

use sparse_core::backend::vec_with_capacity;
use sparse_core::error::Result;
use sparse_core::format::Csr;
use sparse_core::index::Index;
use sparse_core::scalar::Scalar;

/// The rows of a matrix so far.
pub(super) struct Builder<T> {
    cols: usize,
    offsets: Vec<i32>,
    indices: Vec<i32>,
    values: Vec<T>,
}

impl<T: Scalar> Builder<T> {
    /// An empty builder with capacity for `rows` rows and `nnz` entries.
    ///
    /// # Errors
    /// [`IndexOverflow`](sparse_core::Error::IndexOverflow) if a size does not fit `i32`; nothing is allocated then.
    /// [`OutOfMemory`](sparse_core::Error::OutOfMemory).
    pub(super) fn new(rows: usize, cols: usize, nnz: usize) -> Result<Self> {
        for (what, size) in [("rows", rows), ("columns", cols), ("nnz", nnz)] {
            i32::try_new(what, size)?;
        }
        let mut offsets = vec_with_capacity(rows + 1)?;
        offsets.push(0);
        Ok(Self { cols, offsets, indices: vec_with_capacity(nnz)?, values: vec_with_capacity(nnz)? })
    }

    /// Adds an entry to the current row.
    pub(super) fn push(&mut self, col: usize, value: T) {
        self.indices.push(i32::cast(col));
        self.values.push(value);
    }

    /// Ends the current row.
    pub(super) fn end_row(&mut self) {
        self.offsets.push(i32::cast(self.indices.len()));
    }

    /// The matrix of all finished rows.
    ///
    /// # Errors
    /// Those of [`Csr::new_unsorted`].
    pub(super) fn finish(self) -> Result<Csr<T>> {
        Csr::new_unsorted(self.offsets.len() - 1, self.cols, self.offsets, self.indices, self.values)
    }
}
