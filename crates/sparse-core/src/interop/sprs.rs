//! sprs: the same arrays, with the same types of indices.

use crate::error::{Error, Result};
use crate::format::{Axis, Compressed, Coo};
use crate::index::Index;
use crate::scalar::Scalar;
use crate::space::Host;
use sprs::errors::StructureError;
use sprs::{CsMatI, CsMatViewI, SpIndex, TriMatI};

fn refused<A: Axis>(error: StructureError) -> Error {
    Error::format(A::FORMAT, format_args!("sprs: {error}"))
}

/// A conversion by reference, of a matrix that is sorted and without duplicates.
impl<'a, A, T, I, O> TryFrom<&'a Compressed<A, T, Host, I, O>> for CsMatViewI<'a, T, I, O>
where
    A: Axis,
    T: Scalar,
    I: Index + SpIndex,
    O: Index + SpIndex,
{
    type Error = Error;

    fn try_from(a: &'a Compressed<A, T, Host, I, O>) -> Result<Self> {
        let new = if A::IS_ROW { Self::try_new } else { Self::try_new_csc };
        new(a.shape(), a.offsets(), a.indices(), a.values()).map_err(|(_, _, _, error)| refused::<A>(error))
    }
}

/// Without a copy, of a matrix that is sorted and without duplicates.
impl<A, T, I, O> TryFrom<Compressed<A, T, Host, I, O>> for CsMatI<T, I, O>
where
    A: Axis,
    T: Scalar,
    I: Index + SpIndex,
    O: Index + SpIndex,
{
    type Error = Error;

    fn try_from(a: Compressed<A, T, Host, I, O>) -> Result<Self> {
        let (new, shape) = (if A::IS_ROW { Self::try_new } else { Self::try_new_csc }, a.shape());
        let (offsets, indices, values) = a.into_parts();
        new(shape, offsets, indices, values).map_err(|(_, _, _, error)| refused::<A>(error))
    }
}

/// Without a copy where the matrix is compressed by the same axis; else converted.
impl<A, T, I, O> TryFrom<CsMatI<T, I, O>> for Compressed<A, T, Host, I, O>
where
    A: Axis,
    T: Scalar,
    I: Index + SpIndex,
    O: Index + SpIndex,
{
    type Error = Error;

    fn try_from(a: CsMatI<T, I, O>) -> Result<Self> {
        let (rows, cols) = a.shape();
        let a = if A::IS_ROW { a.into_csr() } else { a.into_csc() };
        let (offsets, indices, values) = a.into_raw_storage();
        Self::new(rows, cols, offsets, indices, values)
    }
}

/// Without a copy, if the pattern is not shared.
impl<T: Scalar, I: Index + SpIndex> From<Coo<T, Host, I>> for TriMatI<T, I> {
    fn from(a: Coo<T, Host, I>) -> Self {
        let shape = a.shape();
        let (row_idx, col_idx, values) = a.into_parts();
        Self::from_triplets(shape, row_idx, col_idx, values)
    }
}

/// A copy of the arrays.
impl<T: Scalar, I: Index + SpIndex> TryFrom<&TriMatI<T, I>> for Coo<T, Host, I> {
    type Error = Error;

    fn try_from(a: &TriMatI<T, I>) -> Result<Self> {
        let (rows, cols) = a.shape();
        Self::new(rows, cols, a.row_inds().to_vec(), a.col_inds().to_vec(), a.data().to_vec())
    }
}
