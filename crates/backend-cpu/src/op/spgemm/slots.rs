//! Rows of C that repeat the row before, each column one further: the position of each product in its row is that in
//! the row before.

use super::factors::Factors;
use super::numeric::Operands;
use super::once::is_vector;
use sparse_core::{Index, Scalar};

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

/// Appends the values of a row of C of this length, to which each product is added at its slot; of types that are their
/// own accumulators.
#[inline(always)]
pub(super) fn sum_into_slots<T: Scalar, I: Index, O: Index>(
    operands: Operands<'_, T, I, O>,
    row: usize,
    length: usize,
    values: &mut Vec<T>,
    slots: &[u32],
) {
    let start = values.len();
    values.resize(start + length, T::ZERO);
    let sums = &mut values[start..];
    let mut slots = slots.iter();
    for entry in operands.factors.left.range(row) {
        let (x, _, factors) = operands.cached_factor(entry);
        for (y, &slot) in factors.iter().zip(&mut slots) {
            let sum = &mut sums[slot as usize];
            *sum = T::from_acc(sum.to_acc() + x * y.to_acc());
        }
    }
}
