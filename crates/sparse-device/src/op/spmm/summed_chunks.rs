//! Chunks of rows, with the partial sums of rows that have several chunks.

use crate::primitive::chunks::Chunks;
use crate::primitive::partial_sums::{PartialSums, SplitRows};
use crate::primitive::planned_rows::PlannedRows;
use crate::primitive::raw::{DenseOperands, RawCompressed};
use crate::{Device, Kernel};
use sparse_core::Result;
use std::ops::Range;

/// Columns for which a warp is a work-group, where it is one in other kernels too: a work-group of several ends with
/// the longest of their chunks. Measured on an H200 by NVIDIA's OpenCL on 21 matrices, several over one: 0.85 with 8
/// columns, 1.13 with 32, 0.87 with 128; 0.95 to 1.06 with 32 where rows are alike, 1.4 and 2.2 with 8 and 32 on
/// `graph/arxiv`.
pub(super) const SINGLE_WARPS: Range<usize> = 32..128;

impl Device {
    /// True on NVIDIA's OpenCL, where the warps of several chunks are a work-group unless columns are [`SINGLE_WARPS`].
    pub(super) fn chunks_share_groups(&self) -> bool {
        self.has_single_warps() && !self.has_barriers()
    }
}

/// The chunks, and the sums of rows that have several.
#[derive(Debug)]
pub(super) struct SummedChunks {
    chunks: Chunks,
    sums: PartialSums,
}

impl SummedChunks {
    pub(super) fn new(
        rows: &PlannedRows<'_>,
        (chunks, split): (Chunks, SplitRows),
        columns: usize,
    ) -> Result<Self> {
        let &PlannedRows { backend, a, ref lengths, .. } = rows;
        let of_a_row = match chunks.partials {
            0 => 0,
            _ if chunks.share_sums => 1,
            _ => lengths.longest()? / chunks.most,
        };
        let sums = PartialSums::new(backend, a.dtype, split, (chunks.partials, of_a_row), columns)?;
        Ok(Self { chunks, sums })
    }

    /// Number of chunks.
    pub(super) fn count(&self) -> usize {
        self.chunks.count
    }

    pub(super) fn bytes(&self) -> usize {
        self.chunks.bytes() + self.sums.bytes()
    }

    /// Sets the partial sums to zero.
    pub(super) fn clear(&self, backend: &Device) -> Result<()> {
        self.sums.clear(backend)
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
        let Self { chunks, sums } = self;
        let DenseOperands { alpha, beta, c, .. } = operands;
        let launch = backend.launch(kernel).size(chunks.count).size(c.cols);
        let launch = launch.buffer(&chunks.begins).buffer(&chunks.lengths).buffer(&chunks.rows);
        let launch = launch.buffer(&chunks.sum_index).buffer(a.indices).buffer(a.values);
        let launch = launch.matrices(operands).buffer(sums.partial());
        match SINGLE_WARPS.contains(&c.cols) {
            true => launch.warps(warps)?,
            false => launch.exchanging_warps(warps)?,
        }
        sums.add(backend, alpha, beta, c)
    }
}
