//! The numbers that steer SpGEMM: how a row of C is found and summed.

use super::RowMethod;
use super::ranked::{RANKED, Ranked};
use crate::simd::Simd;

/// The crossovers from one method to another, for all processors. Measured in CPU time on one core with AVX-512, with
/// values of f64, products of uniform rows: of 4 entries with 500 000 columns (16 products a row), of 8 with 300 000, 1
/// and 8 million (64), of 32 with 20 000 (1024), of 30 with 8 million (900).
#[derive(Debug, Clone, Copy)]
pub(super) struct SpgemmThresholds {
    /// Blocks of 64 columns for each product up to which flags find the columns. With a bitmap in place of flags: with
    /// 0.3 blocks it took 210 ms in place of 246 by sorting; with 73 sorting took 227 ms, hashing 377.
    pub(super) words_per_product: usize,
    /// Products up to which their columns are sorted beyond that; more are hashed, which removes repetitions first. No
    /// crossover for columns that do not repeat: 900 products took 239 ms in place of 353.
    pub(super) sorted_products: usize,
    /// Bytes of a dense accumulator that stay in the cache of a core. 160 KB: 105 ms, by search 294, by hash 300; 2.4
    /// MB: 187, 151 and 334 ms; 8 MB: 210, 115 and 187. On a Xeon with 2 MB of L2 cache: 677 KB, of a citation
    /// graph, 52 ms, by search 65; 800 KB, of uniform rows of 8 entries, 96 and 122 ms.
    pub(super) cached_bytes: usize,
    /// Columns for each entry of a row up to which a dense accumulator pays off even beyond that cache.
    pub(super) columns_per_entry: usize,
    /// Entries of a row up to which the place of a product is searched for beyond that; for 900 entries search took
    /// 246 ms, hashing 225.
    pub(super) searched_entries: usize,
    /// Words of 64 columns for each product beyond which products of one call are ranked, up to 256 with AVX-512. Power
    /// law with 170 000 columns, one thread, cycles for each product by ranks and by a dense accumulator: rows of 17 to
    /// 31 products 23 and 67, of 32 to 63 21 and 50, of 64 to 127 15 and 41, of 192 to 255 21 and 26. In near columns
    /// the accumulator takes 3 to 6 (stencils).
    pub(super) words_per_ranked_product: usize,
    /// The most products that are ranked without AVX-512, whose vectors are longer. No measured crossover.
    pub(super) ranked_products: usize,
}

impl SpgemmThresholds {
    /// The thresholds of all processors.
    pub(super) const CPU: Self = Self {
        words_per_product: 8,
        sorted_products: 1024,
        cached_bytes: 1 << 20,
        columns_per_entry: 256,
        searched_entries: 512,
        words_per_ranked_product: 2,
        ranked_products: 96,
    };

    /// The method that finds the columns of a row with `products` products in a window of `window` columns.
    #[inline(always)]
    pub(super) fn of_pattern(&self, products: usize, window: usize) -> RowMethod {
        match () {
            () if window / 64 <= self.words_per_product * products => RowMethod::Dense,
            () if products <= self.sorted_products => RowMethod::Sort,
            () => RowMethod::Hash,
        }
    }

    /// The method that sums a row of `entries` entries in a window of `window` columns; a sum has `bytes` bytes.
    #[inline(always)]
    pub(super) fn of_values(&self, entries: usize, window: usize, bytes: usize) -> RowMethod {
        match () {
            () if window <= self.cached_bytes / bytes => RowMethod::Dense,
            () if window / self.columns_per_entry <= entries => RowMethod::Dense,
            () if entries <= self.searched_entries => RowMethod::Sort,
            () => RowMethod::Hash,
        }
    }

    /// True if ranks are the fastest method to find and sum a row of `products` products in a window of `window`
    /// columns.
    #[inline(always)]
    pub(super) fn ranks(&self, simd: Simd, products: usize, window: usize) -> bool {
        let most = if simd == Simd::Avx512 { RANKED } else { self.ranked_products };
        products <= most
            && window / 64 > self.words_per_ranked_product * products
            && Ranked::fits(products, window)
    }

    /// True if the dense method both finds and sums a row of `products` products: then it does so in one pass.
    #[inline(always)]
    pub(super) fn sums_while_it_finds(&self, products: usize, window: usize, bytes: usize) -> bool {
        let methods = [self.of_pattern(products, window), self.of_values(products, window, bytes)];
        methods == [RowMethod::Dense; 2]
    }
}
