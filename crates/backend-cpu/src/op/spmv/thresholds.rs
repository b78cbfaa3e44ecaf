//! The numbers that steer the choice of an SpMV algorithm.

/// The crossovers from one algorithm to another, on one class of processors.
#[derive(Debug, Clone, Copy)]
pub(super) struct SpmvThresholds {
    /// Calls from which on a plan may take as long as several products.
    pub(super) often: usize,
    /// Average rows per group from which on runs are better than columns (`repeated_rows`).
    pub(super) rows_of_group: usize,
    /// Average entries per row from which on most of the time goes into rows that are long enough for vectors, so that
    /// sorting them by their length gains nothing (`rows_by_length`).
    pub(super) long_rows: usize,
    /// Sums of all chunks per entry up to which adding them costs less than a pattern by rows
    /// (`chunked_scatter`).
    pub(super) sums_per_entry: usize,
}

impl SpmvThresholds {
    /// The thresholds of processors with AVX-512; others lack the algorithms that need it.
    pub(super) const CPU: Self = Self { often: 32, rows_of_group: 8, long_rows: 32, sums_per_entry: 2 };
}
