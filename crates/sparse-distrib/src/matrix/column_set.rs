//! The set of columns that occur in some entries, numbered.

/// Bits of a word.
const BITS: usize = u64::BITS as usize;

/// A set of columns, each with its position among all of them in ascending order.
///
/// Made in O(entries + columns / 64): a bit for each column and the number of columns before each word find a position
/// without a search. Where the matrix has more words than there are entries, columns are sorted, and found by
/// bisection.
#[derive(Debug)]
pub(super) struct ColumnSet {
    columns: Vec<usize>,
    words: Option<Vec<Word>>,
}

/// 64 columns from a multiple of 64 on: a bit for each.
#[derive(Debug, Clone, Copy, Default)]
struct Word {
    bits: u64,
    /// The number of columns of the set before them.
    before: usize,
}

impl ColumnSet {
    /// The columns of `entries`, all below `ncols`.
    pub(super) fn new(entries: &[usize], ncols: usize) -> Self {
        let count = ncols.div_ceil(BITS);
        if count > entries.len() {
            let mut columns = entries.to_vec();
            columns.sort_unstable();
            columns.dedup();
            return Self { columns, words: None };
        }
        let mut words = vec![Word::default(); count];
        entries.iter().for_each(|column| words[column / BITS].bits |= 1 << (column % BITS));
        let mut columns = vec![];
        for (k, word) in words.iter_mut().enumerate() {
            word.before = columns.len();
            columns.extend((0..BITS).filter(|bit| word.bits >> bit & 1 == 1).map(|bit| k * BITS + bit));
        }
        Self { columns, words: Some(words) }
    }

    /// The columns, ascending, each once.
    pub(super) fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// The number of columns of the set below `column`, which is one of them.
    pub(super) fn position(&self, column: usize) -> usize {
        match &self.words {
            Some(words) => {
                let Word { bits, before } = words[column / BITS];
                let below = bits & ((1 << (column % BITS)) - 1);
                before + below.count_ones() as usize
            }
            None => self.columns.partition_point(|&found| found < column),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_bits_and_by_bisection() {
        let entries: Vec<usize> = (0..500).map(|k| k * k % 777).collect();
        let mut expected = entries.clone();
        expected.sort_unstable();
        expected.dedup();
        for (ncols, is_dense) in [(777, true), (BITS * 500, true), (BITS * 500 + 1, false)] {
            let set = ColumnSet::new(&entries, ncols);
            assert_eq!((set.columns(), set.words.is_some()), (&expected[..], is_dense));
            assert!(expected.iter().enumerate().all(|(k, &column)| set.position(column) == k));
        }
        assert!(ColumnSet::new(&[], 0).columns().is_empty());
        assert_eq!(ColumnSet::new(&[3, 3], usize::MAX).columns(), [3]);
    }
}
