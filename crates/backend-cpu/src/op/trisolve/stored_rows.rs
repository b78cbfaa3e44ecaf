//! Rows of a triangle where A stores them, which take no copy of the triangle.

use super::schedule::Entries;
use super::substitution::{Substitution, ZeroDiagonal, steps};
use sparse_core::op::{Diagonal, Triangle};
use sparse_core::{DenseViewMut, Index, Result, Scalar};
use std::array;
use std::ops::Range;

/// Columns of B that are solved together where A stores the rows.
const BLOCK: usize = 8;

/// Spans of the rows of a triangle in the arrays of A: entries side by side, before that of the diagonal in a lower
/// triangle, behind it in an upper one.
pub(super) struct StoredRows<O> {
    is_lower: bool,
    has_diagonal: bool,
    spans: Vec<[O; 2]>,
}

impl<O: Index> StoredRows<O> {
    /// The rows of a triangle, or `None` if they are not stored so.
    pub(super) fn find<I: Index>(entries: &Entries<'_, I, O>) -> Option<Self> {
        let system = entries.system;
        let rows = Self {
            is_lower: system.solved_triangle() == Triangle::Lower,
            has_diagonal: system.diagonal == Diagonal::Stored,
            spans: vec![],
        };
        if !entries.has_rows {
            return None;
        }
        let spans = (0..entries.order()).map(|row| rows.span_of(entries, row)).collect::<Option<_>>()?;
        Some(Self { spans, ..rows })
    }

    /// The places of the entries of a row but the diagonal.
    fn span_of<I: Index>(&self, entries: &Entries<'_, I, O>, row: usize) -> Option<[O; 2]> {
        let (mut all, mut count, mut diagonals, mut diagonal) = (0..0, 0, 0, 0);
        entries.visit(row, |_, col, place| {
            all = if count == 0 { place } else { all.start }..place + 1;
            count += 1;
            if col == row {
                diagonals += 1;
                diagonal = place;
            }
        });
        if all.len() != count || diagonals != usize::from(self.has_diagonal) {
            return None;
        }
        let others = match self.has_diagonal {
            false => all,
            true if self.is_lower && diagonal + 1 == all.end => all.start..diagonal,
            true if !self.is_lower && diagonal == all.start => diagonal + 1..all.end,
            true => return None,
        };
        Some([O::cast(others.start), O::cast(others.end)])
    }

    /// The number of rows.
    pub(super) fn order(&self) -> usize {
        self.spans.len()
    }

    /// The places of the entries of a row but the diagonal.
    #[inline(always)]
    pub(super) fn span(&self, row: usize) -> Range<usize> {
        let [start, end] = self.spans[row];
        start.as_usize()..end.as_usize()
    }

    /// The place of the diagonal of a row with these other entries, if it is stored.
    #[inline(always)]
    pub(super) fn diagonal(&self, span: &Range<usize>) -> Option<usize> {
        self.has_diagonal.then(|| if self.is_lower { span.end } else { span.start - 1 })
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.spans[..])
    }
}

impl<T: Scalar> Substitution<'_, '_, T> {
    /// Solves for all columns of B, row by row, where A stores them; `indices` are the columns of its entries.
    ///
    /// # Errors
    /// [`Singular`](sparse_core::Error::Singular) with the first row whose diagonal is zero.
    pub(super) fn by_stored_row<I: Index, O: Index>(
        &self,
        rows: &StoredRows<O>,
        indices: &[I],
        mut x: DenseViewMut<'_, T>,
    ) -> Result<()> {
        let zero = ZeroDiagonal::new();
        let (count, blocks) = (self.b.ncols(), self.b.ncols() / BLOCK);
        for block in 0..blocks {
            self.solve_columns::<I, O, BLOCK>(rows, indices, block * BLOCK, &mut x, &zero);
        }
        for column in blocks * BLOCK..count {
            self.solve_columns::<I, O, 1>(rows, indices, column, &mut x, &zero);
        }
        zero.check()
    }

    /// Solves for `W` columns of B from the `first` on.
    #[inline(always)]
    fn solve_columns<I: Index, O: Index, const W: usize>(
        &self,
        rows: &StoredRows<O>,
        indices: &[I],
        first: usize,
        x: &mut DenseViewMut<'_, T>,
        zero: &ZeroDiagonal,
    ) {
        let (row_step, column_step) = steps(x);
        let x = x.data_mut().as_mut_ptr();
        // SAFETY: A is square and X has its order, so that rows and columns of A's entries are rows of X, and the
        // columns of X are as many as those of B.
        let element =
            |row: usize, j: usize| unsafe { &mut *x.add(row * row_step + (first + j) * column_step) };
        for row in self.system.rows(rows.order()) {
            let span = rows.span(row);
            let mut sums: [_; W] = array::from_fn(|j| self.b.at(row, first + j).to_acc());
            for (column, &value) in indices[span.clone()].iter().zip(&self.values[span.clone()]) {
                let value = self.value(value);
                for (j, sum) in sums.iter_mut().enumerate() {
                    *sum -= value * element(column.as_usize(), j).to_acc();
                }
            }
            let mut diagonal = self.initial_diagonal();
            if let Some(place) = rows.diagonal(&span) {
                diagonal += self.value(self.values[place]);
            }
            if diagonal.is_zero() {
                zero.found(row);
            }
            for (j, sum) in sums.into_iter().enumerate() {
                *element(row, j) = Self::element(sum, diagonal);
            }
        }
    }
}
