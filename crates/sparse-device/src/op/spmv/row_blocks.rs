//! One work-group for each block of neighbouring rows with about equal entries, whose products meet in local memory.

use super::plan::Workspace;
use crate::primitive::raw::{RawCompressed, VectorOperands};
use crate::{Buffer, Device, Kernel};
use sparse_core::Result;
use sparse_core::op::Op;

/// The file of the kernels.
const FILE: &str = "csr_spmv_row_blocks";

/// Entries of a row block for each work-item of its work-group: `CHUNK` of the kernels.
const ITEMS: usize = 4;

/// The first row of each row block.
#[derive(Debug)]
pub struct RowBlocks {
    kernel: Kernel,
    blocks: usize,
    starts: Buffer<i64>,
}

impl RowBlocks {
    /// Finds the first row of each block.
    pub(super) fn new(backend: &Device, a: RawCompressed<'_>, op: Op) -> Result<Self> {
        let block = backend.inner.block;
        let defines = a.product_defines(op).set("BLOCK", block);
        let kernel = |entry| backend.kernel_of(a.dtype, FILE, entry, defines.clone());
        let blocks = a.nnz() / (ITEMS * block) + 1;
        let starts = backend.allocate(blocks + 1)?;
        let search = kernel("csr_spmv_row_blocks_search")?;
        let launch = backend.launch(&search).size(blocks).size(a.rows).buffer(a.offsets);
        launch.buffer(&starts).items(blocks + 1)?;
        Ok(Self { kernel: kernel("csr_spmv_row_blocks")?, blocks, starts })
    }

    /// Computes the product.
    pub(super) fn run(
        &self,
        backend: &Device,
        a: RawCompressed<'_>,
        operands: VectorOperands<'_>,
    ) -> Result<()> {
        let groups = self.blocks.min(backend.most_groups());
        let launch = backend.launch(&self.kernel).size(self.blocks).buffer(&self.starts);
        launch.product(a, operands).groups(groups, backend.inner.block)
    }
}

impl Workspace for RowBlocks {
    fn bytes(&self) -> usize {
        self.starts.bytes()
    }
}
