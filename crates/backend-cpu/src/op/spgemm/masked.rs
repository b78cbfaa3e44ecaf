//! The values of C at the entries of a mask: a sum for each column of a row of the mask.
//!
//! A row of the right factor meets one of the mask by search: the shorter is walked, its columns are searched for in
//! the longer. Work: for each entry of the left factor min(m, n)·log max(m, n), of rows of m and n entries.

use super::numeric::{Operands, Workspace, zeros};
use sparse_core::{CompressedPattern, Host, Index, Scalar};
use std::ops::Range;

/// Sums some rows.
pub(super) fn sum_rows<T: Scalar, I: Index, O: Index>(
    operands: Operands<'_, T, I, O>,
    mask: &CompressedPattern<Host, I, O>,
    rows: Range<usize>,
    mut values: &mut [T],
    workspace: &mut Workspace<T::Acc, I>,
) {
    let is_canonical = operands.factors.right.is_canonical();
    for row in rows {
        let columns = &mask.indices()[mask.range(row)];
        let (output, rest) = values.split_at_mut(columns.len());
        values = rest;
        let sums = zeros(&mut workspace.sums, columns.len());
        for entry in operands.factors.left.range(row) {
            let (x, factor_columns, factors) = operands.factor(entry);
            if is_canonical && columns.len() < factor_columns.len() {
                for (sum, column) in sums.iter_mut().zip(columns) {
                    if let Ok(at) = factor_columns.binary_search(column) {
                        *sum += x * factors[at].to_acc();
                    }
                }
            } else {
                for (column, y) in factor_columns.iter().zip(factors) {
                    if let Ok(at) = columns.binary_search(column) {
                        sums[at] += x * y.to_acc();
                    }
                }
            }
        }
        for (value, sum) in output.iter_mut().zip(sums) {
            *value = T::from_acc(std::mem::replace(sum, T::Acc::ZERO));
        }
    }
}
