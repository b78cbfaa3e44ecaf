//! The union or the intersection of two patterns: an entry finds its place in the other one by a binary search in one
//! row, and from it its place in the result, whatever the lengths of rows.

use super::positions::Positions;
use super::prefix_sum::PrefixSum;
use super::raw::RawCompressed;
use crate::buffer::RawBuffer;
use crate::defines::Defines;
use crate::index_type::IndexType;
use crate::{Buffer, Device, Kernel};
use sparse_core::Result;
use sparse_core::op::Elementwise;

/// The pattern of an element-wise operation, and the position of each element in A and in B; −1 where nothing is
/// stored.
#[derive(Debug)]
pub(crate) struct MergedRows {
    pub(crate) offsets: RawBuffer,
    pub(crate) indices: RawBuffer,
    pub(crate) a_positions: Positions,
    pub(crate) b_positions: Positions,
}

/// The kernels for one set of types.
struct MergeKernels<'a> {
    backend: &'a Device,
    defines: Defines,
}

impl MergeKernels<'_> {
    fn get(&self, entry: &'static str) -> Result<Kernel> {
        self.backend.kernel("merge_rows", entry, self.defines.clone())
    }

    /// The positions of the entries of `a` among those of `other`.
    fn find(&self, a: RawCompressed<'_>, other: RawCompressed<'_>, position: IndexType) -> Result<Positions> {
        let (n, backend, kernel) = (a.nnz(), self.backend, self.get("merge_rows_find")?);
        let (rows, places) = (backend.major_indices(a)?, Positions::allocate_as(backend, n, position)?);
        let launch = backend.launch(&kernel).size(n).buffer(&rows).buffer(a.indices);
        launch.buffer(other.offsets).buffer(other.indices).positions(&places).items(n)?;
        Ok(places)
    }

    /// The number of entries before each that meet one of the other matrix, and of all that do.
    fn common(&self, places: &Positions) -> Result<(Buffer<i64>, usize)> {
        let (n, backend, kernel) = (places.len(), self.backend, self.get("merge_rows_flags")?);
        let starts = backend.allocate(n + 1)?;
        backend.launch(&kernel).size(n).positions(places).buffer(&starts).items(n + 1)?;
        let common = PrefixSum::series(backend, n + 1)?.starts_and_sum(backend, &starts)?;
        Ok((starts, common))
    }
}

impl MergedRows {
    /// Merges two matrices of one shape, whose rows are sorted and have no column twice.
    ///
    /// # Errors
    /// [`IndexOverflow`](sparse_core::Error::IndexOverflow) if the number of elements does not fit the type of offsets.
    pub(crate) fn new(
        backend: &Device,
        op: Elementwise,
        a: RawCompressed<'_>,
        b: RawCompressed<'_>,
    ) -> Result<Self> {
        let (unites, position) = (op == Elementwise::Add, IndexType::for_count(a.nnz().max(b.nnz())));
        let kernels = MergeKernels { backend, defines: a.defines().set("POS", position.c_name()) };
        let of_a = kernels.find(a, b, position)?;
        let (starts, common) = kernels.common(&of_a)?;
        let nnz = if unites { a.nnz() + b.nnz() - common } else { common };
        a.offsets.index_type().check("nnz", nnz)?;
        let positions = || Positions::allocate_as(backend, nnz, position);
        let merged = Self {
            offsets: backend.allocate_raw(a.rows + 1, a.offsets.element_bytes)?,
            indices: backend.allocate_raw(nnz, a.indices.element_bytes)?,
            a_positions: positions()?,
            b_positions: positions()?,
        };
        let kernel = kernels.get("merge_rows_offsets")?;
        let launch = backend.launch(&kernel).size(a.rows + 1).value(i32::from(unites)).buffer(a.offsets);
        launch.buffer(b.offsets).buffer(&starts).buffer(&merged.offsets).items(a.rows + 1)?;
        let kernel = kernels.get("merge_rows_left")?;
        let launch = backend.launch(&kernel).size(a.nnz()).value(i32::from(unites)).buffer(a.indices);
        let launch = launch.positions(&of_a).buffer(&starts).buffer(&merged.indices);
        launch.positions(&merged.a_positions).positions(&merged.b_positions).items(a.nnz())?;
        if unites {
            let (of_b, kernel) = (kernels.find(b, a, position)?, kernels.get("merge_rows_right")?);
            let launch = backend.launch(&kernel).size(b.nnz()).buffer(b.indices).positions(&of_b);
            let launch = launch.buffer(&starts).buffer(&merged.indices);
            launch.positions(&merged.a_positions).positions(&merged.b_positions).items(b.nnz())?;
        }
        Ok(merged)
    }
}
