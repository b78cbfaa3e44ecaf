//! Formats with one value for each entry, in the order of the entries.

use super::{Axis, BatchCompressed, Compressed, Coo, HostCsr, SparseFormat};
use crate::error::Result;
use crate::index::Index;
use crate::scalar::Scalar;
use crate::space::Space;

/// A format whose values are one array with an element for each entry: CSR, CSC, COO and batches.
///
/// An operation that computes a value for each entry makes a matrix by it:
///
/// ```
/// use sparse_core::format::EntryValues;
/// use sparse_core::{Csr, SparseFormat};
///
/// fn ones<M: EntryValues<Scalar = f64, Space = sparse_core::Host>>(a: &M) -> sparse_core::Result<M> {
///     a.with_entry_values(vec![1.0; a.nnz()])
/// }
///
/// let a = Csr::<f64>::new(1, 3, vec![0, 2], vec![0, 2], vec![5.0, 7.0])?;
/// assert!(ones(&a)?.triplets().eq([(0, 0, 1.0), (0, 2, 1.0)]));
/// # Ok::<(), sparse_core::Error>(())
/// ```
pub trait EntryValues: SparseFormat + Sized {
    /// The same pattern with these values, in the order of the entries. Plans stay valid, but those of [`HostCsr`],
    /// whose borrowed pattern is copied.
    ///
    /// # Errors
    /// [`Error::Format`](crate::Error::Format) if the number of values is not nnz,
    /// [`Error::WrongContext`](crate::Error::WrongContext) if they are in another context.
    fn with_entry_values(&self, values: <Self::Space as Space>::Buffer<Self::Scalar>) -> Result<Self>;
}

impl<A: Axis, T: Scalar, S: Space, I: Index, O: Index> EntryValues for Compressed<A, T, S, I, O> {
    fn with_entry_values(&self, values: S::Buffer<T>) -> Result<Self> {
        self.with_values(values)
    }
}

impl<A: Axis, T: Scalar, S: Space, I: Index, O: Index> EntryValues for BatchCompressed<A, T, S, I, O> {
    fn with_entry_values(&self, values: S::Buffer<T>) -> Result<Self> {
        self.with_values(values)
    }
}

impl<T: Scalar, S: Space, I: Index> EntryValues for Coo<T, S, I> {
    fn with_entry_values(&self, values: S::Buffer<T>) -> Result<Self> {
        self.with_values(values)
    }
}

impl<T: Scalar, I: Index, O: Index> EntryValues for HostCsr<T, I, O> {
    fn with_entry_values(&self, values: Vec<T>) -> Result<Self> {
        self.to_csr().with_values(values).map(Self::from)
    }
}
