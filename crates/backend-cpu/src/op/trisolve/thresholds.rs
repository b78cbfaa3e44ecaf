//! The numbers that steer triangular solves.

use crate::parallel::SERIAL_LIMIT;

/// The crossover from rows one after the other to levels, for all processors.
#[derive(Debug, Clone, Copy)]
pub(super) struct TrisolveThresholds {
    /// Entries and rows of a level from which on threads share it: in narrower ones they wait for each other, and the
    /// rows of a level lie too far apart in memory. With 2399 levels of 600 rows, of a 5-point stencil, two threads
    /// took 42 ms in place of 13 row by row; with levels within blocks of 65536 rows 19 ms.
    pub(super) level_entries: usize,
    /// Entries and rows of a task of a wide level.
    pub(super) task: usize,
    /// Threads from which on levels may pay off: their order costs locality. A million rows of 5 entries in f32,
    /// anywhere below the diagonal, in 27 levels, took two threads 17 ms in place of 29 row by row, and one thread 48
    /// in place of 41, beside other programs on two cores.
    pub(super) threads: usize,
    /// Calls from which on a plan may look for levels: that took 34 ms, and the rows in their order 26 ms more, for a
    /// stencil of a million rows that is solved in 10.5 ms.
    pub(super) calls: usize,
}

impl TrisolveThresholds {
    /// The thresholds of all processors.
    pub(super) const CPU: Self =
        Self { level_entries: SERIAL_LIMIT, task: SERIAL_LIMIT / 4, threads: 2, calls: 32 };
}
