//! Blocks of columns, and the first entry of each compressed row in each of them: for products whose work-groups store
//! the operand's part of a block of columns in shared memory.

use super::raw::RawCompressed;
use crate::buffer::RawBuffer;
use crate::defines::Defines;
use crate::lanes::LANES;
use crate::{Device, Kernel};
use sparse_core::error::checked_product;
use sparse_core::op::Op;
use sparse_core::{Backend, Error, Result};

/// The file of the kernel that splits the rows.
pub(crate) const SPLIT_FILE: &str = "csr_spmv_column_blocks";

/// The name of the algorithms.
pub(crate) const NAME: &str = "column_blocks";

/// The division of columns into blocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    pub(crate) blocks: usize,
    pub(crate) width: usize,
}

/// Rows sampled for the number of blocks that they have entries in.
const SAMPLED_ROWS: usize = 1 << 12;

/// Sampled rows, and the blocks that each of them has entries in, summed up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Touched {
    pub(crate) sampled: usize,
    pub(crate) blocks: usize,
}

/// The plan of a product: the first entry of each row in each block of columns, and a workspace for the sums of blocks,
/// which a second kernel adds.
#[derive(Debug)]
pub(crate) struct ColumnBlocks {
    pub(crate) kernel: Kernel,
    pub(crate) add: Kernel,
    pub(crate) cut: Cut,
    pub(crate) groups: usize,
    pub(crate) splits: RawBuffer,
    pub(crate) sums: RawBuffer,
}

impl ColumnBlocks {
    pub(crate) fn bytes(&self) -> usize {
        self.splits.bytes() + self.sums.bytes()
    }
}

/// The macros of the kernel that splits the rows, and of the product's kernels.
pub(crate) fn defines(backend: &Device, a: RawCompressed<'_>, op: Op) -> Defines {
    a.product_defines(op).set("BLOCK", backend.inner.block)
}

impl Device {
    /// True if the file's kernels are available and work-groups have dynamic shared memory.
    pub(crate) fn can_share(&self, file: &str) -> bool {
        self.has(file) && self.properties().shared_bytes > 0
    }

    /// The blocks of `width` columns in which sampled rows have entries; columns ascend in each row.
    pub(crate) fn touched_blocks(&self, a: RawCompressed<'_>, width: usize) -> Result<Touched> {
        let step = a.rows.div_ceil(SAMPLED_ROWS);
        let sampled = a.rows.div_ceil(step);
        let defines = defines(self, a, Op::None);
        let kernel = self.kernel_of(a.dtype, SPLIT_FILE, "csr_spmv_column_blocks_touched", defines)?;
        let launch = self.launch(&kernel).size(a.rows).size(step).size(width);
        let launch = launch.buffer(a.offsets).buffer(a.indices);
        let blocks: i64 = self.partials(launch, sampled * LANES)?.into_iter().sum();
        Ok(Touched { sampled, blocks: blocks as usize })
    }

    /// The first entry of each row in each block of columns: element b·rows + r for row r and block b, and one block
    /// more for the ends.
    ///
    /// # Errors
    /// [`Error::Unsupported`] unless columns ascend in each row.
    pub(crate) fn split_rows(&self, a: RawCompressed<'_>, op: Op, cut: Cut) -> Result<RawBuffer> {
        if !a.order.sorted {
            let reason = "columns must ascend in each row: sort the matrix first";
            return Err(Error::unsupported(format!("{NAME} on {}", self.caps().backend), reason));
        }
        let count = checked_product("rows x blocks of columns", a.rows, cut.blocks + 1)?;
        let splits = self.allocate_raw(count, a.offsets.element_bytes)?;
        let defines = defines(self, a, op);
        let kernel = self.kernel_of(a.dtype, SPLIT_FILE, "csr_spmv_column_blocks_split", defines)?;
        let launch = self.launch(&kernel).size(a.rows).size(cut.blocks).size(cut.width);
        launch.buffer(a.offsets).buffer(a.indices).buffer(&splits).items(splits.len)?;
        Ok(splits)
    }
}
