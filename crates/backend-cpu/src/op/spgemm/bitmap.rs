//! A set of columns as bits, from which they come out in order without sorting.

use sparse_core::Index;
use std::ops::Range;

/// The columns of a row within a window: a bit for each. In wide windows a second level has a bit for each word that is
/// not zero, so that looking for them takes a 4096th of the columns. All bits are zero between rows.
#[derive(Debug, Default)]
pub(super) struct Bitmap {
    words: Vec<u64>,
    summaries: Vec<u64>,
}

impl Bitmap {
    /// Appends the columns of these rows, which lie in `window`, to `sorted`: in order and each once.
    #[inline(always)]
    pub(super) fn union<'a, I: Index>(
        &mut self,
        window: Range<usize>,
        rows: impl Iterator<Item = &'a [I]>,
        is_narrow: bool,
        sorted: &mut Vec<I>,
    ) {
        let first = window.start / 64 * 64;
        let words = (window.end - first).div_ceil(64);
        if self.words.len() < words {
            self.words.resize(words, 0);
        }
        if is_narrow {
            self.insert(first, rows);
            drain(&mut self.words[..words], first, sorted);
        } else {
            self.insert_summarised(first, words, rows);
            self.drain_summarised(first, words, sorted);
        }
    }

    #[inline(always)]
    fn insert<'a, I: Index>(&mut self, first: usize, rows: impl Iterator<Item = &'a [I]>) {
        for columns in rows {
            for_each_word(columns, first, |word, bits| self.words[word] |= bits);
        }
    }

    #[inline(always)]
    fn insert_summarised<'a, I: Index>(
        &mut self,
        first: usize,
        words: usize,
        rows: impl Iterator<Item = &'a [I]>,
    ) {
        let summaries = words.div_ceil(64);
        if self.summaries.len() < summaries {
            self.summaries.resize(summaries, 0);
        }
        for columns in rows {
            for_each_word(columns, first, |word, bits| {
                self.words[word] |= bits;
                self.summaries[word / 64] |= 1 << (word % 64);
            });
        }
    }

    #[inline(always)]
    fn drain_summarised<I: Index>(&mut self, first: usize, words: usize, sorted: &mut Vec<I>) {
        let (words, summaries) = (&mut self.words, &mut self.summaries[..words.div_ceil(64)]);
        for (k, summary) in summaries.iter_mut().enumerate() {
            let mut bits = std::mem::take(summary);
            while bits != 0 {
                let word = 64 * k + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                drain(&mut words[word..word + 1], first + 64 * word, sorted);
            }
        }
    }

    #[cfg(test)]
    fn is_clear(&self) -> bool {
        self.words.iter().chain(&self.summaries).all(|&word| word == 0)
    }
}

/// Calls `add` with words of 64 columns and the bits of some of them. Neighbouring columns of one word are gathered in a
/// register, so that they need not wait for each other's store.
#[inline(always)]
fn for_each_word<I: Index>(columns: &[I], first: usize, mut add: impl FnMut(usize, u64)) {
    let Some(least) = columns.first() else { return };
    let (mut word, mut bits) = ((least.as_usize() - first) / 64, 0);
    for column in columns {
        let at = column.as_usize() - first;
        if at / 64 != word {
            add(word, bits);
            (word, bits) = (at / 64, 0);
        }
        bits |= 1 << (at % 64);
    }
    add(word, bits);
}

/// Appends the columns of words that begin at column `first`, and clears them.
#[inline(always)]
fn drain<I: Index>(words: &mut [u64], first: usize, sorted: &mut Vec<I>) {
    for (k, word) in words.iter_mut().enumerate() {
        let mut bits = std::mem::take(word);
        while bits != 0 {
            sorted.push(I::cast(first + 64 * k + bits.trailing_zeros() as usize));
            bits &= bits - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_come_out_in_order_and_once_on_both_levels() {
        let mut bitmap = Bitmap::default();
        for is_narrow in [true, false, true] {
            let rows: [&[i32]; 3] = [&[70, 9000, 20_000], &[], &[69, 70, 9001]];
            let mut sorted = vec![-7];
            bitmap.union(69..20_001, rows.into_iter(), is_narrow, &mut sorted);
            assert_eq!(sorted, [-7, 69, 70, 9000, 9001, 20_000]);
            assert!(bitmap.is_clear());
        }
    }
}
