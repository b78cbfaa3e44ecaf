//! Products with a diagonal matrix: the pattern of the other factor, whose rows or columns are scaled.

use super::once::{Borrowed, Slices};
use crate::Cpu;
use crate::parallel::{CHUNK, rows_by_entries, split_mut};
use crate::primitive::fill::{entry_ranges, try_zeroed};
use crate::primitive::row_sort::order_of;
use sparse_core::{Csr, Host, Index, IndexOrder, Result, Scalar};
use std::ops::Range;

/// A·B if one of them is a diagonal with all of its entries and the other has its rows in order; `None` otherwise.
pub(super) fn multiply<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    (a_shape, a): Borrowed<'_, T, I, O>,
    (b_shape, b): Borrowed<'_, T, I, O>,
) -> Result<Option<Csr<T, Host, I, O>>> {
    let of_products = |x: T, y: T| T::from_acc(T::Acc::ZERO + x.to_acc() * y.to_acc());
    let is_canonical =
        |(offsets, indices, _): Slices<'_, T, I, O>| order_of(cpu, offsets, indices) == IndexOrder::CANONICAL;
    let (other, values) = if is_diagonal(a_shape, a) && is_canonical(b) {
        let scale = |row: usize, entries: Range<usize>, to: &mut [T]| {
            to.iter_mut().zip(&b.2[entries]).for_each(|(to, &y)| *to = of_products(a.2[row], y));
        };
        (b, scaled(cpu, b, scale)?)
    } else if is_diagonal(b_shape, b) && is_canonical(a) {
        let scale = |_, entries: Range<usize>, to: &mut [T]| {
            let entries = a.1[entries.clone()].iter().zip(&a.2[entries]);
            to.iter_mut().zip(entries).for_each(|(to, (k, &x))| *to = of_products(x, b.2[k.as_usize()]));
        };
        (a, scaled(cpu, a, scale)?)
    } else {
        return Ok(None);
    };
    let (offsets, indices) = (cpu.copy_of(other.0), cpu.copy_of(other.1));
    // SAFETY: the pattern is that of a factor whose offsets and columns were checked, and whose rows are in order; the
    // other factor is square, so that the shape is the factor's.
    Ok(Some(unsafe {
        Csr::new_unchecked(a_shape.0, b_shape.1, offsets, indices, values, IndexOrder::CANONICAL)
    }))
}

/// True if a matrix is square and row k has one entry, in column k.
fn is_diagonal<T, I: Index, O: Index>(
    (rows, cols): (usize, usize),
    (offsets, indices, _): Slices<'_, T, I, O>,
) -> bool {
    rows == cols && indices.len() == rows && are_positions(indices) && are_positions(offsets)
}

fn are_positions<I: Index>(array: &[I]) -> bool {
    array.iter().enumerate().all(|(k, index)| index.as_usize() == k)
}

/// Values for the entries of a matrix, which `scale` writes for a row and the range of its entries.
fn scaled<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    (offsets, _, values): Slices<'_, T, I, O>,
    scale: impl Fn(usize, Range<usize>, &mut [T]) + Send + Sync,
) -> Result<Vec<T>> {
    let mut products = try_zeroed::<T>(values.len())?;
    let rows = rows_by_entries(offsets, CHUNK);
    let parts = split_mut(&mut products, &entry_ranges(offsets, &rows));
    let parts = rows.into_iter().zip(parts).collect();
    cpu.for_each(values.len(), parts, |(rows, mut to): (Range<usize>, &mut [T])| {
        for row in rows {
            let entries = offsets[row].as_usize()..offsets[row + 1].as_usize();
            let (own, rest) = to.split_at_mut(entries.len());
            scale(row, entries, own);
            to = rest;
        }
    });
    Ok(products)
}
