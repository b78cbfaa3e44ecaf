//! Plans of matrices of sorted entries.

use super::{Coordinates, major_first};
use crate::Device;
use crate::buffer::RawBuffer;
use crate::index_type::IndexType;
use crate::primitive::rearrangement::{Arrays, Rearrangement, Source, ToCompressed, ToCoo};
use crate::primitive::runs::{Merge, Runs};
use sparse_core::format::IndexOrder;
use sparse_core::op::Duplicates;
use sparse_core::{Axis, Choice, Coo, DType, Index, Result, Scalar};

impl Coordinates {
    /// The plan of a compressed matrix of these entries.
    pub(crate) fn compress<A: Axis, T: Scalar, I: Index, O: Index>(
        self,
        backend: &Device,
        choice: Choice,
        duplicates: Duplicates,
    ) -> Result<ToCompressed<A, T, I, O>> {
        let arrays = self.into_compressed(backend, T::DTYPE, IndexType::of::<O>(), duplicates)?;
        Ok(arrays.plan(choice))
    }

    /// The arrays of a compressed matrix of these entries.
    pub(crate) fn into_compressed(
        mut self,
        backend: &Device,
        dtype: DType,
        offset: IndexType,
        duplicates: Duplicates,
    ) -> Result<Arrays> {
        let unique = self.are_unique(backend)?;
        let merges = !unique && matches!(duplicates, Duplicates::Sum | Duplicates::Last);
        let order = IndexOrder { major_sorted: true, sorted: true, unique: unique || merges };
        let runs = if merges { Some(self.runs(backend)?) } else { None };
        offset.check("nnz", runs.as_ref().map_or(self.len(), |runs| runs.count))?;
        let offsets = self.offsets(backend, offset, runs.as_ref())?;
        let (indices, source) = match runs {
            Some(runs) => {
                let (indices, last) = (self.minor_of(backend, &runs)?, duplicates == Duplicates::Last);
                (indices, Source::Merge(Merge::new(backend, dtype, runs, self.positions, last)?))
            }
            None => (self.minor, Source::gather(backend, dtype, self.positions)?),
        };
        let values = backend.allocate_raw(indices.len, dtype.bytes())?;
        Ok(Arrays { extents: self.extents, offsets, indices, values, order, source })
    }

    /// The minor index of each run.
    fn minor_of(&self, backend: &Device, runs: &Runs) -> Result<RawBuffer> {
        let (n, index) = (self.len(), self.minor.index_type());
        let indices = backend.allocate_raw(runs.count, index.bytes())?;
        let kernel = self.kernel(backend, "coordinates_minor", index)?;
        let launch = backend.launch(&kernel).size(n).buffer(&self.minor);
        launch.buffer(&runs.starts).buffer(&indices).items(n)?;
        Ok(indices)
    }

    /// The plan of compressed rows with the entries of each in storage order.
    pub(crate) fn into_rows<A: Axis, T: Scalar, I: Index, O: Index>(
        self,
        backend: &Device,
        choice: Choice,
    ) -> Result<ToCompressed<A, T, I, O>> {
        Ok(self.into_stored(backend, T::DTYPE, IndexType::of::<O>())?.plan(choice))
    }

    fn into_stored(self, backend: &Device, dtype: DType, offset: IndexType) -> Result<Arrays> {
        offset.check("nnz", self.len())?;
        let (extents, offsets) = (self.extents, self.offsets(backend, offset, None)?);
        let order = backend.index_order(extents.1, &offsets, &self.minor)?;
        let values = backend.allocate_raw(self.minor.len, dtype.bytes())?;
        let source = Source::gather(backend, dtype, self.positions)?;
        Ok(Arrays { extents, offsets, indices: self.minor, values, order, source })
    }

    /// The plan of COO with these entries; the major index is the row if `by_rows`. The caller vouches for `order`.
    pub(crate) fn into_coo<T: Scalar, I: Index>(
        self,
        backend: &Device,
        choice: Choice,
        by_rows: bool,
        order: IndexOrder,
    ) -> Result<ToCoo<T, I>> {
        let (rows, cols) = major_first(by_rows, self.extents);
        let (row_idx, col_idx) = major_first(by_rows, (self.major, self.minor));
        let (row_idx, col_idx, values) =
            (row_idx.of(), col_idx.of(), backend.allocate(self.positions.len())?);
        // SAFETY: the indices are those of a checked matrix of this shape, one of each for each position. The values
        // are replaced before they are read.
        let target = unsafe { Coo::new_unchecked(rows, cols, row_idx, col_idx, values, order) };
        let source = Source::gather(backend, T::DTYPE, self.positions)?;
        Ok(Rearrangement::new(choice, target, vec![source]))
    }
}
