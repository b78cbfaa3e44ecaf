//! Lines along the other axis without a sort, for matrices of which neighbouring lines have indices near one another:
//! bands, grids, blocks.
//!
//! Parts of the lines count their entries for each index that lies between their least and their greatest one. A scan
//! makes the counts positions, to which each part moves its entries, in order. The entries are read twice and written
//! once; the sort into buckets writes and reads them once more, but also serves indices that lie anywhere, for which
//! the counts here would be too many.

use super::bucket::{Coordinates, RowBlock, ascend};
use super::radix::{row_blocks_in_order, rows_in_order};
use crate::Cpu;
use crate::borrow::Extremes;
use crate::parallel::{CHUNK, rows_by_entries, split_mut};
use crate::primitive::fill::{Arrays, entry_ranges, try_zeroed, unwritten};
use crate::primitive::update::Disjoint;
use sparse_core::{Index, Result, Scalar};
use std::ops::Range;

/// Entries and lines of a part, whose indices stay in the cache from the search for its span to the count.
const PART: usize = 64 * 1024;

/// Entries by which positions are prefetched ahead. Text with 100 of 50 000 words in a line took 23 ms without, 15 with
/// it; 20 random columns of 20 000 in a row 2.8 ms without, 1.6 with it; grids take the same time.
const AHEAD: usize = 24;

/// Indices of a part's span up to which the next positions of all stay in the first cache. Of 40 columns, prefetched
/// positions take 1.15 times as long.
const NEAR: usize = 512;

/// Offsets, indices and values of the lines of a matrix.
pub(super) type Lines<'a, T, I, O> = (&'a [O], &'a [I], &'a [T]);

/// Some lines, and the range of their indices.
pub(super) struct Part<O> {
    lines: Range<usize>,
    span: Range<usize>,
    /// A number for each index in the span: entries that have it, then the position of the next of them. `None` if the
    /// span is longer than [`PART`] and than the part.
    counts: Option<Vec<O>>,
}

/// The parts of lines whose indices nobody has compared; `None` if one is not below `minor`.
pub(super) fn parts<I: Index, O: Index>(
    cpu: &Cpu,
    minor: usize,
    offsets: &[O],
    indices: &[I],
) -> Option<Vec<Part<O>>> {
    let lines = rows_by_entries(offsets, PART);
    let parts = lines.iter().cloned().zip(entry_ranges(offsets, &lines)).collect();
    let parts = cpu.map(indices.len(), parts, |(lines, entries)| {
        let indices = &indices[entries.clone()];
        let span = match cpu.simd().run(Extremes(indices)) {
            Some((least, _)) if least.as_i64() < 0 => return None,
            Some((_, greatest)) if greatest.as_usize() >= minor => return None,
            Some((least, greatest)) => least.as_usize()..greatest.as_usize() + 1,
            None => 0..0,
        };
        // The last part of a grid has a longer span than entries.
        let limit = PART.max(lines.len() + entries.len());
        let counts = (span.len() <= limit).then(|| count(indices, &span));
        Some(Part { lines, span, counts })
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
        let ((indices_there, values_there), indices) = (outputs, indices);
        let (mut next, first) = (part.counts.unwrap_or_default(), part.span.start);
        let next = next.as_mut_slice();
        let is_scattered = next.len() > NEAR;
        for line in part.lines {
            let entries = offsets[line].as_usize()..offsets[line + 1].as_usize();
            for (entry, &value) in entries.clone().zip(&values[entries]) {
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
                    *values_there.at(position) = value;
                }
            }
        }
    });
    Ok(Some(Arrays { offsets: offsets_there, indices: indices_there, values: values_there }))
}

/// Coordinates whose minor indices are in order, by their major indices, of which there are `major`: the matrix that
/// they have along the minor indices, along its other axis. `None` if they are in no such order, if two are alike, or
/// if parts have no counts.
pub(super) fn in_minor_order<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    (major, minor): (usize, usize),
    entries: Coordinates<'_, T, I>,
) -> Result<Option<Arrays<T, I, O>>> {
    if rows_in_order(cpu, entries.major) || !rows_in_order(cpu, entries.minor) {
        return Ok(None);
    }
    let offsets: Vec<O> = offsets_in_order(cpu, minor, entries.minor)?;
    let Some(parts) = parts(cpu, major, &offsets, entries.major) else { return Ok(None) };
    let arrays = by_spans(cpu, major, (&offsets, entries.major, entries.values), parts)?;
    Ok(arrays.filter(|arrays| are_unique(cpu, arrays)))
}

/// The offsets of `lines` lines, where each entry's line is given in order.
fn offsets_in_order<I: Index, O: Index>(cpu: &Cpu, lines: usize, line_of: &[I]) -> Result<Vec<O>> {
    let mut lengths = try_zeroed(lines)?;
    let blocks = row_blocks_in_order(lines, line_of);
    let rows: Vec<_> = blocks.iter().map(|block| block.rows.clone()).collect();
    let tasks = blocks.into_iter().zip(split_mut(&mut lengths, &rows)).collect();
    cpu.for_each(line_of.len(), tasks, |(block, lengths): (RowBlock, &mut [usize])| {
        for line in line_of[block.entries].chunk_by(|a, b| a == b) {
            lengths[line[0].as_usize() - block.rows.start] = line.len();
        }
    });
    cpu.offsets(&lengths)
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
        // Rows of 0 to 4 entries, over more than one part.
        let rows = 2 * PART / 3;
        let entries =
            (0..rows).flat_map(|row| (row..(row + row % 5).min(rows)).map(move |col| (row, col, col as f64)));
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
            in_minor_order::<f64, i32, i32>(&cpu, (rows, rows), entries).unwrap()
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
