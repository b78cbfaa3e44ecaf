//! Compressed matrices brought in order: rows sorted, and entries of one coordinate added.

use super::row_sort::sort_rows;
use crate::Cpu;
use sparse_core::{Axis, Compressed, Host, Index, IndexOrder, Result, Scalar};
use std::borrow::Cow;

/// Rows whose coordinates are counted together.
const COUNTED_ROWS: usize = 1024;

/// A matrix that is borrowed or owned.
type CowCompressed<'a, A, T, I, O> = Cow<'a, Compressed<A, T, Host, I, O>>;

/// `a` with sorted rows and without duplicates: itself, or a copy in which they are added in storage order.
pub(crate) fn without_duplicates<'a, A: Axis, T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    a: &'a Compressed<A, T, Host, I, O>,
) -> Result<CowCompressed<'a, A, T, I, O>> {
    match a.order() {
        IndexOrder { sorted: true, unique: true, .. } => Ok(Cow::Borrowed(a)),
        IndexOrder { sorted: true, .. } => add_duplicates(cpu, a).map(Cow::Owned),
        _ => add_duplicates(cpu, &sort_rows(cpu, a)).map(Cow::Owned),
    }
}

/// Adds the entries of one coordinate, which stand beside each other.
fn add_duplicates<A: Axis, T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    a: &Compressed<A, T, Host, I, O>,
) -> Result<Compressed<A, T, Host, I, O>> {
    let (pattern, indices, values) = (a.pattern(), a.indices(), a.values());
    let same = |row: usize| indices[pattern.range(row)].chunk_by(|i, j| i == j);
    let mut lengths = vec![0; pattern.major()];
    cpu.for_chunks(&mut lengths, COUNTED_ROWS, |first, lengths| {
        (first..).zip(lengths).for_each(|(row, length)| *length = same(row).count());
    });
    let arrays = cpu.fill_rows::<T, I, O>(&lengths, |rows, to_indices, to_values| {
        let mut from = pattern.range(rows.start).start;
        let same = rows.flat_map(&same);
        for ((index, value), same) in to_indices.iter_mut().zip(to_values).zip(same) {
            let end = from + same.len();
            (*index, *value) = (same[0], sum(values[from..end].iter().copied()));
            from = end;
        }
    })?;
    let (offsets, indices, values) = (arrays.offsets, arrays.indices, arrays.values);
    // SAFETY: the offsets are the sums of the counts; each row has its indices, sorted and each once.
    Ok(unsafe {
        Compressed::new_unchecked(a.nrows(), a.ncols(), offsets, indices, values, IndexOrder::CANONICAL)
    })
}

/// The sum of entries with one coordinate, in the accumulator's type and rounded once. It starts from the first one, so
/// that a lone −0 stays −0.
#[inline]
pub(crate) fn sum<T: Scalar>(values: impl Iterator<Item = T>) -> T {
    values.map(T::to_acc).reduce(|sum, value| sum + value).map_or(T::ZERO, T::from_acc)
}
