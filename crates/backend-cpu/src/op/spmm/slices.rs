//! Slices of B: all its columns at once, or some that are copied first, and the distance of prefetches.

use super::block::{RowMajor, WIDE};
use super::rows::Rows;
use super::thresholds::SpmmThresholds;
use crate::Cpu;
use crate::parallel::CHUNK;
use crate::simd::LINE;
use sparse_core::{DenseView, Order, Scalar};
use std::ops::Range;

/// Products of one part.
const PART: usize = 256 * 1024;

/// Parts into which a smaller product is cut, so that threads have about equal work.
const PARTS: usize = 16;

/// Entries of the smallest parts of a product that is cut so.
const MIN_PART: usize = 2 * 1024;

/// Bytes of B to prefetch.
const AHEAD: usize = 8 << 10;

/// The most rows to prefetch.
const MAX_AHEAD: usize = 32;

/// Parts sampled for the distance that neighbouring rows span.
const SOME_PARTS: usize = 64;

/// Entries of a part of these rows, for a product with `columns` columns.
pub(super) fn entries_of_part<R: Rows>(rows: &R, columns: usize) -> usize {
    let most = ((rows.columns().len() + rows.len()) / PARTS).max(MIN_PART);
    (PART / columns.max(1)).clamp(64, most)
}

/// True if [`WIDE`] columns of a wider B, copied so that they are contiguous, are better than all at once: neighbouring
/// rows of op(A) have so much of B in common that this much of it stays in the cache and all of it would not, and every
/// row of B is used so often that the copy is cheap.
pub(super) fn pays_to_slice<R: Rows>(rows: &R, (b_rows, columns): (usize, usize)) -> bool {
    if columns <= WIDE {
        return false;
    }
    let limits = SpmmThresholds::CPU;
    let bytes = reach(rows).saturating_mul(size_of::<R::Scalar>());
    bytes.saturating_mul(WIDE) <= limits.cached_bytes
        && bytes.saturating_mul(columns) > limits.uncached_bytes
        && is_copy_cheap(rows, b_rows)
}

/// True if every row of B is used so often on average that a copy is cheap.
pub(super) fn is_copy_cheap<R: Rows>(rows: &R, b_rows: usize) -> bool {
    rows.columns().len() >= b_rows.saturating_mul(SpmmThresholds::CPU.uses)
}

/// True if rows of B lie in more cache lines than those of a copy would, which begins with a line: malloc's large
/// blocks begin 16 bytes behind one.
pub(super) fn rows_straddle_lines<T: Scalar>(b: &DenseView<'_, T>) -> bool {
    let bytes = b.ncols() * size_of::<T>();
    if bytes == 0 || !(bytes.is_multiple_of(LINE) || LINE.is_multiple_of(bytes)) {
        return false;
    }
    let stride = b.leading_dimension() * size_of::<T>();
    [b.data().as_ptr().addr(), stride].iter().any(|at| !at.is_multiple_of(bytes.min(LINE)))
}

/// [`RowMajor::ahead`] for `columns` columns of B: rows of neighbouring entries are prefetched unless they stay in the
/// cache. Slices, which all rows of op(A) use, are prefetched too: by their place in memory, some may not stay.
pub(super) fn entries_ahead<R: Rows>(rows: &R, b_rows: usize, columns: usize, sliced: bool) -> usize {
    let bytes = columns.saturating_mul(size_of::<R::Scalar>());
    let cached = |rows: usize| rows.saturating_mul(bytes) <= SpmmThresholds::CPU.cached_bytes;
    // Nothing is looked for where all of B stays.
    let stay = !sliced && (cached(b_rows) || cached(reach(rows)));
    if stay { 0 } else { (AHEAD / bytes.max(1)).clamp(1, MAX_AHEAD) }
}

/// The number of rows of B from the first to the last that a part uses, on average over some parts.
fn reach<R: Rows>(rows: &R) -> usize {
    let parts = rows.parts(PART / WIDE);
    let some = parts.iter().step_by(parts.len().div_ceil(SOME_PARTS).max(1));
    let reach = some.clone().map(|part| rows.columns_of(part.clone()).len());
    reach.fold(0, usize::saturating_add) / some.len().max(1)
}

/// Copies columns of a matrix row by row into `panel`.
pub(super) fn pack<'a, T: Scalar>(
    cpu: &Cpu,
    panel: &'a mut [T],
    b: DenseView<'_, T>,
    columns: Range<usize>,
    ahead: usize,
) -> RowMajor<'a, T> {
    let width = columns.len();
    let panel = &mut panel[..b.nrows() * width];
    let rows_per_task = (CHUNK / width).max(1);
    let tasks = panel.chunks_mut(rows_per_task * width).enumerate().collect();
    cpu.for_each(b.nrows() * width, tasks, |(k, part): (usize, &mut [T])| {
        for (i, row) in part.chunks_mut(width).enumerate() {
            let from = k * rows_per_task + i;
            if b.order() == Order::RowMajor {
                row.copy_from_slice(&b.data()[from * b.leading_dimension()..][columns.clone()]);
                continue;
            }
            for (to, column) in row.iter_mut().zip(columns.clone()) {
                *to = b.at(from, column);
            }
        }
    });
    RowMajor { data: panel, stride: width, columns: width, ahead }
}
