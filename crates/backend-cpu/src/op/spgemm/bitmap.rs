//! A set of columns as bits, from which they come out in order without sorting.

use sparse_core::Index;
use std::ops::Range;

/// The columns of a row within a window: a bit for each. All bits are zero between rows.
#[derive(Debug, Default)]
pub(super) struct Bitmap(Vec<u64>);

impl Bitmap {
    /// Appends the columns of these rows, `products` in all, which lie in `window`, to `sorted`: in order and each
    /// once.
    #[inline(always)]
    pub(super) fn union<'a, I: Index>(
        &mut self,
        window: Range<usize>,
        (rows, products): (impl Iterator<Item = &'a [I]>, usize),
        sorted: &mut Vec<I>,
    ) {
        let first = window.start / 64 * 64;
        let words = (window.end - first).div_ceil(64);
        if self.0.len() < words {
            self.0.resize(words, 0);
        }
        let words = &mut self.0[..words];
        rows.for_each(|columns| insert(words, columns, first));
        drain(words, first, products.min(64 * words.len()), sorted);
    }
}

/// Columns of a word that are written at once, be there fewer: so no branch depends on the number of its bits, which is
/// unpredictable. Daniel Lemire: Really fast bitset decoding for "average" densities, 2019.
const AT_ONCE: usize = 8;

/// Appends the columns of words that begin at column `first`, at most `most`, and clears the words.
#[inline(always)]
fn drain<I: Index>(words: &mut [u64], first: usize, most: usize, sorted: &mut Vec<I>) {
    sorted.reserve(most + AT_ONCE);
    let (before, spare) = (sorted.len(), sorted.spare_capacity_mut());
    let mut len = 0;
    for (k, word) in words.iter_mut().enumerate() {
        let mut bits = std::mem::take(word);
        if bits == 0 {
            continue;
        }
        let end = len + bits.count_ones() as usize;
        let mut next = || {
            let column = first + 64 * k + bits.trailing_zeros() as usize % 64;
            bits &= bits.wrapping_sub(1);
            I::cast(column)
        };
        for slot in &mut spare[len..len + AT_ONCE] {
            slot.write(next());
        }
        if end > len + AT_ONCE {
            for slot in &mut spare[len + AT_ONCE..end] {
                slot.write(next());
            }
        }
        len = end;
    }
    // SAFETY: of each word as many elements were written as `len` counts.
    unsafe { sorted.set_len(before + len) };
}

/// Sets the bits of columns in words that begin at column `first`. Neighbouring columns of one word are gathered in a
/// register, so that they need not wait for each other's store.
#[inline(always)]
fn insert<I: Index>(words: &mut [u64], columns: &[I], first: usize) {
    let Some(least) = columns.first() else { return };
    let (mut word, mut bits) = ((least.as_usize() - first) / 64, 0);
    for column in columns {
        let at = column.as_usize() - first;
        if at / 64 != word {
            words[word] |= bits;
            (word, bits) = (at / 64, 0);
        }
        bits |= 1 << (at % 64);
    }
    words[word] |= bits;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_come_out_in_order_and_once() {
        let mut bitmap = Bitmap::default();
        for _ in 0..2 {
            let rows: [&[i32]; 3] = [&[70, 9000, 20_000], &[], &[9001, 70, 69]];
            let mut sorted = vec![-7];
            bitmap.union(69..20_001, (rows.into_iter(), 6), &mut sorted);
            assert_eq!(sorted, [-7, 69, 70, 9000, 9001, 20_000]);
            let dense: Vec<i32> = (5..150).collect();
            bitmap.union(5..150, ([&dense[..]].into_iter(), 145), &mut sorted);
            assert_eq!(sorted[6..], dense);
            assert!(bitmap.0.iter().all(|&word| word == 0));
        }
    }
}
