//! Formats with value arrays, and their entries in other orders.

use super::block_diagonal::BlockDiagonal;
use super::coordinates::Coordinates;
use super::numbering::Numerable;
use super::padded_entries::PaddedEntries;
use super::raw::{RawCompressed, along};
use super::row_groups::{GroupOrder, RowGroups};
use super::triplets::Triplets;
use super::values::Values;
use crate::Device;
use crate::index_type::IndexType;
use sparse_core::op::Op;
use sparse_core::{
    Axis, BatchCompressed, Compressed, Coo, Ell, Hyb, Index, Result, Scalar, Sell, SparseFormat,
};

/// A format on a device with value arrays.
pub trait StoredValues: SparseFormat<Space = Device> {
    /// The type of its indices.
    type Index: Index;

    /// The stored values.
    fn values(&self) -> Values<'_>;

    /// The entries of op(A) by rows.
    fn row_groups(&self, backend: &Device, op: Op) -> Result<RowGroups>;

    /// The entries by coordinates.
    fn triplets(&self, backend: &Device) -> Result<Triplets>;
}

/// The entries of compressed rows by rows if `along`, otherwise by columns.
fn row_groups(backend: &Device, a: RawCompressed<'_>, along: bool) -> Result<RowGroups> {
    if along {
        return RowGroups::stored(backend, a);
    }
    let order = GroupOrder { as_stored: false, sorted: true };
    Coordinates::across(backend, a)?.into_row_groups(backend, order)
}

impl<A: Axis, T: Scalar, I: Index, O: Index> StoredValues for Compressed<A, T, Device, I, O> {
    type Index = I;

    fn values(&self) -> Values<'_> {
        Values::one(self.values())
    }

    fn row_groups(&self, backend: &Device, op: Op) -> Result<RowGroups> {
        row_groups(backend, self.into(), along::<A>(op))
    }

    fn triplets(&self, backend: &Device) -> Result<Triplets> {
        let found = if self.order().unique { Coordinates::stored } else { Coordinates::along };
        Ok(found(backend, self.into())?.into_triplets(A::IS_ROW))
    }
}

impl<T: Scalar, I: Index> StoredValues for Coo<T, Device, I> {
    type Index = I;

    fn values(&self) -> Values<'_> {
        Values::one(self.values())
    }

    fn row_groups(&self, backend: &Device, op: Op) -> Result<RowGroups> {
        let by_rows = !op.transposes();
        let order = GroupOrder { as_stored: by_rows && self.order().major_sorted, sorted: false };
        Coordinates::of_coo_by_major(backend, self.into(), by_rows)?.into_row_groups(backend, order)
    }

    fn triplets(&self, backend: &Device) -> Result<Triplets> {
        Ok(Coordinates::of_coo(backend, self.into(), true)?.into_triplets(true))
    }
}

impl<T: Scalar, I: Index> StoredValues for Ell<T, Device, I> {
    type Index = I;

    fn values(&self) -> Values<'_> {
        Values::one(self.values())
    }

    fn row_groups(&self, backend: &Device, op: Op) -> Result<RowGroups> {
        self.grouped(backend, op)
    }

    fn triplets(&self, backend: &Device) -> Result<Triplets> {
        self.sorted(backend)
    }
}

impl<T: Scalar, I: Index> StoredValues for Hyb<T, Device, I> {
    type Index = I;

    fn values(&self) -> Values<'_> {
        let (head, tail) = (self.ell().values(), self.coo().values());
        Values { head, tail, split: head.len }
    }

    fn row_groups(&self, backend: &Device, op: Op) -> Result<RowGroups> {
        self.grouped(backend, op)
    }

    fn triplets(&self, backend: &Device) -> Result<Triplets> {
        self.sorted(backend)
    }
}

impl<T: Scalar, I: Index, O: Index> StoredValues for Sell<T, Device, I, O> {
    type Index = I;

    fn values(&self) -> Values<'_> {
        Values::one(self.values())
    }

    fn row_groups(&self, backend: &Device, op: Op) -> Result<RowGroups> {
        self.grouped(backend, op)
    }

    fn triplets(&self, backend: &Device) -> Result<Triplets> {
        self.sorted(backend)
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> StoredValues for BatchCompressed<A, T, Device, I, O> {
    type Index = I;

    fn values(&self) -> Values<'_> {
        Values::one(self.values())
    }

    fn row_groups(&self, backend: &Device, op: Op) -> Result<RowGroups> {
        let Some(blocks) = BlockDiagonal::new(backend, self)? else {
            return RowGroups::numbered(backend, &self.numbered(backend)?, op, IndexType::of::<I>());
        };
        row_groups(backend, blocks.matrix(), along::<A>(op))
    }

    fn triplets(&self, backend: &Device) -> Result<Triplets> {
        let Some(blocks) = BlockDiagonal::new(backend, self)? else {
            return Triplets::numbered(backend, &self.numbered(backend)?, IndexType::of::<I>());
        };
        let found = if self.order().unique { Coordinates::stored } else { Coordinates::along };
        Ok(found(backend, blocks.matrix())?.into_triplets(A::IS_ROW))
    }
}
