//! nalgebra and nalgebra-sparse: sparse matrices by a copy, since all indices are `usize` there; dense ones by
//! reference where they are column-major without gaps.

use crate::error::{Error, Result};
use crate::format::{Coo, Csc, Csr, Dense, DenseView, Order};
use crate::index::Index;
use crate::scalar::Scalar;
use crate::space::{Element, Host};
use nalgebra::{DMatrix, DMatrixView};
use nalgebra_sparse::{CooMatrix, CscMatrix, CsrMatrix};

fn to_usize<I: Index>(indices: &[I]) -> Vec<usize> {
    indices.iter().map(|index| index.as_usize()).collect()
}

fn from_usize<I: Index>(what: &str, indices: &[usize]) -> Result<Vec<I>> {
    indices.iter().map(|&index| I::try_new(what, index)).collect()
}

/// Implements the conversions of a compressed format, both by a copy.
macro_rules! compressed {
    ($($ours:ident, $theirs:ident, $new:ident, $data:ident, $minor:literal;)*) => {$(
        /// A copy, of a matrix that is sorted and without duplicates.
        impl<T: Scalar, I: Index, O: Index> TryFrom<&$ours<T, Host, I, O>> for $theirs<T> {
            type Error = Error;

            fn try_from(a: &$ours<T, Host, I, O>) -> Result<Self> {
                let (offsets, indices) = (to_usize(a.offsets()), to_usize(a.indices()));
                Self::$new(a.nrows(), a.ncols(), offsets, indices, a.values().clone()).map_err(|error| {
                    let format = <$ours<T, Host, I, O> as crate::SparseFormat>::FORMAT;
                    Error::format(format, format_args!("nalgebra-sparse: {error}"))
                })
            }
        }

        /// A copy.
        impl<T: Scalar, I: Index, O: Index> TryFrom<&$theirs<T>> for $ours<T, Host, I, O> {
            type Error = Error;

            fn try_from(a: &$theirs<T>) -> Result<Self> {
                let (offsets, indices, values) = a.$data();
                let (offsets, indices) = (from_usize("offset", offsets)?, from_usize($minor, indices)?);
                Self::new(a.nrows(), a.ncols(), offsets, indices, values.to_vec())
            }
        }
    )*};
}

compressed! {
    Csr, CsrMatrix, try_from_csr_data, csr_data, "column";
    Csc, CscMatrix, try_from_csc_data, csc_data, "row";
}

/// A copy.
impl<T: Scalar, I: Index> TryFrom<&Coo<T, Host, I>> for CooMatrix<T> {
    type Error = Error;

    fn try_from(a: &Coo<T, Host, I>) -> Result<Self> {
        let (rows, columns) = (to_usize(a.row_idx()), to_usize(a.col_idx()));
        Self::try_from_triplets(a.nrows(), a.ncols(), rows, columns, a.values().clone())
            .map_err(|error| Error::format("coo", format_args!("nalgebra-sparse: {error}")))
    }
}

/// A copy.
impl<T: Scalar, I: Index> TryFrom<&CooMatrix<T>> for Coo<T, Host, I> {
    type Error = Error;

    fn try_from(a: &CooMatrix<T>) -> Result<Self> {
        Self::from_triplets(a.nrows(), a.ncols(), a.triplet_iter().map(|(i, j, &value)| (i, j, value)))
    }
}

/// A conversion by reference, without a copy.
impl<'a, T: Element> TryFrom<&'a DMatrix<T>> for DenseView<'a, T> {
    type Error = Error;

    fn try_from(a: &'a DMatrix<T>) -> Result<Self> {
        Self::col_major(a.as_slice(), a.nrows(), a.ncols())
    }
}

/// A conversion by reference, of a column-major matrix without gaps; [`DMatrix::from`] copies any.
impl<'a, T: Element> TryFrom<DenseView<'a, T>> for DMatrixView<'a, T> {
    type Error = Error;

    fn try_from(view: DenseView<'a, T>) -> Result<Self> {
        let (rows, cols) = view.shape();
        if view.order() == Order::RowMajor || view.leading_dimension() != rows {
            let reason = "it is not column-major without gaps; `DMatrix::from` copies it";
            return Err(Error::unsupported("a view of this dense matrix in nalgebra", reason));
        }
        Ok(Self::from_slice(view.data(), rows, cols))
    }
}

/// A copy.
impl<T: Element> From<DenseView<'_, T>> for DMatrix<T> {
    fn from(view: DenseView<'_, T>) -> Self {
        Self::from_fn(view.nrows(), view.ncols(), |i, j| view.at(i, j))
    }
}

/// A copy.
impl<T: Element> From<&Dense<T>> for DMatrix<T> {
    fn from(dense: &Dense<T>) -> Self {
        dense.as_view().into()
    }
}
