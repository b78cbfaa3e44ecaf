//! `row_blocks`: blocks of neighbouring rows with about equal entries, one warp each.
//!
//! A warp loads the entries of its block at once, writes the products to shared memory, and adds them row by row. A row
//! that is longer than a block has a partial sum in each block that it spans.

use super::row_strategy::RowProduct;
use crate::lanes::LANES;
use crate::operand::DenseOperand;
use crate::primitive::planned_rows::PlannedRows;
use crate::primitive::raw::{RawCompressed, VectorOperands};
use crate::primitive::row_blocks::RowBlocks;
use crate::{Device, Kernel};
use sparse_core::Result;

/// Rows and entries of a block: `SIZE` of the kernels. Two steps of a warp with four entries a lane, less the four by
/// which the first step may begin early, at the start of a word.
const SIZE: usize = 2 * LANES * 4 - 4;

/// The kernel and the blocks.
#[derive(Debug)]
pub(super) struct BlockedRows {
    kernel: Kernel,
    blocks: RowBlocks,
}

impl BlockedRows {
    /// Finds the blocks.
    pub(super) fn new(rows: &PlannedRows<'_>) -> Result<Self> {
        let &PlannedRows { backend, a, op, .. } = rows;
        let (file, entry) = ("csr_spmv_row_blocks", "csr_spmv_row_blocks");
        let kernel = backend.kernel_of(a.dtype, file, entry, a.product_defines(op))?;
        Ok(Self { kernel, blocks: RowBlocks::new(rows, SIZE, 1)? })
    }
}

impl RowProduct for BlockedRows {
    fn bytes(&self) -> usize {
        self.blocks.bytes()
    }

    fn run(&self, backend: &Device, a: RawCompressed<'_>, operands: VectorOperands<'_>) -> Result<()> {
        let VectorOperands { alpha, beta, y, .. } = operands;
        let launch = self.blocks.arguments(backend.launch(&self.kernel).size(self.blocks.count));
        let launch = launch.product(a, operands).buffer(self.blocks.sums.partial());
        launch.warps(self.blocks.count)?;
        let y = DenseOperand { data: y, rows: a.rows, cols: 1, steps: (1, 0) };
        self.blocks.sums.add(backend, alpha, beta, y)
    }
}
