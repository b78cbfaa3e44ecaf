//! The numbers that steer SpGEMM: how a row of C is found and summed.

use super::RowMethod;

/// The crossovers from one method to another, for all processors.
#[derive(Debug, Clone, Copy)]
pub(super) struct SpgemmThresholds {
    /// Words of 64 columns for each product up to which a bitmap is looked through word by word.
    pub(super) words_per_product: usize,
    /// Summaries of 4096 columns for each product up to which a bitmap is looked through by them.
    pub(super) summaries_per_product: usize,
    /// Products up to which their columns are sorted, where a bitmap is too wide; more are hashed first.
    pub(super) sorted_products: usize,
    /// Bytes of a dense accumulator that stay in the cache of a core.
    pub(super) cached_bytes: usize,
    /// Columns for each entry of a row up to which a dense accumulator pays off even beyond that cache.
    pub(super) columns_per_entry: usize,
    /// Entries of a row up to which the place of a product is found by comparisons with all of its columns.
    pub(super) searched_entries: usize,
}

impl SpgemmThresholds {
    /// The thresholds of all processors.
    pub(super) const CPU: Self = Self {
        words_per_product: 8,
        summaries_per_product: 8,
        sorted_products: 64,
        cached_bytes: 4 << 20,
        columns_per_entry: 64,
        searched_entries: 32,
    };

    /// The method that finds the columns of a row with these products, which lie in a window of so many columns.
    #[inline(always)]
    pub(super) fn of_pattern(&self, products: usize, window: usize) -> RowMethod {
        match () {
            () if window / 4096 <= self.summaries_per_product * products => RowMethod::Dense,
            () if products <= self.sorted_products => RowMethod::Sort,
            () => RowMethod::Hash,
        }
    }

    /// The method that sums a row of so many entries in a window of these bytes and columns.
    #[inline(always)]
    pub(super) fn of_values(&self, entries: usize, window: usize, bytes: usize) -> RowMethod {
        match () {
            () if window * bytes <= self.cached_bytes || window / self.columns_per_entry <= entries => {
                RowMethod::Dense
            }
            () if entries <= self.searched_entries => RowMethod::Sort,
            () => RowMethod::Hash,
        }
    }
}
