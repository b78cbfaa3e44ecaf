//! A stable sort of coordinates by one digit, then by counting.
//!
//! The upper bits of the major index are the digit: fixed chunks of the input are counted, the counts scanned in the
//! order bucket, chunk, and every chunk moves its entries to places of its own. A bucket then fits the cache: its
//! entries are ordered by the upper bits of the minor index and counted into rows, what is left to sort within a row
//! is sorted by insertion, and duplicates are merged in place. Nothing depends on the number of threads.

use crate::Cpu;
use crate::op::fill::{Arrays, offsets, starts, zeroed};
use crate::op::sum;
use crate::parallel::{chunks, split_mut};
use sparse_core::op::Duplicates;
use sparse_core::{Error, Index, Result, Scalar};
use std::ops::Range;

/// Entries of one chunk of the input.
const INPUT_CHUNK: usize = 128 * 1024;

/// Entries that a bucket should hold: they stay in the cache of a core.
const BUCKET: usize = 16 * 1024;

/// Buckets that one pass may write to: more would miss the TLB with every entry.
const MAX_BUCKETS: usize = 1024;

/// Rows shorter than this are sorted by insertion.
const INSERTION_LIMIT: usize = 32;

/// Mean length of rows up to which they are sorted as they come.
const SHORT_ROW: usize = 4;

/// Entries in any order; the result is ordered by the major index.
pub(super) struct Coordinates<'a, T, I> {
    pub(super) major: &'a [I],
    pub(super) minor: &'a [I],
    pub(super) values: &'a [T],
}

/// An entry on its way: major index, minor index, value.
type Entry<T, I> = (I, I, T);

/// Entries sorted by major index (below `major`), then minor index, then input order, and merged as `duplicates`
/// says. `to_row_col` turns (major, minor) into (row, column) for messages.
pub(super) fn group<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    major: usize,
    input: Coordinates<'_, T, I>,
    duplicates: Duplicates,
    to_row_col: fn(usize, usize) -> (usize, usize),
) -> Result<Arrays<T, I, O>> {
    let nnz = input.major.len();
    let shift = digit_shift(major, (nnz / BUCKET).clamp(1, MAX_BUCKETS));
    let (entries, buckets) = distribute(cpu, major.div_ceil(1 << shift), shift, &input);
    let (mut indices, mut values) = (zeroed(nnz), zeroed(nnz));
    let mut lengths = vec![0; major];
    let outputs = split_mut(&mut indices, &buckets).into_iter().zip(split_mut(&mut values, &buckets));
    let rows = lengths.chunks_mut(1 << shift).enumerate();
    let work = rows.zip(buckets.iter().zip(outputs)).map(|((k, lengths), (range, (indices, values)))| {
        Bucket { first: k << shift, entries: &entries[range.clone()], indices, values, lengths }
    });
    let kept = cpu.map(nnz, work.collect(), |mut bucket: Bucket<'_, T, I>| {
        bucket.sort();
        bucket.merge(duplicates, to_row_col)
    });
    let kept = kept.into_iter().collect::<Result<Vec<usize>>>()?;
    let offsets = offsets(&lengths)?;
    if kept.iter().sum::<usize>() < nnz {
        indices = compact(cpu, &indices, &buckets, &kept);
        values = compact(cpu, &values, &buckets, &kept);
    }
    Ok(Arrays { offsets, indices, values })
}

/// How many low bits of indices below `extent` are left, so that the others tell about so many buckets apart.
fn digit_shift(extent: usize, buckets: usize) -> u32 {
    let mut shift = 0;
    while extent >> shift > buckets {
        shift += 1;
    }
    shift
}

/// The entries in order of their buckets, and the range of each bucket.
fn distribute<T: Scalar, I: Index>(
    cpu: &Cpu,
    buckets: usize,
    shift: u32,
    input: &Coordinates<'_, T, I>,
) -> (Vec<Entry<T, I>>, Vec<Range<usize>>) {
    let nnz = input.major.len();
    let input_chunks = chunks(nnz, INPUT_CHUNK);
    let counts = cpu.map(nnz, input_chunks.clone(), |chunk| {
        let mut counts = vec![0_usize; buckets];
        input.major[chunk].iter().for_each(|major| counts[major.as_usize() >> shift] += 1);
        counts
    });
    let mut entries: Vec<Entry<T, I>> = zeroed(nnz);
    let mut rest = entries.as_mut_slice();
    let mut places: Vec<Vec<&mut [Entry<T, I>]>> =
        counts.iter().map(|_| Vec::with_capacity(buckets)).collect();
    let mut ranges = Vec::with_capacity(buckets);
    let mut end = 0;
    for bucket in 0..buckets {
        let start = end;
        for (places, counts) in places.iter_mut().zip(&counts) {
            let (place, after) = rest.split_at_mut(counts[bucket]);
            places.push(place);
            rest = after;
            end += counts[bucket];
        }
        ranges.push(start..end);
    }
    cpu.for_each(nnz, input_chunks.into_iter().zip(places).collect(), |(chunk, mut places)| {
        let indices = input.major[chunk.clone()].iter().zip(&input.minor[chunk.clone()]);
        let mut filled = vec![0; buckets];
        for ((&major, &minor), &value) in indices.zip(&input.values[chunk]) {
            let bucket = major.as_usize() >> shift;
            places[bucket][filled[bucket]] = (major, minor, value);
            filled[bucket] += 1;
        }
    });
    (entries, ranges)
}

/// Some consecutive rows: their entries, and the places for the result.
struct Bucket<'a, T, I> {
    first: usize,
    entries: &'a [Entry<T, I>],
    indices: &'a mut [I],
    values: &'a mut [T],
    lengths: &'a mut [usize],
}

impl<T: Scalar, I: Index> Bucket<'_, T, I> {
    /// Counts the entries into rows, and sorts each row. Entries in any order are first brought near their places by
    /// the upper bits of their minor index.
    fn sort(&mut self) {
        let ordered = self.entries.is_sorted_by_key(|entry| entry.1)
            || self.entries.is_sorted_by_key(|&(major, minor, _)| (major, minor));
        let roughly_sorted;
        let entries = if ordered || self.entries.len() < SHORT_ROW * self.lengths.len() {
            self.entries
        } else {
            roughly_sorted = by_upper_bits(self.entries);
            &*roughly_sorted
        };
        for (major, _, _) in entries {
            self.lengths[major.as_usize() - self.first] += 1;
        }
        let mut ends = starts(self.lengths);
        for &(major, minor, value) in entries {
            let end = &mut ends[major.as_usize() - self.first];
            self.indices[*end] = minor;
            self.values[*end] = value;
            *end += 1;
        }
        if ordered {
            return;
        }
        let mut scratch = vec![];
        for (&length, end) in self.lengths.iter().zip(ends) {
            let row = end - length..end;
            sort_row(&mut self.indices[row.clone()], &mut self.values[row], &mut scratch);
        }
    }

    /// Merges equal minor indices of each row, moves what is kept to the front, and returns how much that is.
    fn merge(
        &mut self,
        duplicates: Duplicates,
        to_row_col: fn(usize, usize) -> (usize, usize),
    ) -> Result<usize> {
        if duplicates == Duplicates::Keep {
            return Ok(self.entries.len());
        }
        let (mut start, mut kept) = (0, 0);
        for (row, length) in self.lengths.iter_mut().enumerate() {
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
                        let (row, col) = to_row_col(self.first + row, minor.as_usize());
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

/// The entries in order of the upper bits of what their minor index is above the smallest; stable.
fn by_upper_bits<T: Scalar, I: Index>(entries: &[Entry<T, I>]) -> Vec<Entry<T, I>> {
    let (smallest, largest) = entries.iter().fold((usize::MAX, 0), |(smallest, largest), entry| {
        (smallest.min(entry.1.as_usize()), largest.max(entry.1.as_usize()))
    });
    let extent = largest - smallest + 1;
    let shift = digit_shift(extent, MAX_BUCKETS);
    let digit = |entry: &Entry<T, I>| (entry.1.as_usize() - smallest) >> shift;
    let mut counts = vec![0; extent.div_ceil(1 << shift)];
    entries.iter().for_each(|entry| counts[digit(entry)] += 1);
    let mut ends = starts(&counts);
    let mut sorted = vec![(I::default(), I::default(), T::ZERO); entries.len()];
    for entry in entries {
        let end = &mut ends[digit(entry)];
        sorted[*end] = *entry;
        *end += 1;
    }
    sorted
}

/// The first `kept` elements of each bucket, without the gaps between them.
fn compact<T: sparse_core::Element>(
    cpu: &Cpu,
    source: &[T],
    buckets: &[Range<usize>],
    kept: &[usize],
) -> Vec<T> {
    let mut target = zeroed(kept.iter().sum());
    let mut rest = target.as_mut_slice();
    let mut work = Vec::with_capacity(kept.len());
    for (bucket, &kept) in buckets.iter().zip(kept) {
        let (place, after) = rest.split_at_mut(kept);
        work.push((place, &source[bucket.start..bucket.start + kept]));
        rest = after;
    }
    cpu.for_each(source.len(), work, |(place, source)| place.copy_from_slice(source));
    target
}

/// Sorts the entries of a row by index; equal indices keep their order.
pub(in crate::op) fn sort_row<T: Copy, I: Index>(
    indices: &mut [I],
    values: &mut [T],
    scratch: &mut Vec<(I, T)>,
) {
    if indices.is_sorted() {
        return;
    }
    if indices.len() < INSERTION_LIMIT {
        insertion_sort(indices, values);
        return;
    }
    scratch.clear();
    scratch.extend(indices.iter().copied().zip(values.iter().copied()));
    scratch.sort_by_key(|entry| entry.0);
    for ((index, value), entry) in indices.iter_mut().zip(values).zip(scratch) {
        (*index, *value) = *entry;
    }
}

fn insertion_sort<T: Copy, I: Index>(indices: &mut [I], values: &mut [T]) {
    for end in 1..indices.len() {
        let (index, value) = (indices[end], values[end]);
        let mut at = end;
        while at > 0 && indices[at - 1] > index {
            indices[at] = indices[at - 1];
            values[at] = values[at - 1];
            at -= 1;
        }
        indices[at] = index;
        values[at] = value;
    }
}
