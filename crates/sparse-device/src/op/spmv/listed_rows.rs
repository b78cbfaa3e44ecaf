//! `listed_rows`: compressed rows of which most are empty.
//!
//! The plan lists the rows with entries, and sets a bit for each of them. In one launch some lanes multiply each listed
//! row, and a work-item scales y for each of the others.

use super::row_strategy::RowProduct;
use crate::buffer::RawBuffer;
use crate::lanes::LANES;
use crate::primitive::planned_rows::PlannedRows;
use crate::primitive::prefix_sum::PrefixSum;
use crate::primitive::raw::{RawCompressed, VectorOperands};
use crate::{Buffer, Device, Kernel};
use sparse_core::{Backend, Result};

/// The file of the kernels.
const FILE: &str = "csr_spmv_listed";

/// Rows of a word of bits.
const BITS: usize = 32;

/// The rows with entries.
#[derive(Debug)]
pub(super) struct ListedRows {
    kernel: Kernel,
    /// Lanes per listed row.
    lanes: usize,
    /// The number of listed rows.
    filled: usize,
    /// One bit per row: true if it is listed.
    bits: Buffer<i32>,
    listed: RawBuffer,
    /// The first entries of the listed rows, and the end of the last one.
    begins: RawBuffer,
}

impl ListedRows {
    /// Lists the rows.
    pub(super) fn new(rows: &PlannedRows<'_>) -> Result<Self> {
        let &PlannedRows { backend, a, op, ref lengths, .. } = rows;
        let (rows, offsets) = (a.rows, a.offsets);
        let filled = lengths.filled()?;
        let lanes = lanes_for(a.nnz(), filled);
        let defines = a.product_defines(op).set("LANES", lanes);
        let kernel = |entry| backend.kernel_of(a.dtype, FILE, entry, defines.clone());
        let list = Self {
            kernel: kernel("csr_spmv_listed")?,
            lanes,
            filled,
            bits: backend.zeros(rows.div_ceil(BITS))?,
            listed: backend.allocate_raw(filled, a.indices.element_bytes)?,
            begins: backend.allocate_raw(filled + 1, offsets.element_bytes)?,
        };

        let starts: Buffer<i64> = backend.allocate(rows + 1)?;
        let count = kernel("csr_spmv_listed_count")?;
        backend.launch(&count).size(rows).buffer(offsets).buffer(&starts).items(rows + 1)?;
        PrefixSum::series(backend, rows + 1)?.starts(backend, &starts)?;
        let fill = kernel("csr_spmv_listed_fill")?;
        let launch = backend.launch(&fill).size(rows).buffer(offsets).buffer(&starts);
        launch.buffer(&list.bits).buffer(&list.listed).buffer(&list.begins).items(rows + 1)?;
        Ok(list)
    }
}

impl RowProduct for ListedRows {
    fn bytes(&self) -> usize {
        self.bits.bytes() + self.listed.bytes() + self.begins.bytes()
    }

    fn run(&self, backend: &Device, a: RawCompressed<'_>, operands: VectorOperands<'_>) -> Result<()> {
        let launch = backend.launch(&self.kernel).size(a.rows).size(self.filled).buffer(&self.bits);
        let launch = launch.buffer(&self.listed).buffer(&self.begins).buffer(a.indices).buffer(a.values);
        let warps = self.filled.div_ceil(LANES / self.lanes).max(a.rows.div_ceil(LANES));
        launch.vectors(operands).exchanging_warps_at_once(warps)
    }
}

/// Lanes for each of `filled` rows that share `nnz` entries: a power of two from 2 to 32, up to the average.
pub(super) fn lanes_for(nnz: usize, filled: usize) -> usize {
    let mean = (nnz / filled.max(1)).clamp(2, LANES);
    1 << mean.ilog2()
}
