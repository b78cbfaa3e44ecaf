//! The numbers that steer the choice of an SpMV algorithm.

/// Where one algorithm begins to take less time than another, on one class of devices.
#[derive(Debug, Clone, Copy)]
pub(super) struct SpmvThresholds {
    /// Calls from which on a plan may take as long as several products.
    pub(super) often: usize,
    /// Rows of a group, on average, from which on runs are better than columns (`repeated_rows`).
    pub(super) rows_of_group: usize,
    /// Entries of a row, on average, from which on most of the time goes into rows that are long enough for vectors, so
    /// that sorting them by their length gains nothing (`rows_by_length`).
    pub(super) long_rows: usize,
    /// Sums of all chunks, for each entry, up to which adding them costs less than a pattern by rows
    /// (`chunked_scatter`).
    pub(super) sums_per_entry: usize,
}

impl SpmvThresholds {
    /// Processors with AVX-512; others have the algorithms alone that need none of it.
    pub(super) const CPU: Self = Self { often: 32, rows_of_group: 8, long_rows: 32, sums_per_entry: 2 };
}
