//! One bit per element, row by row: set if the element is kept.

use super::vectors::set_bits;
use super::{STRIP, WORD};
use crate::{Cpu, Simd};
use sparse_core::op::Keep;
use sparse_core::{DenseBatchView, Order, Scalar};
use std::ops::Range;

/// Sets the bits of a part's rows and counts them.
pub(super) fn find<T: Scalar>(
    cpu: &Cpu,
    a: &DenseBatchView<'_, T>,
    keep: Keep<T>,
    rows: Range<usize>,
    bits: &mut [u64],
    lengths: &mut [usize],
) {
    let words = a.ncols().div_ceil(WORD);
    if words > 0 {
        match a.order() {
            Order::RowMajor => by_rows(cpu, a, keep, rows, bits),
            Order::ColMajor => by_columns(cpu, a, keep, rows, bits),
        }
    }
    for (length, bits) in lengths.iter_mut().zip(bits.chunks(words.max(1))) {
        *length = bits.iter().map(|word| word.count_ones() as usize).sum();
    }
}

fn by_rows<T: Scalar>(
    cpu: &Cpu,
    a: &DenseBatchView<'_, T>,
    keep: Keep<T>,
    rows: Range<usize>,
    bits: &mut [u64],
) {
    for (row, bits) in rows.zip(bits.chunks_mut(a.ncols().div_ceil(WORD))) {
        let start = row / a.nrows() * a.stride() + row % a.nrows() * a.leading_dimension();
        line(cpu.simd(), keep, &a.data()[start..start + a.ncols()], bits);
    }
}

/// Finds the bits of 64 columns of a strip column by column, and transposes them 64 rows at a time.
fn by_columns<T: Scalar>(
    cpu: &Cpu,
    a: &DenseBatchView<'_, T>,
    keep: Keep<T>,
    rows: Range<usize>,
    bits: &mut [u64],
) {
    let words = a.ncols().div_ceil(WORD);
    let member = a.member(rows.start / a.nrows());
    let first = rows.start % a.nrows();
    for word in 0..words {
        let mut columns = [[0; STRIP / WORD]; WORD];
        for (column, bits) in (word * WORD..a.ncols()).zip(&mut columns) {
            let start = member.position(first, column);
            line(cpu.simd(), keep, &member.data()[start..start + rows.len()], bits);
        }
        for (block, bits) in bits.chunks_mut(WORD * words).enumerate() {
            let mut square = columns.map(|column| column[block]);
            transpose(&mut square);
            for (bits, row) in bits.chunks_mut(words).zip(square) {
                bits[word] = row;
            }
        }
    }
}

/// Transposes a block of bits: halves are exchanged, then quarters, and so on (Warren: Hacker's Delight, 7-3).
fn transpose(block: &mut [u64; WORD]) {
    let (mut half, mut mask) = (32, 0x0000_0000_FFFF_FFFF_u64);
    while half > 0 {
        for row in (0..WORD).filter(|row| row & half == 0) {
            let swapped = ((block[row] >> half) ^ block[row + half]) & mask;
            block[row] ^= swapped << half;
            block[row + half] ^= swapped;
        }
        half /= 2;
        mask ^= mask << half;
    }
}

/// Sets the bits of contiguous elements.
fn line<T: Scalar>(simd: Simd, keep: Keep<T>, line: &[T], bits: &mut [u64]) {
    let done = set_bits(simd, keep, line, bits);
    for (word, elements) in bits.iter_mut().zip(line.chunks(WORD)).skip(done) {
        *word =
            elements.iter().enumerate().fold(0, |word, (k, &value)| word | u64::from(keep.keeps(value)) << k);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposing_moves_every_bit() {
        let mut block: [u64; WORD] =
            std::array::from_fn(|i| (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let before = block;
        transpose(&mut block);
        for (i, before) in before.iter().enumerate() {
            for (j, after) in block.iter().enumerate() {
                assert_eq!(after >> i & 1, before >> j & 1, "bit {j} of row {i}");
            }
        }
    }
}
