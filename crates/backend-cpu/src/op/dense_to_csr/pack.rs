//! Packing the elements whose bits are set.

use super::{WORD, entries_of};
use crate::Cpu;
use crate::op::fill::zeroed;
use crate::parallel::split_mut;
use sparse_core::{DenseBatchView, Index, Order, Scalar};
use std::ops::Range;

/// Columns and values of the elements whose bits are set, row by row.
pub(super) fn pack<T: Scalar, I: Index>(
    cpu: &Cpu,
    a: &DenseBatchView<'_, T>,
    parts: &[Range<usize>],
    bits: &[u64],
    lengths: &[usize],
) -> (Vec<I>, Vec<T>) {
    let entries = entries_of(parts, lengths);
    let nnz = entries.last().map_or(0, |last| last.end);
    let (mut indices, mut values) = (zeroed(nnz), zeroed(nnz));
    let outputs = split_mut(&mut indices, &entries).into_iter().zip(split_mut(&mut values, &entries));
    let work = parts.iter().cloned().zip(outputs).collect();
    let words = a.cols().div_ceil(WORD);
    cpu.for_each(lengths.len() * a.cols(), work, |(rows, (indices, values))| {
        let bits = &bits[rows.start * words..rows.end * words];
        match a.order() {
            Order::RowMajor => by_rows(a, rows, bits, indices, values),
            Order::ColMajor => by_columns(a, rows, bits, lengths, indices, values),
        }
    });
    (indices, values)
}

fn by_rows<T: Scalar, I: Index>(
    a: &DenseBatchView<'_, T>,
    rows: Range<usize>,
    bits: &[u64],
    indices: &mut [I],
    values: &mut [T],
) {
    let mut end = 0;
    for (row, bits) in rows.zip(bits.chunks(a.cols().div_ceil(WORD).max(1))) {
        let start = row / a.rows() * a.stride() + row % a.rows() * a.leading_dimension();
        for (word, &bits) in bits.iter().enumerate() {
            let first = word * WORD;
            for k in ones(bits) {
                indices[end] = I::cast(first + k);
                values[end] = a.data()[start + first + k];
                end += 1;
            }
        }
    }
}

/// Tiles of 64 columns of 64 rows: a tile stays in the cache while its rows are read across the columns.
fn by_columns<T: Scalar, I: Index>(
    a: &DenseBatchView<'_, T>,
    rows: Range<usize>,
    bits: &[u64],
    lengths: &[usize],
    indices: &mut [I],
    values: &mut [T],
) {
    let words = a.cols().div_ceil(WORD);
    let member = a.member(rows.start / a.rows());
    let first = rows.start % a.rows();
    let mut start = 0;
    for (strip, bits) in bits.chunks(WORD * words.max(1)).enumerate() {
        let (top, height) = (strip * WORD, bits.len() / words);
        let mut ends = [0; WORD];
        for (end, length) in ends.iter_mut().zip(&lengths[rows.start + top..][..height]) {
            *end = start;
            start += length;
        }
        for word in 0..words {
            for (row, end) in ends[..height].iter_mut().enumerate() {
                for k in ones(bits[row * words + word]) {
                    let column = word * WORD + k;
                    indices[*end] = I::cast(column);
                    values[*end] = member.at(first + top + row, column);
                    *end += 1;
                }
            }
        }
    }
}

/// The positions of the bits that are set, in ascending order.
fn ones(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (bits != 0).then(|| {
            let position = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            position
        })
    })
}
