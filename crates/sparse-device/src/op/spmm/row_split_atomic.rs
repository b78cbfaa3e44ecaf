//! `C ← alpha·A·B + beta·C` for compressed rows: rows of more than 256 entries are split into chunks, whose sums are
//! added atomically.

use super::row_product::RowProduct;
use super::summed_chunks::SummedChunks;
use crate::lanes::LANES;
use crate::primitive::chunks::Chunks;
use crate::primitive::raw::{DenseOperands, RawCompressed};
use crate::primitive::row_lengths::LazyRowLengths;
use crate::{Device, Kernel};
use sparse_core::Result;
use sparse_core::op::Op;

/// The most entries of a chunk, and of a row that is not split.
const MAX_ENTRIES: usize = 256;

/// The plan: chunks, with a row of sums for each row that is split.
#[derive(Debug)]
pub(super) struct AtomicSplit {
    kernel: Kernel,
    chunks: SummedChunks,
}

impl AtomicSplit {
    pub(super) fn new(
        backend: &Device,
        a: RawCompressed<'_>,
        lengths: &LazyRowLengths<'_>,
        op: Op,
        columns: usize,
    ) -> Result<Self> {
        let defines = a.product_defines(op);
        let chunks = Chunks::with_shared_sums(backend, a, MAX_ENTRIES)?;
        let chunks = SummedChunks::new(backend, a, lengths, chunks, columns)?;
        let file = "csr_spmm_split_atomic";
        let kernel = backend.kernel_of(a.dtype, file, "csr_spmm_row_split_atomic", defines)?;
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
