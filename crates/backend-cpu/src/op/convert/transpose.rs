//! Lines along the other axis without a sort, for matrices of which neighbouring lines have indices near one another:
//! bands, grids, blocks.
//!
//! Parts of the lines count their entries for each index that lies between their least and their greatest one. A scan
//! makes the counts positions, to which each part moves its entries, in order. The entries are read twice and written
//! once; the sort into buckets writes and reads them once more, but also serves indices that lie anywhere, for which
//! the counts here would be too many.

use super::bucket::{Coordinates, ascend};
use super::radix::rows_in_order;
use super::serial::are_few_scattered;
use crate::Cpu;
use crate::borrow::Extremes;
use crate::parallel::{CHUNK, chunks, rows_by_entries};
use crate::primitive::fill::{Arrays, entry_ranges, try_zeroed, unwritten};
use crate::primitive::update::Disjoint;
use sparse_core::{Index, Result, Scalar};
use std::ops::Range;

/// Entries and lines of a part, whose indices stay in the cache from the search for its span to the count.
const PART: usize = 64 * 1024;

/// Entries by which positions are prefetched ahead. Text with 100 of 50 000 words in a line took 23 ms without, 15 with
/// it; 20 random columns of 20 000 in a row 2.8 ms without, 1.6 with it; grids take the same time.
const AHEAD: usize = 24;

/// Indices of a part's span up to which the next positions of all stay in the L1 cache. Of 40 columns, prefetched
/// positions take 1.15 times as long.
const NEAR: usize = 512;

/// Offsets, indices and values of the lines of a matrix.
pub(super) type Lines<'a, T, I, O> = (&'a [O], &'a [I], &'a [T]);

/// The lines of consecutive entries.
trait LinesOf: Copy + Sync {
    /// Calls `visit` with each of some entries and its line.
    fn for_each(self, entries: Range<usize>, visit: impl FnMut(usize, usize));
}

/// Lines by their offsets.
#[derive(Clone, Copy)]
struct ByOffsets<'a, O>(&'a [O]);

impl<O: Index> LinesOf for ByOffsets<'_, O> {
    #[inline(always)]
    fn for_each(self, entries: Range<usize>, mut visit: impl FnMut(usize, usize)) {
        let first = self.0.partition_point(|offset| offset.as_usize() <= entries.start).saturating_sub(1);
        let mut start = entries.start;
        for (line, end) in self.0[first + 1..].iter().enumerate() {
            if start == entries.end {
                break;
            }
            let end = end.as_usize();
            for entry in start..end {
                visit(entry, first + line);
            }
            start = end;
        }
    }
}

/// The line of each entry. Short lines take less time so: the end of each is not foreseen.
#[derive(Clone, Copy)]
struct ByEntry<'a, I>(&'a [I]);

impl<I: Index> LinesOf for ByEntry<'_, I> {
    #[inline(always)]
    fn for_each(self, entries: Range<usize>, mut visit: impl FnMut(usize, usize)) {
        for (entry, line) in entries.clone().zip(&self.0[entries]) {
            visit(entry, line.as_usize());
        }
    }
}

/// Consecutive entries, and the range of their indices.
pub(super) struct Part<O> {
    entries: Range<usize>,
    span: Range<usize>,
    /// A number for each index in the span: entries that have it, then the position of the next of them. `None` if the
    /// span is too long for as many entries.
    counts: Option<Vec<O>>,
}

/// The longest span of a part whose indices are counted. The last part of a grid has a longer span than entries.
fn longest_span(entries: usize) -> usize {
    entries.max(PART)
}

/// The same of matrices that one thread converts by one count otherwise. Parts with longer spans count and add up about
/// as many positions as they have entries, and their threads write the same cache lines. f64, µs of spans and of one
/// count, two quiet cores of an EPYC (Zen 5): 60 000 rows of 4 in random columns 1058 and 576, of 12 2625 and 1978, a
/// diagonal of 200 000 613 and 431, a shuffled grid of 250² 941 and 535.
fn longest_span_of_few(entries: usize) -> usize {
    (entries / 2).max(PART / 4)
}

/// The parts of lines whose indices nobody has compared; `None` if one is not below `minor`.
pub(super) fn parts<I: Index, O: Index>(
    cpu: &Cpu,
    minor: usize,
    offsets: &[O],
    indices: &[I],
) -> Option<Vec<Part<O>>> {
    let longest =
        if are_few_scattered(cpu, indices.len(), minor) { longest_span_of_few } else { longest_span };
    parts_of(cpu, minor, entry_ranges(offsets, &rows_by_entries(offsets, PART)), indices, longest)
}

/// As [`parts`], of these consecutive entries, with the longest span for a number of them.
fn parts_of<I: Index, O: Index>(
    cpu: &Cpu,
    minor: usize,
    parts: Vec<Range<usize>>,
    indices: &[I],
    longest: fn(usize) -> usize,
) -> Option<Vec<Part<O>>> {
    let parts = cpu.map(indices.len(), parts, |entries: Range<usize>| {
        let indices = &indices[entries.clone()];
        let span = match cpu.simd().run(Extremes(indices)) {
            Some((least, _)) if least.as_i64() < 0 => return None,
            Some((_, greatest)) if greatest.as_usize() >= minor => return None,
            Some((least, greatest)) => least.as_usize()..greatest.as_usize() + 1,
            None => 0..0,
        };
        let counts = (span.len() <= longest(entries.len())).then(|| count(indices, &span));
        Some(Part { entries, span, counts })
    });
    parts.into_iter().collect()
}

/// The number of entries with each index of a span.
fn count<I: Index, O: Index>(indices: &[I], span: &Range<usize>) -> Vec<O> {
    let mut counts = vec![O::default(); span.len()];
    for index in indices {
        let count = &mut counts[index.as_usize() - span.start];
        *count = O::cast(count.as_usize() + 1);
    }
    counts
}

/// The matrix along the other axis, where there are `minor` lines; `None` if a part has no counts.
pub(super) fn by_spans<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    minor: usize,
    (offsets, indices, values): Lines<'_, T, I, O>,
    parts: Vec<Part<O>>,
) -> Result<Option<Arrays<T, I, O>>> {
    to_other_axis(cpu, minor, ByOffsets(offsets), indices, values, parts)
}

fn to_other_axis<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    minor: usize,
    lines: impl LinesOf,
    indices: &[I],
    values: &[T],
    mut parts: Vec<Part<O>>,
) -> Result<Option<Arrays<T, I, O>>> {
    if parts.iter().any(|part| part.counts.is_none()) {
        return Ok(None);
    }
    let nnz = indices.len();
    let offsets_there = positions(minor, &mut parts)?;
    // SAFETY: indices and values are plain data; each entry is moved to a position of its own.
    let (mut indices_there, mut values_there) = unsafe { (unwritten(nnz), unwritten(nnz)) };
    let outputs = (Disjoint::new(&mut indices_there), Disjoint::new(&mut values_there));
    cpu.for_each(nnz, parts, |part: Part<O>| {
        // In variables of this closure, else they are loaded again for every entry.
        let ((indices_there, values_there), indices, values) = (outputs, indices, values);
        let (mut next, first) = (part.counts.unwrap_or_default(), part.span.start);
        let next = next.as_mut_slice();
        let is_scattered = next.len() > NEAR;
        lines.for_each(part.entries, |entry, line| {
            let ahead = is_scattered.then(|| indices.get(entry + AHEAD)).flatten();
            let ahead = ahead.and_then(|ahead| next.get(ahead.as_usize().wrapping_sub(first)));
            if let Some(ahead) = ahead {
                indices_there.fetch(ahead.as_usize());
                values_there.fetch(ahead.as_usize());
            }
            let next = &mut next[indices[entry].as_usize() - first];
            let position = next.as_usize();
            *next = O::cast(position + 1);
            // SAFETY: the scan gave each part as many positions for an index as it has entries there.
            unsafe {
                *indices_there.at(position) = I::cast(line);
                *values_there.at(position) = values[entry];
            }
        });
    });
    Ok(Some(Arrays { offsets: offsets_there, indices: indices_there, values: values_there }))
}

/// Coordinates whose minor indices are in order, by their major indices, of which there are `major`. `None` if they are
/// in no such order, if two are alike, or if parts have no counts.
pub(super) fn in_minor_order<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    major: usize,
    entries: Coordinates<'_, T, I>,
) -> Result<Option<Arrays<T, I, O>>> {
    if rows_in_order(cpu, entries.major) || !rows_in_order(cpu, entries.minor) {
        return Ok(None);
    }
    let Coordinates { major: indices, minor: lines, values } = entries;
    let Some(parts) = parts_of(cpu, major, chunks(indices.len(), PART), indices, longest_span) else {
        return Ok(None);
    };
    let arrays = to_other_axis(cpu, major, ByEntry(lines), indices, values, parts)?;
    Ok(arrays.filter(|arrays| are_unique(cpu, arrays)))
}

/// True if the indices of each line ascend, and so none is there twice.
fn are_unique<T, I: Index, O: Index>(cpu: &Cpu, Arrays { offsets, indices, .. }: &Arrays<T, I, O>) -> bool {
    let parts = cpu.map(indices.len(), rows_by_entries(offsets, CHUNK), |lines: Range<usize>| {
        let offsets = &offsets[lines.start..=lines.end];
        let lengths = offsets.windows(2).map(|line| line[1].as_usize() - line[0].as_usize());
        ascend(&indices[offsets[0].as_usize()..offsets[lines.len()].as_usize()], lengths)
    });
    parts.into_iter().all(|unique| unique)
}

/// Replaces the counts of the parts by the positions of their first entries; returns the offsets.
fn positions<O: Index>(minor: usize, parts: &mut [Part<O>]) -> Result<Vec<O>> {
    let add = |a: O, b: O| O::cast(a.as_usize() + b.as_usize());
    let mut offsets = try_zeroed::<O>(minor + 1)?;
    for Part { span, counts, .. } in &*parts {
        let lengths = &mut offsets[1..][span.clone()];
        lengths
            .iter_mut()
            .zip(counts.iter().flatten())
            .for_each(|(length, &count)| *length = add(*length, count));
    }
    let mut end = O::default();
    for offset in &mut offsets {
        end = add(end, *offset);
        *offset = end;
    }
    let mut next = try_zeroed(minor)?;
    next.copy_from_slice(&offsets[..minor]);
    for Part { span, counts, .. } in parts {
        for (next, count) in next[span.clone()].iter_mut().zip(counts.iter_mut().flatten()) {
            *next = add(*next, std::mem::replace(count, *next));
        }
    }
    Ok(offsets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Simd;
    use sparse_core::{Coo, Csc, Csr, Host, reference::Convert};

    fn transposed(cpu: &Cpu, minor: usize, lines: Lines<'_, f64, i32, i32>) -> Option<Arrays<f64, i32, i32>> {
        by_spans(cpu, minor, lines, parts(cpu, minor, lines.0, lines.1)?).unwrap()
    }

    #[test]
    fn bands_are_transposed_as_by_the_reference_and_other_matrices_are_left() {
        let cpu = Cpu::with(2, Simd::detect()).unwrap();
        // Rows of 0 to 6 entries, over more than one part.
        let rows = 2 * PART / 3;
        let entries =
            (0..rows).flat_map(|row| (row..(row + row % 7).min(rows)).map(move |col| (row, col, col as f64)));
        let band: Csr<f64> =
            Coo::<f64>::from_triplets(rows, rows, entries).unwrap().convert(&Default::default()).unwrap();
        let expected: Csc<f64, Host, i32, i32> = band.convert(&()).unwrap();
        let lines = (&**band.offsets(), &**band.indices(), &**band.values());
        let found = transposed(&cpu, rows, lines).expect("a band has short spans");
        assert_eq!((&found.offsets, &found.indices), (expected.offsets(), expected.indices()));
        assert_eq!(&found.values, expected.values());
        let scattered = (&[0, 1, 2][..], &[0, 1 << 20][..], &[1.0, 2.0][..]);
        assert!(transposed(&cpu, (1 << 20) + 1, scattered).is_none());
        // As in the last part of a matrix, two entries that are far from each other.
        let short = transposed(&cpu, 1000, (&[0, 2], &[7, 999], &[1.0, 2.0]))
            .expect("a span shorter than most parts");
        assert_eq!((short.indices, short.values), (vec![0, 0], vec![1.0, 2.0]));
        let empty = transposed(&cpu, 3, (&[0, 0], &[], &[])).unwrap();
        assert_eq!(empty.offsets, [0, 0, 0, 0]);
        let row_idx = cpu.expand::<i32, i32>(band.offsets());
        let by_column = |row_idx: &[i32], col_idx: &[i32]| {
            let values = band.values();
            let entries = Coordinates { major: col_idx, minor: row_idx, values };
            in_minor_order::<f64, i32, i32>(&cpu, rows, entries).unwrap()
        };
        let found = by_column(&row_idx, band.indices()).expect("rows are in order");
        assert_eq!((&found.offsets, &found.indices), (expected.offsets(), expected.indices()));
        assert_eq!(&found.values, expected.values());
        let mut mixed = row_idx.clone();
        mixed.swap(7, 1000);
        assert!(by_column(&mixed, band.indices()).is_none());
        let mut repeated = band.indices().to_vec();
        let first = (0..).find(|&entry| row_idx[entry] == row_idx[entry + 1]).unwrap();
        repeated[first] = repeated[first + 1];
        assert!(by_column(&row_idx, &repeated).is_none());
        for outside in [-1, 2] {
            assert!(parts(&cpu, 2, &[0, 1, 2], &[0, outside]).is_none());
        }
    }
}
