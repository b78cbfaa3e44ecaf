//! SpMV kernels along the compressed direction, one struct for each algorithm behind [`RowProduct`].

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
use crate::primitive::planned_rows::PlannedRows;
use crate::primitive::raw::{RawCompressed, VectorOperands};
use crate::{Device, Kernel};
use sparse_core::{Backend, Result};
use std::fmt::Debug;

/// The kernels of an algorithm for compressed rows, with their workspace.
pub(super) trait RowProduct: Debug + Send + Sync {
    /// Bytes of the workspace on the device.
    fn bytes(&self) -> usize;

    /// Computes the product.
    fn run(&self, backend: &Device, a: RawCompressed<'_>, operands: VectorOperands<'_>) -> Result<()>;
}

/// The kernels of any algorithm along the compressed direction: rows of CSR, columns of CSC.
#[derive(Debug)]
pub struct RowStrategy(Box<dyn RowProduct>);

impl RowStrategy {
    /// Compiles the kernels of this algorithm and allocates their workspace, for columns of this pattern.
    pub(super) fn new(
        rows: &PlannedRows<'_>,
        algorithm: RowAlgorithm,
        pattern: ColumnPattern,
    ) -> Result<Self> {
        Ok(match algorithm {
            RowAlgorithm::RowPerThread => Self::of(WholeRows::new(rows, Unit::Thread)?),
            RowAlgorithm::RowPerVector => {
                Self::of(WholeRows::new(rows, Unit::Vector { lanes: lanes_for(rows.a.mean_length()) })?)
            }
            RowAlgorithm::RowPerWarp => Self::of(WholeRows::new(rows, Unit::Warp)?),
            RowAlgorithm::RowPerSubGroup => Self::of(WholeRows::new(rows, Unit::SubGroup)?),
            RowAlgorithm::RowPerBlock => Self::of(RowPerBlock::new(rows)?),
            RowAlgorithm::RowBlocks => Self::of(BlockedRows::new(rows)?),
            RowAlgorithm::Delta16 => Self::of(RowDeltas::new(rows)?),
            RowAlgorithm::ListedRows => Self::of(ListedRows::new(rows)?),
            RowAlgorithm::LengthClasses => Self::of(LengthClasses::new(rows, pattern)?),
            RowAlgorithm::SlicedColumns => Self::of(SlicedColumns::new(rows, pattern)?),
            RowAlgorithm::NodeBlocks => Self::of(NodeBlocks::new(rows, rows.backend.most_unknowns(rows.a)?)?),
            RowAlgorithm::RowPatterns => Self::of(RowPatterns::new(rows)?),
            RowAlgorithm::MergePath => Self::of(MergePath::new(rows)?),
            RowAlgorithm::Segmented => Self::of(Segmented::new(rows)?),
            RowAlgorithm::ColumnBlocks => Self::of(ColumnBlocks::for_spmv(rows)?),
        })
    }

    /// The strategy of kernels that are made already.
    pub(super) fn of(product: impl RowProduct + 'static) -> Self {
        Self(Box::new(product))
    }

    /// Computes the product.
    pub(super) fn run(
        &self,
        backend: &Device,
        a: RawCompressed<'_>,
        operands: VectorOperands<'_>,
    ) -> Result<()> {
        self.0.run(backend, a, operands)
    }
}

impl Workspace for RowStrategy {
    fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

/// A kernel without a workspace.
#[derive(Debug)]
struct WholeRows {
    kernel: Kernel,
    unit: Unit,
}

/// The lanes that take a row.
#[derive(Debug, Clone, Copy)]
enum Unit {
    /// A work-item.
    Thread,
    /// Some lanes of a warp.
    Vector { lanes: usize },
    /// A warp.
    Warp,
    /// A sub-group of OpenCL.
    SubGroup,
}

impl WholeRows {
    fn new(rows: &PlannedRows<'_>, unit: Unit) -> Result<Self> {
        let &PlannedRows { backend, a, op, .. } = rows;
        let defines = a.product_defines(op);
        let (file, entry, defines) = match unit {
            Unit::Thread => ("csr_spmv", "csr_spmv_row_per_thread", defines),
            Unit::Vector { lanes } => {
                ("csr_spmv_vector", "csr_spmv_row_per_vector", defines.set("LANES", lanes))
            }
            Unit::Warp => ("csr_spmv", "csr_spmv_row_per_warp", defines),
            Unit::SubGroup => (SUB_GROUP_FILE, "csr_spmv_row_per_sub_group", defines),
        };
        Ok(Self { kernel: backend.kernel_of(a.dtype, file, entry, defines)?, unit })
    }
}

impl RowProduct for WholeRows {
    fn bytes(&self) -> usize {
        0
    }

    fn run(&self, backend: &Device, a: RawCompressed<'_>, operands: VectorOperands<'_>) -> Result<()> {
        let rows = a.rows;
        let launch = backend.launch(&self.kernel).size(rows).product(a, operands);
        match self.unit {
            Unit::Thread if is_wide(a) && !backend.caps().is_cpu => {
                launch.exchanging_warps_at_once(rows.div_ceil(LANES))
            }
            Unit::Thread => launch.items(rows),
            Unit::Vector { lanes } => launch.exchanging_warps(rows.div_ceil(LANES / lanes)),
            Unit::Warp => launch.exchanging_warps(rows),
            Unit::SubGroup => launch.items(rows * LANES),
        }
    }
}

/// True if values have 8 bytes and more: then a thread a row takes less time by as many as run at once. Measured on an
/// H200 with twenty matrices of up to four entries a row, over a thread for each: 0.88 to 1.03, 0.97 on average; 0.89
/// to 1.10 with 4 bytes.
fn is_wide(a: RawCompressed<'_>) -> bool {
    a.values.element_bytes >= 8
}
