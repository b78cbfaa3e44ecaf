//! Dense operands, whose rows may be neighbours in memory or not.

use sparse_core::{DenseView, Order, Scalar};

/// A dense operand: element (i, t) is at `i·row_step + t·col_step` of its data.
#[derive(Debug, Clone, Copy)]
pub(in crate::op) struct Operand<'a, T> {
    pub(super) data: &'a [T],
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) row_step: usize,
    pub(super) col_step: usize,
}

impl<'a, T: Scalar> From<DenseView<'a, T>> for Operand<'a, T> {
    fn from(view: DenseView<'a, T>) -> Self {
        let (row_step, col_step) = match view.order() {
            Order::RowMajor => (view.leading_dimension(), 1),
            Order::ColMajor => (1, view.leading_dimension()),
        };
        Self { data: view.data(), rows: view.nrows(), cols: view.ncols(), row_step, col_step }
    }
}

impl<'a, T: Scalar> Operand<'a, T> {
    #[inline(always)]
    fn at(&self, row: usize, col: usize) -> T {
        self.data[row * self.row_step + col * self.col_step]
    }

    /// True if the elements of a row are neighbours.
    pub(super) fn has_rows(&self) -> bool {
        self.col_step == 1 || self.cols == 1
    }

    /// The elements of a row that are neighbours.
    #[inline(always)]
    pub(super) fn row(&self, row: usize) -> &'a [T] {
        let start = row * self.row_step;
        &self.data[start..start + self.cols]
    }
}

/// Copies a row, each element by `converted`.
#[inline(always)]
pub(super) fn copy_row<T: Scalar, U>(
    v: &Operand<'_, T>,
    row: usize,
    to: &mut [U],
    converted: impl Fn(T) -> U,
) {
    if v.has_rows() {
        to.iter_mut().zip(v.row(row)).for_each(|(to, &element)| *to = converted(element));
    } else {
        to.iter_mut().enumerate().for_each(|(t, to)| *to = converted(v.at(row, t)));
    }
}
