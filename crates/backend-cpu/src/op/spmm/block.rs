//! A row of op(A) times B, some columns at a time, summed in registers.

use super::part::Part;
use super::rows::Rows;
use crate::primitive::update::Update;
use crate::simd::Isa;
use sparse_core::op::Op;
use sparse_core::{Index, Scalar};

/// Columns summed at a time.
pub(super) const WIDE: usize = 32;
/// Columns summed at a time where fewer are left.
const NARROW: usize = 8;

/// The accumulator of the values of rows.
pub(super) type AccOf<R> = <<R as Rows>::Scalar as Scalar>::Acc;

/// A dense matrix with contiguous rows: element (i, j) is at `i·stride + j`.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowMajor<'a, T> {
    pub(super) data: &'a [T],
    pub(super) stride: usize,
    pub(super) columns: usize,
    /// Entries by which rows are prefetched ahead, and one cache line of the rows at twice the distance; none if 0.
    pub(super) ahead: usize,
}

/// Memory for sums that are written without being read: those of a row times `alpha`, from `row·stride` elements behind
/// `start` on.
pub(super) struct Streamed<T: Scalar> {
    pub(super) start: *mut T,
    pub(super) stride: usize,
    pub(super) alpha: T::Acc,
}

/// The output of sums.
///
/// # Safety
/// The memory of [`Self::streamed`] is valid for writes of its columns in every row that is summed, and nothing else
/// accesses it before [`sums`] ends.
pub(super) unsafe trait Sink<T: Scalar> {
    /// Writes the sums of a row in the columns from `first` on.
    fn write(&mut self, row: usize, first: usize, sums: &[T::Acc]);

    /// The elements that [`Self::write`] would update with `len` sums, if they are contiguous, and the update.
    fn place(&mut self, _row: usize, _first: usize, _len: usize) -> Option<(&mut [T], Update<T::Acc>)> {
        None
    }

    /// The output of `len` columns from `first` on in place of [`Self::place`], if it bypasses the caches.
    fn streamed(&self, _first: usize, _len: usize) -> Option<Streamed<T>> {
        None
    }
}

/// Writes `Σ value·B[column]` over the entries of each row to `sink`, one block of columns after the other.
///
/// # Safety
/// Every column of `rows` is below the number of rows of `b`.
#[inline(always)]
pub(super) unsafe fn sums<S: Isa, R: Rows>(
    rows: &R,
    part: &Part,
    b: RowMajor<'_, R::Scalar>,
    op: Op,
    mut sink: impl Sink<R::Scalar>,
) {
    let mut first = 0;
    while first < b.columns {
        #[cfg(target_arch = "x86_64")]
        {
            // SAFETY: the caller's promise; `S` is only run where the processor has it.
            let done = unsafe { super::registers::sums::<S, R>(rows, part, b, first, op, &mut sink) };
            if const { super::registers::take_all::<S, R::Scalar>() } || done > 0 {
                first += done;
                continue;
            }
        }
        let left = b.columns - first;
        let rows_of_part = part.summed_rows();
        if left >= WIDE {
            for row in rows_of_part {
                sink.write(row, first, &block::<WIDE, R>(rows, row, b, first, op));
            }
            first += WIDE;
        } else if left >= NARROW {
            for row in rows_of_part {
                sink.write(row, first, &block::<NARROW, R>(rows, row, b, first, op));
            }
            first += NARROW;
        } else {
            for row in rows_of_part {
                sink.write(row, first, &last_block::<R>(rows, row, b, first, op)[..left]);
            }
            first += left;
        }
    }
}

/// The sums of `WIDTH` columns.
#[inline(always)]
fn block<const WIDTH: usize, R: Rows>(
    rows: &R,
    row: usize,
    b: RowMajor<'_, R::Scalar>,
    first: usize,
    op: Op,
) -> [AccOf<R>; WIDTH] {
    let mut sums = [AccOf::<R>::ZERO; WIDTH];
    let entries = rows.entries(row);
    for (column, value) in rows.columns()[entries.clone()].iter().zip(rows.values(entries)) {
        let value = op.apply(value).to_acc();
        let row = &b.data[column.as_usize() * b.stride + first..][..WIDTH];
        for (sum, &b) in sums.iter_mut().zip(row) {
            *sum += value * b.to_acc();
        }
    }
    sums
}

/// The sums of the last columns, fewer than [`NARROW`].
///
/// The loop over them has a constant length, so that it is unrolled and the sums stay in registers. Of numbers of 16
/// bits, which take many instructions each, it sums a whole vector, with what lies behind the row.
#[inline(always)]
fn last_block<R: Rows>(
    rows: &R,
    row: usize,
    b: RowMajor<'_, R::Scalar>,
    first: usize,
    op: Op,
) -> [AccOf<R>; NARROW] {
    let mut sums = [AccOf::<R>::ZERO; NARROW];
    let (left, entries) = (b.columns - first, rows.entries(row));
    for (column, value) in rows.columns()[entries.clone()].iter().zip(rows.values(entries)) {
        let value = op.apply(value).to_acc();
        let row = &b.data[column.as_usize() * b.stride + first..];
        match row.first_chunk::<NARROW>() {
            Some(row) if const { size_of::<R::Scalar>() == 2 } => {
                for (sum, &b) in sums.iter_mut().zip(row) {
                    *sum += value * b.to_acc();
                }
            }
            _ => {
                for (j, sum) in sums.iter_mut().enumerate() {
                    if j < left {
                        *sum += value * row[j].to_acc();
                    }
                }
            }
        }
    }
    sums
}
