//! The numbers that steer SpMM: how rows are split, how B is read and how C is written.

/// The crossovers from one way to another, on one class of processors. Measured on two quiet cores with AVX-512, with
/// values of f32 and, but where it says otherwise, 256 columns of B (`docs/notes/cpu.md`).
#[derive(Debug, Clone, Copy)]
pub(super) struct SpmmThresholds {
    /// Entries of a segment; a longer row is split where the algorithm splits rows. No crossover: it bounds how long
    /// one row keeps a thread busy while the others have nothing left to do.
    pub(super) segment: usize,
    /// Average entries of rows up to which a product of one call adds them in order, row by row (`short_rows`).
    pub(super) short_rows: usize,
    /// The same where B stays in the cache of a core, so that nothing is gained by fetching its rows ahead.
    pub(super) short_rows_in_cache: usize,
    /// Rows of a part for each with entries from which on the others are filled with zeros before, also where a row of C
    /// is longer than a cache line; shorter ones are where there are at most three entries for four rows. Rows of which every
    /// hundredth has an entry took 0.11 of the time with 2 columns of f32, 0.42 with 8; every second 0.30 with 2, 0.48
    /// with 8, 0.74 with 16, but 1.13 with 32 (Zen 5).
    pub(super) empty_rows_of_filled: usize,
    /// Bytes of B that stay in the cache of a core while neighbouring rows of op(A) use them. Rows that stay are not
    /// fetched ahead: band_40 took 64 ms in place of 68, stencil_27 with 32 columns 7.0 in place of 7.8.
    pub(super) cached_bytes: usize,
    /// Bytes from which on what neighbouring rows use of B does not stay in the cache, so that slices of B pay off:
    /// ddi took 24.6 ms in place of 35.8.
    pub(super) uncached_bytes: usize,
    /// Average uses of a row of B from which on a copy of its slices pays off: the copy writes and reads a 64th of what
    /// the product reads of B. Slices that are not copied lose: stencil_27 took 189 ms in place of 94.
    pub(super) uses: usize,
    /// Bytes from which on C is written past the caches, which it would fill: stencil_5 took 113 ms in place of 168,
    /// arxiv 43 in place of 49, but with a C of 33 MB, which the L3 cache holds, stencil_27 lost 10 %.
    pub(super) streamed_bytes: usize,
    /// Average rows of a group in a part from which on the plan stores its groups: as for `repeated_rows` of SpMV, no
    /// measured crossover, but far from stencils and bands and from graphs.
    pub(super) rows_of_group: usize,
    /// Expected calls from which on the plan looks for groups: finding them takes about as long as a product, of which
    /// they save a third.
    pub(super) calls_of_groups: usize,
    /// Products that take as long as one element of other operations, by whose number threads get work. f64, K = 2, two
    /// quiet cores, one thread and two, the other asleep before, µs: 10 000 rows of 5 (100 000 products) 32 and 42, a
    /// grid of 140² (195 000) 73 and 54, 20 000 rows of 5 79 and 65.
    pub(super) products_per_element: usize,
}

impl SpmmThresholds {
    /// The thresholds of all processors.
    pub(super) const CPU: Self = Self {
        segment: 4096,
        short_rows: 3,
        short_rows_in_cache: 8,
        empty_rows_of_filled: 4,
        cached_bytes: 3 << 19,
        uncached_bytes: 4 << 20,
        uses: 64,
        streamed_bytes: 64 << 20,
        rows_of_group: 8,
        calls_of_groups: 4,
        products_per_element: 12,
    };
}
