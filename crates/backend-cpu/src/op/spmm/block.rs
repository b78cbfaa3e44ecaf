//! A row of op(A) times B, some columns at a time, summed in registers.

use super::source::Rows;
use crate::op::update::Update;
use crate::simd::Isa;
use sparse_core::op::Op;
use sparse_core::{Index, Scalar};
use std::ops::Range;

/// Columns that are summed at a time.
pub(super) const WIDE: usize = 32;
/// Columns that are summed at a time where fewer are left.
const NARROW: usize = 8;

/// The accumulator of the values of rows.
pub(super) type AccOf<R> = <<R as Rows>::Scalar as Scalar>::Acc;

/// A dense matrix with contiguous rows: element (i, j) stands at `i·stride + j`.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowMajor<'a, T> {
    pub(super) data: &'a [T],
    pub(super) stride: usize,
    pub(super) columns: usize,
    /// How many entries ahead of the one in use rows are fetched into the cache, and one cache line of the rows twice as
    /// far ahead; none if 0.
    pub(super) ahead: usize,
}

/// Rows, or shares of rows, that are summed one after the other: their numbers and entries.
pub(super) trait NumberedRows: Iterator<Item = (usize, Range<usize>)> + Clone {}

impl<T: Iterator<Item = (usize, Range<usize>)> + Clone> NumberedRows for T {}

/// Memory that sums go to without being read: those of a line times `alpha`, from `line·stride` elements behind `start` on.
pub(super) struct Streamed<T: Scalar> {
    pub(super) start: *mut T,
    pub(super) stride: usize,
    pub(super) alpha: T::Acc,
}

/// Where sums go.
///
/// # Safety
/// What [`Self::streamed`] names is valid for writes of its columns in every line that is summed, and nothing else reaches
/// these before [`sums`] ends.
pub(super) unsafe trait Sink<T: Scalar> {
    /// Takes the sums of a line in the columns from `first` on.
    fn write(&mut self, line: usize, first: usize, sums: &[T::Acc]);

    /// What [`Self::write`] would update with `len` sums, if these elements stand side by side, and how.
    fn place(&mut self, _line: usize, _first: usize, _len: usize) -> Option<(&mut [T], Update<T::Acc>)> {
        None
    }

    /// Where the sums in `len` columns from `first` on go in place of [`Self::place`], if they are to pass the caches by.
    fn streamed(&self, _first: usize, _len: usize) -> Option<Streamed<T>> {
        None
    }
}

/// Gives `Σ value·B[column]` over the entries of each line to `sink`, for one block of columns after the other.
///
/// # Safety
/// Every column of `rows` is below the number of rows of `b`.
#[inline(always)]
pub(super) unsafe fn sums<S: Isa, R: Rows>(
    rows: &R,
    lines: impl NumberedRows,
    b: RowMajor<'_, R::Scalar>,
    op: Op,
    mut sink: impl Sink<R::Scalar>,
) {
    let mut first = 0;
    while first < b.columns {
        let lines = lines.clone();
        #[cfg(target_arch = "x86_64")]
        {
            // SAFETY: the caller's promise; `S` is only run where the processor has it.
            let done = unsafe { super::registers::sums::<S, R>(rows, lines.clone(), b, first, &mut sink) };
            if const { super::registers::take_all::<S, R::Scalar>() } || done > 0 {
                first += done;
                continue;
            }
        }
        let width = if b.columns - first >= WIDE { WIDE } else { NARROW.min(b.columns - first) };
        for (line, entries) in lines {
            let columns = first..first + width;
            if width == WIDE {
                sink.write(line, first, &block::<WIDE, R>(rows, entries, b, columns, op));
            } else {
                sink.write(line, first, &block::<NARROW, R>(rows, entries, b, columns, op)[..width]);
            }
        }
        first += width;
    }
}

#[inline(always)]
fn block<const WIDTH: usize, R: Rows>(
    rows: &R,
    entries: Range<usize>,
    b: RowMajor<'_, R::Scalar>,
    columns: Range<usize>,
    op: Op,
) -> [AccOf<R>; WIDTH] {
    let mut sums = [AccOf::<R>::ZERO; WIDTH];
    for (column, value) in rows.columns()[entries.clone()].iter().zip(rows.values(entries)) {
        let value = op.apply(value).to_acc();
        let row = &b.data[column.as_usize() * b.stride + columns.start..][..columns.len()];
        for (sum, &b) in sums.iter_mut().zip(row) {
            *sum += value * b.to_acc();
        }
    }
    sums
}
