//! The matrices of a handle as one batch on the host.

use super::handle::Handle;
use sparse_core::error::checked_product;
use sparse_core::{Axis, BatchCompressed, Error, Host, Index, Result, Scalar};

impl<A: Axis, T: Scalar, I: Index, O: Index> Handle<A, T, I, O> {
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
    /// [`Error::Shape`] if a matrix is not finished or has another shape than the first; an error of a device's runtime.
    pub fn to_batch(&self) -> Result<BatchCompressed<A, T, Host, I, O>> {
        let shape = self.common_shape()?;
        let lines = A::swap(shape.0, shape.1).0;
        let mut member_ptr = vec![0; self.len() + 1];
        for item in 0..self.len() {
            member_ptr[item + 1] = member_ptr[item] + self.nnz(item).ok_or_else(|| self.missing(item))?;
        }
        let nnz = member_ptr[self.len()];
        let mut offsets = vec![O::default(); checked_product("count x offsets", self.len(), lines + 1)?];
        let (mut indices, mut values) = (vec![I::default(); nnz], vec![T::ZERO; nnz]);
        for part in self.parts() {
            let members = part.resident().to_host()?;
            for (position, &item) in part.items().iter().enumerate() {
                let (member, entries) = (members.member(position), member_ptr[item]..member_ptr[item + 1]);
                offsets[item * (lines + 1)..][..lines + 1].copy_from_slice(member.offsets);
                indices[entries.clone()].copy_from_slice(member.indices);
                values[entries].copy_from_slice(member.values);
            }
        }
        BatchCompressed::new(shape, member_ptr, offsets, indices, values)
    }

    /// The shape of all matrices.
    fn common_shape(&self) -> Result<(usize, usize)> {
        let first = if self.is_empty() { (0, 0) } else { self.shape(0) };
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
