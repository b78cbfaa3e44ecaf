//! The shape of every format as inherent methods, so that no trait need be imported.

use super::{Axis, BatchCompressed, Compressed, CompressedRef, Coo, Ell, HostCsr, Hyb, Sell, SparseFormat};
use crate::index::Index;
use crate::scalar::Scalar;
use crate::space::{Space, View};

/// Implements the methods for formats, each with its generic parameters.
macro_rules! shape_methods {
    ($({ $($generics:tt)* } $format:ty;)*) => {$(
        impl<$($generics)*> $format {
            /// The number of rows.
            #[doc(alias = "m")]
            pub fn nrows(&self) -> usize {
                SparseFormat::nrows(self)
            }

            /// The number of columns.
            #[doc(alias = "n")]
            pub fn ncols(&self) -> usize {
                SparseFormat::ncols(self)
            }

            /// (rows, columns).
            ///
            /// ```
            /// let a = sparse_core::Csr::<f64>::zeros(2, 3)?;
            /// assert_eq!((a.shape(), a.nrows(), a.ncols(), a.nnz()), ((2, 3), 2, 3, 0));
            /// # Ok::<(), sparse_core::Error>(())
            /// ```
            #[doc(alias = "dim")]
            pub fn shape(&self) -> (usize, usize) {
                (self.nrows(), self.ncols())
            }

            /// The number of stored entries; explicit zeros count, padding does not.
            #[doc(alias("getnnz", "compute_nnz", "non_zeros"))]
            pub fn nnz(&self) -> usize {
                SparseFormat::nnz(self)
            }
        }
    )*};
}

shape_methods! {
    { A: Axis, T: Scalar, S: Space, I: Index, O: Index } Compressed<A, T, S, I, O>;
    { A: Axis, T: Scalar, S: Space, I: Index, O: Index } BatchCompressed<A, T, S, I, O>;
    { T: Scalar, S: Space, I: Index } Coo<T, S, I>;
    { T: Scalar, S: Space, I: Index } Ell<T, S, I>;
    { T: Scalar, S: Space, I: Index } Hyb<T, S, I>;
    { T: Scalar, S: Space, I: Index, O: Index } Sell<T, S, I, O>;
    { T: Scalar, I: Index, O: Index } HostCsr<T, I, O>;
}

impl<A: Axis, T: Scalar, S: Space, I: Index, O: Index> CompressedRef<'_, A, T, S, I, O> {
    /// The number of rows.
    pub fn nrows(&self) -> usize {
        self.shape().0
    }

    /// The number of columns.
    pub fn ncols(&self) -> usize {
        self.shape().1
    }

    /// (rows, columns).
    ///
    /// ```
    /// let a = sparse_core::Csr::<f64>::zeros(2, 3)?;
    /// assert_eq!(a.transpose().shape(), (3, 2));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn shape(&self) -> (usize, usize) {
        A::swap(self.major, self.minor)
    }

    /// The number of stored entries; explicit zeros count.
    pub fn nnz(&self) -> usize {
        self.indices.len()
    }
}
