//! A stable sort of coordinates: by rows into buckets that fit the cache, then each bucket by itself.
//!
//! The upper bits of the major index select the bucket: fixed chunks of the input are counted, the counts scanned in
//! the order bucket, chunk, and every chunk moves its entries to positions of its own. Entries whose rows are in order
//! already are taken from the input. Nothing depends on the number of threads.

use super::bucket::{Bucket, Coordinates, Entry, RowBlock, Source, digit_shift};
use crate::Cpu;
use crate::parallel::{chunks, partition_point, split_mut};
use crate::primitive::fill::{Arrays, try_zeroed, unwritten};
use crate::primitive::update::Disjoint;
use crate::simd::LINE;
use sparse_core::op::Duplicates;
use sparse_core::{Index, Result, Scalar};
use std::ops::Range;

/// Entries of one chunk of the input.
const INPUT_CHUNK: usize = 128 * 1024;

/// Entries that a bucket aims at: they stay in the cache of a core.
const BUCKET: usize = 8 * 1024;

/// The most buckets of a pass: more would miss the TLB with every entry.
const MAX_BUCKETS: usize = 1024;

/// Unused elements between buckets: without them, buckets of equal size that fill up evenly are written at positions
/// that evict each other from the cache.
const GAP: usize = 6;

/// Bytes between the position of an entry in a bucket and the one prefetched for later entries.
const AHEAD: usize = 2 * LINE;

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
    let (source, blocks) = if rows_in_order(cpu, input.major) {
        (Source::Input(input), row_blocks_in_order(major, input.major))
    } else {
        let (entries, blocks) = distribute(cpu, major, &input);
        (Source::Distributed(entries), blocks)
    };
    // SAFETY: indices and values are plain data; buckets have all entries between them, and write before they read.
    let (mut indices, mut values) = unsafe { (unwritten(nnz), unwritten(nnz)) };
    let mut lengths = try_zeroed(major)?;
    let ranges: Vec<_> = blocks.iter().map(|block| block.entries.clone()).collect();
    let rows: Vec<_> = blocks.iter().map(|block| block.rows.clone()).collect();
    let outputs = split_mut(&mut indices, &ranges).into_iter().zip(split_mut(&mut values, &ranges));
    let outputs = outputs.zip(split_mut(&mut lengths, &rows));
    let buckets = blocks.iter().zip(outputs);
    let buckets =
        buckets.map(|(block, ((indices, values), lengths))| Bucket { block, indices, values, lengths });
    let written = cpu.map(nnz, buckets.collect(), |bucket: Bucket<'_, T, I>| {
        bucket.build(cpu, &source, duplicates, to_row_col)
    });
    let written = written.into_iter().collect::<Result<Vec<usize>>>()?;
    let offsets = cpu.offsets(&lengths)?;
    if written.iter().sum::<usize>() < nnz {
        indices = compact(cpu, &indices, &ranges, &written);
        values = compact(cpu, &values, &ranges, &written);
    }
    Ok(Arrays { offsets, indices, values })
}

/// True if the major indices ascend.
pub(super) fn rows_in_order<I: Index>(cpu: &Cpu, major: &[I]) -> bool {
    let len = major.len();
    let sorted = |range: Range<usize>| major[range.start..len.min(range.end + 1)].is_sorted();
    cpu.map(len, chunks(len, INPUT_CHUNK), sorted).into_iter().all(|sorted| sorted)
}

/// Blocks of rows that are in order, with about equal numbers of entries.
pub(super) fn row_blocks_in_order<I: Index>(rows: usize, major: &[I]) -> Vec<RowBlock> {
    let mut blocks: Vec<RowBlock> = vec![];
    let (mut first_row, mut first) = (0, 0);
    for target in (BUCKET..major.len()).step_by(BUCKET) {
        let row = major[target].as_usize();
        let start = partition_point(first..target, |entry| major[entry].as_usize() < row);
        if start > first {
            blocks.push(RowBlock { rows: first_row..row, entries: first..start, start: first });
            (first_row, first) = (row, start);
        }
    }
    blocks.push(RowBlock { rows: first_row..rows, entries: first..major.len(), start: first });
    blocks
}

/// The entries in order of their buckets, and the row block of each bucket.
fn distribute<T: Scalar, I: Index>(
    cpu: &Cpu,
    rows: usize,
    input: &Coordinates<'_, T, I>,
) -> (Vec<Entry<T, I>>, Vec<RowBlock>) {
    let nnz = input.major.len();
    let shift = digit_shift(rows, (nnz / BUCKET).clamp(1, MAX_BUCKETS));
    let bucket_rows = chunks(rows, 1 << shift);
    let input_chunks = chunks(nnz, INPUT_CHUNK);
    let mut places = cpu.map(nnz, input_chunks.clone(), |chunk| {
        let mut counts = vec![0_usize; bucket_rows.len()];
        input.major[chunk].iter().for_each(|major| counts[major.as_usize() >> shift] += 1);
        counts
    });
    let blocks = scan(&mut places, bucket_rows);
    // SAFETY: entries are plain data; each has a position of its own, and gaps are never read.
    let mut entries: Vec<Entry<T, I>> = unsafe { unwritten(nnz + blocks.len() * GAP) };
    let output = Disjoint::new(&mut entries);
    cpu.for_each(nnz, input_chunks.into_iter().zip(places).collect(), |(chunk, mut places)| {
        let Coordinates { major, minor, values } = input.slice(chunk);
        // In variables of this closure, else they are loaded again for every entry.
        let (output, places) = (output, places.as_mut_slice());
        for ((&major, &minor), &value) in major.iter().zip(minor).zip(values) {
            let place = &mut places[major.as_usize() >> shift];
            // SAFETY: each chunk has one position of its own in a bucket for each of its entries there.
            *unsafe { output.at(*place) } = (major, minor, value);
            output.fetch(*place + AHEAD / size_of::<Entry<T, I>>());
            *place += 1;
        }
    });
    (entries, blocks)
}

/// Replaces the counts of each chunk by the positions of its first entries in each bucket, in the order bucket, chunk;
/// returns the row blocks of the buckets.
fn scan(counts: &mut [Vec<usize>], bucket_rows: Vec<Range<usize>>) -> Vec<RowBlock> {
    let mut end = 0;
    let block = |(bucket, rows)| {
        let (first, gaps) = (end, bucket * GAP);
        for counts in &mut *counts {
            end += std::mem::replace(&mut counts[bucket], end + gaps);
        }
        RowBlock { rows, entries: first..end, start: first + gaps }
    };
    bucket_rows.into_iter().enumerate().map(block).collect()
}

/// The first `written` elements of each bucket, without the gaps.
fn compact<T: sparse_core::Element>(
    cpu: &Cpu,
    source: &[T],
    buckets: &[Range<usize>],
    written: &[usize],
) -> Vec<T> {
    // SAFETY: elements are plain data; the buckets are copied to all of it.
    let mut target = unsafe { unwritten(written.iter().sum()) };
    let mut rest = target.as_mut_slice();
    let mut work = Vec::with_capacity(written.len());
    for (bucket, &written) in buckets.iter().zip(written) {
        let (place, after) = rest.split_at_mut(written);
        work.push((place, &source[bucket.start..bucket.start + written]));
        rest = after;
    }
    cpu.for_each(source.len(), work, |(place, source)| place.copy_from_slice(source));
    target
}
