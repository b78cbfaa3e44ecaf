//! `length_classes`: rows by classes of lengths, in one launch.
//!
//! | class | who takes a row |
//! |---|---|
//! | short | 1 to 8 lanes |
//! | middle | 8 lanes |
//! | long | a warp |
//! | very long | a work-group for each slice of 2048 entries |
//!
//! The plan lists all rows but the short ones. Only a row in slices costs more than its entries: a partial sum and a
//! counter for each slice, where `segmented` takes two partial sums for each part and a second launch. It is the
//! fastest where most rows are short or alike and x is gathered from beyond the L1 cache.

use super::row_deltas::ColumnPattern;
use super::row_strategy::RowProduct;
use super::thresholds::LanesFrom;
use crate::buffer::RawBuffer;
use crate::lanes::{LANES, lanes_at_once};
use crate::primitive::planned_rows::PlannedRows;
use crate::primitive::prefix_sum::PrefixSum;
use crate::primitive::raw::{RawCompressed, VectorOperands};
use crate::{Buffer, Device, Kernel};
use sparse_core::{Backend, Result};

/// The file of the kernels.
const FILE: &str = "csr_spmv_length_classes";

/// Lanes of a middle row: `MIDDLE_LANES` of the kernels.
const MIDDLE_LANES: usize = 8;

/// 8-byte words of a slice: those of `Slice` of the kernels.
const SLICE_WORDS: usize = 5;

/// The most entries of a short row per lane, where lengths are not alike: two steps. Measured on an H200 on 31 power
/// laws, clauses, nets and texts, over four steps: 0.98 in f32, 0.97 in f64, 0.92 to 1.04.
const ENTRIES_PER_LANE: usize = 8;

/// The same where a short row has one lane: three steps.
const ENTRIES_OF_ONE_LANE: usize = 12;

/// Alike rows of scattered columns with fewer entries on average have the lanes of [`lanes_of_scattered`].
const SHORT_AND_SCATTERED: usize = 10;

/// Warps of a compute unit that run at once with 8-byte values.
const WARPS_PER_UNIT: usize = 48;

/// The range for the length of the longest row of a warp, longer ones being cut into slices. Within it, the length is
/// the number of entries per warp that runs at once, so that no row takes longer than the others together. Measured
/// with 14 million entries of a power law, that number over 512: 0.71 (f32), 0.81 (f64); where both are alike, 0.96 to
/// 1.01.
const LONGEST_OF_WARP: std::ops::RangeInclusive<usize> = 512..=4096;

/// The rows that are not short, in classes.
#[derive(Debug)]
pub(super) struct LengthClasses {
    kernel: Kernel,
    /// Lanes per short row.
    lanes: usize,
    /// Entries of the longest short row.
    longest_short: usize,
    /// Number of middle rows.
    middle: usize,
    /// Number of rows that have a warp each.
    of_warps: usize,
    /// Number of slices of longer rows.
    slices: usize,
    /// The middle rows, and those of warps.
    listed: RawBuffer,
    /// For each slice its row, its entries, and the slices of the row.
    sliced: Buffer<i64>,
    /// The sums of slices.
    partial: RawBuffer,
    /// The number of slices that are done, at the first slice of each row: zero between products.
    done: Buffer<i32>,
}

impl LengthClasses {
    /// Lists the rows that are not short.
    pub(super) fn new(rows: &PlannedRows<'_>, pattern: ColumnPattern) -> Result<Self> {
        let &PlannedRows { backend, a, op, .. } = rows;
        let Classes { lanes, longest_short, longest_of_warp } = Classes::of(rows, pattern)?;
        let rows = a.rows;
        let defines = a.product_defines(op).set("BLOCK", backend.inner.block).set("LANES", lanes);
        let kernel = |entry| backend.kernel_of(a.dtype, FILE, entry, defines.clone());
        let counts = || backend.allocate::<i64>(rows + 1);
        let (of_middle, of_warps, of_slices) = (counts()?, counts()?, counts()?);
        let count = kernel("csr_spmv_length_classes_count")?;
        let launch = backend.launch(&count).size(rows).size(longest_short).size(longest_of_warp);
        launch.buffer(a.offsets).buffer(&of_middle).buffer(&of_warps).buffer(&of_slices).items(rows + 1)?;
        let sum = PrefixSum::series(backend, rows + 1)?;
        let [middle, warps, slices] =
            [&of_middle, &of_warps, &of_slices].map(|c| sum.starts_and_sum(backend, c));
        let (middle, warps, slices) = (middle?, warps?, slices?);

        let product = match evicts_first(backend, a) {
            true => "csr_spmv_length_classes_evict_first",
            false => "csr_spmv_length_classes",
        };
        let classes = Self {
            kernel: kernel(product)?,
            lanes,
            longest_short,
            middle,
            of_warps: warps,
            slices,
            listed: backend.allocate_raw(middle + warps, a.indices.element_bytes)?,
            sliced: backend.allocate(SLICE_WORDS * slices)?,
            partial: backend.allocate_raw(slices, a.dtype.accumulator().bytes())?,
            done: backend.zeros(slices)?,
        };
        let fill = kernel("csr_spmv_length_classes_fill")?;
        let launch = backend.launch(&fill).size(rows).buffer(a.offsets).buffer(&of_middle).buffer(&of_warps);
        launch.buffer(&of_slices).buffer(&classes.listed).buffer(&classes.sliced).items(rows)?;
        Ok(classes)
    }
}

impl RowProduct for LengthClasses {
    fn bytes(&self) -> usize {
        self.listed.bytes() + self.sliced.bytes() + self.partial.bytes() + self.done.bytes()
    }

    fn run(&self, backend: &Device, a: RawCompressed<'_>, operands: VectorOperands<'_>) -> Result<()> {
        let block = backend.inner.block;
        let short = (a.rows * self.lanes).div_ceil(block);
        let listed = (self.middle * MIDDLE_LANES).div_ceil(block) + (self.of_warps * LANES).div_ceil(block);
        let launch = backend.launch(&self.kernel).size(a.rows).size(a.nnz()).size(self.longest_short);
        let launch = launch.size(self.slices).size(self.of_warps).size(self.middle);
        let launch = launch.buffer(&self.listed).buffer(&self.sliced).product(a, operands);
        launch.buffer(&self.partial).buffer(&self.done).groups(self.slices + listed + short, block)
    }
}

/// The limits of the classes: short rows, middle rows, rows of a warp, and longer ones in slices.
struct Classes {
    /// Lanes per short row.
    lanes: usize,
    /// Entries of the longest short row.
    longest_short: usize,
    /// Entries of the longest row of a warp.
    longest_of_warp: usize,
}

impl Classes {
    /// The classes of the rows of `a`, whose columns have this pattern.
    fn of(rows: &PlannedRows<'_>, pattern: ColumnPattern) -> Result<Self> {
        let &PlannedRows { backend, a, ref lengths, .. } = rows;
        let (longest, mean, units) = (lengths.longest()?, a.mean_length(), backend.caps().compute_units);
        let limits = backend.thresholds().spmv.length_classes;
        let is_alike = longest <= limits.alike_ratio * mean;
        let lanes = match is_alike {
            true => lanes_for(mean, &limits.alike),
            false if is_large(backend, a) => {
                lanes_for(lengths.limited()?.div_ceil(a.rows), from_memory(a.values.element_bytes))
            }
            false => lanes_for(lengths.limited()?.div_ceil(a.rows), &limits.skewed),
        };
        let lanes = match pattern {
            ColumnPattern::Scattered if is_alike && mean < SHORT_AND_SCATTERED => lanes_of_scattered(mean),
            ColumnPattern::Scattered => lanes_of_long_scattered(a.rows, mean, units).unwrap_or(lanes),
            ColumnPattern::Alike | ColumnPattern::Clustered { alike: true }
                if mean <= limits.four_lanes_up_to && !evicts_first(backend, a) =>
            {
                lanes.min(4)
            }
            ColumnPattern::Alike | ColumnPattern::Clustered { .. } | ColumnPattern::Other => lanes,
        };
        let longest_short = match lanes {
            _ if is_alike => longest,
            1 => ENTRIES_OF_ONE_LANE,
            _ => ENTRIES_PER_LANE * lanes,
        };
        let (least, most) = (*LONGEST_OF_WARP.start(), *LONGEST_OF_WARP.end());
        let longest_of_warp = (a.nnz() / (units * WARPS_PER_UNIT)).clamp(least, most);
        Ok(Self { lanes, longest_short, longest_of_warp })
    }
}

/// True if the entries take more than one and a half times the cache.
fn is_large(backend: &Device, a: RawCompressed<'_>) -> bool {
    2 * a.nnz() * (a.indices.element_bytes + a.values.element_bytes) > 3 * backend.properties().cache_bytes
}

/// True if a product moves more than five sixths of the cache, so that entries should be evicted from it first.
/// Measured, time of loads that are evicted first over plain ones, on an H200 of 60 MiB: 0.74 to 1.06 from 50 MB on,
/// 0.96 on average, 0.91 to 1.24 below.
fn evicts_first(backend: &Device, a: RawCompressed<'_>) -> bool {
    6 * product_bytes(a) > 5 * backend.properties().cache_bytes
}

/// Bytes that a product reads and writes.
fn product_bytes(a: RawCompressed<'_>) -> usize {
    let (index_bytes, value_bytes) = (a.indices.element_bytes, a.values.element_bytes);
    a.nnz() * (index_bytes + value_bytes)
        + a.rows * (a.offsets.element_bytes + value_bytes)
        + a.cols * value_bytes
}

/// The lanes of each short row, by the average number of entries. Where lengths are not alike, the caller counts at
/// most 32 entries of each row, so that a few long rows do not raise the average. Measured on an H200 on 16 power laws,
/// nets and texts, over lanes by the plain average: 0.88 to 1.00.
pub(super) fn lanes_for(mean: usize, from: &LanesFrom) -> usize {
    match mean {
        _ if mean >= from.eight_lanes => 8,
        _ if mean >= from.four_lanes => 4,
        _ if mean >= from.two_lanes => 2,
        _ => 1,
    }
}

/// The lanes of skewed rows of a matrix that exceeds the cache: enough to read a row in one step. Measured on an H200
/// on six matrices of 6 to 19 entries, over the lanes for cached matrices: 0.84 to 1.00 in f32 and f64. Four lanes over
/// two at 7 entries: 0.96, but 1.14 where half of the entries are duplicates and x is near.
fn from_memory(value_bytes: usize) -> &'static LanesFrom {
    match value_bytes {
        ..8 => &LanesFrom { two_lanes: 4, four_lanes: 8, eight_lanes: 10 },
        _ => &LanesFrom { two_lanes: 5, four_lanes: 8, eight_lanes: 13 },
    }
}

/// The lanes of alike rows of fewer than [`SHORT_AND_SCATTERED`] entries whose columns are scattered. Measured on an
/// H200 on shuffled meshes and random columns: four over two 0.93 to 1.01 in f32 and 0.89 to 1.00 in f64 from 6 entries
/// on, 1.04 and 1.08 at 5; two over one 0.98 to 1.00 and 0.92 to 1.00 at 3 and 4.
fn lanes_of_scattered(mean: usize) -> usize {
    match mean {
        ..3 => 1,
        3..6 => 2,
        _ => 4,
    }
}

/// The most lanes with which all rows run at once, if at least two and rows have 17 entries: rows of scattered columns
/// that run side by side read the same part of x. Measured with two and eight lanes, f32: 24.0 and 35.4 µs at 48
/// entries, 29.3 and 42.4 at 64; with four and eight, f64: 27.8 and 34.6 at 128.
fn lanes_of_long_scattered(rows: usize, mean: usize, units: usize) -> Option<usize> {
    if mean < 17 { None } else { lanes_at_once(&[8, 4, 2], rows, units) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::spmv::thresholds::SpmvThresholds;

    #[test]
    fn longer_rows_have_more_lanes_and_skewed_ones_fewer() {
        let limits = SpmvThresholds::H100.length_classes;
        let of = |from: &LanesFrom| [3, 5, 6, 9, 12, 20, 30].map(|mean| lanes_for(mean, from));
        assert_eq!(of(&limits.alike), [1, 2, 2, 2, 4, 8, 8]);
        assert_eq!(of(&limits.skewed), [1, 1, 2, 2, 4, 4, 8]);
        assert_eq!(of(from_memory(4)), [1, 2, 2, 4, 8, 8, 8]);
        assert_eq!(of(from_memory(8)), [1, 2, 2, 4, 4, 8, 8]);
    }

    #[test]
    fn short_scattered_rows_have_up_to_four_lanes() {
        assert_eq!([2, 3, 5, 6, 9].map(lanes_of_scattered), [1, 2, 2, 4, 4]);
    }

    #[test]
    fn scattered_rows_have_the_lanes_with_which_all_run_at_once() {
        assert_eq!(lanes_of_long_scattered(100_000, 48, 132), Some(2));
        assert_eq!(lanes_of_long_scattered(50_000, 128, 132), Some(4));
        assert_eq!(lanes_of_long_scattered(20_000, 256, 132), Some(8));
        assert_eq!(lanes_of_long_scattered(200_000, 32, 132), None, "too many rows");
        assert_eq!(lanes_of_long_scattered(100_000, 16, 132), None, "short rows");
    }
}
