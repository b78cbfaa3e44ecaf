//! Borrowed compressed matrices.

use super::{Axis, Compressed};
use crate::error::Result;
use crate::index::Index;
use crate::scalar::Scalar;
use crate::space::{Host, Space};
use std::marker::PhantomData;

/// A borrowed compressed matrix: a whole one, or a member of a batch.
#[derive(Debug, Clone, Copy)]
pub struct CompressedRef<'a, A: Axis, T: Scalar, S: Space = Host, I: Index = i32, O: Index = i32> {
    /// Rows of CSR, columns of CSC.
    pub major: usize,
    /// Columns of CSR, rows of CSC.
    pub minor: usize,
    /// `major + 1` positions within `indices` and `values`.
    pub offsets: S::View<'a, O>,
    /// One minor index per entry.
    pub indices: S::View<'a, I>,
    /// One value per entry.
    pub values: S::View<'a, T>,
    pub(in crate::format) axis: PhantomData<A>,
}

impl<'a, A: Axis, T: Scalar, I: Index, O: Index> CompressedRef<'a, A, T, Host, I, O> {
    /// All entries as (row, column, value), in storage order.
    ///
    /// ```
    /// # use sparse_core::Csr;
    /// let a = Csr::<f64>::identity(2)?;
    /// assert!(a.as_ref().triplets().eq(a.triplets()));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn triplets(self) -> impl Iterator<Item = (usize, usize, T)> + 'a {
        self.offsets.windows(2).enumerate().flat_map(move |(k, ends)| {
            let range = ends[0].as_usize()..ends[1].as_usize();
            self.indices[range.clone()].iter().zip(&self.values[range]).map(move |(j, &value)| {
                let (row, col) = A::swap(k, j.as_usize());
                (row, col, value)
            })
        })
    }

    /// A copy that owns its arrays; checked anew.
    ///
    /// ```
    /// # use sparse_core::Csr;
    /// let a = Csr::<f64>::identity(2)?;
    /// assert_eq!(a.as_ref().to_owned()?, a);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Format`](crate::Error::Format) if an invariant is broken.
    pub fn to_owned(&self) -> Result<Compressed<A, T, Host, I, O>> {
        let (rows, cols) = A::swap(self.major, self.minor);
        Compressed::new_unsorted(
            rows,
            cols,
            self.offsets.to_vec(),
            self.indices.to_vec(),
            self.values.to_vec(),
        )
    }
}
