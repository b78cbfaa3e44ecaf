//! CSR and CSC: the compressed direction by rows, the other by grouped entries.

use super::column_blocks;
use super::grouped::{GroupedAlgorithm, GroupedPlan};
use super::row_blocks::{self, BlockedRows, LONGEST_WHOLE};
use super::row_panels::RowPanels;
use super::row_product::{RowPlan, RowProduct, Unit, WholeRows};
use super::row_split::{Division, LEAST_LARGEST, RowSplit, is_far};
use super::row_split_atomic::AtomicSplit;
use super::summed_chunks::SINGLE_WARPS;
use super::tensor::{self, TensorTiles};
use super::thresholds::SpmmThresholds;
use crate::Device;
use crate::lanes::LANES;
use crate::op::available_algorithms::Needs;
use crate::primitive::column_blocks::{ColumnBlocks, NAME};
use crate::primitive::planned_rows::PlannedRows;
use crate::primitive::raw::{DenseOperands, RawCompressed, along};
use crate::primitive::stored_values::StoredValues;
use sparse_core::op::{Op, SpmmKernel};
use sparse_core::{
    Algorithm, Axis, Backend, Choice, Compressed, DType, DenseView, DenseViewMut, Index, KernelPlan,
    PlanOptions, Result, Scalar, algorithms,
};

algorithms! {
    /// The algorithms for compressed rows along the stored direction.
    enum RowAlgorithm needs Needs {
        ColumnBlocks = Algorithm::new(
            NAME,
            "CUDA, for plans of 32 calls and more, where rows have 64 entries and more in each of at most 18 blocks of columns \
             whose rows of B shared memory holds, 256 bytes each, and B has as many",
        )
        .preprocessing("the first entry of each row in each block of columns, and a row of partial sums of C for each"),
        Needs::SharedMemory(column_blocks::FILE);

        RowPerThread = Algorithm::new("row_per_thread", "the device is a CPU"), Needs::Nothing;

        Crc = Algorithm::new(
            "crc",
            "the plan runs a few times, and B has at most 32 columns: 32 entries at a time in local memory, a column a lane",
        ),
        Needs::Nothing;

        Cwm = Algorithm::new("cwm", "the same with more columns of B: four columns a lane"), Needs::Nothing;

        RowBlocks = Algorithm::new(
            "row_blocks",
            "where chunks would be chosen, rows are many and those with entries have fewer than 12 on average (8 if rows of B have \
             up to 128 bytes, 4 if up to 32), or all rows fewer than 2; where columns of rows are near each other and the cache does \
             not hold B, fewer than 24: lanes walk over neighbouring rows",
        )
        .preprocessing("the first row of each block, and a row of partial sums of C for each of those inside long rows"),
        Needs::Nothing;

        RowPanels = Algorithm::new(
            "row_panels",
            "plans of 32 calls and more, where rows of A are many and of like length, and have entries in at least 42 % of the places \
             where any of four neighbours has one, 60 % if there are few panels, 90 % if rows of B have fewer than 128 bytes: these are \
             read once for the four",
        )
        .preprocessing("for each panel of four rows its columns, and a bit for each row that has an entry there"),
        Needs::Nothing;

        RowSplit = Algorithm::new(
            "row_split",
            "other plans of 32 calls and more, those of several where rows are long or skewed, and of one where a row has more than 2048 \
             entries: chunks, the longest first",
        )
        .preprocessing(
            "rows in chunks of up to 512 entries, sorted by length, and a row of partial sums of C for each chunk",
        ),
        Needs::Nothing;

        RowSplitPacked = Algorithm::new(
            "row_split_packed",
            "the same where B has 1 GiB and its rows are used 32 times: slices of its columns are copied in turn",
        )
        .preprocessing("the same, and a copy of a slice of B"),
        Needs::Nothing;

        RowSwizzle = Algorithm::new("row_swizzle", "never: whole rows, the longest first")
            .preprocessing("rows sorted by length"),
        Needs::Nothing;

        RowTiles = Algorithm::new("row_tiles", "never: rows in tiles of 32 entries")
            .preprocessing("the tiles, and a row of partial sums of C for each of those that are no whole rows"),
        Needs::Nothing;

        RowSplitAtomic = Algorithm::new(
            "row_split_atomic",
            "never: rows of more than 256 entries in chunks, which are added by atomic additions",
        )
        .preprocessing("rows in chunks of up to 256 entries, sorted by length, and a row of sums of C for each row that is split")
        .relaxed(),
        Needs::Nothing;

        TensorF16 = Algorithm::new("tensor_f16", "never: f16 by tensor cores, 8 rows and 8 of their columns at a time")
            .preprocessing(tensor::PREPROCESSING),
        Needs::File(tensor::FILE);

        TensorTf32 = Algorithm::new(
            "tensor_tf32",
            "never: f32 rounded to the 11 bits of TF32 by tensor cores, 8 rows and 8 of their columns at a time",
        )
        .preprocessing(tensor::PREPROCESSING)
        .rounding_factors_to(tensor::TF32_BITS),
        Needs::File(tensor::FILE);
    }
}

impl RowAlgorithm {
    /// True if the algorithm multiplies values of this type.
    fn takes(self, dtype: DType) -> bool {
        match self {
            Self::TensorF16 => dtype == DType::F16,
            Self::TensorTf32 => dtype == DType::F32,
            _ => true,
        }
    }
}

/// Columns per work-group of `cwm`.
const CWM_COLUMNS: usize = 4 * LANES;

/// Bytes of a row of B: more than a sector (32), at most a cache line (128).
const ONE_LINE: std::ops::RangeInclusive<usize> = 33..=128;

/// The statistics of A's rows and the sizes of B, which decide between blocks and chunks of rows.
#[derive(Debug, Clone, Copy)]
struct ProductStatistics {
    rows: usize,
    /// Rows with entries.
    filled: usize,
    nnz: usize,
    /// Entries of the longest row.
    longest: usize,
    /// Columns of A, which are rows of B.
    cols: usize,
    /// Bytes of a row of B.
    row_bytes: usize,
}

/// The choice of blocks of rows over chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TakeBlocks {
    /// Blocks.
    Yes,
    /// Blocks, if columns of neighbouring rows are near each other.
    IfNear,
    /// Chunks.
    No,
}

impl ProductStatistics {
    fn take_blocks(self, cache_bytes: usize, limits: &SpmmThresholds) -> TakeBlocks {
        let is_below = |limit: usize, rows: usize| self.nnz < rows.saturating_mul(limit);
        let short = limits.short_for_blocks.of(self.row_bytes);
        let are_short = is_below(limits.mostly_empty, self.rows) || is_below(short, self.filled);
        let are_whole_in_chunks = ONE_LINE.contains(&self.row_bytes)
            && !is_below(limits.whole_from, self.rows)
            && (LONGEST_WHOLE + 1..=LEAST_LARGEST).contains(&self.longest);
        let exceeds_cache = self.cols.saturating_mul(self.row_bytes) > cache_bytes / 4 * 3;
        if is_below(short, self.rows) && are_short {
            if are_whole_in_chunks { TakeBlocks::IfNear } else { TakeBlocks::Yes }
        } else if self.row_bytes > *ONE_LINE.end()
            && exceeds_cache
            && is_below(limits.near_for_blocks, self.rows)
        {
            TakeBlocks::IfNear
        } else {
            TakeBlocks::No
        }
    }
}

/// The plan of a product of compressed rows or columns.
#[derive(Debug)]
pub enum CompressedPlan {
    /// Along the compressed direction.
    Stored(RowPlan),
    /// Across the compressed direction.
    Grouped(Box<GroupedPlan>),
}

impl KernelPlan for CompressedPlan {
    fn choice(&self) -> &Choice {
        match self {
            Self::Stored(plan) => plan.choice(),
            Self::Grouped(plan) => plan.choice(),
        }
    }

    fn workspace_bytes(&self) -> usize {
        match self {
            Self::Stored(plan) => plan.workspace_bytes(),
            Self::Grouped(plan) => plan.workspace_bytes(),
        }
    }
}

impl PlannedRows<'_> {
    /// Chooses the algorithm for this number of columns of B, with the reason.
    fn choose_spmm(&self, columns: usize) -> Result<(RowAlgorithm, String)> {
        let &Self { backend, a, options, .. } = self;
        let limits = backend.thresholds().spmm;
        let calls = options.expected_calls;
        let splits = !backend.caps().is_cpu && self.are_worth_splitting(&limits)?;
        let is_far = is_far(a.nnz(), (a.cols, columns), a.dtype.bytes(), &limits);
        let reason = match calls {
            0 | 1 => "one call is planned, since a row is very long".into(),
            _ => format!("the plan runs {calls} times, rows have {} entries", a.mean_length()),
        };
        if splits
            && !is_far
            && calls >= limits.calls_for_panels
            && self.are_alike(columns, limits.filled_percent_for_panels)?
        {
            return Ok((RowAlgorithm::RowPanels, reason));
        }
        if let Some(reason) = backend.reason_for_shared_rows(a, columns, options) {
            return Ok((RowAlgorithm::ColumnBlocks, reason));
        }
        if backend.caps().is_cpu {
            return Ok((RowAlgorithm::RowPerThread, "the device is a CPU".into()));
        }
        if splits {
            let algorithm = if is_far {
                RowAlgorithm::RowSplitPacked
            } else if self.take_blocks(columns, &limits)? {
                RowAlgorithm::RowBlocks
            } else {
                RowAlgorithm::RowSplit
            };
            return Ok((algorithm, reason));
        }
        let is_narrow = columns <= limits.columns_for_crc;
        let algorithm = if is_narrow { RowAlgorithm::Crc } else { RowAlgorithm::Cwm };
        Ok((algorithm, format!("B has {columns} columns")))
    }

    /// True if chunks of rows are chosen: the plan runs often, rows are long on average, or the longest row has several
    /// chunks (for a single run: very many).
    fn are_worth_splitting(&self, limits: &SpmmThresholds) -> Result<bool> {
        let &Self { a, options, ref lengths, .. } = self;
        if options.algorithm.is_some() {
            return Ok(false);
        }
        if options.expected_calls <= 1 {
            return lengths.has_hub(a.nnz());
        }
        Ok(options.expected_calls >= limits.calls_for_chunks
            || a.nnz() >= a.rows * limits.long_for_chunks
            || lengths.longest()? > limits.longest_in_one_chunk)
    }

    /// True if blocks of rows are chosen over chunks.
    fn take_blocks(&self, columns: usize, limits: &SpmmThresholds) -> Result<bool> {
        let &Self { backend, a, ref lengths, .. } = self;
        // On NVIDIA's OpenCL chunks share work-groups, which blocks do not: 0.58 to 0.98 of the time with 8 columns.
        if backend.chunks_share_groups() && columns < SINGLE_WARPS.start
            || !row_blocks::fill_device(a, columns, backend.caps().compute_units, backend.has_single_warps())
        {
            return Ok(false);
        }
        let product = ProductStatistics {
            rows: a.rows,
            filled: lengths.filled()?,
            nnz: a.nnz(),
            longest: lengths.longest()?,
            cols: a.cols,
            row_bytes: columns * a.dtype.bytes(),
        };
        match product.take_blocks(backend.properties().cache_bytes, limits) {
            TakeBlocks::Yes => Ok(true),
            TakeBlocks::IfNear => backend.has_near_columns(a),
            TakeBlocks::No => Ok(false),
        }
    }
}

impl Device {
    /// The algorithms along the stored direction for values of this type.
    fn row_algorithms(&self, dtype: DType) -> &'static [Algorithm] {
        self.offered_if(&|algorithm: RowAlgorithm| algorithm.takes(dtype))
    }

    /// The plan of a product of compressed rows.
    pub(super) fn plan_rows_spmm(
        &self,
        a: RawCompressed<'_>,
        op: Op,
        columns: usize,
        options: &PlanOptions,
    ) -> Result<RowPlan> {
        let rows = PlannedRows::new(self, a, op, options);
        let (offered, preferred) = (self.row_algorithms(a.dtype), rows.choose_spmm(columns)?);
        let (algorithm, choice) = self.choose("spmm", options, offered, preferred)?;
        let split = |division, is_packed| RowSplit::new(&rows, columns, division, is_packed).map(boxed);
        let whole_rows = |entry, unit| {
            let kernel = self.kernel_of(a.dtype, "csr_spmm", entry, a.product_defines(op))?;
            Ok(boxed(WholeRows { kernel, unit }))
        };
        let product = match algorithm {
            RowAlgorithm::ColumnBlocks => boxed(ColumnBlocks::for_spmm(&rows, columns)?),
            RowAlgorithm::RowBlocks => boxed(BlockedRows::new(&rows, columns)?),
            RowAlgorithm::RowPanels => boxed(RowPanels::new(&rows, columns)?),
            RowAlgorithm::RowSplit => split(Division::Chunks, false)?,
            RowAlgorithm::RowSplitPacked => split(Division::Chunks, true)?,
            RowAlgorithm::RowSwizzle => split(Division::Rows, false)?,
            RowAlgorithm::RowTiles => split(Division::Tiles, false)?,
            RowAlgorithm::RowSplitAtomic => boxed(AtomicSplit::new(&rows, columns)?),
            RowAlgorithm::TensorF16 | RowAlgorithm::TensorTf32 => boxed(TensorTiles::new(self, a, columns)?),
            RowAlgorithm::Crc => whole_rows("csr_spmm_crc", Unit::Columns(LANES))?,
            RowAlgorithm::Cwm => whole_rows("csr_spmm_cwm", Unit::Columns(CWM_COLUMNS))?,
            RowAlgorithm::RowPerThread => whole_rows("csr_spmm_row_per_thread", Unit::Row)?,
        };
        Ok(RowPlan { choice, product })
    }
}

fn boxed(product: impl RowProduct + 'static) -> Box<dyn RowProduct> {
    Box::new(product)
}

impl<A: Axis, T: Scalar, I: Index, O: Index> SpmmKernel<Compressed<A, T, Device, I, O>> for Device {
    type Plan = CompressedPlan;

    fn spmm_algorithms(&self, op: Op) -> &'static [Algorithm] {
        if along::<A>(op) { self.row_algorithms(T::DTYPE) } else { self.offered::<GroupedAlgorithm>() }
    }

    fn plan_spmm(
        &self,
        a: &Compressed<A, T, Device, I, O>,
        op: Op,
        columns: usize,
        options: &PlanOptions,
    ) -> Result<CompressedPlan> {
        if along::<A>(op) {
            self.plan_rows_spmm(a.into(), op, columns, options).map(CompressedPlan::Stored)
        } else {
            let plan = GroupedPlan::new(self, a, op, columns, options)?;
            Ok(CompressedPlan::Grouped(Box::new(plan)))
        }
    }

    unsafe fn run_spmm(
        &self,
        plan: &mut CompressedPlan,
        alpha: T::Acc,
        a: &Compressed<A, T, Device, I, O>,
        b: DenseView<'_, T, Self>,
        beta: T::Acc,
        c: DenseViewMut<'_, T, Self>,
    ) -> Result<()> {
        let operands = DenseOperands::new(alpha, b, beta, c);
        match plan {
            CompressedPlan::Stored(plan) => plan.run(self, a.into(), operands),
            CompressedPlan::Grouped(plan) => plan.run(self, StoredValues::values(a), operands),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_rows_take_blocks_if_their_columns_are_near() {
        let take = |rows, nnz, longest, cols, columns: usize| {
            let product =
                ProductStatistics { rows, filled: rows, nnz, longest, cols, row_bytes: 4 * columns };
            product.take_blocks(60 << 20, &SpmmThresholds::H100)
        };
        assert_eq!(take(500_000, 2_732_064, 2_000, 500_000, 32), TakeBlocks::Yes, "nets");
        assert_eq!(take(300_000, 1_569_854, 60, 50_000, 32), TakeBlocks::IfNear, "rows longer than a block");
        assert_eq!(take(300_000, 1_569_854, 60, 50_000, 64), TakeBlocks::Yes, "the same with 64 columns");
        assert_eq!(take(100_000, 1_400_502, 20_000, 120_000, 128), TakeBlocks::IfNear, "14 entries, far B");
        assert_eq!(take(100_000, 1_400_502, 20_000, 120_000, 32), TakeBlocks::No, "the cache holds B");
        assert_eq!(take(330_000, 7_920_000, 24, 330_000, 128), TakeBlocks::No, "24 entries");
    }
}
