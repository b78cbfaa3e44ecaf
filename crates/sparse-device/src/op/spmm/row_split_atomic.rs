//! `C ← alpha·A·B + beta·C` for compressed rows: rows of more than 256 entries are split into chunks, whose sums are
//! added atomically.

use super::row_product::RowProduct;
use super::summed_chunks::SummedChunks;
use crate::lanes::LANES;
use crate::primitive::chunks::Chunks;
use crate::primitive::planned_rows::PlannedRows;
use crate::primitive::raw::{DenseOperands, RawCompressed};
use crate::{Device, Kernel};
use sparse_core::Result;

/// The most entries of a chunk, and of a row that is not split.
const MAX_ENTRIES: usize = 256;

/// The plan: chunks, with a row of sums for each row that is split.
#[derive(Debug)]
pub(super) struct AtomicSplit {
    kernel: Kernel,
    chunks: SummedChunks,
}

impl AtomicSplit {
    pub(super) fn new(rows: &PlannedRows<'_>, columns: usize) -> Result<Self> {
        let &PlannedRows { backend, a, op, .. } = rows;
        let chunks = Chunks::with_shared_sums(backend, a, MAX_ENTRIES)?;
        let chunks = SummedChunks::new(rows, chunks, columns)?;
        let (file, entry) = ("csr_spmm_split_atomic", "csr_spmm_row_split_atomic");
        let kernel = backend.kernel_of(a.dtype, file, entry, a.product_defines(op))?;
        Ok(Self { kernel, chunks })
    }
}

impl RowProduct for AtomicSplit {
    fn bytes(&self) -> usize {
        self.chunks.bytes()
    }

    fn run(&self, backend: &Device, a: RawCompressed<'_>, operands: DenseOperands<'_>) -> Result<()> {
        self.chunks.clear(backend)?;
        let warps = self.chunks.count() * operands.c.cols.div_ceil(LANES);
        self.chunks.multiply(backend, &self.kernel, warps, a, operands)
    }
}
