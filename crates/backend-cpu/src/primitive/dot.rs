//! `Σ value·x[column]` over contiguous entries.

use crate::simd::{Isa, LINE, fetch_line};
use sparse_core::op::Op;
use sparse_core::{Index, Scalar};

/// `Σ value·x[column]`, with values conjugated by `op`: by gathers where the instruction set has them for the types and
/// they pay off, else four sums at a time, added in a fixed order.
///
/// # Safety
/// Columns and values have one length, and every column is below the length of `x`.
#[inline(always)]
pub(crate) unsafe fn dot<S: Isa, T: Scalar, I: Index>(
    columns: &[I],
    values: &[T],
    x: &[T],
    op: Op,
) -> T::Acc {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    // SAFETY: the caller's promise; `S` is only run where the processor has it.
    if let Some(sum) = unsafe { super::gather::dot::<S, T, I>(columns, values, x) } {
        return sum;
    }
    dot_by_loads::<0, T, I>(columns, values, x, op).unwrap_or_default()
}

/// [`dot`] without gathers; `None` if a column is not below the length of `x`. Columns and values are prefetched `AHEAD`
/// entries ahead, unless it is 0.
#[inline(always)]
pub(crate) fn dot_by_loads<const AHEAD: usize, T: Scalar, I: Index>(
    columns: &[I],
    values: &[T],
    x: &[T],
    op: Op,
) -> Option<T::Acc> {
    let product = |column: I, value: T| Some(op.apply(value).to_acc() * x.get(column.as_usize())?.to_acc());
    let (columns4, last_columns) = columns.as_chunks::<4>();
    let (values4, last_values) = values.as_chunks::<4>();
    let mut sums = [T::Acc::ZERO; 4];
    for (k, (columns, values)) in columns4.iter().zip(values4).enumerate() {
        if AHEAD > 0 && 4 * k % (LINE / size_of::<T>()) == 0 {
            fetch_line(columns, AHEAD);
            fetch_line(values, AHEAD);
        }
        for lane in 0..4 {
            sums[lane] += product(columns[lane], values[lane])?;
        }
    }
    let mut last = T::Acc::ZERO;
    for (&column, &value) in last_columns.iter().zip(last_values) {
        last += product(column, value)?;
    }
    Some((sums[0] + sums[1]) + (sums[2] + sums[3]) + last)
}
