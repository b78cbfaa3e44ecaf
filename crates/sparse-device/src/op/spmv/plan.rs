//! Plans of products: by the kernels of the format, or by entries that the plan has grouped by rows of op(A).

use super::row_strategy::RowStrategy;
use crate::op::available_algorithms::Needs;
use crate::primitive::raw::VectorOperands;
use crate::primitive::row_groups::{GROUPED_ROWS, GroupedRows};
use crate::primitive::stored_values::StoredValues;
use crate::primitive::values::Values;
use crate::{Device, Kernel};
use sparse_core::op::Op;
use sparse_core::{Choice, KernelPlan, PlanOptions, Result, algorithms};

algorithms! {
    /// The algorithms of products that no kernel computes in storage order.
    pub(super) enum GroupedAlgorithm needs Needs {
        GroupedRows = GROUPED_ROWS, Needs::Nothing;
    }
}

/// A product with the entries grouped by the rows of op(A), as one of compressed rows.
#[derive(Debug)]
pub(super) struct Grouped {
    rows: GroupedRows,
    strategy: RowStrategy,
}

impl Grouped {
    /// The plan, whose algorithm `choice` then names, too.
    pub(super) fn new<M: StoredValues>(
        backend: &Device,
        a: &M,
        op: Op,
        options: &PlanOptions,
        choice: &mut Choice,
    ) -> Result<Box<Self>> {
        let rows = GroupedRows::new(backend, a, op)?;
        Ok(Box::new(Self::of(backend, rows, a.values(), op, options, choice)?))
    }

    fn of(
        backend: &Device,
        rows: GroupedRows,
        values: Values<'_>,
        op: Op,
        options: &PlanOptions,
        choice: &mut Choice,
    ) -> Result<Self> {
        let options = PlanOptions { algorithm: None, ..options.clone() };
        let (inner, strategy) = backend.plan_rows(rows.pattern(values), op, &options)?;
        choice.reason = format!("{}; its rows by {inner}", choice.reason);
        Ok(Self { rows, strategy })
    }

    /// Computes the product.
    pub(super) fn run(
        &self,
        backend: &Device,
        values: Values<'_>,
        operands: VectorOperands<'_>,
    ) -> Result<()> {
        self.strategy.run(backend, self.rows.with_values(backend, values)?, operands)
    }

    /// Bytes on the device.
    pub(super) fn bytes(&self) -> usize {
        self.rows.bytes() + self.strategy.bytes()
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
    /// In storage order.
    Stored(Stored),
    /// By the rows of op(A).
    Grouped(Box<Grouped>),
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
