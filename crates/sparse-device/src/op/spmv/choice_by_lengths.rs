//! Rules that choose an algorithm for a matrix by the lengths of its rows.

use super::listed_rows;
use super::row_algorithm::RowAlgorithm;
use super::row_deltas::ColumnPattern;
use super::thresholds::{
    DeltaThresholds, FewRowsThresholds, ListedRowsThresholds, LongRowsThresholds, ManyRowsThresholds,
    SpmvThresholds,
};
use crate::lanes::{LANES, WARPS_AT_ONCE};
use crate::primitive::raw::RawCompressed;
use crate::primitive::row_lengths::LazyRowLengths;
use sparse_core::Result;

/// The lengths of rows, found without reading columns.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowLengths {
    rows: usize,
    cols: usize,
    nnz: usize,
    /// Entries per row on average, rounded up.
    pub(super) mean: usize,
    pub(super) longest: usize,
    /// Bytes of a value and of its column.
    entry_bytes: usize,
    value_bytes: usize,
}

/// The patterns of columns that take less time with 16-bit columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeltaPatterns {
    /// No pattern.
    None,
    /// Every pattern that fits 16 bits.
    Fitting,
    /// Fitting patterns whose neighbouring rows are alike, or have columns near each other.
    Near,
    /// Fitting patterns whose neighbouring rows are alike: most columns of one are beside a column of the other.
    Alike,
}

impl RowLengths {
    /// The lengths of the rows of `a`; finds the longest row unless it is known.
    pub(super) fn measure(a: RawCompressed<'_>, lengths: &LazyRowLengths<'_>) -> Result<Self> {
        let value_bytes = a.values.element_bytes;
        Ok(Self {
            rows: a.rows,
            cols: a.cols,
            nnz: a.nnz(),
            mean: a.mean_length(),
            longest: lengths.longest()?,
            entry_bytes: value_bytes + a.indices.element_bytes,
            value_bytes,
        })
    }

    /// True if the cache holds the matrix, and leaves some of it to x and y.
    fn is_cached(self, cache_bytes: usize) -> bool {
        self.nnz * self.entry_bytes <= cache_bytes / 4 * 3
    }

    /// True if `filled` rows with entries are few, and none of them keeps its lanes busy for long.
    pub(super) fn are_mostly_empty(self, filled: usize, limits: &ListedRowsThresholds) -> bool {
        let most = limits.steps * listed_rows::lanes_for(self.nnz, filled);
        let words = self.value_bytes.div_ceil(4);
        filled * limits.rows_per_filled * words <= self.rows && self.longest <= most
    }

    /// The algorithm for a device with `units` compute units and a cache of `cache_bytes`.
    pub(super) fn algorithm(self, units: usize, cache_bytes: usize, limits: &SpmvThresholds) -> RowAlgorithm {
        if self.mean >= limits.long_rows.block_from && self.longest <= limits.long_rows.skew_ratio * self.mean
        {
            self.of_long_rows(units, &limits.long_rows)
        } else if self.rows <= units * limits.many_rows_per_unit {
            self.of_few_rows(units, &limits.few_rows)
        } else {
            self.of_many_rows(cache_bytes, &limits.many_rows)
        }
    }

    /// The algorithm for a device on which lanes meet at barriers, if the lengths decide: rows are skewed, or neither
    /// short nor long nor few.
    pub(super) fn algorithm_with_barriers(
        self,
        few: bool,
        cache_bytes: usize,
        limits: &SpmvThresholds,
    ) -> Option<RowAlgorithm> {
        let Self { mean, longest, entry_bytes, .. } = self;
        let barriers = &limits.barriers;
        let is_skewed = longest > barriers.never_skewed.max(barriers.skew_ratio * mean);
        let is_medium = mean >= limits.lanes_from && !few && mean < limits.warp_from;
        let is_cached = self.is_cached(cache_bytes);
        let thread_below =
            if is_cached { barriers.thread_below_bytes_in_cache } else { barriers.thread_below_bytes };
        if is_medium && longest <= barriers.like_ratio * mean {
            let is_short = mean * entry_bytes < thread_below;
            Some(if is_short { RowAlgorithm::RowPerThread } else { RowAlgorithm::RowBlocks })
        } else if is_skewed || is_medium {
            let is_short = mean < barriers.merge_path_below;
            Some(if is_short { RowAlgorithm::MergePath } else { RowAlgorithm::Segmented })
        } else {
            None
        }
    }

    /// The patterns of many rows that take less time with 16-bit columns than by `algorithm`; `reads_words` if lanes
    /// read several columns at once.
    pub(super) fn patterns_for_deltas(
        self,
        algorithm: RowAlgorithm,
        cache_bytes: usize,
        reads_words: bool,
        limits: &DeltaThresholds,
    ) -> DeltaPatterns {
        let Self { cols, nnz, mean, longest, value_bytes, .. } = self;
        let is_cached = nnz * (value_bytes + size_of::<u16>()) <= cache_bytes / 3 * 2;
        let has_like_lengths = longest <= 2 * mean;
        let has_short_x = cols * value_bytes <= limits.short_x_bytes;
        let few_lanes = limits.lanes_from..limits.wide_lanes_from;
        match algorithm {
            _ if mean <= 1 => DeltaPatterns::None,
            _ if has_short_x
                && reads_words
                && value_bytes < 8
                && (limits.singly.0..=limits.singly.1).contains(&mean) =>
            {
                DeltaPatterns::Near
            }
            RowAlgorithm::RowPerThread => DeltaPatterns::Fitting,
            _ if !has_like_lengths => DeltaPatterns::None,
            _ if has_short_x => DeltaPatterns::Fitting,
            _ if is_cached || reads_words => DeltaPatterns::Near,
            RowAlgorithm::RowBlocks if value_bytes >= 8 && few_lanes.contains(&mean) => DeltaPatterns::None,
            RowAlgorithm::RowBlocks => DeltaPatterns::Alike,
            _ if mean >= limits.lanes_from => DeltaPatterns::Alike,
            _ => DeltaPatterns::None,
        }
    }

    /// True if classes of lengths take less time than `algorithm`.
    pub(super) fn take_classes(
        self,
        (algorithm, pattern): (RowAlgorithm, ColumnPattern),
        units: usize,
        cache_bytes: usize,
        limits: &SpmvThresholds,
    ) -> bool {
        let Self { rows, cols, mean, longest, value_bytes, .. } = self;
        let classes = &limits.length_classes;
        let is_alike = longest <= classes.alike_ratio * mean;
        let has_near_x = cols * value_bytes <= classes.near_x_bytes;
        let bytes = self.nnz * self.entry_bytes;
        let is_large = 2 * bytes > cache_bytes;
        let are_few = rows <= units * limits.many_rows_per_unit;
        let fill_half = rows * 8 >= units * WARPS_AT_ONCE * LANES / 2;
        match algorithm {
            _ if mean >= limits.long_rows.block_from => false,
            _ if !is_alike && has_near_x && is_large => false,
            RowAlgorithm::RowPerThread if are_few => false,
            RowAlgorithm::RowPerThread if pattern == ColumnPattern::Scattered && is_alike => mean > 1,
            RowAlgorithm::RowPerThread => mean >= classes.alike_from && (is_alike || value_bytes < 8),
            RowAlgorithm::RowPerVector if are_few => {
                (LANES..=classes.vector_up_to).contains(&mean) && fill_half
            }
            RowAlgorithm::RowPerVector => mean <= classes.vector_up_to,
            RowAlgorithm::RowBlocks | RowAlgorithm::Segmented => {
                mean >= classes.skewed_from && bytes <= classes.skewed_up_to_caches * cache_bytes
            }
            _ => false,
        }
    }

    /// The algorithm for rows long enough for a work-group each: with few rows for each unit some have more of them
    /// than others, which the merge path evens out where the product lasts much longer than its launches.
    fn of_long_rows(self, units: usize, limits: &LongRowsThresholds) -> RowAlgorithm {
        let are_few = self.rows <= units * limits.merge_rows_per_unit;
        let are_many_entries = self.nnz >= units * limits.merge_entries_per_unit;
        let are_unequal = 2 * self.longest > 3 * self.mean;
        if are_few && are_many_entries && are_unequal {
            RowAlgorithm::MergePath
        } else {
            RowAlgorithm::RowPerBlock
        }
    }

    /// The algorithm for rows that all run at once, where the product lasts as long as the longest row.
    fn of_few_rows(self, units: usize, limits: &FewRowsThresholds) -> RowAlgorithm {
        let Self { rows, mean, longest, entry_bytes, .. } = self;
        let has_few_steps = longest < limits.long_steps * lanes_for(mean);
        if has_few_steps || longest <= limits.skew_ratio * mean {
            if mean > 1 { RowAlgorithm::RowPerVector } else { RowAlgorithm::RowPerThread }
        } else if rows <= units * limits.rows_per_unit_for_blocks && longest <= limits.block_up_to {
            if longest >= limits.block_from { RowAlgorithm::RowPerBlock } else { RowAlgorithm::RowPerWarp }
        } else if rows <= units * limits.rows_per_unit_for_warps
            && longest * entry_bytes <= limits.warp_up_to_bytes
        {
            RowAlgorithm::RowPerWarp
        } else {
            RowAlgorithm::Segmented
        }
    }

    /// The algorithm for rows that fill the device.
    fn of_many_rows(self, cache_bytes: usize, limits: &ManyRowsThresholds) -> RowAlgorithm {
        let Self { cols, mean, longest, entry_bytes, value_bytes, .. } = self;
        let is_cached = self.is_cached(cache_bytes);
        let ratio = if is_cached { limits.skew_ratio_in_cache } else { limits.skew_ratio_in_memory };
        let is_short = if is_cached {
            mean < limits.thread_below_in_cache
        } else {
            mean * entry_bytes < limits.thread_below_bytes
        };
        let is_skewed = longest > limits.never_skewed.max(ratio * mean);
        let has_long_x = cols * value_bytes >= limits.row_blocks_from_x_bytes;
        let takes_row_blocks = match is_skewed {
            true => mean <= 1 || !is_cached && has_long_x && mean <= limits.row_blocks_up_to,
            false => !is_cached && (limits.row_blocks_from..=limits.row_blocks_up_to).contains(&mean),
        };
        if takes_row_blocks {
            RowAlgorithm::RowBlocks
        } else if is_skewed {
            RowAlgorithm::Segmented
        } else if mean >= limits.vector_from && longest <= 2 * mean {
            RowAlgorithm::RowPerVector
        } else if is_short {
            RowAlgorithm::RowPerThread
        } else {
            RowAlgorithm::Segmented
        }
    }
}

/// Lanes for rows of `mean` entries: the next power of two, from 2 to 32.
pub(super) fn lanes_for(mean: usize) -> usize {
    mean.next_power_of_two().clamp(2, LANES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparse_core::AlgorithmSet;

    const LIMITS: SpmvThresholds = SpmvThresholds::H100;

    /// The algorithm on an H100, in f32 or f64.
    fn on_h100(rows: usize, nnz: usize, longest: usize, value_bytes: usize) -> &'static str {
        lengths(rows, nnz, longest, value_bytes).algorithm(132, 50 << 20, &LIMITS).row().name
    }

    fn lengths(rows: usize, nnz: usize, longest: usize, value_bytes: usize) -> RowLengths {
        let (mean, entry_bytes) = (nnz.div_ceil(rows), 4 + value_bytes);
        RowLengths { rows, cols: rows, nnz, mean, longest, entry_bytes, value_bytes }
    }

    #[test]
    fn columns_of_16_bits_are_for_short_rows_and_for_alike_ones() {
        let patterns = |rows, nnz, longest, value_bytes| {
            let lengths = lengths(rows, nnz, longest, value_bytes);
            let algorithm = lengths.algorithm(132, 50 << 20, &LIMITS);
            lengths.patterns_for_deltas(algorithm, 50 << 20, true, &LIMITS.deltas)
        };
        let of_short_x = |each, value_bytes| {
            let lengths =
                RowLengths { cols: 10_000, ..lengths(1_000_000, 1_000_000 * each, each, value_bytes) };
            let algorithm = lengths.algorithm(132, 50 << 20, &LIMITS);
            lengths.patterns_for_deltas(algorithm, 50 << 20, true, &LIMITS.deltas)
        };
        assert_eq!(patterns(1_440_000, 4_608_000, 4, 4), DeltaPatterns::Fitting, "streets");
        assert_eq!(patterns(1_331_000, 9_244_400, 7, 8), DeltaPatterns::Near, "7 entries, in memory");
        assert_eq!(patterns(490_000, 4_401_604, 9, 4), DeltaPatterns::Fitting, "9, in the cache");
        assert_eq!(patterns(50_000, 2_500_000, 60, 4), DeltaPatterns::Near, "50, in the cache");
        assert_eq!(patterns(500_000, 5_499_970, 11, 8), DeltaPatterns::Near, "11, in memory");
        assert_eq!(patterns(800_000, 8_799_970, 11, 4), DeltaPatterns::Near, "11, in memory, f32");
        assert_eq!(patterns(150_000, 6_149_580, 41, 8), DeltaPatterns::Near, "41, in memory");
        let by_blocks = |rows, nnz, longest| {
            let lengths = lengths(rows, nnz, longest, 8);
            lengths.patterns_for_deltas(RowAlgorithm::RowBlocks, 50 << 20, false, &LIMITS.deltas)
        };
        assert_eq!(by_blocks(500_000, 5_499_970, 11), DeltaPatterns::None, "11, in memory, with OpenCL");
        assert_eq!(by_blocks(300_000, 6_299_890, 21), DeltaPatterns::Alike, "21, in memory, with OpenCL");
        assert_eq!(by_blocks(1_000_000, 9_000_000, 50), DeltaPatterns::None, "skewed rows by blocks");
        assert_eq!(patterns(9_000, 8_000_000, 1_000, 4), DeltaPatterns::Fitting, "L1 holds x");
        assert_eq!(patterns(400_000, 3_760_000, 200, 4), DeltaPatterns::None, "skewed rows");
        assert_eq!(patterns(2_000_000, 2_000_000, 1, 4), DeltaPatterns::None, "one entry");
        assert_eq!(of_short_x(8, 4), DeltaPatterns::Near, "8, a thread a row, f32");
        assert_eq!(of_short_x(8, 8), DeltaPatterns::Fitting, "8, f64");
        assert_eq!(of_short_x(3, 4), DeltaPatterns::Fitting, "3");
    }

    #[test]
    fn classes_of_lengths_are_for_rows_that_are_not_very_short_or_long() {
        let take_of = |(rows, nnz, longest, value_bytes), pattern| {
            let lengths = lengths(rows, nnz, longest, value_bytes);
            let chosen = (lengths.algorithm(132, 50 << 20, &LIMITS), pattern);
            lengths.take_classes(chosen, 132, 50 << 20, &LIMITS)
        };
        let take = |rows, nnz, longest, value_bytes| {
            take_of((rows, nnz, longest, value_bytes), ColumnPattern::Other)
        };
        assert!(take(200_000, 771_339, 19_055, 4), "a circuit with rails");
        assert!(take(20_000, 79_623, 7_907, 4), "few rows and a rail");
        assert!(take(300_000, 4_800_000, 16, 4), "16 entries in each row");
        assert!(take(100_000, 6_400_000, 64, 8), "64 entries in each row");
        assert!(take(1_000_000, 8_000_000, 100_000, 4), "a power law");
        assert!(take(20_000, 1_156_000, 99, 4), "few rows with lanes for half of the device");
        assert!(!take(10_000, 49_600, 5, 4), "few rows of a mesh");
        assert!(!take(2_000_000, 5_200_000, 10, 4), "short rows");
        assert!(take_of((2_000_000, 4_000_000, 2, 8), ColumnPattern::Scattered), "2 scattered entries");
        assert!(!take_of((2_000_000, 2_000_000, 1, 8), ColumnPattern::Scattered), "1 scattered entry");
        assert!(!take_of((1_000_000, 2_600_000, 20, 8), ColumnPattern::Scattered), "short rows, not alike");
        assert!(take(500_000, 2_150_000, 16, 4), "4.3 entries, not alike");
        assert!(!take(500_000, 2_150_000, 16, 8), "4.3 entries, not alike, f64");
        assert!(take(50_000, 12_800_000, 256, 4), "256 entries in each row");
        assert!(!take(50_000, 12_850_000, 257, 4), "257 entries in each row");
        assert!(!take(3_000_000, 30_000_000, 10_000, 4), "skewed rows, four caches");
        assert!(!take(4_267, 2_135_822, 2_234, 4), "long rows");
        assert!(!take(60_000, 9_000_000, 5_000, 4), "skewed rows in memory and x in the L1 cache");
    }

    #[test]
    fn where_lanes_meet_at_barriers_rows_of_like_lengths_need_no_segments() {
        let chosen = |rows, nnz, longest, value_bytes| {
            let lengths = lengths(rows, nnz, longest, value_bytes);
            lengths.algorithm_with_barriers(false, 50 << 20, &LIMITS).map(|algorithm| algorithm.row().name)
        };
        assert_eq!(chosen(490_000, 4_401_604, 9, 4), Some("row_per_thread"), "9 entries");
        assert_eq!(chosen(300_000, 5_380_000, 18, 8), Some("row_blocks"), "18 entries, in memory");
        assert_eq!(chosen(200_000, 3_599_968, 18, 4), Some("row_per_thread"), "18 entries, in the cache");
        assert_eq!(chosen(200_000, 2_000_000, 3_000, 4), Some("segmented"), "a long row");
        assert_eq!(chosen(1_000_000, 3_000_000, 3_000, 4), Some("merge_path"), "a long row among short ones");
        assert_eq!(chosen(1_000_000, 3_000_000, 3, 4), None, "short rows");
    }

    #[test]
    fn rows_are_listed_where_most_are_empty() {
        let are_mostly_empty = |rows, filled, nnz, longest, value_bytes| {
            lengths(rows, nnz, longest, value_bytes).are_mostly_empty(filled, &LIMITS.listed_rows)
        };
        assert!(are_mostly_empty(2_000_000, 2_022, 40_703, 39, 8));
        assert!(are_mostly_empty(2_000_000, 100_216, 1_053_905, 19, 8));
        assert!(are_mostly_empty(4_000_000, 500_187, 500_187, 1, 4), "one in eight, f32");
        assert!(!are_mostly_empty(4_000_000, 500_187, 500_187, 1, 8), "one in eight, f64");
        assert!(!are_mostly_empty(2_000_000, 2_022, 40_703, 5_000, 4), "a long row");
    }

    #[test]
    fn the_best_of_what_was_measured_is_chosen() {
        assert_eq!(on_h100(4_267, 2_135_822, 2_234, 4), "row_per_block", "ddi");
        assert_eq!(on_h100(132_534, 79_122_504, 7_750, 4), "row_per_block", "protein");
        assert_eq!(on_h100(1_000, 2_924_664, 4_746, 4), "merge_path", "few long rows, unequal");
        assert_eq!(on_h100(1_000, 3_000_000, 3_000, 4), "row_per_block", "few long rows, equal");
        assert_eq!(on_h100(1_813, 11_097, 1_332, 4), "row_per_block", "a small circuit");
        assert_eq!(on_h100(1_258, 7_682, 203, 4), "row_per_warp");
        assert_eq!(on_h100(20_000, 79_623, 7_907, 4), "segmented", "few rows and a rail");
        assert_eq!(on_h100(10_000, 49_600, 5, 4), "row_per_vector", "few rows of a mesh");
        assert_eq!(on_h100(490_000, 4_401_604, 9, 4), "row_per_thread", "9 entries, in the cache");
        assert_eq!(on_h100(490_000, 4_401_604, 9, 8), "row_blocks", "9 entries, in memory");
        assert_eq!(on_h100(2_000_000, 5_999_998, 3, 4), "row_per_thread", "3 entries, in memory");
        assert_eq!(on_h100(300_000, 6_299_890, 21, 4), "segmented", "21 entries, in memory");
        assert_eq!(on_h100(2_000_000, 987_602, 49, 4), "row_blocks", "most rows are empty");
        assert_eq!(on_h100(1_000_000, 5_356_264, 19, 4), "row_blocks", "skewed rows and x in memory");
        assert_eq!(on_h100(400_000, 6_000_000, 500, 4), "segmented", "skewed rows of 15 entries");
        assert_eq!(on_h100(1_000_000, 1_602_996, 15, 4), "row_per_thread", "skewed rows in the cache");
        assert_eq!(on_h100(50_000, 6_400_000, 128, 4), "row_per_vector", "128 entries in each row");
        assert_eq!(on_h100(2_927_963, 30_387_995, 10_000, 4), "row_blocks", "citation");
    }
}
