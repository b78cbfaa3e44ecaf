//! Some consecutive rows of the result: their entries are brought in, sorted and merged while they are in the cache.

use super::radix::Coordinates;
use crate::Cpu;
use crate::op::row_sort::SortRows;
use crate::op::sum;
use sparse_core::op::Duplicates;
use sparse_core::{Error, Index, Result, Scalar};
use std::ops::Range;

/// An entry on its way: major index, minor index, value.
pub(super) type Entry<T, I> = (I, I, T);

/// Digits that entries are told apart by.
const DIGITS: usize = 1024;

/// Mean length of rows up to which they are sorted as they come.
const SHORT_ROW: usize = 12;

/// Where buckets take their entries from.
pub(super) enum Source<'a, T, I> {
    /// The input, whose rows are in order.
    Input(Coordinates<'a, T, I>),
    /// The entries in order of their buckets, with gaps between these.
    Distributed(Vec<Entry<T, I>>),
}

/// Consecutive rows, their entries in the order of the result, and where these start in the source.
#[derive(Debug, Clone)]
pub(super) struct Share {
    pub(super) rows: Range<usize>,
    pub(super) entries: Range<usize>,
    pub(super) start: usize,
}

/// A share with the places of its result.
pub(super) struct Bucket<'a, T, I> {
    pub(super) share: &'a Share,
    pub(super) indices: &'a mut [I],
    pub(super) values: &'a mut [T],
    pub(super) lengths: &'a mut [usize],
}

impl<T: Scalar, I: Index> Bucket<'_, T, I> {
    /// Brings the entries in, row by row, sorted and merged; returns how many are left.
    pub(super) fn build(
        mut self,
        cpu: &Cpu,
        source: &Source<'_, T, I>,
        duplicates: Duplicates,
        to_row_col: fn(usize, usize) -> (usize, usize),
    ) -> Result<usize> {
        let range = self.share.start..self.share.start + self.share.entries.len();
        match source {
            Source::Input(input) => self.copy(input.slice(range)),
            Source::Distributed(entries) => self.count(&entries[range]),
        }
        let Self { indices, values, lengths, .. } = &mut self;
        cpu.simd().run(SortRows { indices, values, lengths: lengths.iter().copied() });
        self.merge(duplicates, to_row_col)
    }

    /// Takes entries whose rows are in order.
    fn copy(&mut self, input: Coordinates<'_, T, I>) {
        self.indices.copy_from_slice(input.minor);
        self.values.copy_from_slice(input.values);
        for row in input.major.chunk_by(|a, b| a == b) {
            self.lengths[row[0].as_usize() - self.share.rows.start] = row.len();
        }
    }

    /// Takes entries in any order, counted into rows. Those of long rows are first brought near their places by the
    /// upper bits of their minor index.
    fn count(&mut self, entries: &[Entry<T, I>]) {
        let short = entries.len() < SHORT_ROW * self.lengths.len();
        if short || entries.is_sorted_by_key(|entry| entry.1) {
            self.fill(entries);
        } else {
            self.fill(&by_upper_bits(entries));
        }
    }

    fn fill(&mut self, entries: &[Entry<T, I>]) {
        let Self { share, indices, values, lengths } = self;
        let first = share.rows.start;
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

    /// Merges equal minor indices of each row, moves what is kept to the front, and returns how much that is.
    fn merge(
        &mut self,
        duplicates: Duplicates,
        to_row_col: fn(usize, usize) -> (usize, usize),
    ) -> Result<usize> {
        if duplicates == Duplicates::Keep {
            return Ok(self.indices.len());
        }
        let (mut start, mut kept) = (0, 0);
        for (row, length) in self.share.rows.clone().zip(self.lengths.iter_mut()) {
            let end = start + *length;
            if kept == start && self.indices[start..end].is_sorted_by(|a, b| a < b) {
                (start, kept) = (end, end);
                continue;
            }
            let first_kept = kept;
            while start < end {
                let minor = self.indices[start];
                let count = self.indices[start..end].iter().take_while(|&&other| other == minor).count();
                let same = &self.values[start..start + count];
                self.values[kept] = match duplicates {
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
                self.indices[kept] = minor;
                kept += 1;
                start += count;
            }
            *length = kept - first_kept;
        }
        Ok(kept)
    }
}

/// Puts the sum of all elements before it in the place of each.
fn exclusive_sums(lengths: &mut [usize]) -> &mut [usize] {
    let mut start = 0;
    for length in &mut *lengths {
        start += std::mem::replace(length, start);
    }
    lengths
}

/// Puts the distance from the element before it in the place of each.
fn differences(ends: &mut [usize]) {
    let mut start = 0;
    for end in ends {
        start = std::mem::replace(end, *end - start);
    }
}

/// The entries in order of the upper bits of what their minor index is above the smallest; stable.
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

/// How many low bits of indices below `extent` are left, so that the others tell so many digits apart.
pub(super) fn digit_shift(extent: usize, digits: usize) -> u32 {
    let mut shift = 0;
    while extent >> shift > digits {
        shift += 1;
    }
    shift
}
