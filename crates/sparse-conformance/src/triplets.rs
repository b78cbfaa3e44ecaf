//! A matrix as the table knows it: coordinates and values, before any format or type.

use crate::numbers::round;
use sparse_core::{DType, c64};

/// Row, column and value of an entry.
pub type Triplet = (usize, usize, c64);

/// Entries in the order in which a format is to store them; coordinates may repeat.
#[derive(Debug, Clone, PartialEq)]
pub struct Triplets {
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub cols: usize,
    /// How many members stand on the diagonal: 1 but for a batch.
    pub members: usize,
    /// Row, column, value.
    pub entries: Vec<Triplet>,
}

impl Triplets {
    /// A matrix of these entries.
    pub fn new(rows: usize, cols: usize, entries: Vec<Triplet>) -> Self {
        Self { rows, cols, members: 1, entries }
    }

    /// The matrix with every value rounded to `dtype`; `None` if a finite value does not fit.
    pub(crate) fn rounded(&self, dtype: DType) -> Option<Self> {
        let entries = self.entries.iter().map(|&(i, j, value)| Some((i, j, round(dtype, value)?)));
        Some(Self { entries: entries.collect::<Option<_>>()?, ..*self })
    }

    /// The same coordinates with other values: every second value changes its sign.
    pub(crate) fn with_other_values(&self) -> Self {
        let entries = self.entries.iter().enumerate().map(|(k, &(i, j, value))| {
            let value = if k % 2 == 0 { -value } else { value };
            (i, j, value)
        });
        Self { entries: entries.collect(), ..*self }
    }

    /// A batch of unequal members: this matrix, one without entries, and one with every second entry.
    pub(crate) fn batch(&self) -> Self {
        let shifted =
            |member: usize, &(i, j, value): &Triplet| (member * self.rows + i, member * self.cols + j, value);
        let mut entries: Vec<_> = self.entries.iter().map(|entry| shifted(0, entry)).collect();
        entries.extend(self.entries.iter().step_by(2).map(|entry| shifted(2, entry)));
        Self { rows: 3 * self.rows, cols: 3 * self.cols, members: 3, entries }
    }

    /// The entries of one member, counted from its own first row and column.
    pub(crate) fn member(&self, member: usize) -> Self {
        let (rows, cols) = (self.rows / self.members, self.cols / self.members);
        let (first_row, first_col) = (member * rows, member * cols);
        let entries = self.entries.iter().filter(|(i, ..)| (first_row..first_row + rows).contains(i));
        Self::new(rows, cols, entries.map(|&(i, j, value)| (i - first_row, j - first_col, value)).collect())
    }

    /// Positions of the entries in order of `major`, those of one major index in storage order.
    pub(crate) fn grouped(&self, major: impl Fn(&Triplet) -> usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.entries.len()).collect();
        order.sort_by_key(|&k| major(&self.entries[k]));
        order
    }
}
