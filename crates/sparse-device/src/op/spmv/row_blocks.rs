//! One warp for each block of neighbouring rows with about equal entries, whose products meet in shared memory.

use super::plan::Workspace;
use crate::lanes::LANES;
use crate::operand::DenseOperand;
use crate::primitive::raw::{RawCompressed, VectorOperands};
use crate::primitive::row_blocks::RowBlocks;
use crate::primitive::row_lengths::LazyRowLengths;
use crate::{Device, Kernel};
use sparse_core::Result;
use sparse_core::op::Op;

/// Rows and entries of a block: `SIZE` of the kernels, two steps of a warp of four entries a lane, but for the entries
/// before the first that stand in the same word.
const SIZE: usize = 2 * LANES * 4 - 4;

/// The kernel and the blocks.
#[derive(Debug)]
pub struct BlockedRows {
    kernel: Kernel,
    blocks: RowBlocks,
}

impl BlockedRows {
    /// Finds the blocks.
    pub(super) fn new(
        backend: &Device,
        a: RawCompressed<'_>,
        lengths: &LazyRowLengths<'_>,
        op: Op,
    ) -> Result<Self> {
        let (file, entry) = ("csr_spmv_row_blocks", "csr_spmv_row_blocks");
        let kernel = backend.kernel_of(a.dtype, file, entry, a.product_defines(op))?;
        Ok(Self { kernel, blocks: RowBlocks::new(backend, a, lengths, SIZE, 1)? })
    }

    /// Computes the product.
    pub(super) fn run(
        &self,
        backend: &Device,
        a: RawCompressed<'_>,
        operands: VectorOperands<'_>,
    ) -> Result<()> {
        let VectorOperands { alpha, beta, y, .. } = operands;
        let launch = self.blocks.arguments(backend.launch(&self.kernel).size(self.blocks.count));
        let launch = launch.product(a, operands).buffer(self.blocks.sums.partial());
        launch.warps(self.blocks.count)?;
        let y = DenseOperand { data: y, rows: a.rows, cols: 1, steps: (1, 0) };
        self.blocks.sums.add(backend, alpha, beta, y)
    }
}

impl Workspace for BlockedRows {
    fn bytes(&self) -> usize {
        self.blocks.bytes()
    }
}
