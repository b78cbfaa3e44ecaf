//! CSR and CSC: the compressed direction by rows, the other by grouped entries.

use super::choice::Preference;
use super::plan::{Grouped, GroupedAlgorithm, ProductPlan, Traversal};
use super::row_algorithm::RowAlgorithm;
use super::row_strategy::RowStrategy;
use crate::primitive::planned_rows::PlannedRows;
use crate::primitive::raw::{RawCompressed, VectorOperands, along};
use crate::primitive::stored_values::StoredValues;
use crate::{Device, View, ViewMut};
use sparse_core::op::{Op, SpmvKernel};
use sparse_core::{Algorithm, Axis, Choice, Compressed, Index, PlanOptions, Result, Scalar};

impl<A: Axis, T: Scalar, I: Index, O: Index> SpmvKernel<Compressed<A, T, Device, I, O>> for Device {
    type Plan = ProductPlan<RowStrategy>;

    fn spmv_algorithms(&self, op: Op) -> &'static [Algorithm] {
        if along::<A>(op) { self.offered::<RowAlgorithm>() } else { self.offered::<GroupedAlgorithm>() }
    }

    fn plan_spmv(
        &self,
        a: &Compressed<A, T, Device, I, O>,
        op: Op,
        options: &PlanOptions,
    ) -> Result<Self::Plan> {
        if along::<A>(op) {
            let (choice, strategy) = self.plan_rows(a.into(), op, options)?;
            return Ok(ProductPlan { choice, traversal: Traversal::Stored(strategy) });
        }
        let only = (GroupedAlgorithm::GroupedRows, "op(A) goes across what is stored");
        let (GroupedAlgorithm::GroupedRows, mut choice) =
            self.choose("spmv", options, self.offered::<GroupedAlgorithm>(), only)?;
        let grouped = Grouped::new(self, a, op, options, &mut choice)?;
        Ok(ProductPlan { choice, traversal: Traversal::Grouped(grouped) })
    }

    unsafe fn run_spmv(
        &self,
        plan: &mut Self::Plan,
        alpha: T::Acc,
        a: &Compressed<A, T, Device, I, O>,
        x: View<'_, T>,
        beta: T::Acc,
        y: ViewMut<'_, T>,
    ) -> Result<()> {
        let operands = VectorOperands::new(alpha, x, beta, y);
        match &plan.traversal {
            Traversal::Grouped(grouped) => grouped.run(self, StoredValues::values(a), operands),
            Traversal::Stored(strategy) => strategy.run(self, a.into(), operands),
        }
    }
}

impl Device {
    /// The plan of a product of compressed rows.
    pub(super) fn plan_rows(
        &self,
        a: RawCompressed<'_>,
        op: Op,
        options: &PlanOptions,
    ) -> Result<(Choice, RowStrategy)> {
        let rows = PlannedRows::new(self, a, op, options);
        let Preference { algorithm, reason, pattern, strategy } = rows.prefer()?;
        let offered = self.offered::<RowAlgorithm>();
        let (algorithm, choice) = self.choose("spmv", options, offered, (algorithm, reason))?;
        let strategy = match strategy {
            Some(strategy) => strategy,
            None => RowStrategy::new(&rows, algorithm, pattern)?,
        };
        Ok((choice, strategy))
    }
}
