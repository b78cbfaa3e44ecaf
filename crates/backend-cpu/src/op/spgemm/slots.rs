//! Rows of C that repeat the row before, each column one further: the position of each product in its row is that in
//! the row before.

use super::factors::Factors;
use super::numeric::Operands;
use super::row_product::is_vector;
use sparse_core::{Index, Scalar};
use std::ops::Range;

/// The longest window of columns whose positions are looked up.
const LONGEST_WINDOW: usize = 1 << 18;

/// The position among `columns`, those of a row of C, of each of its products; none where rows of the right factor are
/// better added as vectors, or the columns lie far apart.
pub(super) fn find_slots<I: Index, O: Index>(
    factors: Factors<'_, I, O>,
    row: usize,
    columns: &[I],
    slots: &mut Vec<u32>,
    positions: &mut Vec<u32>,
) {
    slots.clear();
    let ([first, ..], [.., last]) = (columns, columns) else { return };
    let (first, window) = (first.as_usize(), last.as_usize() + 1 - first.as_usize());
    if window > LONGEST_WINDOW {
        return;
    }
    if positions.len() < window {
        positions.resize(window, 0);
    }
    for (position, column) in (0..).zip(columns) {
        positions[column.as_usize() - first] = position;
    }
    for factor in factors.right_rows(row) {
        if factors.right.is_canonical() && is_vector(factor) {
            return slots.clear();
        }
        slots.extend(factor.iter().map(|column| positions[column.as_usize() - first]));
    }
}

/// Bytes of sums of rows that are added together, a third of an L1 cache.
const SUMMED_BYTES: usize = 16 << 10;

/// The most rows of C of this length that are to be added together.
pub(super) fn rows_at_once<T>(length: usize) -> usize {
    (SUMMED_BYTES / (length * size_of::<T>()).max(1)).clamp(8, 128)
}

/// Entries of a row of the right factor from which on its products are added one after the other, row by row of C.
/// Squares of f32, two threads, ms, where all products of a row of C were added at once, and with all rows of C for
/// each product: 27-point stencil 96 and 121, 9-point 39 and 32, 5-point 68 and 42.
const LONG: usize = 16;

/// Appends the values of rows of C of this length, each of which repeats the row before: for each entry of the left
/// factor and, if its row of the right one is short, each product, all rows of C. So no addition waits for the one
/// before, and what is done once for each row of the right factor is done for many. For types that are their own
/// accumulators.
///
/// The rows have equally many entries of the left factor, of which those at one position multiply neighbouring rows of
/// the right factor, which are equally long.
#[inline(always)]
pub(super) fn sum_into_slots<T: Scalar, I: Index, O: Index>(
    operands: Operands<'_, T, I, O>,
    rows: Range<usize>,
    length: usize,
    values: &mut Vec<T>,
    mut slots: &[u32],
) {
    let start = values.len();
    values.resize(start + rows.len() * length, T::ZERO);
    let sums = &mut values[start..];
    let Factors { left, right, .. } = operands.factors;
    let entries = left.range(rows.start);
    let add = |sum: T, x: T, y: T| T::from_acc(sum.to_acc() + x.to_acc() * y.to_acc());
    let left_values = &operands.left[entries.start..][..rows.len() * entries.len()];
    for (at, entry) in entries.clone().enumerate() {
        let row = right.range(left.indices[entry].as_usize());
        let right_values = &operands.right[row.start..][..rows.len() * row.len()];
        let own_slots;
        (own_slots, slots) = slots.split_at(row.len());
        let rows = left_values.chunks_exact(entries.len()).zip(right_values.chunks_exact(row.len()));
        if row.len() < LONG {
            for (position, &slot) in own_slots.iter().enumerate() {
                let slot = slot as usize;
                for (sums, (x, y)) in sums.chunks_exact_mut(length).zip(rows.clone()) {
                    sums[slot] = add(sums[slot], x[at], y[position]);
                }
            }
        } else {
            for (sums, (x, y)) in sums.chunks_exact_mut(length).zip(rows) {
                for (&slot, &y) in own_slots.iter().zip(y) {
                    sums[slot as usize] = add(sums[slot as usize], x[at], y);
                }
            }
        }
    }
}
