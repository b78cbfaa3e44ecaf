//! A row of op(A) times B, some columns at a time, summed in registers.

use super::source::Rows;
use sparse_core::op::Op;
use sparse_core::{Index, Scalar};
use std::ops::Range;

/// Columns that are summed at a time.
pub(super) const WIDE: usize = 32;
/// Columns that are summed at a time where fewer are left.
const NARROW: usize = 8;

/// A dense matrix with contiguous rows: element (i, j) stands at `i·stride + j`.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowMajor<'a, T> {
    pub(super) data: &'a [T],
    pub(super) stride: usize,
    pub(super) columns: usize,
}

/// Gives `Σ value·B[column]` over these entries to `write(first column, sums)`, block by block.
#[inline(always)]
pub(super) fn row_sums<T: Scalar, I: Index, O: Index>(
    rows: &Rows<'_, T, I, O>,
    entries: Range<usize>,
    b: RowMajor<'_, T>,
    op: Op,
    mut write: impl FnMut(usize, &[T::Acc]),
) {
    let mut first = 0;
    while first < b.columns {
        let left = b.columns - first;
        if left >= WIDE {
            write(first, &block::<WIDE, T, I, O>(rows, entries.clone(), b, first..first + WIDE, op));
            first += WIDE;
        } else {
            let width = left.min(NARROW);
            let columns = first..first + width;
            let sums = block::<NARROW, T, I, O>(rows, entries.clone(), b, columns, op);
            write(first, &sums[..width]);
            first += width;
        }
    }
}

#[inline(always)]
fn block<const WIDTH: usize, T: Scalar, I: Index, O: Index>(
    rows: &Rows<'_, T, I, O>,
    entries: Range<usize>,
    b: RowMajor<'_, T>,
    columns: Range<usize>,
    op: Op,
) -> [T::Acc; WIDTH] {
    let mut sums = [T::Acc::ZERO; WIDTH];
    rows.for_each(entries, |column, value| {
        let value = op.apply(value).to_acc();
        let row = &b.data[column * b.stride + columns.start..][..columns.len()];
        for (sum, &b) in sums.iter_mut().zip(row) {
            *sum += value * b.to_acc();
        }
    });
    sums
}
