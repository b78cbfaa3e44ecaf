//! Every format to a dense matrix of its own, and back.

use super::{Axis, BatchCompressed, Compressed, Coo, Csr, Dense, DenseView, Ell, HostCsr, Hyb, Order, Sell};
use crate::error::Result;
use crate::index::Index;
use crate::op::{DenseToCompressedPlan, Keep, Operations};
use crate::plan::PlanOptions;
use crate::reference::{Entries, Reference};
use crate::scalar::Scalar;
use crate::space::Host;

/// Implements the method for formats, each with its generic parameters.
macro_rules! to_dense {
    ($({ $($generics:tt)* } $format:ty;)*) => {$(
        impl<$($generics)*> $format {
            /// A row-major dense copy; entries of one coordinate are added.
            ///
            /// O(rows · columns + nnz · log nnz). [`Operations::to_dense`] writes to memory of the caller, on any
            /// backend.
            ///
            /// ```
            /// let a = sparse_core::Csr::<f64>::from_triplets(2, 2, [(0, 1, 5.0)])?;
            /// assert_eq!(a.to_dense()?.data(), &[0.0, 5.0, 0.0, 0.0]);
            /// # Ok::<(), sparse_core::Error>(())
            /// ```
            ///
            /// # Errors
            /// [`IndexOverflow`](crate::Error::IndexOverflow) if the dense matrix has more bytes than a vector can
            /// have.
            #[doc(alias("toarray", "todense"))]
            pub fn to_dense(&self) -> Result<Dense<T>> {
                expand(self)
            }
        }
    )*};
}

to_dense! {
    { A: Axis, T: Scalar, I: Index, O: Index } Compressed<A, T, Host, I, O>;
    { A: Axis, T: Scalar, I: Index, O: Index } BatchCompressed<A, T, Host, I, O>;
    { T: Scalar, I: Index } Coo<T, Host, I>;
    { T: Scalar, I: Index } Ell<T, Host, I>;
    { T: Scalar, I: Index } Hyb<T, Host, I>;
    { T: Scalar, I: Index, O: Index } Sell<T, Host, I, O>;
    { T: Scalar, I: Index, O: Index } HostCsr<T, I, O>;
}

fn expand<M: Entries>(a: &M) -> Result<Dense<M::Scalar>> {
    let mut dense = Dense::zeros(a.nrows(), a.ncols(), Order::RowMajor)?;
    Reference.to_dense(a, dense.as_view_mut())?;
    Ok(dense)
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Compressed<A, T, Host, I, O> {
    /// The elements of a dense matrix that are not zero; NaN is not. O(rows · columns).
    ///
    /// [`Operations::dense_to_csr`] does the same on any backend.
    ///
    /// ```
    /// use sparse_core::{Csr, DenseView};
    /// let dense = [0.0, 5.0, 0.0, -0.0];
    /// let a = Csr::<f64>::from_dense(DenseView::row_major(&dense, 2, 2)?)?;
    /// assert!(a.triplets().eq([(0, 1, 5.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`IndexOverflow`](crate::Error::IndexOverflow) if an extent does not fit `I` or nnz does not fit `O`.
    #[doc(alias("csr_from_dense", "csc_from_dense"))]
    pub fn from_dense(dense: DenseView<'_, T>) -> Result<Self> {
        DenseToCompressedPlan::new(&Reference, dense, Keep::NonZero, &PlanOptions::once())?.run(dense)
    }
}

impl<T: Scalar, I: Index> Coo<T, Host, I> {
    /// The elements of a dense matrix that are not zero, by rows; NaN is not. O(rows · columns).
    ///
    /// ```
    /// use sparse_core::{Coo, DenseView};
    /// let a = Coo::<f64>::from_dense(DenseView::row_major(&[0.0, 5.0, 0.0, 0.0], 2, 2)?)?;
    /// assert!(a.triplets().eq([(0, 1, 5.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`IndexOverflow`](crate::Error::IndexOverflow) if an extent does not fit `I`.
    pub fn from_dense(dense: DenseView<'_, T>) -> Result<Self> {
        let csr = Csr::<T, Host, I, i64>::from_dense(dense)?;
        Self::from_triplets(csr.nrows(), csr.ncols(), csr.triplets())
    }
}
