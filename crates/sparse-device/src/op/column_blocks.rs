//! Blocks of columns, and where compressed rows come into each of them: the plans of products whose work-groups keep
//! what a block of columns is multiplied with in memory that they share.

use super::raw::RawCompressed;
use crate::program::Defines;
use crate::space::RawBuffer;
use crate::{Device, Kernel};
use sparse_core::error::checked_product;
use sparse_core::op::Op;
use sparse_core::{Backend, Error, Result};

/// The file of the kernel that splits the rows.
pub(super) const SPLIT_FILE: &str = "csr_spmv_column_blocks";

/// The name of the algorithms.
pub(super) const NAME: &str = "column_blocks";

/// How columns are cut.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    pub(super) blocks: usize,
    pub(super) width: usize,
}

/// The plan of a product: where the rows come into each block of columns, and room for the sums of blocks, which a second
/// kernel adds.
#[derive(Debug)]
pub struct ColumnBlocks {
    pub(super) kernel: Kernel,
    pub(super) add: Kernel,
    pub(super) cut: Cut,
    pub(super) groups: usize,
    pub(super) splits: RawBuffer,
    pub(super) sums: RawBuffer,
}

impl ColumnBlocks {
    pub(super) fn bytes(&self) -> usize {
        self.splits.bytes() + self.sums.bytes()
    }
}

/// The macros of the kernel that splits the rows, and of those beside it.
pub(super) fn defines(backend: &Device, a: RawCompressed<'_>, op: Op) -> Defines {
    a.product_defines(op).set("BLOCK", backend.inner.block)
}

impl Device {
    /// Whether there are these kernels, and memory that their work-groups can share.
    pub(super) fn can_share(&self, file: &str) -> bool {
        self.has(file) && self.properties().shared_bytes > 0
    }

    /// The first entry of each row in each block of columns: of row r in block b it is element b·rows + r, for one block
    /// more than there are.
    ///
    /// # Errors
    /// [`Error::Unsupported`] unless columns ascend in each row.
    pub(super) fn split_rows(&self, a: RawCompressed<'_>, op: Op, cut: Cut) -> Result<RawBuffer> {
        if !a.order.sorted {
            let reason = "columns must ascend in each row: sort the matrix first";
            return Err(Error::unsupported(format!("{NAME} on {}", self.caps().backend), reason));
        }
        let permutation = checked_product("rows x blocks of columns", a.rows, cut.blocks + 1)?;
        let splits = self.allocate_raw(permutation, a.offsets.element_bytes)?;
        let defines = defines(self, a, op);
        let kernel = self.kernel_of(a.dtype, SPLIT_FILE, "csr_spmv_column_blocks_split", defines)?;
        let launch = self.launch(&kernel).size(a.rows).size(cut.blocks).size(cut.width);
        launch.buffer(a.offsets).buffer(a.indices).buffer(&splits).items(splits.len)?;
        Ok(splits)
    }
}
