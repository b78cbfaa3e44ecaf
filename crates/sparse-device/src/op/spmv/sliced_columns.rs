//! `sliced_columns`: a few lanes per row, with a copy of the columns in the order in which warps read them.
//!
//! A lane reads four neighbouring entries in a step. The copy has the columns of a warp's step side by side, so that
//! they are read in whole cache lines, past the L1 cache, which then keeps x. Values stay in the order of the matrix,
//! since they may change between runs.
//!
//! It wins where x is larger than the L1 cache and rows that run at once read the same parts of it: sorted columns from
//! everywhere, or clustered columns like those of the neighbouring rows.

use super::length_classes;
use super::row_deltas::ColumnPattern;
use super::row_strategy::RowProduct;
use crate::buffer::RawBuffer;
use crate::lanes::{LANES, lanes_at_once};
use crate::primitive::planned_rows::PlannedRows;
use crate::primitive::prefix_sum::PrefixSum;
use crate::primitive::raw::{RawCompressed, VectorOperands};
use crate::{Buffer, Device, Kernel};
use sparse_core::error::checked_product;
use sparse_core::{Backend, Result};

/// The file of the kernels.
const FILE: &str = "csr_spmv_sliced_columns";

/// Entries of a lane in a step: `EACH` of the kernels.
const EACH: usize = 4;

/// Average entries per row from which on the copy pays for scattered columns. Measured on an H200, over classes of
/// lengths: 0.82 to 0.93 from 24 entries on, 0.99 to 1.10 at 8 to 16.
const LONG: usize = 24;

/// The same for clustered columns: 0.83 to 0.89 from 20 entries on, 1.01 at 18.
const LONG_CLUSTERED: usize = 20;

/// Average entries per row from which on rows with clustered columns have eight lanes, not four. Measured on an H200 on
/// shuffled meshes of two to five unknowns in f32, eight over four: 1.11 at 25 entries, 1.17 at 36, 0.94 at 51; over
/// classes of lengths with their own lanes: 0.78 to 0.89.
const EIGHT_LANES: usize = 41;

/// The most rows per compute unit that have one lane each: each takes a line of 128 bytes of the L1 cache for its
/// values. Measured on an H200 in f32, over classes of lengths: 0.82 to 0.93 with 1136 to 1515 rows, 1.11 with 1805.
const ROWS_PER_UNIT: usize = 1536;

/// The columns, slice by slice.
#[derive(Debug)]
pub(super) struct SlicedColumns {
    kernel: Kernel,
    /// Lanes per row.
    lanes: usize,
    /// For each slice, the steps before it.
    starts: Buffer<i64>,
    columns: RawBuffer,
}

impl SlicedColumns {
    /// Copies the columns.
    pub(super) fn new(rows: &PlannedRows<'_>, pattern: ColumnPattern) -> Result<Self> {
        let &PlannedRows { backend, a, op, .. } = rows;
        let lanes = rows.lanes_for_sliced_columns(pattern)?;
        let usual = &backend.thresholds().spmv.length_classes.alike;
        let lanes = lanes.unwrap_or_else(|| length_classes::lanes_for(a.mean_length(), usual));
        let defines = a.product_defines(op).set("LANES", lanes);
        let kernel = |entry| backend.kernel_of(a.dtype, FILE, entry, defines.clone());
        let slices = a.rows.div_ceil(LANES / lanes);
        let starts = backend.allocate::<i64>(slices + 1)?;
        let count = kernel("csr_spmv_sliced_columns_count")?;
        backend.launch(&count).size(a.rows).buffer(a.offsets).buffer(&starts).items(slices + 1)?;
        let steps = PrefixSum::series(backend, slices + 1)?.starts_and_sum(backend, &starts)?;
        let elements = checked_product("steps x entries", steps, LANES * EACH)?;
        let columns = backend.allocate_raw(elements, a.indices.element_bytes)?;
        let fill = kernel("csr_spmv_sliced_columns_fill")?;
        let launch = backend.launch(&fill).size(a.rows).buffer(a.offsets).buffer(a.indices);
        launch.buffer(&starts).buffer(&columns).exchanging_warps(slices)?;
        Ok(Self { kernel: kernel("csr_spmv_sliced_columns")?, lanes, starts, columns })
    }
}

impl RowProduct for SlicedColumns {
    fn bytes(&self) -> usize {
        self.starts.bytes() + self.columns.bytes()
    }

    fn run(&self, backend: &Device, a: RawCompressed<'_>, operands: VectorOperands<'_>) -> Result<()> {
        let launch = backend.launch(&self.kernel).size(a.rows).size(a.nnz()).buffer(&self.starts);
        let launch = launch.buffer(a.offsets).buffer(&self.columns).buffer(a.values).vectors(operands);
        launch.exchanging_warps(a.rows.div_ceil(LANES / self.lanes))
    }
}

impl PlannedRows<'_> {
    /// The lanes of each row with which a copy of the columns takes less time than classes of lengths, if any do.
    pub(super) fn lanes_for_sliced_columns(&self, pattern: ColumnPattern) -> Result<Option<usize>> {
        let (mean, value_bytes) = (self.a.mean_length(), self.a.values.element_bytes);
        if self.lengths.longest()? > 2 * mean {
            return Ok(None);
        }
        Ok(match pattern {
            ColumnPattern::Scattered if mean >= LONG => {
                lanes_of_slices(self.a.rows, value_bytes, self.backend.caps().compute_units)
            }
            ColumnPattern::Clustered { .. }
                if value_bytes < 8 && mean >= LONG_CLUSTERED && self.are_nearly_cached() =>
            {
                Some(if mean < EIGHT_LANES { 4 } else { 8 })
            }
            _ => None,
        })
    }

    /// True if the L2 cache holds most of the matrix; elsewhere the copy takes 1.0 to 1.09 of the time of classes.
    fn are_nearly_cached(&self) -> bool {
        let a = self.a;
        let bytes = a.nnz() * (a.indices.element_bytes + a.values.element_bytes);
        4 * bytes <= 5 * self.backend.properties().cache_bytes
    }
}

/// The most lanes with which all rows of scattered columns run at once: at least one, two for values of 8 bytes. `None`
/// from eight lanes on, where rows are few and near columns are taken for scattered ones (1.10 at 58 entries).
///
/// Measured on an H200 on rows of 24 to 128 random columns, over classes of lengths with the best lanes: 0.82 to 0.93
/// in f32; 0.86 to 0.96 in f64, 0.99 to 1.1 with one lane.
fn lanes_of_slices(rows: usize, value_bytes: usize, units: usize) -> Option<usize> {
    let has_lines = value_bytes < 8 && rows <= units * ROWS_PER_UNIT;
    let fewest = if has_lines { 1 } else { 2 };
    let most = lanes_at_once(&[8, 4, 2, 1], rows, units)?;
    (fewest..8).contains(&most).then_some(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scattered_rows_have_the_lanes_with_which_all_run_at_once() {
        let lanes = |rows, value_bytes| lanes_of_slices(rows, value_bytes, 132);
        let f32_lanes = [30_000, 50_000, 100_000, 200_000, 240_000].map(|rows| lanes(rows, 4));
        assert_eq!(f32_lanes, [None, Some(4), Some(2), Some(1), None]);
        assert_eq!([100_000, 200_000].map(|rows| lanes(rows, 8)), [Some(2), None]);
    }
}
