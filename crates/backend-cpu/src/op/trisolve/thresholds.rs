//! The numbers that steer triangular solves.

use crate::parallel::SERIAL_LIMIT;

/// The crossover from rows one after the other to levels, for all processors.
#[derive(Debug, Clone, Copy)]
pub(super) struct TrisolveThresholds {
    /// Entries of a level from which on its rows are split over threads: fewer take less time than to wake them.
    pub(super) level_entries: usize,
    /// Entries and rows of a part of a level.
    pub(super) part: usize,
    /// Threads from which on levels may pay off: their order costs locality. 300 000 rows of 5 entries in f64, anywhere
    /// below the diagonal, in 27 levels, took one thread 48 ms in place of 13.5 row by row, and two threads 17.6 ms, on
    /// two busy cores. No crossover was measured.
    pub(super) threads: usize,
    /// Calls from which on a plan may look for levels: that took 34 ms, and the rows in their order 26 ms more, for a
    /// stencil of a million rows that is solved in 10.5 ms.
    pub(super) calls: usize,
}

impl TrisolveThresholds {
    /// The thresholds of all processors.
    pub(super) const CPU: Self =
        Self { level_entries: SERIAL_LIMIT, part: SERIAL_LIMIT / 4, threads: 4, calls: 32 };
}
