//! The algorithm for rows of given lengths, on devices whose work-groups have several warps.

use super::row_algorithm::RowAlgorithm;
use super::thresholds::SpmvThresholds;
use crate::lanes::LANES;

/// Lanes for rows of `mean` entries: the next power of two, from 2 to 32.
pub(super) fn lanes_for(mean: usize) -> usize {
    mean.next_power_of_two().clamp(2, LANES)
}

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

impl Lengths {
    /// The algorithm for a device with `units` compute units and a cache of `cache_bytes`.
    pub(super) fn algorithm(self, units: usize, cache_bytes: usize, limits: &SpmvThresholds) -> RowAlgorithm {
        if self.mean >= limits.long_for_blocks && self.longest <= limits.skewed_blocks * self.mean {
            RowAlgorithm::RowPerBlock
        } else if self.rows <= units * limits.many_rows_per_unit {
            self.of_few_rows(units, limits)
        } else {
            self.of_many_rows(cache_bytes, limits)
        }
    }

    /// The algorithm for rows that all run at once, where the product lasts as long as the longest row.
    fn of_few_rows(self, units: usize, limits: &SpmvThresholds) -> RowAlgorithm {
        let Self { rows, mean, longest, entry_bytes, .. } = self;
        let has_few_steps = longest < limits.long_steps * lanes_for(mean);
        if has_few_steps || longest <= limits.skewed_vectors * mean {
            if mean > 1 { RowAlgorithm::RowPerVector } else { RowAlgorithm::RowPerThread }
        } else if rows <= units * limits.few_for_blocks && longest <= limits.longest_for_block {
            if longest >= limits.long_for_warp { RowAlgorithm::RowPerBlock } else { RowAlgorithm::RowPerWarp }
        } else if rows <= units * limits.few_for_warps
            && longest * entry_bytes <= limits.longest_for_warp_bytes
        {
            RowAlgorithm::RowPerWarp
        } else {
            RowAlgorithm::Segmented
        }
    }

    fn of_many_rows(self, cache_bytes: usize, limits: &SpmvThresholds) -> RowAlgorithm {
        let Self { nnz, mean, longest, entry_bytes, .. } = self;
        let is_cached = nnz * entry_bytes <= cache_bytes / 4 * 3;
        let ratio = if is_cached { limits.skewed_in_cache } else { limits.skewed_in_memory };
        let is_short =
            if is_cached { mean < limits.short_in_cache } else { mean * entry_bytes < limits.short_bytes };
        let is_skewed = longest > limits.never_skewed.max(ratio * mean);
        let has_short_rows = (limits.short_for_row_blocks..=limits.longest_for_row_blocks).contains(&mean);
        if is_skewed && mean <= 1 || !is_skewed && !is_cached && has_short_rows {
            RowAlgorithm::RowBlocks
        } else if is_skewed {
            RowAlgorithm::Segmented
        } else if mean >= limits.long_for_vectors && longest <= 2 * mean {
            RowAlgorithm::RowPerVector
        } else if is_short {
            RowAlgorithm::RowPerThread
        } else {
            RowAlgorithm::Segmented
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparse_core::AlgorithmSet;

    /// The algorithm on an H100, in f32 or f64.
    fn on_h100(rows: usize, nnz: usize, longest: usize, value_bytes: usize) -> &'static str {
        let lengths = Lengths { rows, nnz, mean: nnz.div_ceil(rows), longest, entry_bytes: 4 + value_bytes };
        lengths.algorithm(132, 50 << 20, &SpmvThresholds::H100).row().name
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
        assert_eq!(on_h100(490_000, 4_401_604, 9, 8), "row_blocks", "9 entries, in memory");
        assert_eq!(on_h100(2_000_000, 5_999_998, 3, 4), "row_per_thread", "3 entries, in memory");
        assert_eq!(on_h100(300_000, 6_299_890, 21, 4), "segmented", "21 entries, in memory");
        assert_eq!(on_h100(2_000_000, 987_602, 49, 4), "row_blocks", "most rows are empty");
        assert_eq!(on_h100(1_000_000, 5_356_264, 19, 4), "segmented", "skewed rows in memory");
        assert_eq!(on_h100(1_000_000, 1_602_996, 15, 4), "row_per_thread", "skewed rows in the cache");
        assert_eq!(on_h100(50_000, 6_400_000, 128, 4), "row_per_vector", "128 entries in each row");
        assert_eq!(on_h100(2_927_963, 30_387_995, 10_000, 4), "segmented", "citation");
    }
}
