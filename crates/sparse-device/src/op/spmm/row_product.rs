//! The plan of a product of compressed rows, over the kernels of any algorithm.

use crate::primitive::raw::{DenseOperands, RawCompressed};
use crate::{Device, Kernel};
use sparse_core::{Choice, KernelPlan, Result};
use std::fmt::Debug;

/// The kernels of an algorithm for compressed rows, with their workspace.
pub(super) trait RowProduct: Debug + Send + Sync {
    /// Bytes of the workspace on the device.
    fn bytes(&self) -> usize;

    /// Computes the product.
    fn run(&self, backend: &Device, a: RawCompressed<'_>, operands: DenseOperands<'_>) -> Result<()>;
}

/// The plan of a product along the compressed direction.
#[derive(Debug)]
pub struct RowPlan {
    pub(super) choice: Choice,
    pub(super) product: Box<dyn RowProduct>,
}

impl RowPlan {
    /// Computes the product.
    pub(super) fn run(
        &self,
        backend: &Device,
        a: RawCompressed<'_>,
        operands: DenseOperands<'_>,
    ) -> Result<()> {
        self.product.run(backend, a, operands)
    }
}

impl KernelPlan for RowPlan {
    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn workspace_bytes(&self) -> usize {
        self.product.bytes()
    }
}

/// A kernel without a workspace.
#[derive(Debug)]
pub(super) struct WholeRows {
    pub(super) kernel: Kernel,
    pub(super) unit: Unit,
}

/// The part of C that a work-item or a warp computes, in kernels without a workspace.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unit {
    /// A work-item takes a row.
    Row,
    /// A warp takes this number of columns of a row.
    Columns(usize),
}

impl RowProduct for WholeRows {
    fn bytes(&self) -> usize {
        0
    }

    fn run(&self, backend: &Device, a: RawCompressed<'_>, operands: DenseOperands<'_>) -> Result<()> {
        let (rows, cols) = (operands.c.rows, operands.c.cols);
        let launch = backend.launch(&self.kernel).size(rows).size(cols);
        let launch = launch.buffer(a.offsets).buffer(a.indices).buffer(a.values).matrices(operands);
        match self.unit {
            Unit::Row => launch.items(rows),
            Unit::Columns(columns) => launch.warps(rows * cols.div_ceil(columns)),
        }
    }
}
