//! Rows by a few lanes each, with a copy of the columns in the order in which warps read them.
//!
//! A lane reads four neighbouring entries at once. Values stay where they are, since they may change between runs, but
//! columns may not: those that a warp reads together are side by side in the copy, in whole lines that do not enter the
//! first cache. So it keeps x. That helps where x is larger than this cache and rows that run at once read the same parts of
//! it: sorted columns from everywhere, or those of neighbouring rows that are alike.

use super::length_classes;
use super::plan::Workspace;
use super::row_deltas::ColumnPattern;
use crate::buffer::RawBuffer;
use crate::lanes::{LANES, lanes_at_once};
use crate::primitive::prefix_sum::PrefixSum;
use crate::primitive::raw::{RawCompressed, VectorOperands};
use crate::primitive::row_lengths::LazyRowLengths;
use crate::{Buffer, Device, Kernel};
use sparse_core::error::checked_product;
use sparse_core::op::Op;
use sparse_core::{Backend, Result};

/// The file of the kernels.
const FILE: &str = "csr_spmv_sliced_columns";

/// Entries of a lane in a step: `EACH` of the kernels.
const EACH: usize = 4;

/// Average entries per row from which on the copy is worth it for scattered columns, and for clustered ones. Measured on an
/// H200, over classes of lengths: 0.82 to 0.93 from 24 scattered ones on, 0.99 to 1.10 at 8 to 16; 0.83 to 0.89 from 20
/// clustered ones on, 1.01 at 18.
const LONG: usize = 24;
const LONG_CLUSTERED: usize = 20;

/// Average entries per row from which on rows with clustered columns have eight lanes, not four. Measured on an H200 on shuffled
/// meshes of two to five unknowns in f32, eight over four: 1.11 at 25 entries, 1.17 at 36, 0.94 at 51; over classes of
/// lengths with the lanes that they have: 0.78 to 0.89.
const EIGHT_LANES: usize = 41;

/// Rows of a compute unit that have a lane each, at most: each takes a line of 128 bytes of the first cache for its values. Measured
/// on an H200 in f32, over classes of lengths: 0.82 to 0.93 with 1136 to 1515 rows, 1.11 with 1805.
const ROWS_PER_UNIT: usize = 1536;

/// The columns, slice by slice.
#[derive(Debug)]
pub struct SlicedColumns {
    kernel: Kernel,
    /// Lanes per row.
    lanes: usize,
    /// For each slice, the steps before it.
    starts: Buffer<i64>,
    columns: RawBuffer,
}

impl SlicedColumns {
    /// Copies the columns.
    pub(super) fn new(
        backend: &Device,
        a: RawCompressed<'_>,
        lengths: &LazyRowLengths<'_>,
        op: Op,
        pattern: ColumnPattern,
    ) -> Result<Self> {
        let lanes = backend.lanes_for_sliced_columns(a, lengths, pattern)?;
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

    /// Computes the product.
    pub(super) fn run(
        &self,
        backend: &Device,
        a: RawCompressed<'_>,
        operands: VectorOperands<'_>,
    ) -> Result<()> {
        let launch = backend.launch(&self.kernel).size(a.rows).size(a.nnz()).buffer(&self.starts);
        let launch = launch.buffer(a.offsets).buffer(&self.columns).buffer(a.values).vectors(operands);
        launch.exchanging_warps(a.rows.div_ceil(LANES / self.lanes))
    }
}

impl Device {
    /// The lanes of each row with which a copy of the columns takes less time than classes of lengths, if any do.
    pub(super) fn lanes_for_sliced_columns(
        &self,
        a: RawCompressed<'_>,
        lengths: &LazyRowLengths<'_>,
        pattern: ColumnPattern,
    ) -> Result<Option<usize>> {
        let (mean, value_bytes) = (a.mean_length(), a.values.element_bytes);
        if lengths.longest()? > 2 * mean {
            return Ok(None);
        }
        Ok(match pattern {
            ColumnPattern::Scattered if mean >= LONG => {
                lanes_of_slices(a.rows, value_bytes, self.caps().compute_units)
            }
            ColumnPattern::Clustered { .. }
                if value_bytes < 8 && mean >= LONG_CLUSTERED && self.nearly_caches(a) =>
            {
                Some(if mean < EIGHT_LANES { 4 } else { 8 })
            }
            _ => None,
        })
    }

    /// True if the second cache holds most of the matrix: from memory the copy takes 1.0 to 1.09 of the time of classes.
    fn nearly_caches(&self, a: RawCompressed<'_>) -> bool {
        let bytes = a.nnz() * (a.indices.element_bytes + a.values.element_bytes);
        4 * bytes <= 5 * self.properties().cache_bytes
    }
}

/// The most lanes with which all rows of scattered columns run at once, if they are fewer than eight, which few rows of near
/// columns could have too (1.10 at 58 entries); one suffices where values have fewer than 8 bytes.
/// Measured on an H200 on rows of 24 to 128 random columns, over classes of lengths with the lanes that suit each: 0.82 to
/// 0.93 in f32; 0.86 to 0.96 in f64, 0.99 to 1.1 with one lane.
fn lanes_of_slices(rows: usize, value_bytes: usize, units: usize) -> Option<usize> {
    let has_lines = value_bytes < 8 && rows <= units * ROWS_PER_UNIT;
    let fewest = if has_lines { 1 } else { 2 };
    let most = lanes_at_once(&[8, 4, 2, 1], rows, units)?;
    (fewest..8).contains(&most).then_some(most)
}

impl Workspace for SlicedColumns {
    fn bytes(&self) -> usize {
        self.starts.bytes() + self.columns.bytes()
    }
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
