//! A row of op(A) times B, some columns at a time, summed in registers.

use super::source::Rows;
use crate::simd::Isa;
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
pub(super) fn row_sums<S: Isa, T: Scalar, I: Index, O: Index>(
    rows: &Rows<'_, T, I, O>,
    entries: Range<usize>,
    b: RowMajor<'_, T>,
    op: Op,
    mut write: impl FnMut(usize, &[T::Acc]),
) {
    let mut first = 0;
    while first < b.columns {
        let columns = first..b.columns.min(first + WIDE);
        #[cfg(target_arch = "x86_64")]
        {
            let entries = entries.clone();
            // SAFETY: `S` is only run where the processor has it.
            let sums = unsafe { super::registers::block::<S, T, I, O>(rows, entries, b, columns.clone()) };
            if let Some(sums) = sums {
                write(first, &sums[..columns.len()]);
                first = columns.end;
                continue;
            }
        }
        if columns.len() == WIDE {
            write(first, &block::<WIDE, T, I, O>(rows, entries.clone(), b, first..first + WIDE, op));
            first += WIDE;
        } else {
            let columns = first..columns.end.min(first + NARROW);
            let sums = block::<NARROW, T, I, O>(rows, entries.clone(), b, columns.clone(), op);
            write(first, &sums[..columns.len()]);
            first = columns.end;
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
