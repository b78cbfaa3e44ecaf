//! Products with a left factor that selects rows: at most one entry a row, as those of a permutation. Rows of C are
//! rows of the right factor, scaled.

use super::numeric::Operands;
use crate::Cpu;
use crate::primitive::fill::Arrays;
use sparse_core::{Index, Result, Scalar};
use std::ops::Range;

/// The product if no row of the left factor has more than one entry, most have one, and the right one has its rows in
/// order; `None` otherwise.
pub(super) fn multiply<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    operands: Operands<'_, T, I, O>,
) -> Result<Option<Arrays<T, I, O>>> {
    let (left, right) = (operands.factors.left, operands.factors.right);
    let (rows, entries) = (left.major(), left.indices.len());
    let selects = |row: usize| left.range(row).len() <= 1;
    if entries > rows || 2 * entries < rows || !right.is_canonical() || !(0..rows).all(selects) {
        return Ok(None);
    }
    let length = |row: usize| left.row(row).first().map_or(0, |k| right.range(k.as_usize()).len());
    let lengths: Vec<usize> = (0..rows).map(length).collect();
    cpu.fill_rows(&lengths, |rows: Range<usize>, mut columns: &mut [I], mut values: &mut [T]| {
        for entry in left.range_of(&rows) {
            let (x, row_columns, factors) = operands.factor(entry);
            let (own_columns, own_values);
            (own_columns, columns) = columns.split_at_mut(row_columns.len());
            (own_values, values) = values.split_at_mut(row_columns.len());
            let row = row_columns.iter().zip(factors);
            for ((to_column, to_value), (&column, y)) in own_columns.iter_mut().zip(own_values).zip(row) {
                *to_column = column;
                // A sum of −0 alone is 0.
                *to_value = T::from_acc(T::Acc::ZERO + x * y.to_acc());
            }
        }
    })
    .map(Some)
}
