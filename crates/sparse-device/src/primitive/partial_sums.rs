//! Partial sums of rows that several work-groups have processed: a kernel adds those of each row in a fixed order.

use crate::buffer::RawBuffer;
use crate::defines::Defines;
use crate::driver::Value;
use crate::lanes::LANES;
use crate::operand::DenseOperand;
use crate::{Buffer, Device, Kernel};
use sparse_core::error::checked_product;
use sparse_core::{Backend, DType, Result};

/// The file of the kernel.
const FILE: &str = "partial_sums";

/// Work-items of a group. A group with a row of its own has at most [`MAX_THREADS`] (`MAX_THREADS` of the kernel).
const THREADS: usize = 256;
const MAX_THREADS: usize = 1024;

/// Partial sums of the longest row per work-item of such a group.
const SUMS_IN_TURN: usize = 4;

/// Tiles (rows × 32 columns) per compute unit up to which each tile has a group of its own.
const ALONE_PER_UNIT: usize = 8;

/// The rows that have partial sums, in the order of the matrix, and the first partial sum of each.
#[derive(Debug)]
pub(crate) struct SplitRows {
    pub(crate) rows: Buffer<i64>,
    /// The first partial sum of each of these rows, and at the end their number.
    pub(crate) starts: Buffer<i64>,
}

/// Partial sums, and the kernel that adds them.
#[derive(Debug)]
pub(crate) struct PartialSums {
    split: SplitRows,
    partial: RawBuffer,
    /// Work-items of a group.
    threads: usize,
    kernel: Kernel,
}

/// The number of tiles of the kernel: a row and up to 32 columns each.
fn tiles(rows: usize, columns: usize) -> usize {
    rows * columns.div_ceil(LANES)
}

/// The most tiles for which each has a group of its own.
fn most_alone(backend: &Device) -> usize {
    backend.caps().compute_units * ALONE_PER_UNIT
}

impl SplitRows {
    /// Allocates buffers for `count` rows.
    pub(crate) fn allocate(backend: &Device, count: usize) -> Result<Self> {
        Ok(Self { rows: backend.allocate(count)?, starts: backend.allocate(count + 1)? })
    }
}

impl PartialSums {
    /// Allocates `count` sums of `columns` columns; a row has at most `most` of them.
    pub(crate) fn new(
        backend: &Device,
        dtype: DType,
        split: SplitRows,
        (count, most): (usize, usize),
        columns: usize,
    ) -> Result<Self> {
        let sums = checked_product("partial sums x columns", count, columns)?;
        let usual = if backend.has_single_warps() { LANES } else { THREADS };
        let largest = 1 << backend.properties().largest_group.min(MAX_THREADS).ilog2();
        let side_by_side = ((most / SUMS_IN_TURN).max(1) * columns.clamp(1, LANES)).next_power_of_two();
        let are_alone = tiles(split.rows.len, columns) <= most_alone(backend);
        Ok(Self {
            split,
            partial: backend.allocate_raw(sums, dtype.accumulator().bytes())?,
            threads: if are_alone { side_by_side.max(usual) } else { usual }.min(largest),
            kernel: backend.kernel_of(dtype, FILE, "partial_sums", Defines::default())?,
        })
    }

    /// The partial sums, the last argument of a product's kernel.
    pub(crate) fn partial(&self) -> &RawBuffer {
        &self.partial
    }

    /// Sets the partial sums to zero.
    pub(crate) fn clear(&self, backend: &Device) -> Result<()> {
        backend.clear(&self.partial)
    }

    /// `c ← alpha·S + beta·c` in the rows that have partial sums, whose sums are S. It waits for the launch before it.
    pub(crate) fn add(&self, backend: &Device, alpha: Value, beta: Value, c: DenseOperand<'_>) -> Result<()> {
        let rows = self.split.rows.len;
        if rows == 0 {
            return Ok(());
        }
        let launch = backend.launch(&self.kernel).size(rows).size(c.cols);
        let launch = launch.buffer(&self.split.rows).buffer(&self.split.starts);
        let launch = launch.factor(alpha).factor(beta).dense(c).buffer(&self.partial);
        let tiles = tiles(rows, c.cols);
        let groups = tiles.div_ceil(self.threads / LANES).max(tiles.min(most_alone(backend)));
        launch.early().groups(groups, self.threads)
    }

    /// Bytes on the device.
    pub(crate) fn bytes(&self) -> usize {
        self.partial.bytes() + self.split.rows.bytes() + self.split.starts.bytes()
    }
}
