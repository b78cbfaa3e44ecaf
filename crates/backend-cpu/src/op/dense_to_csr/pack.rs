//! Packing the elements whose bits are set.

use super::vectors::pack;
use super::{STRIP, WORD};
use crate::Simd;
use crate::primitive::fill::{starts, zeroed};
use sparse_core::{DenseBatchView, Index, Order, Scalar};
use std::ops::Range;

/// Elements between the columns of a tile: a strip, and some more so that columns are not a power of two apart.
const TILE_COLUMN: usize = STRIP + 16;

/// Columns and values of the elements of a part whose bits are set, row by row.
pub(super) fn entries<T: Scalar, I: Index>(
    simd: Simd,
    a: &DenseBatchView<'_, T>,
    rows: Range<usize>,
    bits: &[u64],
    lengths: &[usize],
    (indices, values): (&mut [I], &mut [T]),
) {
    match a.order() {
        Order::RowMajor => by_rows(simd, a, rows, bits, indices, values),
        Order::ColMajor => by_columns(a, rows, bits, lengths, indices, values),
    }
}

fn by_rows<T: Scalar, I: Index>(
    simd: Simd,
    a: &DenseBatchView<'_, T>,
    rows: Range<usize>,
    bits: &[u64],
    indices: &mut [I],
    values: &mut [T],
) {
    let mut end = 0;
    for (row, bits) in rows.zip(bits.chunks(a.ncols().div_ceil(WORD).max(1))) {
        let start = row / a.nrows() * a.stride() + row % a.nrows() * a.leading_dimension();
        let row = &a.data()[start..start + a.ncols()];
        end += pack_row(simd, bits, row, &mut indices[end..], &mut values[end..]);
    }
}

/// Packs a row to the front of `indices` and `values`, and returns the number of its entries.
fn pack_row<T: Scalar, I: Index>(
    simd: Simd,
    bits: &[u64],
    row: &[T],
    indices: &mut [I],
    values: &mut [T],
) -> usize {
    if let Some(count) = pack(simd, bits, row, indices, values) {
        return count;
    }
    let columns = bits.iter().enumerate().flat_map(|(word, &bits)| ones(bits).map(move |k| word * WORD + k));
    let mut end = 0;
    for column in columns {
        indices[end] = I::cast(column);
        values[end] = row[column];
        end += 1;
    }
    end
}

/// Packs tiles of 64 columns of a strip: copied, so that the columns of a row, which often are a power of two apart, do
/// not evict each other from the cache while the row is read.
fn by_columns<T: Scalar, I: Index>(
    a: &DenseBatchView<'_, T>,
    rows: Range<usize>,
    bits: &[u64],
    lengths: &[usize],
    indices: &mut [I],
    values: &mut [T],
) {
    let words = a.ncols().div_ceil(WORD);
    let member = a.member(rows.start / a.nrows());
    let first = rows.start % a.nrows();
    let mut tile: Vec<T> = zeroed(WORD * TILE_COLUMN);
    let mut ends = starts(lengths);
    for word in 0..words {
        let first_column = word * WORD;
        for (column, copy) in (first_column..a.ncols()).zip(tile.chunks_mut(TILE_COLUMN)) {
            let start = member.position(first, column);
            copy[..rows.len()].copy_from_slice(&member.data()[start..start + rows.len()]);
        }
        for ((row, end), bits) in ends.iter_mut().enumerate().zip(bits.chunks(words)) {
            for k in ones(bits[word]) {
                indices[*end] = I::cast(first_column + k);
                values[*end] = tile[k * TILE_COLUMN + row];
                *end += 1;
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
