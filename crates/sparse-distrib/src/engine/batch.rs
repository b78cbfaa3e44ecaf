//! The matrices of a handle as one batch on the host.

use super::handle::Handle;
use sparse_core::error::checked_product;
use sparse_core::op::ScanElement;
use sparse_core::{Axis, BatchCompressed, Error, Host, Index, Result, Scalar};
use std::ops::Range;

impl<A: Axis, T: Scalar, I: Index, O: ScanElement> Handle<A, T, I, O> {
    /// Copies of all matrices on the host, as one batch in the order of the source: of matrices of one shape. A handle
    /// without matrices is a batch of 0 × 0 matrices.
    ///
    /// ```
    /// use sparse_core::reference::Reference;
    /// use sparse_core::{DenseBatchView, Order, Row};
    /// use sparse_distrib::{DeviceWorker, Engine, Options};
    ///
    /// let two = [1.0, 0.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0];
    /// let two = DenseBatchView::new(&two[..], 2, 4, (2, 2), 2, Order::RowMajor)?;
    /// let mut engine = Engine::<f64>::new(vec![Box::new(DeviceWorker::new(Reference))])?;
    /// let (handle, _) = engine.compress::<Row>(&two, &Options::default())?.complete()?;
    /// let batch = handle.to_batch()?;
    /// assert_eq!((batch.count(), batch.member_ptr()), (2, &[0, 2, 3][..]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] if a matrix is not finished or has another shape than the first; an error of a device's
    /// runtime.
    pub fn to_batch(&self) -> Result<BatchCompressed<A, T, Host, I, O>> {
        let shape = self.common_shape()?;
        let lines = A::swap(shape.0, shape.1).0;
        let mut member_ptr = vec![0; self.len() + 1];
        for matrix in 0..self.len() {
            let nnz = self.nnz(matrix).ok_or_else(|| self.missing(matrix))?;
            member_ptr[matrix + 1] = member_ptr[matrix] + nnz;
        }
        let nnz = member_ptr[self.len()];
        let mut offsets = vec![O::default(); checked_product("count x offsets", self.len(), lines + 1)?];
        let (mut indices, mut values) = (vec![I::default(); nnz], vec![T::ZERO; nnz]);
        let mut copy_member = |matrix: usize, member: (&[O], &[I], &[T])| {
            let entries = member_ptr[matrix]..member_ptr[matrix + 1];
            offsets[matrix * (lines + 1)..][..lines + 1].copy_from_slice(member.0);
            indices[entries.clone()].copy_from_slice(member.1);
            values[entries].copy_from_slice(member.2);
        };
        for batch in self.batches() {
            let items = batch.items().iter().enumerate();
            let whole: Vec<_> =
                items.filter_map(|(at, &item)| Some((at, self.whole_matrix(item)?))).collect();
            if whole.is_empty() {
                continue;
            }
            let members = batch.resident().to_host()?;
            for (at, matrix) in whole {
                let member = members.member(at);
                copy_member(matrix, (member.offsets, member.indices, member.values));
            }
        }
        for matrix in (0..self.len()).filter(|&matrix| self.is_cut(matrix)) {
            let merged = self.fetch(matrix)?;
            copy_member(matrix, (merged.offsets(), merged.indices(), merged.values()));
        }
        BatchCompressed::new(shape, member_ptr, offsets, indices, values)
    }

    /// Copies of some neighbouring matrices on the host as one batch: of matrices of one shape.
    ///
    /// # Errors
    /// As for [`to_batch`](Self::to_batch); [`Error::Shape`] for no matrix at all.
    pub fn to_batch_of(&self, matrices: Range<usize>) -> Result<BatchCompressed<A, T, Host, I, O>> {
        let members: Vec<_> = matrices.map(|matrix| self.fetch(matrix)).collect::<Result<_>>()?;
        BatchCompressed::from_members(&members.iter().collect::<Vec<_>>())
    }

    /// (rows, columns) of all matrices, or those that they would have if there were any.
    ///
    /// # Errors
    /// [`Error::Shape`] if one has another shape than the first.
    pub fn common_shape(&self) -> Result<(usize, usize)> {
        let first = if self.is_empty() { self.empty_shape } else { self.shape(0) };
        match (1..self.len()).find(|&item| self.shape(item) != first) {
            None => Ok(first),
            Some(item) => {
                let ((rows, cols), (other_rows, other_cols)) = (first, self.shape(item));
                let reason = format!(
                    "the matrices of a batch have one shape: matrix 0 is {rows} x {cols}, matrix {item} {other_rows} x {other_cols}"
                );
                Err(Error::shape("to_batch", reason))
            }
        }
    }
}
