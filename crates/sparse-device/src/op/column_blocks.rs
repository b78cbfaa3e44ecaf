//! Blocks of columns, and where compressed rows come into each of them: the plans of products whose work-groups keep
//! what a block of columns is multiplied with in memory that they share.

use crate::program::Defines;
use crate::{Buffer, Device, Kernel};
use sparse_core::error::checked_product;
use sparse_core::op::Op;
use sparse_core::{Axis, Backend, Compressed, Error, Index, Result, Scalar};

/// The file of the kernel that splits the rows.
pub(super) const SPLIT_FILE: &str = "csr_spmv_column_blocks";

/// The name of the algorithms.
pub(super) const NAME: &str = "column_blocks";

/// Calls from which on a plan looks for where columns are.
pub(super) const MANY_CALLS: usize = 32;

/// How columns are cut.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    pub(super) blocks: usize,
    pub(super) width: usize,
}

/// The plan of a product: where the rows come into each block of columns, and room for the sums of blocks, which a second
/// kernel adds.
#[derive(Debug)]
pub struct ColumnBlocks<T: Scalar, O> {
    pub(super) kernel: Kernel,
    pub(super) add: Kernel,
    pub(super) cut: Cut,
    pub(super) groups: usize,
    pub(super) splits: Buffer<O>,
    pub(super) sums: Buffer<T::Acc>,
}

impl<T: Scalar, O: Index> ColumnBlocks<T, O> {
    pub(super) fn bytes(&self) -> usize {
        self.splits.bytes() + self.sums.bytes()
    }
}

/// The macros of the kernel that splits the rows, and of those beside it.
pub(super) fn defines<T: Scalar, I: Index, O: Index>(backend: &Device, op: Op) -> Defines {
    Defines::default().index::<I>().offset::<O>().conj::<T>(op).set("BLOCK", backend.inner.block)
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
    pub(super) fn split_rows<A: Axis, T: Scalar, I: Index, O: Index>(
        &self,
        a: &Compressed<A, T, Device, I, O>,
        op: Op,
        cut: Cut,
    ) -> Result<Buffer<O>> {
        if !a.order().sorted {
            let reason = "columns must ascend in each row: sort the matrix first";
            return Err(Error::unsupported(format!("{NAME} on {}", self.caps().backend), reason));
        }
        let rows = a.pattern().major();
        let splits = self.allocate(checked_product("rows x blocks of columns", rows, cut.blocks + 1)?)?;
        let defines = defines::<T, I, O>(self, op);
        let kernel = self.kernel_of::<T>(SPLIT_FILE, "csr_spmv_column_blocks_split", defines)?;
        let launch = self.launch(&kernel).size(rows).size(cut.blocks).size(cut.width);
        launch.buffer(a.offsets()).buffer(a.indices()).buffer(&splits).items(splits.len)?;
        Ok(splits)
    }
}
