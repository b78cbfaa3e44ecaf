//! The algorithm for rows of given lengths, on devices whose work-groups have several warps.
//!
//! The limits were fitted with `cargo xtask bench --suite choice` on an H100 (132 compute units, 50 MiB of cache), in f32 and
//! f64; `docs/performance.md` says what they reach.

use super::compressed::MANY_ROWS_PER_UNIT;
use super::row_strategies::lanes_for;

/// Lengths of the rows, found without reading columns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lengths {
    pub(super) rows: usize,
    pub(super) nnz: usize,
    /// Entries per row on average, rounded up.
    pub(super) mean: usize,
    pub(super) longest: usize,
    /// Bytes of a value and of its column.
    pub(super) entry_bytes: usize,
}

/// Average entries per row from which on a work-group a row takes the least time, unless a row is much longer.
/// Measured: 12.4 to 17.3 µs by vectors and 17.3 by blocks at 256 entries (20 000 rows), 10.1 and 6.8 at 500 (ddi).
const LONG_FOR_BLOCKS: usize = 384;

/// Length of the longest row over the average up to which work-groups of long rows need not wait for it.
const SKEWED_BLOCKS: usize = 16;

/// Steps of one lane in the longest row, and its length over the average, from which on few rows wait for that row.
/// Measured: 2.97 µs by vectors and 2.21 by warps at 9 steps (1258 rows, longest 69).
const LONG_STEPS: usize = 8;
const SKEWED_VECTORS: usize = 4;

/// Rows per compute unit up to which a work-group a row takes no longer than a warp a row, and up to which a warp a row
/// takes less time than segments, which need two launches: 2.8 and 4.1 µs at 1813 rows, 3.5 and 4.4 at 3558.
const FEW_FOR_BLOCKS: usize = 16;
const FEW_FOR_WARPS: usize = 64;

/// Entries of the longest row from which on a work-group takes less time than a warp, and up to which it takes less than
/// segments: 2.1, 2.5 and 4.0 µs at 283 entries, 16.6 and 7.2 (segments) at 15 063.
const LONG_FOR_WARP: usize = 256;
const LONGEST_FOR_BLOCK: usize = 2048;

/// Bytes of the longest row up to which a warp takes less time than segments.
const LONGEST_FOR_WARP_BYTES: usize = 8192;

/// Entries of a row that never make rows skewed, and the ratios of longest to average above which rows are: of matrices
/// that the cache holds, and of others, whose threads wait for memory. Measured, segments over threads: 0.68 at a ratio
/// of 11 (f32, in the cache), 0.86 at 3.5 (f32, 43 MB).
const NEVER_SKEWED: usize = 16;
const SKEWED_IN_CACHE: usize = 8;
const SKEWED_IN_MEMORY: usize = 3;

/// Average entries per row below which a thread a row takes the least time if the cache holds the matrix: its threads
/// read neighbouring rows at once. Measured, segments over threads: 1.48 at 9 entries, 1.10 at 15, 0.89 at 16.
const SHORT_IN_CACHE: usize = 16;

/// Bytes of a row below which a thread a row takes the least time from memory too: segments over threads 1.23 at 3
/// entries of 8 bytes, 0.97 at 6, 0.84 at 6 of 12 bytes.
const SHORT_BYTES: usize = 64;

/// Average entries per row from which on a warp a row takes less time than segments, if no row has twice as many: 48.3
/// and 53.9 µs at 64 entries, 25.2 and 33.7 at 128.
const LONG_FOR_VECTORS: usize = 64;

impl Lengths {
    /// The algorithm for a device with `units` compute units and a cache of `cache_bytes`.
    pub(super) fn algorithm(self, units: usize, cache_bytes: usize) -> &'static str {
        if self.mean >= LONG_FOR_BLOCKS && self.longest <= SKEWED_BLOCKS * self.mean {
            "row_per_block"
        } else if self.rows <= units * MANY_ROWS_PER_UNIT {
            self.of_few_rows(units)
        } else {
            self.of_many_rows(cache_bytes)
        }
    }

    /// The algorithm for rows that all run at once, where the product lasts as long as the longest row.
    fn of_few_rows(self, units: usize) -> &'static str {
        let Self { rows, mean, longest, entry_bytes, .. } = self;
        if longest < LONG_STEPS * lanes_for(mean) || longest <= SKEWED_VECTORS * mean {
            if mean > 1 { "row_per_vector" } else { "row_per_thread" }
        } else if rows <= units * FEW_FOR_BLOCKS && longest <= LONGEST_FOR_BLOCK {
            if longest >= LONG_FOR_WARP { "row_per_block" } else { "row_per_warp" }
        } else if rows <= units * FEW_FOR_WARPS && longest * entry_bytes <= LONGEST_FOR_WARP_BYTES {
            "row_per_warp"
        } else {
            "segmented"
        }
    }

    fn of_many_rows(self, cache_bytes: usize) -> &'static str {
        let Self { nnz, mean, longest, entry_bytes, .. } = self;
        let is_cached = nnz * entry_bytes <= cache_bytes / 4 * 3;
        let ratio = if is_cached { SKEWED_IN_CACHE } else { SKEWED_IN_MEMORY };
        let is_short = if is_cached { mean < SHORT_IN_CACHE } else { mean * entry_bytes < SHORT_BYTES };
        if longest > NEVER_SKEWED.max(ratio * mean) {
            "segmented"
        } else if mean >= LONG_FOR_VECTORS && longest <= 2 * mean {
            "row_per_vector"
        } else if is_short {
            "row_per_thread"
        } else {
            "segmented"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The algorithm on an H100, in f32 or f64.
    fn on_h100(rows: usize, nnz: usize, longest: usize, value_bytes: usize) -> &'static str {
        let lengths = Lengths { rows, nnz, mean: nnz.div_ceil(rows), longest, entry_bytes: 4 + value_bytes };
        lengths.algorithm(132, 50 << 20)
    }

    #[test]
    fn the_best_of_what_was_measured_is_chosen() {
        assert_eq!(on_h100(4_267, 2_135_822, 2_234, 4), "row_per_block", "ddi");
        assert_eq!(on_h100(132_534, 79_122_504, 7_750, 4), "row_per_block", "protein");
        assert_eq!(on_h100(1_813, 11_097, 1_332, 4), "row_per_block", "a small circuit");
        assert_eq!(on_h100(1_258, 7_682, 203, 4), "row_per_warp");
        assert_eq!(on_h100(20_000, 79_623, 7_907, 4), "segmented", "few rows and a rail");
        assert_eq!(on_h100(10_000, 49_600, 5, 4), "row_per_vector", "few rows of a mesh");
        assert_eq!(on_h100(490_000, 4_401_604, 9, 4), "row_per_thread", "9 entries, in the cache");
        assert_eq!(on_h100(490_000, 4_401_604, 9, 8), "segmented", "9 entries, in memory");
        assert_eq!(on_h100(1_000_000, 5_356_264, 19, 4), "segmented", "skewed rows in memory");
        assert_eq!(on_h100(1_000_000, 1_602_996, 15, 4), "row_per_thread", "skewed rows in the cache");
        assert_eq!(on_h100(50_000, 6_400_000, 128, 4), "row_per_vector", "128 entries in each row");
        assert_eq!(on_h100(2_927_963, 30_387_995, 10_000, 4), "segmented", "citation");
    }
}
