//! The numbers that steer triangular solves.

use crate::parallel::SERIAL_LIMIT;

/// The crossover from rows one after the other to levels, for all processors.
#[derive(Debug, Clone, Copy)]
pub(super) struct TrisolveThresholds {
    /// Entries of a level from which on its rows are split over threads: fewer take less time than to wake them.
    pub(super) level_entries: usize,
    /// Entries and rows of a part of a level.
    pub(super) part: usize,
    /// Calls from which on a plan may look for levels, which takes about as long as two solves.
    pub(super) calls: usize,
}

impl TrisolveThresholds {
    /// The thresholds of all processors.
    pub(super) const CPU: Self = Self { level_entries: SERIAL_LIMIT, part: SERIAL_LIMIT / 4, calls: 4 };
}
