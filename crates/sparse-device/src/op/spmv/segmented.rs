//! `segmented`: compressed rows in parts of equal numbers of entries, summed by segments.
//!
//! A warp takes a part, whatever the lengths of its rows: a bit for each entry marks where rows begin. A second kernel
//! adds the sums of the rows that span parts, in order, and scales y for the rows without entries.

use super::row_strategy::RowProduct;
use crate::buffer::RawBuffer;
use crate::lanes::LANES;
use crate::primitive::planned_rows::PlannedRows;
use crate::primitive::prefix_sum::PrefixSum;
use crate::primitive::raw::{RawCompressed, VectorOperands};
use crate::{Buffer, Device, Kernel};
use sparse_core::{Backend, Result};

/// The file of the kernels.
const FILE: &str = "csr_spmv_segmented";

/// Entries per step of a warp: `STEP` of the kernels.
const STEP: usize = 4 * LANES;

/// Bits of a word.
const BITS: usize = 32;

/// The ratio of the number of parts to the steps per part is at most this where lanes meet at barriers: more parts hide
/// waiting better, fewer leave less to add at the end. (Found by trial on an H100.)
const SQUARE: usize = 46 * 46;

/// Warps of a compute unit that have a part each, elsewhere: as many as run at once, so that none waits for a second
/// part. Measured on an H100 with 0.1 to 8 million entries, time over that with `SQUARE`: 0.86 to 1.1, 0.96 on average
/// (f32), 0.83 to 1.02, 0.97 (f64).
const WARPS_AT_ONCE: usize = 40;

/// The most steps of a part.
const MAX_STEPS: usize = 16;

/// The starts of rows, and the partial sums of rows that begin before a part or end behind it.
#[derive(Debug)]
pub(super) struct Segmented {
    kernel: Kernel,
    carries: Kernel,
    /// Entries of a part.
    size: usize,
    parts: usize,
    filled_rows: usize,
    /// One bit per entry: true if it is the first of a row.
    bits: Buffer<i32>,
    /// For each part, the number of nonempty rows that begin before it.
    begun: Buffer<i64>,
    /// The rows with entries, then the others.
    order: RawBuffer,
    /// For each part, the row of its last entry, if that row begins in the part, or −1.
    open_rows: RawBuffer,
    /// For each part, the last part with entries of the row of its last entry; as −1 − part if the row ends exactly
    /// with that part.
    open_ends: Buffer<i64>,
    head: RawBuffer,
    tail: RawBuffer,
}

impl Segmented {
    /// Computes the starts of rows.
    pub(super) fn new(rows: &PlannedRows<'_>) -> Result<Self> {
        let &PlannedRows { backend, a, op, .. } = rows;
        let kernel = |entry| backend.kernel_of(a.dtype, FILE, entry, a.product_defines(op));
        let (index_bytes, sum_bytes) = (a.indices.element_bytes, a.dtype.accumulator().bytes());
        let (nnz, offsets) = (a.nnz(), a.offsets);
        let size = STEP * steps_of_part(backend, nnz.div_ceil(STEP).max(1));
        let parts = nnz.div_ceil(size);
        let MarkedRows { starts, filled, bits, order } = MarkedRows::new(rows)?;

        let begun = backend.allocate(parts + 1)?;
        let search = kernel("csr_spmv_segmented_begun")?;
        let launch = backend.launch(&search).size(parts).size(size).size(a.rows);
        launch.buffer(offsets).buffer(&starts).buffer(&begun).items(parts + 1)?;
        let (open_rows, open_ends) = (backend.allocate_raw(parts, index_bytes)?, backend.allocate(parts)?);
        let open = kernel("csr_spmv_segmented_open")?;
        let launch = backend.launch(&open).size(parts).size(size).size(nnz).buffer(offsets).buffer(&begun);
        launch.buffer(&order).buffer(&open_rows).buffer(&open_ends).items(parts)?;
        Ok(Self {
            kernel: kernel("csr_spmv_segmented")?,
            carries: kernel("csr_spmv_segmented_carries")?,
            size,
            parts,
            filled_rows: filled,
            bits,
            begun,
            order,
            open_rows,
            open_ends,
            head: backend.allocate_raw(parts, sum_bytes)?,
            tail: backend.allocate_raw(parts, sum_bytes)?,
        })
    }
}

impl RowProduct for Segmented {
    fn bytes(&self) -> usize {
        let pattern = self.bits.bytes() + self.begun.bytes() + self.order.bytes();
        pattern + self.open_rows.bytes() + self.open_ends.bytes() + self.head.bytes() + self.tail.bytes()
    }

    fn run(&self, backend: &Device, a: RawCompressed<'_>, operands: VectorOperands<'_>) -> Result<()> {
        let VectorOperands { alpha, beta, y, .. } = operands;
        let (rows, nnz) = (a.rows, a.nnz());
        let launch = backend.launch(&self.kernel).size(self.size).size(nnz).buffer(&self.bits);
        let launch = launch.buffer(&self.begun).buffer(&self.order).buffer(a.indices).buffer(a.values);
        launch.vectors(operands).buffer(&self.head).buffer(&self.tail).exchanging_warps(self.parts)?;
        let launch = backend.launch(&self.carries).size(self.parts).size(self.filled_rows).size(rows);
        let launch = launch.buffer(&self.open_rows).buffer(&self.open_ends).buffer(&self.order);
        let launch = launch.factor(alpha).factor(beta).view(y).buffer(&self.head).buffer(&self.tail);
        launch.early().warps(self.parts.max(rows - self.filled_rows).div_ceil(LANES))
    }
}

/// The rows in order, with a mark at the first entry of each.
struct MarkedRows {
    /// For each row, the number of rows with entries before it.
    starts: Buffer<i64>,
    /// The number of rows with entries.
    filled: usize,
    bits: Buffer<i32>,
    order: RawBuffer,
}

impl MarkedRows {
    fn new(rows: &PlannedRows<'_>) -> Result<Self> {
        let &PlannedRows { backend, a, op, .. } = rows;
        let kernel = |entry| backend.kernel_of(a.dtype, FILE, entry, a.product_defines(op));
        let starts: Buffer<i64> = backend.allocate(a.rows + 1)?;
        let count = kernel("csr_spmv_segmented_count")?;
        backend.launch(&count).size(a.rows).buffer(a.offsets).buffer(&starts).items(a.rows + 1)?;
        let filled = PrefixSum::series(backend, a.rows + 1)?.starts_and_sum(backend, &starts)?;

        let bits = backend.zeros(a.nnz().div_ceil(BITS))?;
        let order = backend.allocate_raw(a.rows, a.indices.element_bytes)?;
        let mark = kernel("csr_spmv_segmented_mark")?;
        let launch = backend.launch(&mark).size(a.rows).buffer(a.offsets).buffer(&starts);
        launch.buffer(&bits).buffer(&order).items(a.rows)?;
        Ok(Self { starts, filled, bits, order })
    }
}

/// The steps of a part, of a product of `steps`, at least one.
fn steps_of_part(backend: &Device, steps: usize) -> usize {
    if backend.has_barriers() {
        return (steps / SQUARE).isqrt().clamp(1, MAX_STEPS);
    }
    let at_once = backend.caps().compute_units * WARPS_AT_ONCE;
    let parts = at_once * steps.div_ceil(at_once * MAX_STEPS);
    steps.div_ceil(parts)
}
