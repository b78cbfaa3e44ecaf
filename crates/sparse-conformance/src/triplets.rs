//! Matrices of the table: coordinates and values, without a format or a type.

use crate::scalar_properties::round;
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
    /// Number of members on the diagonal: 1 except for a batch.
    pub members: usize,
    /// Row, column, value.
    pub entries: Vec<Triplet>,
}

impl Triplets {
    /// A matrix of these entries.
    pub fn new(rows: usize, cols: usize, entries: Vec<Triplet>) -> Self {
        Self { rows, cols, members: 1, entries }
    }

    /// The number of elements, stored or not.
    pub(crate) fn elements(&self) -> usize {
        self.rows.saturating_mul(self.cols)
    }

    /// All elements, row by row; of entries with one coordinate the last one counts.
    pub(crate) fn dense(&self) -> Vec<c64> {
        let mut elements = vec![c64::default(); self.rows * self.cols];
        self.entries.iter().for_each(|&(i, j, value)| elements[i * self.cols + j] = value);
        elements
    }

    /// True if no coordinate occurs twice.
    pub(crate) fn is_distinct(&self) -> bool {
        let mut coordinates: Vec<_> = self.entries.iter().map(|&(i, j, _)| (i, j)).collect();
        coordinates.sort_unstable();
        coordinates.is_sorted_by(|a, b| a < b)
    }

    /// The number of entries of the longest row.
    pub(crate) fn longest_row(&self) -> usize {
        let mut lengths = vec![0; self.rows];
        self.entries.iter().for_each(|&(i, ..)| lengths[i] += 1);
        lengths.into_iter().max().unwrap_or(0)
    }

    /// The matrix with every value rounded to `dtype`; `None` if a finite value does not fit.
    pub(crate) fn rounded(&self, dtype: DType) -> Option<Self> {
        let entries = self.entries.iter().map(|&(i, j, value)| Some((i, j, round(dtype, value)?)));
        Some(Self { entries: entries.collect::<Option<_>>()?, ..*self })
    }

    /// The same coordinates with other values: every second one changes its sign.
    pub(crate) fn with_other_values(&self) -> Self {
        let mut other = self.clone();
        for (_, _, value) in other.entries.iter_mut().step_by(2) {
            // A missing imaginary part stays +0, as a real type returns it.
            *value = if value.im == 0.0 { c64::new(-value.re, 0.0) } else { -*value };
        }
        other
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

    /// Positions of the entries in order of `major`, which is below `extent`; those of one major index in storage
    /// order.
    pub(crate) fn grouped(&self, extent: usize, major: &dyn Fn(&Triplet) -> usize) -> Vec<usize> {
        let mut next = vec![0; extent + 1];
        self.entries.iter().for_each(|entry| next[major(entry) + 1] += 1);
        (0..extent).for_each(|k| next[k + 1] += next[k]);
        let mut order = vec![0; self.entries.len()];
        for (k, entry) in self.entries.iter().enumerate() {
            let position = &mut next[major(entry)];
            order[*position] = k;
            *position += 1;
        }
        order
    }
}
