//! Row strategies: the distribution of the rows of a compressed matrix over work-items.

use super::choice_by_lengths::lanes_for;
use super::length_classes::LengthClasses;
use super::listed_rows::ListedRows;
use super::merge_path::MergePath;
use super::node_blocks::NodeBlocks;
use super::plan::Workspace;
use super::row_algorithm::{RowAlgorithm, SUB_GROUP_FILE};
use super::row_blocks::BlockedRows;
use super::row_deltas::{ColumnPattern, RowDeltas};
use super::row_patterns::RowPatterns;
use super::row_per_block::RowPerBlock;
use super::segmented::Segmented;
use super::sliced_columns::SlicedColumns;
use crate::lanes::LANES;
use crate::primitive::column_blocks::ColumnBlocks;
use crate::primitive::raw::{RawCompressed, VectorOperands};
use crate::primitive::row_lengths::LazyRowLengths;
use crate::{Device, Kernel};
use sparse_core::op::Op;
use sparse_core::{Backend, Result};

/// SpMV kernels along the compressed direction (rows of CSR, columns of CSC), each with its workspace.
#[derive(Debug)]
pub enum RowStrategy {
    /// One work-item per row.
    RowPerThread(Kernel),
    /// Some lanes per row, of the 32 of a warp.
    RowPerVector {
        /// The kernel for this number of lanes.
        kernel: Kernel,
        /// Lanes per row.
        lanes: usize,
    },
    /// One work-group per row.
    RowPerBlock(RowPerBlock),
    /// One sub-group per row.
    RowPerSubGroup(Kernel),
    /// One warp for each block of neighbouring rows.
    RowBlocks(BlockedRows),
    /// One or several work-items per row, with columns of 16 bits.
    Delta16(RowDeltas),
    /// Some lanes per row with entries.
    ListedRows(ListedRows),
    /// Some lanes, a warp or several work-groups per row, by its length.
    LengthClasses(LengthClasses),
    /// Some lanes per row, with a copy of the columns.
    SlicedColumns(SlicedColumns),
    /// Some lanes per node with several unknowns, block by block.
    NodeBlocks(NodeBlocks),
    /// Some lanes per row, with columns by patterns of rows.
    RowPatterns(RowPatterns),
    /// One work-group for each tile of the merge of rows and entries.
    MergePath(MergePath),
    /// One warp for each part of neighbouring entries.
    Segmented(Segmented),
    /// The same number of work-groups for each block of columns.
    ColumnBlocks(ColumnBlocks),
}

impl RowStrategy {
    /// Compiles the kernels of this algorithm and allocates their workspace.
    pub(super) fn new(
        backend: &Device,
        a: RawCompressed<'_>,
        lengths: &LazyRowLengths<'_>,
        op: Op,
        algorithm: RowAlgorithm,
    ) -> Result<Self> {
        let defines = a.product_defines(op);
        let kernel = |file, entry, defines| backend.kernel_of(a.dtype, file, entry, defines);
        Ok(match algorithm {
            RowAlgorithm::RowPerThread => {
                Self::RowPerThread(kernel("csr_spmv", "csr_spmv_row_per_thread", defines)?)
            }
            RowAlgorithm::RowPerVector => {
                let lanes = lanes_for(a.mean_length());
                let defines = defines.set("LANES", lanes);
                let kernel = kernel("csr_spmv_vector", "csr_spmv_row_per_vector", defines)?;
                Self::RowPerVector { kernel, lanes }
            }
            RowAlgorithm::RowPerWarp => {
                let kernel = kernel("csr_spmv", "csr_spmv_row_per_warp", defines)?;
                Self::RowPerVector { kernel, lanes: LANES }
            }
            RowAlgorithm::RowPerSubGroup => {
                Self::RowPerSubGroup(kernel(SUB_GROUP_FILE, "csr_spmv_row_per_sub_group", defines)?)
            }
            RowAlgorithm::RowPerBlock => Self::RowPerBlock(RowPerBlock::new(backend, a, lengths, op)?),
            RowAlgorithm::RowBlocks => Self::RowBlocks(BlockedRows::new(backend, a, lengths, op)?),
            RowAlgorithm::Delta16 => Self::Delta16(RowDeltas::new(backend, a, op)?),
            RowAlgorithm::ListedRows => Self::ListedRows(ListedRows::new(backend, a, lengths, op)?),
            RowAlgorithm::LengthClasses => {
                Self::LengthClasses(LengthClasses::new(backend, a, lengths, op, ColumnPattern::Other)?)
            }
            RowAlgorithm::SlicedColumns => {
                Self::SlicedColumns(SlicedColumns::new(backend, a, lengths, op, ColumnPattern::Other)?)
            }
            RowAlgorithm::NodeBlocks => {
                let unknowns = backend.most_unknowns(a)?;
                Self::NodeBlocks(NodeBlocks::new(backend, a, op, unknowns)?)
            }
            RowAlgorithm::RowPatterns => Self::RowPatterns(RowPatterns::new(backend, a, lengths, op)?),
            RowAlgorithm::MergePath => Self::MergePath(MergePath::new(backend, a, op)?),
            RowAlgorithm::Segmented => Self::Segmented(Segmented::new(backend, a, op)?),
            RowAlgorithm::ColumnBlocks => Self::ColumnBlocks(ColumnBlocks::for_spmv(backend, a, op)?),
        })
    }

    /// Computes the product.
    pub(super) fn run(
        &self,
        backend: &Device,
        a: RawCompressed<'_>,
        operands: VectorOperands<'_>,
    ) -> Result<()> {
        let rows = a.rows;
        match self {
            Self::RowPerThread(kernel) => {
                let launch = backend.launch(kernel).size(rows).product(a, operands);
                match is_wide(a) && !backend.caps().is_cpu {
                    true => launch.exchanging_warps_at_once(rows.div_ceil(LANES)),
                    false => launch.items(rows),
                }
            }
            Self::RowPerVector { kernel, lanes } => {
                let launch = backend.launch(kernel).size(rows).product(a, operands);
                launch.exchanging_warps(rows.div_ceil(LANES / lanes))
            }
            Self::RowPerSubGroup(kernel) => {
                backend.launch(kernel).size(rows).product(a, operands).items(rows * LANES)
            }
            Self::RowPerBlock(strategy) => strategy.run(backend, a, operands),
            Self::RowBlocks(strategy) => strategy.run(backend, a, operands),
            Self::Delta16(strategy) => strategy.run(backend, a, operands),
            Self::ListedRows(strategy) => strategy.run(backend, a, operands),
            Self::LengthClasses(strategy) => strategy.run(backend, a, operands),
            Self::SlicedColumns(strategy) => strategy.run(backend, a, operands),
            Self::NodeBlocks(strategy) => strategy.run(backend, a, operands),
            Self::RowPatterns(strategy) => strategy.run(backend, a, operands),
            Self::MergePath(strategy) => strategy.run(backend, a, operands),
            Self::Segmented(strategy) => strategy.run(backend, a, operands),
            Self::ColumnBlocks(strategy) => strategy.spmv(backend, a, operands),
        }
    }
}

/// True if values have 8 bytes and more: then a thread a row takes less time by as many as run at once. Measured on an
/// H200 with twenty matrices of up to four entries a row, over a thread for each: 0.88 to 1.03, 0.97 on average; 0.89
/// to 1.10 with 4 bytes.
fn is_wide(a: RawCompressed<'_>) -> bool {
    a.values.element_bytes >= 8
}

impl Workspace for RowStrategy {
    fn bytes(&self) -> usize {
        match self {
            Self::RowPerThread(_) | Self::RowPerVector { .. } | Self::RowPerSubGroup(_) => 0,
            Self::RowPerBlock(strategy) => strategy.bytes(),
            Self::RowBlocks(strategy) => strategy.bytes(),
            Self::Delta16(strategy) => strategy.bytes(),
            Self::ListedRows(strategy) => strategy.bytes(),
            Self::LengthClasses(strategy) => strategy.bytes(),
            Self::SlicedColumns(strategy) => strategy.bytes(),
            Self::NodeBlocks(strategy) => strategy.bytes(),
            Self::RowPatterns(strategy) => strategy.bytes(),
            Self::MergePath(strategy) => strategy.bytes(),
            Self::Segmented(strategy) => strategy.bytes(),
            Self::ColumnBlocks(strategy) => strategy.bytes(),
        }
    }
}
