//! `C ← alpha·A·B + beta·C` for compressed rows by blocks of columns whose rows of B stand in memory that a work-group
//! strategy, a slice of B's columns at a time.

use super::column_blocks::{ColumnBlocks, Cut};
use super::raw::{DenseOperands, RawCompressed};
use super::spmm_thresholds::SpmmThresholds;
use crate::Device;
use sparse_core::error::checked_product;
use sparse_core::op::Op;
use sparse_core::{Backend, PlanOptions, Result};

/// The file of the kernels.
pub(super) const FILE: &str = "csr_spmm_column_blocks";

/// Bytes of a row of B that a slice has.
const SLICE_BYTES: usize = 256;

/// Bytes that the kernel strategy by itself.
const OWN_BYTES: usize = 16;

/// Columns of a slice.
fn slice_columns(a: RawCompressed<'_>) -> usize {
    SLICE_BYTES / a.dtype.bytes()
}

/// Work-groups, as many for each of `tiles`, so that the last ones to run leave a tenth of the compute units idle or
/// less.
fn groups(tiles: usize, units: usize) -> usize {
    let whole = |waves: usize| waves * units / tiles.max(1) * tiles;
    let leaves_few_idle = |&waves: &usize| tiles == 0 || whole(waves) * 10 >= waves * units * 9;
    (1..).find(leaves_few_idle).map_or(tiles, whole)
}

impl Device {
    /// The fewest blocks of columns whose rows of a slice of B a work-group can share.
    fn cut_rows_of_b(&self, b_rows: usize) -> Cut {
        let bytes = self.properties().shared_bytes.saturating_sub(OWN_BYTES);
        let blocks = b_rows.div_ceil((bytes / SLICE_BYTES).max(1)).max(1);
        Cut { blocks, width: b_rows.div_ceil(blocks) }
    }

    /// Why products with this matrix and so many columns gain by blocks of columns, if they do: there are many, B has a
    /// slice, and rows of A have many entries in each of few blocks.
    pub(super) fn reason_for_shared_rows(
        &self,
        a: RawCompressed<'_>,
        columns: usize,
        options: &PlanOptions,
    ) -> Option<String> {
        let limits = SpmmThresholds::H100;
        if options.expected_calls < limits.calls_for_column_blocks || !self.can_share(FILE) {
            return None;
        }
        let Cut { blocks, width } = self.cut_rows_of_b(a.cols);
        let few = a.nnz() < self.caps().compute_units * limits.entries_per_unit_for_column_blocks;
        let is_narrow = columns < slice_columns(a);
        if few || is_narrow || blocks > limits.most_column_blocks || !a.order.sorted {
            return None;
        }
        let mean = a.mean_length();
        let reason = format!("rows have {mean} entries in {blocks} blocks of {width} columns");
        (mean >= limits.long_for_column_blocks * blocks).then_some(reason)
    }
}

impl ColumnBlocks {
    /// The plan of a product with a dense matrix: room for a row of C for each row of a block.
    pub(super) fn for_spmm(backend: &Device, a: RawCompressed<'_>, op: Op, columns: usize) -> Result<Self> {
        let defines = a.product_defines(op);
        let kernel = |entry| backend.kernel_of(a.dtype, FILE, entry, defines.clone());
        let cut = backend.cut_rows_of_b(a.cols);
        let slices = columns.div_ceil(slice_columns(a));
        let rows = checked_product("rows x blocks of columns", a.rows, cut.blocks)?;
        let room = checked_product("rows x slices of B", rows, slices * slice_columns(a))?;
        Ok(Self {
            kernel: kernel("csr_spmm_column_blocks")?,
            add: kernel("csr_spmm_column_blocks_add")?,
            cut,
            groups: groups(cut.blocks * slices, backend.caps().compute_units),
            splits: backend.split_rows(a, op, cut)?,
            sums: backend.allocate_raw(room, a.dtype.accumulator().bytes())?,
        })
    }

    /// Computes the product with a dense matrix.
    pub(super) fn spmm(
        &self,
        backend: &Device,
        a: RawCompressed<'_>,
        DenseOperands { alpha, b, beta, c }: DenseOperands<'_>,
    ) -> Result<()> {
        let (rows, cols) = (c.rows, c.cols);
        let Cut { blocks, width } = self.cut;
        let launch = backend.launch(&self.kernel).size(rows).size(cols).size(b.rows).size(blocks).size(width);
        let launch = launch.buffer(&self.splits).buffer(a.indices).buffer(a.values).dense(b);
        let local = backend.properties().largest_group;
        launch.buffer(&self.sums).groups_that_share(self.groups, local, width * SLICE_BYTES)?;
        let launch = backend.launch(&self.add).size(rows).size(cols).size(blocks).buffer(&self.sums);
        launch.factor(alpha).factor(beta).dense(c).items(rows * cols)
    }
}

#[cfg(test)]
mod tests {
    use super::groups;

    #[test]
    fn the_last_groups_leave_few_units_idle() {
        assert_eq!([0, 1, 20, 80, 200].map(|tiles| groups(tiles, 132)), [0, 132, 120, 240, 600]);
    }
}
