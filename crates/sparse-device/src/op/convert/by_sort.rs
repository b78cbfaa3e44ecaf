//! Conversions by a sort of coordinates: to CSR and CSC, from each other, from COO and from formats with padding.

use crate::Device;
use crate::primitive::coordinates::{Coordinates, SortBy, Sorter};
use crate::primitive::padded_entries::PaddedEntries;
use crate::primitive::rearrangement::ToCompressed;
use crate::primitive::stored_values::StoredValues;
use sparse_core::op::{Duplicates, Operations};
use sparse_core::reference::Reference;
use sparse_core::{Axis, Choice, Compressed, Coo, Host, Index, Result, Row, Scalar, SparseFormat};

/// CSR to CSC, and back.
pub(super) fn transpose<A: Axis, T: Scalar, I: Index, O: Index>(
    backend: &Device,
    from: &Compressed<A, T, Device, I, O>,
    (): &(),
    (sorter, choice): (Sorter, Choice),
) -> Result<ToCompressed<A::Other, T, I, O>> {
    Coordinates::across_by(backend, from.into(), sorter)?.compress(backend, choice, Duplicates::Keep)
}

/// Coordinates to CSR or CSC.
pub(super) fn compress<A: Axis, T: Scalar, I: Index, O: Index>(
    backend: &Device,
    from: &Coo<T, Device, I>,
    duplicates: &Duplicates,
    (sorter, choice): (Sorter, Choice),
) -> Result<ToCompressed<A, T, I, O>> {
    let mut coordinates = Coordinates::of_coo_by(backend, from.into(), A::IS_ROW, sorter)?;
    if *duplicates == Duplicates::Error && !coordinates.are_unique(backend)? {
        let _: Compressed<A, T, Host, I, O> =
            Operations::convert(&Reference, &from.to_host(backend)?, duplicates)?;
    }
    coordinates.compress(backend, choice, *duplicates)
}

/// The plan of CSR with the values and indices of `M`.
type RowsOf<M, O> = ToCompressed<Row, <M as SparseFormat>::Scalar, <M as StoredValues>::Index, O>;

/// ELL, HYB or SELL to CSR, the entries of each row in storage order.
pub(super) fn from_padded<M: PaddedEntries + StoredValues, O: Index>(
    backend: &Device,
    from: &M,
    (): &(),
    (sorter, choice): (Sorter, Choice),
) -> Result<RowsOf<M, O>> {
    let (shape, entries) = ((from.nrows(), from.ncols()), from.entries(backend)?);
    let by_rows = Coordinates::of_entries_by(backend, shape, &entries, true, SortBy::Major, sorter)?;
    by_rows.into_rows(backend, choice)
}
