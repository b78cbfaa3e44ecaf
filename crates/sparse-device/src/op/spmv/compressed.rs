//! CSR and CSC: the compressed direction by rows, the other by grouped entries.

use super::lengths::Lengths;
use super::row_strategy::{RowStrategy, SUB_GROUP_FILE};
use super::thresholds::SpmvThresholds;
use super::{Grouped, ProductPlan, Traversal};
use crate::op::available_algorithms::Needs;
use crate::primitive::column_blocks;
use crate::primitive::raw::{RawCompressed, VectorOperands};
use crate::primitive::row_groups::GROUPED_ROWS;
use crate::primitive::stored_values::StoredValues;
use crate::{Device, View, ViewMut};
use sparse_core::op::{Op, SpmvKernel};
use sparse_core::{Algorithm, Axis, Backend, Compressed, Index, PlanOptions, Result, Scalar, algorithms};

algorithms! {
    /// The algorithms along the stored direction.
    pub(super) enum RowAlgorithm needs Needs {
        ColumnBlocks = Algorithm::new(
            column_blocks::NAME,
            "CUDA, for plans of 32 calls and more: x is larger than shared memory, rows are many and have 4 entries and more in most \
             blocks of columns whose part of x it holds",
        )
        .preprocessing("the first entry of each row in each block of columns, and a partial sum for each"),
        Needs::SharedMemory(column_blocks::SPLIT_FILE);

        RowPerThread = Algorithm::new(
            "row_per_thread",
            "the device is a CPU, or rows are many and short: fewer than 8 entries on average with OpenCL, fewer than 64 bytes \
             with CUDA or, where the cache holds the matrix, 16 entries",
        ),
        Needs::Nothing;

        RowPerWarp = Algorithm::new(
            "row_per_warp",
            "CUDA, where rows are few and one is much longer than the average; where the plan runs once, rows of 128 entries on \
             average",
        ),
        Needs::Nothing;

        RowPerBlock = Algorithm::new(
            "row_per_block",
            "CUDA, where the plan runs more than once, and rows have 384 entries on average and none is much longer, or are very \
             few and one has more than 256: 64 lanes a row; 128, and the longest rows first, where rows are few",
        )
        .preprocessing("where rows are few: their order"),
        Needs::Nothing;

        RowPerVector = Algorithm::new(
            "row_per_vector",
            "rows are too few to fill the device; CUDA, where rows have 64 entries and are uniform; where the plan runs once, rows \
             of 8 entries on average: 2 to 32 lanes a row",
        ),
        Needs::Nothing;

        MergePath = Algorithm::new(
            "merge_path",
            "OpenCL, where the plan runs more than once, some row is much longer than the average, which is less than 8",
        )
        .preprocessing("the first row of each tile, and two partial sums per tile"),
        Needs::Nothing;

        Segmented = Algorithm::new(
            "segmented",
            "the plan runs more than once, and rows are many, and neither short nor long and uniform, or one is much longer than the \
             average",
        )
        .preprocessing("a bit per entry, the rows in order, and two partial sums for some hundred entries"),
        Needs::Nothing;

        RowBlocks = Algorithm::new("row_blocks", "never").preprocessing("the first row of each block"),
        Needs::Nothing;

        RowPerSubGroup = Algorithm::new("row_per_sub_group", "never: for OpenCL devices with sub-groups"),
        Needs::File(SUB_GROUP_FILE);
    }
}

const ACROSS: &[Algorithm] = &[GROUPED_ROWS];

/// True if op(A) goes along the compressed rows (CSR) or columns (CSC).
pub(crate) fn along<A: Axis>(op: Op) -> bool {
    A::IS_ROW != op.transposes()
}

impl<A: Axis, T: Scalar, I: Index, O: Index> SpmvKernel<Compressed<A, T, Device, I, O>> for Device {
    type Plan = ProductPlan<RowStrategy>;

    fn spmv_algorithms(&self, op: Op) -> &'static [Algorithm] {
        if along::<A>(op) { self.row_algorithms() } else { ACROSS }
    }

    fn plan_spmv(
        &self,
        a: &Compressed<A, T, Device, I, O>,
        op: Op,
        options: &PlanOptions,
    ) -> Result<Self::Plan> {
        if !along::<A>(op) {
            let choice =
                options.choose("spmv", ACROSS, GROUPED_ROWS.name, "op(A) goes across what is stored")?;
            return Ok(ProductPlan { choice, traversal: Traversal::Grouped(Grouped::new(self, a, op)?) });
        }
        self.plan_stored_spmv(a.into(), op, options)
    }

    unsafe fn spmv(
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
    /// The algorithms along the stored direction.
    fn row_algorithms(&self) -> &'static [Algorithm] {
        self.offered(|_: RowAlgorithm| true)
    }

    /// The plan of a product along the compressed direction.
    fn plan_stored_spmv(
        &self,
        a: RawCompressed<'_>,
        op: Op,
        options: &PlanOptions,
    ) -> Result<ProductPlan<RowStrategy>> {
        let fitting = self.fitting_row_algorithm(a, options)?;
        let (algorithm, choice) = self.choose("spmv", options, self.row_algorithms(), fitting)?;
        let traversal = Traversal::Stored(RowStrategy::new(self, a, op, algorithm)?);
        Ok(ProductPlan { choice, traversal })
    }

    /// Chooses the algorithm for the rows, with the reason. Reads their lengths where a plan is worth it.
    fn fitting_row_algorithm(
        &self,
        a: RawCompressed<'_>,
        options: &PlanOptions,
    ) -> Result<(RowAlgorithm, String)> {
        let limits = SpmvThresholds::H100;
        let (rows, mean) = (a.rows, a.mean_length());
        let reason = format!("{rows} rows have {mean} entries on average");
        if self.caps().is_cpu {
            return Ok((RowAlgorithm::RowPerThread, "the device is a CPU".into()));
        }
        let has_barriers = self.properties().warps_per_group == 1;
        let few = rows <= self.caps().compute_units * limits.many_rows_per_unit;
        let is_often = options.expected_calls >= limits.calls_for_column_blocks;
        let looks_at_columns = is_often && self.has_column_blocks() && !few;
        if options.algorithm.is_none()
            && looks_at_columns
            && let Some(reason) = self.reason_for_column_blocks(a)?
        {
            return Ok((RowAlgorithm::ColumnBlocks, reason));
        }
        if options.algorithm.is_none() && options.expected_calls > 1 {
            let longest = self.longest_row(a.offsets)?;
            let reason = format!("{reason}, one has {longest}");
            if !has_barriers {
                let entry_bytes = a.values.element_bytes + a.indices.element_bytes;
                let lengths = Lengths { rows, nnz: a.nnz(), mean, longest, entry_bytes };
                let properties = self.properties();
                let units = properties.caps.compute_units;
                return Ok((lengths.algorithm(units, properties.cache_bytes, &limits), reason));
            }
            let is_skewed = longest > limits.longest_uniform.max(limits.skew_ratio * mean);
            if is_skewed || mean >= limits.long_for_lanes && !few && mean < limits.long_for_warps {
                let is_short = mean < limits.short_for_segments;
                let algorithm = if is_short { RowAlgorithm::MergePath } else { RowAlgorithm::Segmented };
                return Ok((algorithm, reason));
            }
        }
        let several_lanes = mean >= limits.long_for_lanes || few && mean > 1;
        let algorithm = match several_lanes {
            true if mean >= limits.long_for_warps && !has_barriers => RowAlgorithm::RowPerWarp,
            true => RowAlgorithm::RowPerVector,
            false => RowAlgorithm::RowPerThread,
        };
        Ok((algorithm, reason))
    }
}
