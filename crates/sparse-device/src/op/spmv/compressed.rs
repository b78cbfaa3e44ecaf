//! CSR and CSC: the compressed direction by rows, the other by grouped entries.

use super::choice_by_lengths::DeltaPatterns;
use super::length_classes::LengthClasses;
use super::node_blocks::NodeBlocks;
use super::plan::{Grouped, GroupedAlgorithm, ProductPlan, Traversal};
use super::row_algorithm::RowAlgorithm;
use super::row_deltas::{Columns, RowDeltas};
use super::row_patterns::RowPatterns;
use super::row_strategy::RowStrategy;
use super::sliced_columns::SlicedColumns;
use crate::primitive::raw::{RawCompressed, VectorOperands, along};
use crate::primitive::row_lengths::LazyRowLengths;
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
    ///
    /// The algorithm follows from the lengths of the rows (`choice.rs`). In a plan that runs often, patterns of rows or
    /// columns of 16 bits may replace it; else classes of lengths, with a copy of the columns or without.
    pub(super) fn plan_rows(
        &self,
        a: RawCompressed<'_>,
        op: Op,
        options: &PlanOptions,
    ) -> Result<(Choice, RowStrategy)> {
        let lengths = LazyRowLengths::new(self, a.offsets);
        let unknowns = self.unknowns_worth_blocks(a, options)?;
        if unknowns > 1 {
            let preferred =
                (RowAlgorithm::NodeBlocks, format!("entries are in blocks of {unknowns} x {unknowns}"));
            let (_, choice) = self.choose("spmv", options, self.offered::<RowAlgorithm>(), preferred)?;
            return Ok((choice, RowStrategy::NodeBlocks(NodeBlocks::new(self, a, op, unknowns)?)));
        }
        let (mut preferred, mut reason) = self.choose_row_algorithm(a, &lengths, options)?;
        let patterns = self.patterns_for_deltas(a, &lengths, options, preferred)?;
        if patterns != DeltaPatterns::None
            && let Some(found) = RowPatterns::if_few(self, a, &lengths, op, options)?
        {
            reason += ", whose columns have few patterns";
            let table = self.offered::<RowAlgorithm>();
            let (_, choice) = self.choose("spmv", options, table, (RowAlgorithm::RowPatterns, reason))?;
            return Ok((choice, RowStrategy::RowPatterns(found)));
        }
        let columns = RowDeltas::of_patterns(self, a, op, patterns, options.bytes_between_runs)?;
        match columns {
            Columns::Deltas(_) => {
                preferred = RowAlgorithm::Delta16;
                reason += ", whose columns fit 16 bits";
            }
            Columns::Plain(pattern) => {
                if self.takes_length_classes(a, &lengths, options, (preferred, pattern))? {
                    preferred = match self.lanes_for_sliced_columns(a, &lengths, pattern)? {
                        Some(_) => RowAlgorithm::SlicedColumns,
                        None => RowAlgorithm::LengthClasses,
                    };
                }
            }
        }
        let table = self.offered::<RowAlgorithm>();
        let (algorithm, choice) = self.choose("spmv", options, table, (preferred, reason))?;
        let strategy = match (columns, algorithm) {
            (Columns::Deltas(deltas), _) => RowStrategy::Delta16(deltas),
            (Columns::Plain(pattern), RowAlgorithm::LengthClasses) => {
                RowStrategy::LengthClasses(LengthClasses::new(self, a, &lengths, op, pattern)?)
            }
            (Columns::Plain(pattern), RowAlgorithm::SlicedColumns) => {
                RowStrategy::SlicedColumns(SlicedColumns::new(self, a, &lengths, op, pattern)?)
            }
            (Columns::Plain(_), _) => RowStrategy::new(self, a, &lengths, op, algorithm)?,
        };
        Ok((choice, strategy))
    }
}
