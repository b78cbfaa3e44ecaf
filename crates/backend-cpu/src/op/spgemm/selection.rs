//! Products with a left factor that selects rows: at most one entry a row, as those of a permutation. Rows of C are
//! rows of the right factor, scaled.

use super::numeric::Operands;
use crate::Cpu;
use crate::parallel::CHUNK;
use crate::primitive::fill::{Arrays, zeroed};
use sparse_core::{Index, Result, Scalar};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// The product if no row of the left factor has more than one entry, most have one, and the right one has its rows in
/// order; `None` otherwise.
pub(super) fn multiply<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    operands: Operands<'_, T, I, O>,
) -> Result<Option<Arrays<T, I, O>>> {
    let (left, right) = (operands.factors.left, operands.factors.right);
    let (rows, entries) = (left.major(), left.indices.len());
    if entries > rows || 2 * entries < rows || !right.is_canonical() {
        return Ok(None);
    }
    let selects = AtomicBool::new(true);
    let mut lengths = zeroed::<usize>(rows);
    cpu.for_chunks(&mut lengths, CHUNK, |first, lengths| {
        for (row, length) in (first..).zip(lengths) {
            match left.row(row) {
                [] => {}
                [k] => *length = right.range(k.as_usize()).len(),
                _ => return selects.store(false, Ordering::Relaxed),
            }
        }
    });
    if !selects.into_inner() {
        return Ok(None);
    }
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
