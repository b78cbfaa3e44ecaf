//! Row strategies: the distribution of the rows of a compressed matrix over work-items.

use super::Workspace;
use super::compressed::RowAlgorithm;
use super::segmented::Segmented;
use crate::buffer::RawBuffer;
use crate::launch::{LANES, Launch};
use crate::primitive::chunks::Chunks;
use crate::primitive::column_blocks::ColumnBlocks;
use crate::primitive::raw::{RawCompressed, VectorOperands};
use crate::{Buffer, Device, Kernel};
use sparse_core::op::Op;
use sparse_core::{Backend, Result};

/// Steps of the merge that a work-item takes: `ITEMS` of the kernels.
const MERGE_ITEMS: usize = 5;

/// Lanes per row of `row_per_block`: in the matrix's order of rows, and with the longest rows first.
const BLOCK_LANES: usize = 2 * LANES;
const ORDERED_LANES: usize = 4 * LANES;

/// Rows per compute unit up to which all run at once: the product then lasts as long as the row that ends last, so that
/// the longest begin first.
const ROWS_AT_ONCE: usize = 64;

/// The file of the kernel of `row_per_sub_group`.
pub(super) const SUB_GROUP_FILE: &str = "csr_spmv_sub_group";

/// Entries of a row block for each work-item of its work-group: `CHUNK` of the kernels.
const BLOCK_ITEMS: usize = 4;

/// SpMV kernels along the compressed direction (rows of CSR, columns of CSC), each with its workspace.
#[derive(Debug)]
pub enum RowStrategy {
    /// One work-item per row.
    Thread(Kernel),
    /// This number of lanes per row, of the 32 of a warp.
    Lanes(Kernel, usize),
    /// A work-group of [`BLOCK_LANES`] per row, or of [`ORDERED_LANES`] in this order of rows.
    Block(Kernel, Option<Chunks>),
    /// One sub-group per row.
    SubGroup(Kernel),
    /// One work-group for each block of neighbouring rows.
    Blocks(RowBlocks),
    /// One work-group for each tile of the merge of rows and entries.
    Merge(MergePath),
    /// One warp for each part of neighbouring entries.
    Segmented(Segmented),
    /// The same number of work-groups for each block of columns.
    ColumnBlocks(ColumnBlocks),
}

/// The first row of each row block.
#[derive(Debug)]
pub struct RowBlocks {
    kernel: Kernel,
    blocks: usize,
    starts: Buffer<i64>,
}

/// The first row of each tile, and the partial sums of its rows that begin before it or end behind it.
#[derive(Debug)]
pub struct MergePath {
    kernel: Kernel,
    carries: Kernel,
    tiles: usize,
    tile_rows: Buffer<i64>,
    head: RawBuffer,
    tail: RawBuffer,
}

impl Workspace for RowStrategy {
    fn bytes(&self) -> usize {
        match self {
            Self::Thread(_) | Self::Lanes(..) | Self::SubGroup(_) => 0,
            Self::Block(_, order) => order.as_ref().map_or(0, Chunks::bytes),
            Self::Blocks(traversal) => traversal.starts.bytes(),
            Self::Merge(traversal) => {
                traversal.tile_rows.bytes() + traversal.head.bytes() + traversal.tail.bytes()
            }
            Self::Segmented(traversal) => traversal.bytes(),
            Self::ColumnBlocks(traversal) => traversal.bytes(),
        }
    }
}

/// Lanes for rows of `mean` entries: the next power of two, from 2 to 32.
pub(super) fn lanes_for(mean: usize) -> usize {
    mean.next_power_of_two().clamp(2, LANES)
}

/// The rows with the longest first, if they are few.
fn order_of(backend: &Device, a: RawCompressed<'_>) -> Result<Option<Chunks>> {
    if a.rows > backend.caps().compute_units * ROWS_AT_ONCE {
        return Ok(None);
    }
    let longest = backend.longest_row(a.offsets)?;
    let order = (longest <= i32::MAX as usize).then(|| Chunks::whole_rows(backend, a, longest));
    order.transpose()
}

impl RowStrategy {
    /// Compiles the kernels of this algorithm and allocates their workspace.
    pub(super) fn new(
        backend: &Device,
        a: RawCompressed<'_>,
        op: Op,
        algorithm: RowAlgorithm,
    ) -> Result<Self> {
        let defines = a.product_defines(op);
        let kernel = |file, entry, defines| backend.kernel_of(a.dtype, file, entry, defines);
        let (rows, nnz, block) = (a.rows, a.nnz(), backend.inner.block);
        Ok(match algorithm {
            RowAlgorithm::RowPerVector => {
                let lanes = lanes_for(a.mean_length());
                let defines = defines.set("LANES", lanes);
                Self::Lanes(kernel("csr_spmv_vector", "csr_spmv_row_per_vector", defines)?, lanes)
            }
            RowAlgorithm::RowPerWarp => {
                Self::Lanes(kernel("csr_spmv", "csr_spmv_row_per_warp", defines)?, LANES)
            }
            RowAlgorithm::RowPerBlock => {
                let kernel = kernel("csr_spmv_block", "csr_spmv_row_per_block", defines)?;
                Self::Block(kernel, order_of(backend, a)?)
            }
            RowAlgorithm::RowPerSubGroup => {
                Self::SubGroup(kernel(SUB_GROUP_FILE, "csr_spmv_row_per_sub_group", defines)?)
            }
            RowAlgorithm::RowBlocks => {
                let defines = defines.set("BLOCK", block);
                let kernel = |entry| kernel("csr_spmv_row_blocks", entry, defines.clone());
                let blocks = nnz / (BLOCK_ITEMS * block) + 1;
                let starts = backend.allocate(blocks + 1)?;
                let search = kernel("csr_spmv_row_blocks_search")?;
                let launch = backend.launch(&search).size(blocks).size(rows).buffer(a.offsets);
                launch.buffer(&starts).items(blocks + 1)?;
                Self::Blocks(RowBlocks { kernel: kernel("csr_spmv_row_blocks")?, blocks, starts })
            }
            RowAlgorithm::MergePath => {
                let defines = defines.set("BLOCK", block);
                let kernel = |entry| kernel("csr_spmv_merge", entry, defines.clone());
                let tiles = (rows + nnz).div_ceil(MERGE_ITEMS * block);
                let (tile_rows, sum_bytes) = (backend.allocate(tiles + 1)?, a.dtype.accumulator().bytes());
                let search = kernel("csr_spmv_merge_search")?;
                let launch = backend.launch(&search).size(tiles).size(rows).buffer(a.offsets);
                launch.buffer(&tile_rows).items(tiles + 1)?;
                Self::Merge(MergePath {
                    kernel: kernel("csr_spmv_merge_path")?,
                    carries: kernel("csr_spmv_merge_carries")?,
                    tiles,
                    tile_rows,
                    head: backend.allocate_raw(tiles, sum_bytes)?,
                    tail: backend.allocate_raw(tiles, sum_bytes)?,
                })
            }
            RowAlgorithm::ColumnBlocks => Self::ColumnBlocks(ColumnBlocks::for_spmv(backend, a, op)?),
            RowAlgorithm::Segmented => Self::Segmented(Segmented::new(backend, a, &defines)?),
            RowAlgorithm::RowPerThread => {
                Self::Thread(kernel("csr_spmv", "csr_spmv_row_per_thread", defines)?)
            }
        })
    }

    /// Computes the product.
    pub(super) fn run(
        &self,
        backend: &Device,
        a: RawCompressed<'_>,
        operands: VectorOperands<'_>,
    ) -> Result<()> {
        let (rows, block) = (a.rows, backend.inner.block);
        let groups = |work: usize| work.min(backend.most_groups());
        match self {
            Self::Thread(kernel) => backend.launch(kernel).size(rows).product(a, operands).items(rows),
            Self::Lanes(kernel, lanes) => {
                let launch = backend.launch(kernel).size(rows).product(a, operands);
                launch.warps(rows.div_ceil(LANES / lanes))
            }
            Self::Block(kernel, order) => {
                let launch = backend.launch(kernel).size(rows);
                let launch = launch.buffer_or_null(order.as_ref().map(|order| &order.begins.raw));
                let launch = launch.buffer_or_null(order.as_ref().map(|order| &order.lengths.raw));
                let launch = launch.buffer_or_null(order.as_ref().map(|order| &order.rows.raw));
                let lanes = if order.is_some() { ORDERED_LANES } else { BLOCK_LANES };
                launch.product(a, operands).group_per_row(rows, lanes.min(block))
            }
            Self::SubGroup(kernel) => {
                backend.launch(kernel).size(rows).product(a, operands).items(rows * LANES)
            }
            Self::Blocks(traversal) => {
                let launch =
                    backend.launch(&traversal.kernel).size(traversal.blocks).buffer(&traversal.starts);
                launch.product(a, operands).groups(groups(traversal.blocks), block)
            }
            Self::Merge(traversal) => {
                let launch = backend
                    .launch(&traversal.kernel)
                    .size(traversal.tiles)
                    .buffer(&traversal.tile_rows)
                    .size(rows);
                let launch = launch.product(a, operands);
                launch
                    .buffer(&traversal.head)
                    .buffer(&traversal.tail)
                    .groups(groups(traversal.tiles), block)?;
                let launch =
                    backend.launch(&traversal.carries).size(traversal.tiles).buffer(&traversal.tile_rows);
                let launch =
                    launch.buffer(a.offsets).factor(operands.alpha).factor(operands.beta).view(operands.y);
                launch.buffer(&traversal.head).buffer(&traversal.tail).warps(traversal.tiles)
            }
            Self::Segmented(traversal) => traversal.run(backend, a, operands),
            Self::ColumnBlocks(traversal) => traversal.spmv(backend, a, operands),
        }
    }
}

impl<'a> Launch<'a> {
    /// The last arguments of most kernels: the matrix and the operands.
    fn product(self, a: RawCompressed<'a>, operands: VectorOperands<'a>) -> Self {
        self.buffer(a.offsets).buffer(a.indices).buffer(a.values).vectors(operands)
    }
}
