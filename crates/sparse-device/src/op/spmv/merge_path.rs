//! `merge_path`: one work-group for each tile of the merge of rows and entries, so that all have equal work.
//!
//! A tile may begin and end inside a row; a second kernel adds the partial sums of rows that span tiles.
//!
//! Merrill, Garland: Merge-based parallel sparse matrix-vector multiplication, SC 2016.

use super::row_strategy::RowProduct;
use crate::buffer::RawBuffer;
use crate::primitive::planned_rows::PlannedRows;
use crate::primitive::raw::{RawCompressed, VectorOperands};
use crate::{Buffer, Device, Kernel};
use sparse_core::Result;

/// The file of the kernels.
const FILE: &str = "csr_spmv_merge";

/// Steps of the merge that a work-item takes: `ITEMS` of the kernels.
const ITEMS: usize = 5;

/// The first row of each tile, and the partial sums of its rows that begin before it or end behind it.
#[derive(Debug)]
pub(super) struct MergePath {
    kernel: Kernel,
    carries: Kernel,
    tiles: usize,
    tile_rows: Buffer<i64>,
    head: RawBuffer,
    tail: RawBuffer,
}

impl MergePath {
    /// Finds the first row of each tile.
    pub(super) fn new(rows: &PlannedRows<'_>) -> Result<Self> {
        let &PlannedRows { backend, a, op, .. } = rows;
        let block = backend.inner.block;
        let defines = a.product_defines(op).set("BLOCK", block);
        let kernel = |entry| backend.kernel_of(a.dtype, FILE, entry, defines.clone());
        let tiles = (a.rows + a.nnz()).div_ceil(ITEMS * block);
        let (tile_rows, sum_bytes) = (backend.allocate(tiles + 1)?, a.dtype.accumulator().bytes());
        let search = kernel("csr_spmv_merge_search")?;
        let launch = backend.launch(&search).size(tiles).size(a.rows).buffer(a.offsets);
        launch.buffer(&tile_rows).items(tiles + 1)?;
        Ok(Self {
            kernel: kernel("csr_spmv_merge_path")?,
            carries: kernel("csr_spmv_merge_carries")?,
            tiles,
            tile_rows,
            head: backend.allocate_raw(tiles, sum_bytes)?,
            tail: backend.allocate_raw(tiles, sum_bytes)?,
        })
    }
}

impl RowProduct for MergePath {
    fn bytes(&self) -> usize {
        self.tile_rows.bytes() + self.head.bytes() + self.tail.bytes()
    }

    fn run(&self, backend: &Device, a: RawCompressed<'_>, operands: VectorOperands<'_>) -> Result<()> {
        let Self { kernel, carries, tiles, tile_rows, head, tail } = self;
        let groups = (*tiles).min(backend.most_groups());
        let launch = backend.launch(kernel).size(*tiles).size(a.rows).buffer(tile_rows);
        let launch = launch.product(a, operands).buffer(head).buffer(tail);
        launch.groups(groups, backend.inner.block)?;
        let VectorOperands { alpha, beta, y, .. } = operands;
        let launch = backend.launch(carries).size(*tiles).buffer(tile_rows).buffer(a.offsets);
        let launch = launch.factor(alpha).factor(beta).view(y);
        launch.buffer(head).buffer(tail).warps(*tiles)
    }
}
