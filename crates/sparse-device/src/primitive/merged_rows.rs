//! Sums and element-wise products of compressed rows along the path that merges their entries and the ends of rows, in
//! tiles of equal numbers of steps, independent of the lengths of rows.
//!
//! The elements of each tile are counted; their prefix sums say where a tile writes. Counting reads the columns and
//! offsets of A and B and leaves 8 bytes for every 10 steps, and filling reads all of that.

use super::prefix_sum::PrefixSum;
use super::raw::RawCompressed;
use crate::buffer::RawBuffer;
use crate::driver::Value;
use crate::{Buffer, Device, Kernel};
use sparse_core::Result;
use sparse_core::op::Elementwise;

/// `ITEMS` of the kernels.
const ITEMS: usize = 10;

/// The tiles of the path of two matrices, and the elements of C before each.
#[derive(Debug)]
pub(crate) struct MergedRows {
    rows: usize,
    multiplies: i32,
    tiles: usize,
    tile_starts: Buffer<i64>,
    starts: Buffer<i64>,
    /// The position on the path where each work-item begins.
    places: Buffer<i64>,
    nnz: usize,
    fill: Kernel,
}

impl MergedRows {
    /// The path of two matrices of one shape, whose rows are sorted and have no column twice.
    ///
    /// # Errors
    /// [`IndexOverflow`](sparse_core::Error::IndexOverflow) if the number of elements does not fit the type of offsets.
    pub(crate) fn new(
        backend: &Device,
        op: Elementwise,
        a: RawCompressed<'_>,
        b: RawCompressed<'_>,
    ) -> Result<Self> {
        let (rows, block) = (a.rows, backend.inner.block);
        let multiplies = i32::from(op == Elementwise::Multiply);
        let defines = a.defines().set("BLOCK", block);
        let kernel = |entry| backend.kernel_of(a.dtype, "merge_rows", entry, defines.clone());
        let tiles = (rows + a.nnz() + b.nnz()).div_ceil(block * ITEMS).max(1);
        let (search, count) = (kernel("merge_rows_search")?, kernel("merge_rows_count")?);
        let (tile_starts, starts) = (backend.allocate(2 * (tiles + 1))?, backend.allocate(tiles + 1)?);
        let places = backend.allocate(tiles * block)?;
        let launch = backend.launch(&search).size(tiles).size(rows).buffer(a.offsets).buffer(a.indices);
        launch.buffer(b.offsets).buffer(b.indices).buffer(&tile_starts).items(tiles + 1)?;
        let launch = backend.launch(&count).size(tiles).size(rows).value(multiplies).buffer(&tile_starts);
        let launch = launch.buffer(a.offsets).buffer(a.indices).buffer(b.offsets).buffer(b.indices);
        launch.buffer(&starts).buffer(&places).group_per_row(tiles, block)?;
        let nnz = PrefixSum::series(backend, tiles + 1)?.starts_and_sum(backend, &starts)?;
        a.offsets.index_type().check("nnz", nnz)?;
        let fill = kernel("merge_rows_fill")?;
        Ok(Self { rows, multiplies, tiles, tile_starts, starts, places, nnz, fill })
    }

    /// The offsets, indices and values of C.
    pub(crate) fn fill(
        &self,
        backend: &Device,
        a: (Value, RawCompressed<'_>),
        b: (Value, RawCompressed<'_>),
    ) -> Result<[RawBuffer; 3]> {
        let offsets = backend.allocate_raw(self.rows + 1, a.1.offsets.element_bytes)?;
        let indices = backend.allocate_raw(self.nnz, a.1.indices.element_bytes)?;
        let values = self.run(backend, a, b, Some((&offsets, &indices)))?;
        Ok([offsets, indices, values])
    }

    /// The values of C.
    pub(crate) fn values(
        &self,
        backend: &Device,
        a: (Value, RawCompressed<'_>),
        b: (Value, RawCompressed<'_>),
    ) -> Result<RawBuffer> {
        self.run(backend, a, b, None)
    }

    fn run(
        &self,
        backend: &Device,
        (alpha, a): (Value, RawCompressed<'_>),
        (beta, b): (Value, RawCompressed<'_>),
        pattern: Option<(&RawBuffer, &RawBuffer)>,
    ) -> Result<RawBuffer> {
        let values = backend.allocate_raw(self.nnz, a.values.element_bytes)?;
        let launch = backend.launch(&self.fill).size(self.tiles).size(self.rows).value(self.multiplies);
        let launch = launch.buffer(&self.tile_starts).buffer(&self.starts).buffer(&self.places);
        let launch = launch.buffer(a.offsets).buffer(a.indices).factor(alpha).buffer(a.values);
        let launch = launch.buffer(b.offsets).buffer(b.indices);
        let launch = launch.factor(beta).buffer(b.values).buffer_or_null(pattern.map(|(offsets, _)| offsets));
        let launch = launch.buffer_or_null(pattern.map(|(_, indices)| indices)).buffer(&values);
        launch.group_per_row(self.tiles, backend.inner.block)?;
        Ok(values)
    }

    /// Bytes on the device.
    pub(crate) fn bytes(&self) -> usize {
        self.tile_starts.bytes() + self.starts.bytes() + self.places.bytes()
    }
}
