//! `C ← alpha·A·B + beta·C` for compressed rows by blocks of columns, whose rows of B a work-group loads into shared
//! memory, a slice of B's columns at a time.

use super::row_product::RowProduct;
use crate::Device;
use crate::lanes::LANES;
use crate::primitive::column_blocks::{ColumnBlocks, Cut, NAME};
use crate::primitive::planned_rows::PlannedRows;
use crate::primitive::raw::{DenseOperands, RawCompressed};
use sparse_core::error::checked_product;
use sparse_core::{Backend, Error, PlanOptions, Result};

/// The file of the kernels.
pub(super) const FILE: &str = "csr_spmm_column_blocks";

/// Bytes of a row of B in a slice.
const SLICE_BYTES: usize = 256;

/// Bytes of static shared memory of the kernel.
const OWN_BYTES: usize = 16;

/// True if the number of entries of a row in a block of columns, plus a step of a warp, fits the kernel's `int`: at
/// most one entry per column, unless columns repeat.
fn counts_in_int(a: RawCompressed<'_>) -> bool {
    a.order.unique || a.nnz() <= i32::MAX as usize - 2 * LANES
}

/// Columns per slice.
fn slice_columns(a: RawCompressed<'_>) -> usize {
    SLICE_BYTES / a.dtype.bytes()
}

/// Number of work-groups per tile for which the last ones leave at most a tenth of the compute units idle.
fn groups(tiles: usize, units: usize) -> usize {
    let whole = |waves: usize| waves * units / tiles.max(1) * tiles;
    let leaves_few_idle = |&waves: &usize| tiles == 0 || whole(waves) * 10 >= waves * units * 9;
    let first = tiles.div_ceil(units).max(1);
    (first..).find(leaves_few_idle).map_or(tiles, whole)
}

impl Device {
    /// The fewest blocks of columns whose rows of a slice of B fit shared memory.
    fn cut_rows_of_b(&self, b_rows: usize) -> Cut {
        let bytes = self.properties().shared_bytes.saturating_sub(OWN_BYTES);
        let blocks = b_rows.div_ceil((bytes / SLICE_BYTES).max(1)).max(1);
        Cut { blocks, width: b_rows.div_ceil(blocks) }
    }

    /// The reason to choose blocks of columns for `columns` columns of B, or `None`: the plan runs often, B has a
    /// slice, and rows of A have many entries in each of few blocks.
    pub(super) fn reason_for_shared_rows(
        &self,
        a: RawCompressed<'_>,
        columns: usize,
        options: &PlanOptions,
    ) -> Option<String> {
        let limits = self.thresholds().spmm;
        if options.expected_calls < limits.calls_for_column_blocks || !self.can_share(FILE) {
            return None;
        }
        let Cut { blocks, width } = self.cut_rows_of_b(a.cols);
        let few = a.nnz() < self.caps().compute_units * limits.entries_per_unit_for_column_blocks;
        let is_narrow = columns < slice_columns(a);
        if few || is_narrow || blocks > limits.most_column_blocks || !a.order.sorted || !counts_in_int(a) {
            return None;
        }
        let mean = a.mean_length();
        let reason = format!("rows have {mean} entries in {blocks} blocks of {width} columns");
        (mean >= limits.long_for_column_blocks * blocks).then_some(reason)
    }
}

impl ColumnBlocks {
    /// The plan of a product with a dense matrix, with a row of partial sums of C for each row of a block.
    pub(super) fn for_spmm(rows: &PlannedRows<'_>, columns: usize) -> Result<Self> {
        let &PlannedRows { backend, a, op, .. } = rows;
        if !counts_in_int(a) {
            let reason = format!("columns repeat among {} entries: add up the duplicates first", a.nnz());
            return Err(Error::unsupported(format!("{NAME} on {}", backend.caps().backend), reason));
        }
        let defines = a.product_defines(op);
        let kernel = |entry| backend.kernel_of(a.dtype, FILE, entry, defines.clone());
        let cut = backend.cut_rows_of_b(a.cols);
        let slices = columns.div_ceil(slice_columns(a));
        let rows = checked_product("rows x blocks of columns", a.rows, cut.blocks)?;
        let padded = checked_product("slices of B x columns", slices, slice_columns(a))?;
        let len = checked_product("rows x slices of B", rows, padded)?;
        let (splits, sums) =
            (backend.split_rows(a, op, cut)?, backend.allocate_raw(len, a.dtype.accumulator().bytes())?);
        Ok(Self {
            kernel: kernel("csr_spmm_column_blocks")?,
            add: kernel("csr_spmm_column_blocks_add")?,
            cut,
            groups: groups(cut.blocks * slices, backend.caps().compute_units),
            splits,
            sums,
        })
    }
}

impl RowProduct for ColumnBlocks {
    fn bytes(&self) -> usize {
        self.bytes()
    }

    fn run(&self, backend: &Device, a: RawCompressed<'_>, operands: DenseOperands<'_>) -> Result<()> {
        let DenseOperands { alpha, b, beta, c } = operands;
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
    use super::*;
    use sparse_core::{DType, IndexOrder};

    #[test]
    fn the_last_groups_leave_few_units_idle() {
        assert_eq!([0, 1, 20, 80, 200].map(|tiles| groups(tiles, 132)), [0, 132, 120, 240, 600]);
        assert_eq!(groups(1 << 50, 132), 1 << 50);
    }

    #[test]
    fn entries_that_repeat_columns_are_counted_only_as_far_as_an_int_reaches() {
        let device = Device::without_hardware("none", &[], 1).unwrap();
        let buffer = |len, bytes| device.allocate_raw(len, bytes).unwrap();
        let counts = |nnz, unique| {
            let (offsets, indices, values) = (buffer(2, 8), buffer(nnz, 4), buffer(nnz, 2));
            let order = IndexOrder { unique, ..IndexOrder::CANONICAL };
            counts_in_int(RawCompressed {
                dtype: DType::F16,
                rows: 1,
                cols: 900,
                order,
                offsets: &offsets,
                indices: &indices,
                values: &values,
            })
        };
        let most = i32::MAX as usize - 2 * LANES;
        assert!(counts(most, false) && counts(2 * most, true));
        assert!(!counts(most + 1, false) && !counts(1 << 31, false));
    }
}
