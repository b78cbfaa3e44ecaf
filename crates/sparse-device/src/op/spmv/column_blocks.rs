//! `column_blocks`: blocks of columns, whose part of x a work-group loads into shared memory.
//!
//! A gather from shared memory costs a word; one from the L2 cache costs a sector of 32 bytes. Each block of columns
//! leaves a partial sum for each row, and a second kernel adds them in order.

use super::row_strategy::RowProduct;
use crate::Device;
use crate::primitive::column_blocks::{ColumnBlocks, Cut, SPLIT_FILE as FILE, Touched, defines};
use crate::primitive::planned_rows::PlannedRows;
use crate::primitive::raw::{RawCompressed, VectorOperands};
use sparse_core::{Backend, Result};

impl Device {
    /// True if the device offers an algorithm by blocks of columns.
    pub(super) fn has_column_blocks(&self) -> bool {
        self.can_share(FILE)
    }

    /// The division of columns into blocks of three quarters of the shared memory, so that the rest caches entries. The
    /// number of blocks nearly divides the number of work-groups that run at once.
    fn cut_columns(&self, a: RawCompressed<'_>) -> Cut {
        let lane_bytes = a.offsets.element_bytes + a.dtype.accumulator().bytes();
        let of_lanes = self.properties().largest_group * lane_bytes;
        let bytes = self.properties().shared_bytes.saturating_sub(of_lanes) / 4 * 3;
        let units = self.caps().compute_units;
        let least = a.cols.div_ceil(bytes / a.dtype.bytes()).max(1);
        let leaves_few_idle = |&blocks: &usize| blocks >= units || units % blocks * 20 <= units;
        let blocks = (least..).find(leaves_few_idle).unwrap_or(least);
        Cut { blocks, width: a.cols.div_ceil(blocks) }
    }

    /// The reason why products with this matrix gain by blocks of columns, if they do: x is larger than shared memory,
    /// and rows have several entries in each block, in any order, so that no cache holds the gathered elements.
    pub(super) fn reason_for_column_blocks(&self, a: RawCompressed<'_>) -> Result<Option<String>> {
        let limits = self.thresholds().spmv.column_blocks;
        let Cut { blocks, width } = self.cut_columns(a);
        let few = a.nnz() < self.caps().compute_units * limits.entries_per_unit;
        let long = limits.entries_per_block;
        if few || blocks == 1 || a.mean_length() < long || !a.order.sorted {
            return Ok(None);
        }
        let Touched { sampled, blocks: touched } = self.touched_blocks(a, width)?;
        let is_spread = touched * 2 >= sampled * blocks;
        let has_long_pieces = a.mean_length() * sampled >= long * touched;
        let reason =
            format!("{sampled} rows have entries in {touched} of {blocks} blocks of {width} columns each");
        Ok((is_spread && has_long_pieces).then_some(reason))
    }
}

impl ColumnBlocks {
    /// The plan of a product with a vector, with a partial sum for each row of a block.
    pub(super) fn for_spmv(rows: &PlannedRows<'_>) -> Result<Self> {
        let &PlannedRows { backend, a, op, .. } = rows;
        let defines = defines(backend, a, op);
        let kernel = |entry| backend.kernel_of(a.dtype, FILE, entry, defines.clone());
        let cut = backend.cut_columns(a);
        let units = backend.caps().compute_units;
        Ok(Self {
            kernel: kernel("csr_spmv_column_blocks")?,
            add: kernel("csr_spmv_column_blocks_add")?,
            cut,
            groups: (units / cut.blocks).max(1) * cut.blocks,
            splits: backend.split_rows(a, op, cut)?,
            sums: backend.allocate_raw(a.rows * cut.blocks, a.dtype.accumulator().bytes())?,
        })
    }
}

impl RowProduct for ColumnBlocks {
    fn bytes(&self) -> usize {
        self.bytes()
    }

    fn run(&self, backend: &Device, a: RawCompressed<'_>, operands: VectorOperands<'_>) -> Result<()> {
        let VectorOperands { alpha, x, beta, y } = operands;
        let (rows, cols) = (a.rows, a.cols);
        let Cut { blocks, width } = self.cut;
        let launch = backend.launch(&self.kernel).size(rows).size(cols).size(blocks).size(width);
        let launch =
            launch.buffer(&self.splits).buffer(a.indices).buffer(a.values).view(x).buffer(&self.sums);
        let local = backend.properties().largest_group;
        launch.groups_that_share(self.groups, local, width * a.dtype.bytes())?;
        let launch = backend.launch(&self.add).size(rows).size(blocks).buffer(&self.sums);
        launch.factor(alpha).factor(beta).view(y).early().items(rows)
    }
}
