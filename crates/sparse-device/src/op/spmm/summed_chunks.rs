//! Chunks of rows with the partial sums of those that are no whole rows.

use super::row_split::any_columns;
use crate::buffer::RawBuffer;
use crate::defines::Defines;
use crate::primitive::chunks::Chunks;
use crate::primitive::raw::{DenseOperands, RawCompressed};
use crate::{Device, Kernel};
use sparse_core::Result;
use sparse_core::error::checked_product;

/// The chunks, a workspace for their sums, and the kernel that adds these.
#[derive(Debug)]
pub(super) struct SummedChunks {
    chunks: Chunks,
    partial: RawBuffer,
    add: Kernel,
}

impl SummedChunks {
    pub(super) fn new(
        backend: &Device,
        a: RawCompressed<'_>,
        chunks: Chunks,
        columns: usize,
        defines: &Defines,
    ) -> Result<Self> {
        let sums = checked_product("partial sums x columns", chunks.splits, columns)?;
        let partial = backend.allocate_raw(sums, a.dtype.accumulator().bytes())?;
        Ok(Self { chunks, partial, add: any_columns(backend, a.dtype, "csr_spmm_row_split_sums", defines)? })
    }

    /// Number of chunks.
    pub(super) fn count(&self) -> usize {
        self.chunks.count
    }

    pub(super) fn bytes(&self) -> usize {
        self.chunks.bytes() + self.partial.bytes()
    }

    /// Makes zeros of the partial sums.
    pub(super) fn clear(&self, backend: &Device) -> Result<()> {
        backend.clear(&self.partial)
    }

    /// Computes the product: `kernel`, with this number of warps, writes rows of C and partial sums, which are added.
    pub(super) fn multiply(
        &self,
        backend: &Device,
        kernel: &Kernel,
        warps: usize,
        a: RawCompressed<'_>,
        operands: DenseOperands<'_>,
    ) -> Result<()> {
        let Self { chunks, partial, add } = self;
        let DenseOperands { alpha, beta, c, .. } = operands;
        let launch = backend.launch(kernel).size(chunks.count).size(c.cols);
        let launch = launch.buffer(&chunks.begins).buffer(&chunks.lengths).buffer(&chunks.rows);
        let launch = launch.buffer(&chunks.sum_index).buffer(a.indices).buffer(a.values);
        launch.matrices(operands).buffer(partial).warps(warps)?;
        let launch = backend.launch(add).size(chunks.splits).size(c.cols);
        let launch = launch.buffer(&chunks.split_rows).buffer(&chunks.split_starts);
        let launch = launch.factor(alpha).factor(beta).dense(c).buffer(partial);
        launch.early().items(chunks.splits * c.cols)
    }
}
