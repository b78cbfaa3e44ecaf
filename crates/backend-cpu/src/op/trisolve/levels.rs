//! Rows of a triangle level by level, in slabs of rows side by side.
//!
//! Rows of one level need no other row of it. So a slab of up to [`LANES`] of them is solved by vectors, a row in each
//! lane: its entries are stored step by step, first the first entries of its rows, then the second ones. Rows of a
//! level are sorted by length, so that those that have an entry in a step are the first lanes of the slab.

use super::schedule::{Entries, Schedule};
use super::thresholds::TrisolveThresholds;
use sparse_core::Index;
use sparse_core::op::Levels;
use std::cmp::Reverse;
use std::ops::Range;

/// The most rows of a slab.
pub(super) const LANES: usize = 16;

/// The triangle of op(A) by levels.
pub(super) struct LevelSchedule<I, O> {
    /// The rows of each level, the longest first; the entries of each slab step by step.
    pub(super) rows: Schedule<I, O>,
    /// The first position of each slab, and the number of rows.
    slabs: Vec<usize>,
    pub(super) tasks: Vec<Task>,
}

/// Neighbouring slabs that one thread solves: a part of a wide level, or narrow levels.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Task {
    pub(super) slabs: Range<usize>,
    /// The number of tasks, the first of all, whose rows this one may need.
    pub(super) needs: usize,
}

impl<I: Index, O: Index> LevelSchedule<I, O> {
    /// The rows in these levels; `lengths` are their numbers of entries.
    pub(super) fn new(entries: &Entries<'_, I, O>, lengths: &[usize], levels: &Levels) -> Self {
        let mut order = levels.rows().to_vec();
        let (mut slabs, mut tasks) = (vec![], Tasks::default());
        for level in levels.starts().windows(2) {
            let rows = &mut order[level[0]..level[1]];
            rows.sort_by_key(|&row| Reverse(lengths[row]));
            slabs.extend((level[0]..level[1]).step_by(LANES));
            let weights = rows.chunks(LANES).map(|rows| rows.iter().map(|&row| lengths[row] + 1).sum());
            tasks.add_level(&weights.collect::<Vec<_>>());
        }
        slabs.push(lengths.len());
        let mut rows = Schedule::new(entries, lengths, order);
        slabs.windows(2).for_each(|slab| rows.interleave(slab[0]..slab[1]));
        Self { rows, slabs, tasks: tasks.tasks }
    }

    /// The positions of a slab's rows.
    #[inline(always)]
    pub(super) fn slab(&self, slab: usize) -> Range<usize> {
        self.slabs[slab]..self.slabs[slab + 1]
    }

    pub(super) fn bytes(&self) -> usize {
        self.rows.bytes() + size_of_val(&self.slabs[..]) + size_of_val(&self.tasks[..])
    }
}

/// The tasks of the first levels.
#[derive(Default)]
struct Tasks {
    tasks: Vec<Task>,
    slabs: usize,
    ends_narrow: bool,
}

impl Tasks {
    /// Appends a level; `weights` are the numbers of entries and rows of its slabs.
    fn add_level(&mut self, weights: &[usize]) {
        let (start, needs) = (self.slabs, self.tasks.len());
        self.slabs += weights.len();
        let is_narrow = weights.iter().sum::<usize>() < TrisolveThresholds::CPU.level_entries;
        match self.tasks.last_mut() {
            Some(last) if is_narrow && self.ends_narrow => last.slabs.end = self.slabs,
            _ if is_narrow => self.tasks.push(Task { slabs: start..self.slabs, needs }),
            _ => self.add_wide_level(start, weights),
        }
        self.ends_narrow = is_narrow;
    }

    fn add_wide_level(&mut self, mut start: usize, weights: &[usize]) {
        let (needs, mut weight) = (self.tasks.len(), 0);
        for (slab, of_slab) in (start + 1..).zip(weights) {
            weight += of_slab;
            if weight >= TrisolveThresholds::CPU.task || slab == self.slabs {
                self.tasks.push(Task { slabs: start..slab, needs });
                (start, weight) = (slab, 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_levels_are_one_task_and_wide_ones_are_cut() {
        let TrisolveThresholds { level_entries, task: of_task, .. } = TrisolveThresholds::CPU;
        let mut tasks = Tasks::default();
        tasks.add_level(&[10, 20]);
        tasks.add_level(&[30]);
        tasks.add_level(&[of_task, of_task / 2, of_task / 2, level_entries - 1, 1]);
        tasks.add_level(&[level_entries - 1]);
        let task = |slabs, needs| Task { slabs, needs };
        assert_eq!(
            tasks.tasks,
            [task(0..3, 0), task(3..4, 1), task(4..6, 1), task(6..7, 1), task(7..8, 1), task(8..9, 5)]
        );
    }
}
