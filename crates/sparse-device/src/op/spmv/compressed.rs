//! CSR and CSC: the compressed direction by rows, the other by grouped entries.

use super::lengths::Lengths;
use super::row_strategies::{RowStrategy, SUB_GROUP_FILE};
use super::{Grouped, ProductPlan, Traversal};
use crate::launch::LANES;
use crate::op::available_algorithms::AvailableAlgorithms;
use crate::op::column_blocks::{self, MANY_CALLS};
use crate::op::grouped::GROUPED_ROWS;
use crate::op::raw::{RawCompressed, VectorOperands};
use crate::op::stored_values::StoredValues;
use crate::{Device, View, ViewMut};
use sparse_core::op::{Op, SpmvKernel};
use sparse_core::{Algorithm, Axis, Backend, Compressed, Index, PlanOptions, Result, Scalar};

const STORED: &[Algorithm] = &[
    Algorithm::new(
        column_blocks::NAME,
        "CUDA, for plans of 32 calls and more: x is larger than shared memory, rows are many and have 4 entries and more in most \
         blocks of columns whose part of x it holds",
    )
    .preprocessing("the first entry of each row in each block of columns, and a partial sum for each"),
    Algorithm::new(
        "row_per_thread",
        "the device is a CPU, or rows are many and short: fewer than 8 entries on average with OpenCL, fewer than 64 bytes \
         with CUDA or, where the cache holds the matrix, 16 entries",
    ),
    Algorithm::new(
        "row_per_warp",
        "CUDA, where rows are few and one is much longer than the average; where the plan runs once, rows of 128 entries on \
         average",
    ),
    Algorithm::new(
        "row_per_block",
        "CUDA, where the plan runs more than once, and rows have 384 entries on average and none is much longer, or are very \
         few and one has more than 256: 64 lanes a row; 128, and the longest rows first, where rows are few",
    )
    .preprocessing("where rows are few: their order"),
    Algorithm::new(
        "row_per_vector",
        "rows are too few to fill the device; CUDA, where rows have 64 entries and are uniform; where the plan runs once, rows \
         of 8 entries on average: 2 to 32 lanes a row",
    ),
    Algorithm::new(
        "merge_path",
        "OpenCL, where the plan runs more than once, some row is much longer than the average, which is less than 8",
    )
    .preprocessing("the first row of each tile, and two partial sums per tile"),
    Algorithm::new(
        "segmented",
        "the plan runs more than once, and rows are many, and neither short nor long and uniform, or one is much longer than the \
         average",
    )
    .preprocessing("a bit per entry, the rows in order, and two partial sums for some hundred entries"),
    Algorithm::new("row_blocks", "never").preprocessing("the first row of each block"),
    Algorithm::new("row_per_sub_group", "never: for OpenCL devices with sub-groups"),
];
const ACROSS: &[Algorithm] = &[GROUPED_ROWS];

/// Average entries per row from which on several lanes a row are worth it.
const LONG_ROWS: usize = 8;

/// Average entries per row below which skewed rows take less time along the merge path than in segments, where the
/// lanes of a warp meet at barriers; found by trial on an H100.
const SHORT_FOR_SEGMENTS: usize = 8;

/// Rows per compute unit from which on short rows fill a device: up to there several lanes a row are free, and wait
/// side by side for what one lane would wait for in turn.
pub(super) const MANY_ROWS_PER_UNIT: usize = 256;

/// Average entries per row from which on each lane of a warp has several neighbouring ones. Where a warp is a
/// work-group whose lanes meet at barriers, rows are better than segments from there on.
const LONG_FOR_WARPS: usize = 4 * LANES;

/// Rows count as skewed when the longest has this many times the average, and [`LONGEST_UNIFORM`] entries.
const SKEW_RATIO: usize = 16;

/// Entries up to which a row never makes rows skewed.
const LONGEST_UNIFORM: usize = 256;

/// True if op(A) goes along the compressed rows (CSR) or columns (CSC).
pub(in crate::op) fn along<A: Axis>(op: Op) -> bool {
    A::IS_ROW != op.transposes()
}

impl<A: Axis, T: Scalar, I: Index, O: Index> SpmvKernel<Compressed<A, T, Device, I, O>> for Device {
    type Plan = ProductPlan<RowStrategy>;

    fn spmv_algorithms(&self, op: Op) -> &'static [Algorithm] {
        if along::<A>(op) { self.stored_algorithms().on(self) } else { ACROSS }
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
    /// The algorithms of [`STORED`], without the first where the device has too little shared memory.
    fn stored_algorithms(&self) -> AvailableAlgorithms {
        let algorithms = if self.has_column_blocks() { STORED } else { &STORED[1..] };
        AvailableAlgorithms { algorithms, files: &[SUB_GROUP_FILE] }
    }

    /// The plan of a product along the compressed direction.
    fn plan_stored_spmv(
        &self,
        a: RawCompressed<'_>,
        op: Op,
        options: &PlanOptions,
    ) -> Result<ProductPlan<RowStrategy>> {
        let fitting = self.choose_row_strategy(a, options)?;
        let choice = self.stored_algorithms().choose(self, "spmv", options, fitting)?;
        let traversal = Traversal::Stored(RowStrategy::new(self, a, op, choice.algorithm)?);
        Ok(ProductPlan { choice, traversal })
    }

    /// Chooses the algorithm for the rows, with the reason. Reads their lengths where a plan is worth it.
    fn choose_row_strategy(
        &self,
        a: RawCompressed<'_>,
        options: &PlanOptions,
    ) -> Result<(&'static str, String)> {
        let (rows, mean) = (a.rows, a.mean_length());
        let reason = format!("{rows} rows have {mean} entries on average");
        if self.caps().is_cpu {
            return Ok(("row_per_thread", "the device is a CPU".into()));
        }
        let has_barriers = self.properties().warps_per_group == 1;
        let few = rows <= self.caps().compute_units * MANY_ROWS_PER_UNIT;
        let looks_at_columns = options.expected_calls >= MANY_CALLS && self.has_column_blocks() && !few;
        if options.algorithm.is_none()
            && looks_at_columns
            && let Some(reason) = self.reason_for_column_blocks(a)?
        {
            return Ok((column_blocks::NAME, reason));
        }
        if options.algorithm.is_none() && options.expected_calls > 1 {
            let longest = self.longest_row(a.offsets)?;
            let reason = format!("{reason}, one has {longest}");
            if !has_barriers {
                let entry_bytes = a.values.element_bytes + a.indices.element_bytes;
                let lengths = Lengths { rows, nnz: a.nnz(), mean, longest, entry_bytes };
                let properties = self.properties();
                return Ok((
                    lengths.algorithm(properties.caps.compute_units, properties.cache_bytes),
                    reason,
                ));
            }
            let is_skewed = longest > LONGEST_UNIFORM.max(SKEW_RATIO * mean);
            if is_skewed || mean >= LONG_ROWS && !few && mean < LONG_FOR_WARPS {
                let algorithm = if mean < SHORT_FOR_SEGMENTS { "merge_path" } else { "segmented" };
                return Ok((algorithm, reason));
            }
        }
        let several_lanes = mean >= LONG_ROWS || few && mean > 1;
        let algorithm = match several_lanes {
            true if mean >= LONG_FOR_WARPS && !has_barriers => "row_per_warp",
            true => "row_per_vector",
            false => "row_per_thread",
        };
        Ok((algorithm, reason))
    }
}
