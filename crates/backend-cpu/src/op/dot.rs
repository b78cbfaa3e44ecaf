//! `Σ value·x[column]` over entries that stand side by side.

use crate::simd::Isa;
use sparse_core::{Index, Scalar};

/// `Σ value·x[column]`, or with conjugated values; four sums at a time, added in a fixed order.
#[inline(always)]
pub(crate) fn dot<S: Isa, T: Scalar, I: Index>(
    columns: &[I],
    values: &[T],
    x: &[T],
    conjugate: bool,
) -> T::Acc {
    let product = |column: I, value: T| {
        let value = if conjugate { value.conj() } else { value };
        value.to_acc() * x[column.as_usize()].to_acc()
    };
    let (columns4, last_columns) = columns.as_chunks::<4>();
    let (values4, last_values) = values.as_chunks::<4>();
    let mut sums = [T::Acc::ZERO; 4];
    for (columns, values) in columns4.iter().zip(values4) {
        for lane in 0..4 {
            sums[lane] += product(columns[lane], values[lane]);
        }
    }
    let mut last = T::Acc::ZERO;
    for (&column, &value) in last_columns.iter().zip(last_values) {
        last += product(column, value);
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + last
}
