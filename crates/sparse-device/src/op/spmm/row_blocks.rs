//! `C ← alpha·A·B + beta·C` for short compressed rows: a team of lanes walks over the entries of neighbouring rows, and
//! prefetches the rows of B of the next entries.

use super::row_product::RowProduct;
use super::team_kernels::{Team, TeamKernels};
use crate::Device;
use crate::lanes::vector;
use crate::primitive::planned_rows::PlannedRows;
use crate::primitive::raw::{DenseOperands, RawCompressed};
use crate::primitive::row_blocks::RowBlocks;
use sparse_core::{Backend, DType, Result};

/// The file and the kernel.
const KERNEL: (&str, &str) = ("csr_spmm_row_blocks", "csr_spmm_row_blocks");

/// The fewest lanes of a team.
const MIN_LANES: usize = 4;

/// Words of a row of B from which on a lane takes two words. A team takes at most [`MOST_WORDS`] at a time. Measured on
/// an H200 over 23 matrices in f32: two words take 0.74 to 1.03 of the time of one with K = 64 and 128 (0.74 to 1.15
/// with K = 256, were 64 words taken at once), 0.86 to 1.10 with K = 32.
const LONG_FOR_TWO_WORDS: usize = 16;
const MOST_WORDS: usize = 32;

/// The longest row that a small block never cuts.
pub(super) const LONGEST_WHOLE: usize = SMALL;

/// Rows plus entries of a block: `SMALL` for very short rows, whose neighbours read neighbouring rows of B, else
/// `LARGE`. Measured on an H100 with K = 128: 567 and 625 µs with rows of 3.2 entries, 702 and 664 with 6.9.
const SMALL: usize = 32;
const LARGE: usize = 64;

/// Average entries per row from which on blocks are [`LARGE`].
const LONG_FOR_SMALL: usize = 6;

/// The fewest work-items per compute unit for which blocks are chosen: the reads of a walk depend on each other, so
/// other work-items must hide their latency. Measured with 970 thousand rows and entries: 16.7 and 11.7 µs by chunks
/// with K = 8, where there are 920, 31.7 and 38.3 with K = 32.
const ITEMS_PER_UNIT: usize = 1024;

/// The same on NVIDIA's OpenCL, whose launches are not recorded in a graph. Measured on an H200 by NVIDIA's OpenCL,
/// chunks over blocks: 1.04 to 1.65 at 450 to 760 items, 0.91 and 1.39 at 910, 0.78 to 1.09 at 110 to 230.
const ITEMS_PER_UNIT_OF_OPENCL: usize = 256;

/// The file of the plan's kernels.
const PLAN_FILE: &str = "csr_row_blocks";

/// Rows that are sampled for the choice. Columns count as near within 1/[`FAR_PARTS`] of all columns.
const SAMPLES: usize = 1024;
const FAR_PARTS: usize = 16;

/// The plan: the blocks, and a kernel for operands of either alignment.
#[derive(Debug)]
pub(super) struct BlockedRows {
    kernels: TeamKernels,
    blocks: RowBlocks,
    size: usize,
}

/// The team that takes a block, for rows of B with this number of columns.
fn team(dtype: DType, columns: usize) -> Team {
    let row = columns.div_ceil(vector(dtype.bytes())).min(MOST_WORDS);
    Team::of_words(row, if row < LONG_FOR_TWO_WORDS { 1 } else { 2 }, MIN_LANES)
}

/// True if the blocks of A's rows fill a device with `units` compute units, where a warp is a work-group or not.
pub(super) fn fill_device(
    a: RawCompressed<'_>,
    columns: usize,
    units: usize,
    has_single_warps: bool,
) -> bool {
    let items = team(a.dtype, columns).items(a.dtype, (a.rows + a.nnz()) / SMALL, columns);
    items >= units * if has_single_warps { ITEMS_PER_UNIT_OF_OPENCL } else { ITEMS_PER_UNIT }
}

impl Device {
    /// True if most rows have columns within 1/[`FAR_PARTS`] of all columns: then neighbouring rows, processed one
    /// after the other, read the same rows of B.
    pub(in crate::op) fn has_near_columns(&self, a: RawCompressed<'_>) -> Result<bool> {
        let samples = a.rows.min(SAMPLES);
        if samples == 0 {
            return Ok(true);
        }
        let near = self.allocate::<i64>(samples)?;
        let kernel = self.kernel(PLAN_FILE, "csr_row_blocks_near", a.defines())?;
        let launch = self.launch(&kernel).size(samples).size(a.rows / samples).size(a.cols / FAR_PARTS);
        launch.buffer(a.offsets).buffer(a.indices).buffer(&near).items(samples)?;
        Ok(are_mostly_near(&self.download(&near)?))
    }
}

/// True if near rows (1) are more than three times as many as far ones (−1); 0 is undecided.
fn are_mostly_near(rows: &[i64]) -> bool {
    let count = |is_near| rows.iter().filter(|&&row| row == is_near).count();
    count(1) > 3 * count(-1)
}

impl BlockedRows {
    pub(super) fn new(rows: &PlannedRows<'_>, columns: usize) -> Result<Self> {
        let &PlannedRows { backend, a, op, .. } = rows;
        let size = if a.nnz() < LONG_FOR_SMALL * a.rows { SMALL } else { LARGE };
        let teams = (team(a.dtype, columns), columns, MIN_LANES);
        Ok(Self {
            kernels: TeamKernels::new(backend, KERNEL, a.dtype, teams, &a.product_defines(op))?,
            blocks: RowBlocks::new(rows, size, columns)?,
            size,
        })
    }
}

impl RowProduct for BlockedRows {
    fn bytes(&self) -> usize {
        self.blocks.bytes()
    }

    fn run(&self, backend: &Device, a: RawCompressed<'_>, operands: DenseOperands<'_>) -> Result<()> {
        let DenseOperands { alpha, beta, c, .. } = operands;
        let team = self.kernels.for_operands(operands);
        let launch = backend.launch(&team.kernel).size(self.blocks.count).size(self.size).size(c.cols);
        let launch = self.blocks.arguments(launch).buffer(a.offsets).buffer(a.indices).buffer(a.values);
        let launch = launch.matrices(operands).buffer(self.blocks.sums.partial());
        launch.warps(team.warps(self.blocks.count, c.cols))?;
        self.blocks.sums.add(backend, alpha, beta, c)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_two_columns_do_not_tell_whether_columns_are_near() {
        assert!(are_mostly_near(&[0, 0, 0, 1]));
        assert!(are_mostly_near(&[1, 1, 1, -1, 1]));
        assert!(!are_mostly_near(&[1, 1, 1, -1]));
        assert!(!are_mostly_near(&[0, 0]));
    }
}
