//! The rows of a range of entries, found once for it, in any format.

use crate::parallel::partition_point;
use sparse_core::{Axis, BatchCompressed, Host, Index, Scalar};
use std::ops::Range;

/// The rows of entries, as a format stores them.
pub trait EntryRows: Sync {
    /// The entries of a range, row by row.
    fn runs(&self, entries: Range<usize>) -> Vec<Run>;
}

/// Neighbouring entries of one row.
#[derive(Debug, PartialEq, Eq)]
pub struct Run {
    pub(super) row: usize,
    pub(super) entries: Range<usize>,
    /// The column that the indices of the entries count from: 0, but for members of a batch.
    pub(super) first_column: usize,
}

/// The offsets of compressed rows.
pub(super) struct Offsets<'a, O>(pub(super) &'a [O]);

impl<O: Index> EntryRows for Offsets<'_, O> {
    fn runs(&self, entries: Range<usize>) -> Vec<Run> {
        let end_of = |row: usize| self.0[row + 1].as_usize();
        let (mut runs, mut row, mut entry) = (vec![], 0, entries.start);
        while entry < entries.end {
            if end_of(row) <= entry {
                row = partition_point(row..self.0.len() - 1, |row| end_of(row) <= entry);
            }
            let end = end_of(row).min(entries.end);
            runs.push(Run { row, entries: entry..end, first_column: 0 });
            entry = end;
        }
        runs
    }
}

/// The row of each entry.
pub(super) struct RowIndices<'a, I>(pub(super) &'a [I]);

impl<I: Index> EntryRows for RowIndices<'_, I> {
    fn runs(&self, entries: Range<usize>) -> Vec<Run> {
        let (mut runs, mut entry) = (vec![], entries.start);
        for same in self.0[entries].chunk_by(|a, b| a == b) {
            let entries = entry..entry + same.len();
            runs.push(Run { row: same[0].as_usize(), entries, first_column: 0 });
            entry += same.len();
        }
        runs
    }
}

/// The members of a batch, whose rows and columns come behind those of the members before.
pub(super) struct MemberRows<'a, A: Axis, T: Scalar, I: Index, O: Index>(
    pub(super) &'a BatchCompressed<A, T, Host, I, O>,
);

impl<A: Axis, T: Scalar, I: Index, O: Index> EntryRows for MemberRows<'_, A, T, I, O> {
    fn runs(&self, entries: Range<usize>) -> Vec<Run> {
        let (rows, cols) = self.0.member_shape();
        let (major, minor) = A::swap(rows, cols);
        let ends = &self.0.member_ptr()[1..];
        let mut runs = vec![];
        let first = partition_point(0..ends.len(), |member| ends[member] <= entries.start);
        for member in first..ends.len() {
            let range = self.0.member_range(member);
            if range.start >= entries.end {
                break;
            }
            let own = entries.start.max(range.start)..entries.end.min(range.end);
            let own = own.start - range.start..own.end - range.start;
            runs.extend(Offsets(self.0.member(member).offsets).runs(own).into_iter().map(|run| Run {
                row: member * major + run.row,
                entries: range.start + run.entries.start..range.start + run.entries.end,
                first_column: member * minor,
            }));
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(rows: &dyn EntryRows, entries: Range<usize>) -> Vec<(usize, Range<usize>)> {
        rows.runs(entries).into_iter().map(|run| (run.row, run.entries)).collect()
    }

    #[test]
    fn runs_begin_within_rows_and_skip_empty_ones() {
        let offsets = Offsets(&[0, 0, 5, 5, 5, 6, 9, 9]);
        assert_eq!(runs(&offsets, 3..7), [(1, 3..5), (4, 5..6), (5, 6..7)]);
        assert_eq!(runs(&offsets, 0..5), [(1, 0..5)]);
        assert_eq!(runs(&offsets, 8..9), [(5, 8..9)]);
    }

    #[test]
    fn coordinates_in_any_order_have_runs_of_equal_rows() {
        let rows = RowIndices(&[4, 4, 0, 4]);
        assert_eq!(runs(&rows, 1..4), [(4, 1..2), (0, 2..3), (4, 3..4)]);
    }

    #[test]
    fn runs_of_members_begin_within_them_and_skip_empty_ones() {
        // Members of 2 x 3 with 2, 0 and 3 entries.
        let offsets = vec![0, 1, 2, 0, 0, 0, 0, 3, 3];
        let indices = vec![0, 2, 0, 1, 2];
        let members =
            sparse_core::BatchCsr::<f64>::new((2, 3), vec![0, 2, 2, 5], offsets, indices, vec![1.0; 5])
                .unwrap();
        assert_eq!(runs(&MemberRows(&members), 1..4), [(1, 1..2), (4, 2..4)]);
        let columns: Vec<_> = MemberRows(&members).runs(0..5).iter().map(|run| run.first_column).collect();
        assert_eq!(columns, [0, 0, 6]);
    }
}
