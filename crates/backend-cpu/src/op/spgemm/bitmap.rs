//! A set of columns as bits, from which they come out in order without sorting.

use sparse_core::Index;
use std::ops::Range;

/// The columns of a row within a window: a bit for each. All bits are zero between rows.
#[derive(Debug, Default)]
pub(super) struct Bitmap {
    words: Vec<u64>,
    /// 1 for each word with a bit, so that the others need not be looked at. Bytes and not bits: a store need not wait
    /// for the one before.
    used: Vec<u8>,
    /// The column of the first bit.
    first: usize,
}

/// Words whose flags are one number.
const FLAGS: usize = size_of::<u64>();

/// Words whose flags are looked at together: a vector of AVX-512.
const LOOK: usize = 64;

impl Bitmap {
    /// Makes the set ready for columns in `window`, of which there are none yet.
    #[inline(always)]
    pub(super) fn begin(&mut self, window: &Range<usize>) {
        self.first = window.start / 64 * 64;
        let words = (window.end - self.first).div_ceil(64).next_multiple_of(LOOK);
        if self.words.len() < words {
            self.words.resize(words, 0);
            self.used.resize(words, 0);
        }
    }

    /// Adds a column of the window.
    #[inline(always)]
    pub(super) fn insert(&mut self, column: usize) {
        let at = column - self.first;
        self.words[at / 64] |= 1 << (at % 64);
        self.used[at / 64] = 1;
    }

    /// Adds columns of the window, of which there is at least one.
    #[inline(always)]
    pub(super) fn insert_range(&mut self, columns: Range<usize>) {
        let (start, last) = (columns.start - self.first, columns.end - 1 - self.first);
        for word in start / 64..=last / 64 {
            let from = if word == start / 64 { start % 64 } else { 0 };
            let to = if word == last / 64 { last % 64 } else { 63 };
            self.words[word] |= (!0 << from) & (!0 >> (63 - to));
            self.used[word] = 1;
        }
    }

    /// Appends the columns to `sorted`, in order, and removes them. There are at most `most`.
    #[inline(always)]
    pub(super) fn drain<I: Index>(&mut self, window: &Range<usize>, most: usize, sorted: &mut Vec<I>) {
        let words = (window.end - self.first).div_ceil(64);
        sorted.reserve(most.min(64 * words) + AT_ONCE);
        let (before, spare) = (sorted.len(), sorted.spare_capacity_mut());
        let mut len = 0;
        let (looks, _) = self.used[..words.next_multiple_of(LOOK)].as_chunks_mut::<LOOK>();
        let looks = looks
            .iter_mut()
            .enumerate()
            .filter(|(_, flags)| flags.iter().fold(0, |any, flag| any | flag) != 0);
        let groups = looks
            .flat_map(|(look, flags)| (look * LOOK..).step_by(FLAGS).zip(flags.as_chunks_mut::<FLAGS>().0));
        for (first_word, flags) in groups {
            let mut used = u64::from_le_bytes(std::mem::take(flags));
            while used != 0 {
                let word = first_word + used.trailing_zeros() as usize / 8;
                used &= used - 1;
                let mut bits = std::mem::take(&mut self.words[word]);
                let end = len + bits.count_ones() as usize;
                let first = self.first + 64 * word;
                let mut next = || {
                    let column = first + bits.trailing_zeros() as usize % 64;
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
        }
        // SAFETY: of each word as many elements were written as `len` counts.
        unsafe { sorted.set_len(before + len) };
    }
}

/// Columns of a word that are written at once, be there fewer: so no branch depends on the number of its bits, which is
/// unpredictable. Daniel Lemire: Really fast bitset decoding for "average" densities, 2019.
const AT_ONCE: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_come_out_in_order_and_once() {
        let mut bitmap = Bitmap::default();
        for _ in 0..2 {
            let rows = [[70, 9000, 20_000], [9001, 70, 69]];
            let mut sorted = vec![-7];
            bitmap.begin(&(69..20_001));
            rows.as_flattened().iter().for_each(|&column| bitmap.insert(column));
            bitmap.drain::<i32>(&(69..20_001), 6, &mut sorted);
            assert_eq!(sorted, [-7, 69, 70, 9000, 9001, 20_000]);
            bitmap.begin(&(5..150));
            for columns in [5..9, 9..64, 60..129, 129..150] {
                bitmap.insert_range(columns);
            }
            bitmap.drain(&(5..150), 145, &mut sorted);
            assert!(sorted[6..].iter().copied().eq(5..150));
            assert!(bitmap.words.iter().all(|&word| word == 0) && bitmap.used.iter().all(|&used| used == 0));
        }
    }
}
