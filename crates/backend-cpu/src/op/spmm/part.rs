//! The rows of a task, and what kernels know of them beforehand.

use super::rows::Rows;
use super::thresholds::SpmmThresholds;
use crate::primitive::filled_rows::are_often_empty;
use std::ops::Range;

/// The rows of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) rows: Range<usize>,
    /// The rows of each group, where the values are stored row by row; none where most rows would be groups of their
    /// own.
    pub(super) groups: Vec<Range<usize>>,
    /// The rows with entries, if there are at most three entries for four rows; others have sums of zero.
    filled: Option<Vec<u32>>,
}

impl Part {
    /// Some rows.
    pub(super) fn new<R: Rows>(rows: &R, range: Range<usize>) -> Self {
        let entries: usize = range.clone().map(|row| rows.entries(row).len()).sum();
        let skips_rows = are_often_empty(range.len(), entries) && range.end <= u32::MAX as usize;
        let filled = skips_rows.then(|| {
            let filled = range.clone().filter(|&row| !rows.entries(row).is_empty());
            filled.map(|row| row as u32).collect()
        });
        Self { rows: range, groups: vec![], filled }
    }

    /// The part with these groups.
    pub(super) fn grouped(self, groups: Vec<Range<usize>>) -> Self {
        Self { groups, ..self }
    }

    /// One long row.
    pub(super) fn of_one_row() -> Self {
        Self { rows: 0..1, groups: vec![], filled: None }
    }

    /// The same part with all of its rows, for sums of zero, too.
    pub(super) fn with_empty_rows(&self) -> Self {
        Self { rows: self.rows.clone(), groups: self.groups.clone(), filled: None }
    }

    /// True if most rows have no entries.
    pub(super) fn is_nearly_empty(&self) -> bool {
        let filled = self.filled.as_ref().map_or(self.rows.len(), Vec::len);
        filled * SpmmThresholds::CPU.empty_rows_of_filled <= self.rows.len()
    }

    /// True if [`summed_rows`](Self::summed_rows) leaves out rows without entries.
    pub(super) fn skips_empty_rows(&self) -> bool {
        self.filled.is_some()
    }

    /// The rows that are summed one by one, in order.
    #[inline(always)]
    pub(super) fn summed_rows(&self) -> impl Iterator<Item = usize> {
        let filled = self.filled.as_deref();
        let count = filled.map_or(self.rows.len(), <[u32]>::len);
        (0..count).map(move |at| filled.map_or(self.rows.start + at, |rows| rows[at] as usize))
    }

    /// Its memory.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>()
            + size_of_val(self.groups.as_slice())
            + self.filled.as_deref().map_or(0, size_of_val)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitive::lines::Lines;

    fn part_of(offsets: &[i32]) -> Part {
        let nnz = offsets[offsets.len() - 1] as usize;
        let (indices, values) = (vec![0_i32; nnz], vec![0.0_f32; nnz]);
        let rows = Lines { offsets, indices: &indices, values: &values };
        Part::new(&rows, 0..offsets.len() - 1)
    }

    #[test]
    fn rows_without_entries_are_skipped_where_many_are_empty() {
        let offsets: Vec<i32> =
            (0..=100).map(|row| if row > 40 { 3 } else { 0 } + i32::from(row > 90)).collect();
        let part = part_of(&offsets);
        assert!(part.skips_empty_rows() && part.is_nearly_empty());
        assert!(part.summed_rows().eq([40, 90]));
        assert!(part.with_empty_rows().summed_rows().eq(0..100));
        let half: Vec<i32> = (0..=100).map(|row| row / 2).collect();
        assert!(part_of(&half).skips_empty_rows() && !part_of(&half).is_nearly_empty());
        let filled: Vec<i32> = (0..=100).map(|row| 4 * row / 5).collect();
        assert!(!part_of(&filled).skips_empty_rows());
        assert!(part_of(&filled).summed_rows().eq(0..100));
    }
}
