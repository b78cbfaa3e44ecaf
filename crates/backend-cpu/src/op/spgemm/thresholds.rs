//! The numbers that steer SpGEMM: how a row of C is found and summed.

use super::RowMethod;

/// The crossovers from one method to another, for all processors. Measured in CPU time on one core with AVX-512, with
/// values of f64, products of uniform rows: of 4 entries with 500 000 columns (16 products a row), of 8 with 300 000, 1
/// and 8 million (64), of 32 with 20 000 (1024), of 30 with 8 million (900).
#[derive(Debug, Clone, Copy)]
pub(super) struct SpgemmThresholds {
    /// Words of 64 columns for each product up to which a bitmap finds the columns: with 0.3 words it took 210 ms in
    /// place of 246 by sorting; with 73 words sorting took 227 ms, hashing 377.
    pub(super) words_per_product: usize,
    /// Products up to which their columns are sorted beyond that; more are hashed, which removes repetitions first. No
    /// crossover for columns that do not repeat: 900 products took 239 ms in place of 353.
    pub(super) sorted_products: usize,
    /// Bytes of a dense accumulator that stay in the cache of a core. 160 KB: 105 ms, by search 294, by hash 300; 2.4
    /// MB: 187, 151 and 334 ms; 8 MB: 210, 115 and 187. On a Xeon with 2 MB of second cache: 677 KB, of a citation graph,
    /// 52 ms, by search 65; 800 KB, of uniform rows of 8 entries, 96 and 122 ms.
    pub(super) cached_bytes: usize,
    /// Columns for each entry of a row up to which a dense accumulator pays off even beyond that cache.
    pub(super) columns_per_entry: usize,
    /// Entries of a row up to which the place of a product is searched for beyond that; for 900 entries search took
    /// 246 ms, hashing 225.
    pub(super) searched_entries: usize,
}

impl SpgemmThresholds {
    /// The thresholds of all processors.
    pub(super) const CPU: Self = Self {
        words_per_product: 8,
        sorted_products: 1024,
        cached_bytes: 1 << 20,
        columns_per_entry: 256,
        searched_entries: 512,
    };

    /// The method that finds the columns of a row with these products, which lie in a window of so many columns.
    #[inline(always)]
    pub(super) fn of_pattern(&self, products: usize, window: usize) -> RowMethod {
        match () {
            () if window / 64 <= self.words_per_product * products => RowMethod::Dense,
            () if products <= self.sorted_products => RowMethod::Sort,
            () => RowMethod::Hash,
        }
    }

    /// The method that sums a row of so many entries in a window of so many columns, each sum of these bytes.
    #[inline(always)]
    pub(super) fn of_values(&self, entries: usize, window: usize, bytes: usize) -> RowMethod {
        match () {
            () if window <= self.cached_bytes / bytes => RowMethod::Dense,
            () if window / self.columns_per_entry <= entries => RowMethod::Dense,
            () if entries <= self.searched_entries => RowMethod::Sort,
            () => RowMethod::Hash,
        }
    }

    /// True if the dense method both finds and sums a row of so many products: then it does it in one pass.
    #[inline(always)]
    pub(super) fn sums_while_it_finds(&self, products: usize, window: usize, bytes: usize) -> bool {
        let methods = [self.of_pattern(products, window), self.of_values(products, window, bytes)];
        methods == [RowMethod::Dense; 2]
    }
}
