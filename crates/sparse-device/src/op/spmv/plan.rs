//! The plans of products: by the format's own kernels, or by grouped entries.

use crate::op::available_algorithms::Needs;
use crate::primitive::raw::VectorOperands;
use crate::primitive::row_groups::{GROUPED_ROWS, RowGroups};
use crate::primitive::stored_values::StoredValues;
use crate::primitive::values::Values;
use crate::{Device, Kernel};
use sparse_core::op::Op;
use sparse_core::{Choice, DType, KernelPlan, Result, Scalar, algorithms};

algorithms! {
    /// The algorithms of products that no kernel computes in storage order.
    pub(super) enum GroupedAlgorithm needs Needs {
        GroupedRows = GROUPED_ROWS, Needs::Nothing;
    }
}

/// A product with the entries grouped by the rows of op(A).
#[derive(Debug)]
pub(super) struct Grouped {
    kernel: Kernel,
    groups: RowGroups,
}

impl Grouped {
    pub(super) fn new<M: StoredValues>(backend: &Device, a: &M, op: Op) -> Result<Self> {
        Self::of(backend, M::Scalar::DTYPE, op, a.row_groups(backend, op)?)
    }

    fn of(backend: &Device, dtype: DType, op: Op, groups: RowGroups) -> Result<Self> {
        Ok(Self { kernel: backend.grouped_kernel(dtype, "grouped_spmv", &groups, op)?, groups })
    }

    /// Computes the product.
    pub(super) fn run(
        &self,
        backend: &Device,
        values: Values<'_>,
        operands: VectorOperands<'_>,
    ) -> Result<()> {
        let rows = self.groups.nrows();
        let launch = backend.launch(&self.kernel).size(rows).groups_of(&self.groups, values);
        launch.vectors(operands).items(rows)
    }

    /// Bytes on the device.
    pub(super) fn bytes(&self) -> usize {
        self.groups.bytes()
    }
}

/// The plan of a product: by the format's own kernel, or by grouped entries.
#[derive(Debug)]
pub struct ProductPlan<Stored> {
    pub(super) choice: Choice,
    pub(super) traversal: Traversal<Stored>,
}

/// The order in which a product reads the entries.
#[derive(Debug)]
pub(super) enum Traversal<Stored> {
    /// As the format stores them.
    Stored(Stored),
    /// By the rows of op(A).
    Grouped(Grouped),
}

impl<Stored: Workspace> KernelPlan for ProductPlan<Stored> {
    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn workspace_bytes(&self) -> usize {
        match &self.traversal {
            Traversal::Stored(stored) => stored.bytes(),
            Traversal::Grouped(grouped) => grouped.bytes(),
        }
    }
}

/// The workspace of a format's own kernels.
pub trait Workspace: std::fmt::Debug + Send {
    /// Bytes on the device.
    fn bytes(&self) -> usize {
        0
    }
}

/// A single kernel without a workspace.
impl Workspace for Kernel {}
