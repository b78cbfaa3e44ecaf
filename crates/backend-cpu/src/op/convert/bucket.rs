//! Buckets: consecutive rows of the result, whose entries are fetched, sorted and merged while they are in the cache.

use crate::Cpu;
use crate::primitive::duplicates::sum;
use crate::primitive::row_sort::SortRows;
use sparse_core::op::Duplicates;
use sparse_core::{Error, Index, Result, Scalar};
use std::ops::Range;

/// An entry to be sorted: major index, minor index, value.
pub(super) type Entry<T, I> = (I, I, T);

/// The most digits of a counting sort.
const DIGITS: usize = 1024;

/// Average length of rows up to which they are sorted without a counting sort.
const SHORT_ROW: usize = 12;

/// Entries in any order; the result is ordered by the major index.
#[derive(Clone, Copy)]
pub(super) struct Coordinates<'a, T, I> {
    pub(super) major: &'a [I],
    pub(super) minor: &'a [I],
    pub(super) values: &'a [T],
}

impl<T, I> Coordinates<'_, T, I> {
    /// Some consecutive entries.
    pub(super) fn slice(&self, range: Range<usize>) -> Self {
        let Self { major, minor, values } = *self;
        Self { major: &major[range.clone()], minor: &minor[range.clone()], values: &values[range] }
    }
}

/// The source of a bucket's entries.
pub(super) enum Source<'a, T, I> {
    /// The input, whose rows are in order.
    Input(Coordinates<'a, T, I>),
    /// The entries in order of their buckets, with gaps between buckets.
    Distributed(Vec<Entry<T, I>>),
}

/// Consecutive rows, the range of their entries in the result, and its start in the source.
#[derive(Debug, Clone)]
pub(super) struct RowBlock {
    pub(super) rows: Range<usize>,
    pub(super) entries: Range<usize>,
    pub(super) start: usize,
}

/// A block of rows with its part of the result.
pub(super) struct Bucket<'a, T, I> {
    pub(super) block: &'a RowBlock,
    pub(super) indices: &'a mut [I],
    pub(super) values: &'a mut [T],
    pub(super) lengths: &'a mut [usize],
}

impl<T: Scalar, I: Index> Bucket<'_, T, I> {
    /// Fetches, sorts and merges the entries of each row; returns the number that is left.
    pub(super) fn build(
        mut self,
        cpu: &Cpu,
        source: &Source<'_, T, I>,
        duplicates: Duplicates,
        to_row_col: fn(usize, usize) -> (usize, usize),
    ) -> Result<usize> {
        let range = self.block.start..self.block.start + self.block.entries.len();
        match source {
            Source::Input(input) => self.copy(input.slice(range)),
            Source::Distributed(entries) => self.count(&entries[range]),
        }
        self.order(cpu, duplicates, to_row_col)
    }

    /// Sorts the rows, which have been filled, and merges duplicates; returns the number of entries that are left.
    pub(super) fn order(
        mut self,
        cpu: &Cpu,
        duplicates: Duplicates,
        to_row_col: fn(usize, usize) -> (usize, usize),
    ) -> Result<usize> {
        let Self { indices, values, lengths, .. } = &mut self;
        if ascend(indices, lengths.iter().copied()) {
            return Ok(indices.len());
        }
        cpu.simd().run(SortRows { indices, values, lengths: lengths.iter().copied() });
        // Most buckets have no duplicates, for which `merge` would look row by row.
        if ascend(indices, lengths.iter().copied()) {
            return Ok(indices.len());
        }
        self.merge(duplicates, to_row_col)
    }

    /// Copies entries whose rows are in order.
    fn copy(&mut self, input: Coordinates<'_, T, I>) {
        self.indices.copy_from_slice(input.minor);
        self.values.copy_from_slice(input.values);
        for row in input.major.chunk_by(|a, b| a == b) {
            self.lengths[row[0].as_usize() - self.block.rows.start] = row.len();
        }
    }

    /// Counts entries in any order into rows. Those of long rows are first moved near their positions by the upper bits
    /// of their minor index.
    fn count(&mut self, entries: &[Entry<T, I>]) {
        let short = entries.len() < SHORT_ROW * self.lengths.len();
        if short || entries.is_sorted_by_key(|entry| entry.1) {
            self.fill(entries);
        } else {
            self.fill(&by_upper_bits(entries));
        }
    }

    fn fill(&mut self, entries: &[Entry<T, I>]) {
        // In variables of this function, else they are loaded again for every entry.
        let (indices, values, lengths) = (&mut *self.indices, &mut *self.values, &mut *self.lengths);
        let first = self.block.rows.start;
        for (major, _, _) in entries {
            lengths[major.as_usize() - first] += 1;
        }
        let ends = exclusive_sums(lengths);
        for &(major, minor, value) in entries {
            let end = &mut ends[major.as_usize() - first];
            indices[*end] = minor;
            values[*end] = value;
            *end += 1;
        }
        differences(ends);
    }

    /// Merges equal minor indices of each row, moves the merged entries to the front, and returns their number.
    fn merge(
        &mut self,
        duplicates: Duplicates,
        to_row_col: fn(usize, usize) -> (usize, usize),
    ) -> Result<usize> {
        if duplicates == Duplicates::Keep {
            return Ok(self.indices.len());
        }
        let (mut start, mut written) = (0, 0);
        for (row, length) in self.block.rows.clone().zip(self.lengths.iter_mut()) {
            let end = start + *length;
            if written == start && self.indices[start..end].is_sorted_by(|a, b| a < b) {
                (start, written) = (end, end);
                continue;
            }
            let first_written = written;
            while start < end {
                let minor = self.indices[start];
                let count = self.indices[start..end].iter().take_while(|&&other| other == minor).count();
                let same = &self.values[start..start + count];
                self.values[written] = match duplicates {
                    Duplicates::Error if count > 1 => {
                        let (row, col) = to_row_col(row, minor.as_usize());
                        return Err(Error::format(
                            "coo",
                            format_args!("row {row}: column {col} stands {count} times"),
                        ));
                    }
                    Duplicates::Last => same[count - 1],
                    Duplicates::Sum => sum(same.iter().copied()),
                    Duplicates::Error | Duplicates::Keep => same[0],
                };
                self.indices[written] = minor;
                written += 1;
                start += count;
            }
            *length = written - first_written;
        }
        Ok(written)
    }
}

/// True if the indices of each row ascend without duplicates, as those of matrices that are in order already do.
///
/// All descents of the bucket, and those from one row to the next, are counted: two passes without a branch, which take
/// less than a look at each short row.
pub(super) fn ascend<I: Index>(indices: &[I], lengths: impl Iterator<Item = usize>) -> bool {
    let is_descent = |pair: &[I]| usize::from(pair[0] >= pair[1]);
    let all: usize = indices.windows(2).map(is_descent).sum();
    let mut start = 0;
    let mut between_rows = 0;
    for length in lengths {
        if length > 0 && start > 0 {
            between_rows += is_descent(&indices[start - 1..=start]);
        }
        start += length;
    }
    all == between_rows
}

/// Replaces each element by the sum of all before it.
fn exclusive_sums(lengths: &mut [usize]) -> &mut [usize] {
    let mut start = 0;
    for length in &mut *lengths {
        start += std::mem::replace(length, start);
    }
    lengths
}

/// Replaces each element by its distance from the one before it.
fn differences(ends: &mut [usize]) {
    let mut start = 0;
    for end in ends {
        start = std::mem::replace(end, *end - start);
    }
}

/// The entries sorted by the upper bits of their minor index less the smallest; stable.
fn by_upper_bits<T: Scalar, I: Index>(entries: &[Entry<T, I>]) -> Vec<Entry<T, I>> {
    let (smallest, largest) = entries.iter().fold((usize::MAX, 0), |(smallest, largest), entry| {
        (smallest.min(entry.1.as_usize()), largest.max(entry.1.as_usize()))
    });
    let extent = largest - smallest + 1;
    let shift = digit_shift(extent, DIGITS);
    let digit = |entry: &Entry<T, I>| (entry.1.as_usize() - smallest) >> shift;
    let mut counts = vec![0; extent.div_ceil(1 << shift)];
    entries.iter().for_each(|entry| counts[digit(entry)] += 1);
    let ends = exclusive_sums(&mut counts);
    let mut sorted = vec![(I::default(), I::default(), T::ZERO); entries.len()];
    for entry in entries {
        let end = &mut ends[digit(entry)];
        sorted[*end] = *entry;
        *end += 1;
    }
    sorted
}

/// Number of low bits of indices below `extent` to drop so that the others have at most `digits` values.
pub(super) fn digit_shift(extent: usize, digits: usize) -> u32 {
    let mut shift = 0;
    while extent >> shift > digits {
        shift += 1;
    }
    shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_ascend_whatever_lies_between_them() {
        assert!(ascend(&[0, 3, 1, 2, 2], [2, 0, 2, 1, 0].into_iter()));
        assert!(ascend::<i32>(&[], [0, 0].into_iter()));
        assert!(!ascend(&[0, 3, 1, 2, 2], [2, 0, 3].into_iter()));
        assert!(!ascend(&[3, 0, 1], [2, 1].into_iter()));
        assert!(!ascend(&[0, 1, 0, 2], [3, 1].into_iter()));
    }
}
