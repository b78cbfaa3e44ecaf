//! Rows of a triangle in an order in which each comes after those that it needs.

use super::thresholds::TrisolveThresholds;
use sparse_core::op::{Diagonal, Levels, Triangular};
use sparse_core::{CompressedPattern, Host, Index, Result};
use std::ops::Range;

/// The entries of a triangle of op(A), where they stand in the arrays of A.
pub(super) struct Entries<'a, I: Index, O: Index> {
    pub(super) pattern: &'a CompressedPattern<Host, I, O>,
    /// True if the rows of op(A) are stored, false if its columns are.
    pub(super) has_rows: bool,
    pub(super) system: Triangular,
}

impl<I: Index, O: Index> Entries<'_, I, O> {
    pub(super) fn order(&self) -> usize {
        self.pattern.major()
    }

    /// Calls `visit` with row, column and place of the entries in a stored row or column; those of the diagonal are
    /// entries where they are read.
    #[inline(always)]
    pub(super) fn visit(&self, major: usize, mut visit: impl FnMut(usize, usize, usize)) {
        let (triangle, diagonal) = (self.system.solved_triangle(), self.system.diagonal);
        for place in self.pattern.range(major) {
            let minor = self.pattern.indices()[place].as_usize();
            let (row, col) = if self.has_rows { (major, minor) } else { (minor, major) };
            if triangle.has(row, col) || (row == col && diagonal == Diagonal::Stored) {
                visit(row, col, place);
            }
        }
    }

    /// The number of entries of each row.
    ///
    /// # Errors
    /// [`Singular`](sparse_core::Error::Singular) if the diagonal of a row is needed and not stored.
    pub(super) fn row_lengths(&self) -> Result<Vec<usize>> {
        let mut lengths = vec![0; self.order()];
        let mut has_diagonal = vec![self.system.diagonal == Diagonal::Unit; self.order()];
        for major in 0..self.order() {
            self.visit(major, |row, col, _| {
                lengths[row] += 1;
                has_diagonal[row] |= row == col;
            });
        }
        match has_diagonal.iter().position(|has| !has) {
            Some(row) => Err(Triangular::missing_diagonal(row)),
            None => Ok(lengths),
        }
    }

    /// The rows by levels: that of a row is one more than the highest of the rows that it needs.
    pub(super) fn levels(&self) -> Levels {
        let mut levels = vec![0; self.order()];
        for major in self.system.rows(self.order()) {
            // Rows before this one, or the column of this one, have their final levels.
            self.visit(major, |row, col, _| {
                if row != col {
                    levels[row] = levels[row].max(levels[col] + 1);
                }
            });
        }
        Levels::new(self.system, &levels)
    }
}

/// The number of entries in levels that are worth threads, of rows with these numbers of entries.
pub(super) fn parallel_entries(levels: &Levels, lengths: &[usize]) -> usize {
    let entries = |level: &[usize]| -> usize {
        levels.rows()[level[0]..level[1]].iter().map(|&row| lengths[row]).sum()
    };
    let of_levels = levels.starts().windows(2).map(entries);
    of_levels.filter(|entries| *entries >= TrisolveThresholds::CPU.level_entries).sum()
}

/// The triangle of op(A), its rows in an order in which each comes after those that it needs.
pub(super) struct Schedule<I, O> {
    /// The row at each position.
    pub(super) rows: Vec<I>,
    /// The entries of each position.
    offsets: Vec<O>,
    /// The position of each entry's column: that of its own row for the diagonal.
    pub(super) columns: Vec<I>,
    /// The position of each entry's value in A.
    pub(super) places: Vec<O>,
}

impl<I: Index, O: Index> Schedule<I, O> {
    /// The rows in this order; `lengths` are their numbers of entries.
    pub(super) fn new(entries: &Entries<'_, I, O>, lengths: &[usize], order: Vec<usize>) -> Self {
        let n = lengths.len();
        let mut position = vec![0; n];
        order.iter().enumerate().for_each(|(at, &row)| position[row] = at);
        let mut starts = Vec::with_capacity(n + 1);
        let mut total = 0;
        for &row in &order {
            starts.push(total);
            total += lengths[row];
        }
        starts.push(total);
        let offsets = starts.iter().map(|&start| O::cast(start)).collect();
        let (mut columns, mut places) = (vec![I::default(); total], vec![O::default(); total]);
        for major in 0..n {
            entries.visit(major, |row, col, place| {
                let next = &mut starts[position[row]];
                columns[*next] = I::cast(position[col]);
                places[*next] = O::cast(place);
                *next += 1;
            });
        }
        let rows = order.into_iter().map(I::cast).collect();
        Self { rows, offsets, columns, places }
    }

    /// Brings the entries of these rows, the longest of which is the first, to an order by steps: the first entries of
    /// the rows, then the second ones.
    pub(super) fn interleave(&mut self, positions: Range<usize>) {
        if positions.len() == 1 {
            return;
        }
        let ranges: Vec<_> = positions.map(|position| self.range(position)).collect();
        let all = ranges[0].start..ranges[ranges.len() - 1].end;
        let (columns, places) = (self.columns[all.clone()].to_vec(), self.places[all.clone()].to_vec());
        let mut to = all.start;
        for step in 0..ranges[0].len() {
            for row in ranges.iter().take_while(|row| step < row.len()) {
                let from = row.start + step - all.start;
                (self.columns[to], self.places[to]) = (columns[from], places[from]);
                to += 1;
            }
        }
    }

    /// The number of rows.
    pub(super) fn order(&self) -> usize {
        self.rows.len()
    }

    /// The entries of the row at a position.
    #[inline(always)]
    pub(super) fn range(&self, position: usize) -> Range<usize> {
        self.offsets[position].as_usize()..self.offsets[position + 1].as_usize()
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.rows[..])
            + size_of_val(&self.offsets[..])
            + size_of_val(&self.columns[..])
            + size_of_val(&self.places[..])
    }
}
