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
    /// Threads from which on levels may pay off beside rows in the order of a plan: levels cost locality. A million rows
    /// of 5 entries in f32, anywhere below the diagonal, in 27 levels, took two threads 17 ms in place of 29 row by
    /// row, and one thread 48 in place of 41, beside other programs on two cores.
    pub(super) threads_by_row: usize,
    /// Threads from which on levels may pay off beside more than [`cached_entries`](Self::cached_entries) that are
    /// solved where A stores them: the same matrix took 21 ms so, and by levels two threads 33; on another machine 30
    /// to 32 ms, and by levels 2, 4, 8 and 16 threads 28, 16, 11 and 7.
    pub(super) threads_by_stored_row: usize,
    /// Entries that stay in the caches, so that levels lose little by their order. Two threads of a quiet Zen 5 by
    /// level, f32: arxiv (756 000 entries) took 0.90 ms in place of 1.63 row by row, uniform rows with 500 000 0.54 in
    /// place of 0.89, 700 000 0.82 in place of 1.58, a graph with 1.5 million 3.2 in place of 3.5, but R-MAT with 2.4
    /// million 6.0 in place of 3.3.
    pub(super) cached_entries: usize,
    /// Calls from which on a plan may look for levels: that took 34 ms, and the rows in their order 26 ms more, for a
    /// stencil of a million rows that is solved in 10.5 ms.
    pub(super) calls: usize,
}

impl TrisolveThresholds {
    /// The thresholds of all processors.
    pub(super) const CPU: Self = Self {
        level_entries: SERIAL_LIMIT,
        task: SERIAL_LIMIT / 4,
        threads_by_row: 2,
        threads_by_stored_row: 3,
        cached_entries: 1 << 20,
        calls: 32,
    };
}
