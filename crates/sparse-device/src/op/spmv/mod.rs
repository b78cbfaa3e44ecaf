//! `y ← alpha·op(A)·x + beta·y`, one file for each family of formats.

mod batch;
mod column_blocks;
mod compressed;
mod coo;
mod ell;
mod host_overflow;
mod hyb;
mod lengths;
mod row_strategy;
mod segmented;
mod sell;
mod thresholds;

pub(crate) use compressed::along;

use crate::launch::Launch;
use crate::primitive::raw::VectorOperands;
use crate::primitive::row_groups::RowGroups;
use crate::primitive::stored_values::{StoredValues, Values};
use crate::{Device, Kernel};
use sparse_core::op::Op;
use sparse_core::{Choice, DType, KernelPlan, Result, Scalar};

/// A product with the entries grouped by the rows of op(A).
#[derive(Debug)]
struct Grouped {
    kernel: Kernel,
    groups: RowGroups,
}

impl Grouped {
    fn new<M: StoredValues>(backend: &Device, a: &M, op: Op) -> Result<Self> {
        Self::of(backend, M::Scalar::DTYPE, op, a.row_groups(backend, op)?)
    }

    fn of(backend: &Device, dtype: DType, op: Op, groups: RowGroups) -> Result<Self> {
        Ok(Self { kernel: backend.grouped_kernel(dtype, "grouped_spmv", &groups, op)?, groups })
    }

    fn run(&self, backend: &Device, values: Values<'_>, operands: VectorOperands<'_>) -> Result<()> {
        let rows = self.groups.rows();
        let launch = backend.launch(&self.kernel).size(rows).groups_of(&self.groups, values);
        launch.vectors(operands).items(rows)
    }
}

impl<'a> Launch<'a> {
    /// The operands of a product, in the order of most kernels.
    fn vectors(self, operands: VectorOperands<'a>) -> Self {
        self.factor(operands.alpha).view(operands.x).factor(operands.beta).view(operands.y)
    }
}

/// The plan of a product: by the format's own kernel, or by grouped entries.
#[derive(Debug)]
pub struct ProductPlan<Stored> {
    choice: Choice,
    traversal: Traversal<Stored>,
}

#[derive(Debug)]
enum Traversal<Stored> {
    Stored(Stored),
    Grouped(Grouped),
}

impl<Stored: Workspace> KernelPlan for ProductPlan<Stored> {
    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn workspace_bytes(&self) -> usize {
        match &self.traversal {
            Traversal::Stored(stored) => stored.bytes(),
            Traversal::Grouped(grouped) => grouped.groups.bytes(),
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
