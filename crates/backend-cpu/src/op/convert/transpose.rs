//! Lines along the other axis without a sort, for matrices of which neighbouring lines have indices near one another:
//! bands, grids, blocks.
//!
//! Parts of the lines count their entries for each index that lies between their least and their greatest one. A scan
//! makes the counts positions, to which each part moves its entries, in order. The entries are read twice and written
//! once; the sort into buckets writes and reads them once more, but also serves indices that lie anywhere, for which
//! the counts here would be too many.

use crate::Cpu;
use crate::borrow::Extremes;
use crate::parallel::rows_by_entries;
use crate::primitive::fill::{Arrays, entry_ranges, try_zeroed, zeroed};
use crate::primitive::update::Disjoint;
use sparse_core::{Index, Result, Scalar};
use std::ops::Range;

/// Entries and lines of a part.
const PART: usize = 64 * 1024;

/// Offsets, indices and values of the lines of a matrix.
pub(super) type Lines<'a, T, I, O> = (&'a [O], &'a [I], &'a [T]);

/// Some lines, and a number for each index in their span: entries that have it, then the position of the next of them.
struct Part {
    lines: Range<usize>,
    entries: Range<usize>,
    span: Range<usize>,
    counts: Vec<usize>,
}

impl Part {
    fn count<I: Index>(&mut self, indices: &[I]) {
        self.counts = vec![0; self.span.len()];
        indices[self.entries.clone()].iter().for_each(|i| self.counts[i.as_usize() - self.span.start] += 1);
    }
}

/// The matrix along the other axis, where there are `minor` lines; `None` if the parts span more indices than there are
/// entries.
pub(super) fn by_spans<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    minor: usize,
    (offsets, indices, values): Lines<'_, T, I, O>,
) -> Result<Option<Arrays<T, I, O>>> {
    let nnz = indices.len();
    let lines = rows_by_entries(offsets, PART);
    let entries = entry_ranges(offsets, &lines);
    let spans = cpu.map(nnz, entries.clone(), |entries| match cpu.simd().run(Extremes(&indices[entries])) {
        Some((least, greatest)) => least.as_usize()..greatest.as_usize() + 1,
        None => 0..0,
    });
    if spans.iter().map(Range::len).sum::<usize>() > nnz {
        return Ok(None);
    }
    let parts = lines.into_iter().zip(entries).zip(spans);
    let mut parts: Vec<_> =
        parts.map(|((lines, entries), span)| Part { lines, entries, span, counts: vec![] }).collect();
    cpu.for_each(nnz, parts.iter_mut().collect(), |part: &mut Part| part.count(indices));
    let offsets_there = positions(cpu, minor, &mut parts)?;
    let (mut indices_there, mut values_there) = (zeroed(nnz), zeroed(nnz));
    let outputs = (Disjoint::new(&mut indices_there), Disjoint::new(&mut values_there));
    cpu.for_each(nnz, parts, |mut part| {
        for line in part.lines.clone() {
            for entry in offsets[line].as_usize()..offsets[line + 1].as_usize() {
                let position = &mut part.counts[indices[entry].as_usize() - part.span.start];
                // SAFETY: the scan gave each part as many positions for an index as it has entries there.
                unsafe {
                    *outputs.0.at(*position) = I::cast(line);
                    *outputs.1.at(*position) = values[entry];
                }
                *position += 1;
            }
        }
    });
    Ok(Some(Arrays { offsets: offsets_there, indices: indices_there, values: values_there }))
}

/// Replaces the counts of the parts by the positions of their first entries; returns the offsets.
fn positions<O: Index>(cpu: &Cpu, minor: usize, parts: &mut [Part]) -> Result<Vec<O>> {
    let mut lengths = try_zeroed::<usize>(minor)?;
    for Part { span, counts, .. } in &*parts {
        lengths[span.clone()].iter_mut().zip(counts).for_each(|(length, count)| *length += count);
    }
    let offsets: Vec<O> = cpu.offsets(&lengths)?;
    let mut next = lengths;
    next.iter_mut().zip(&offsets).for_each(|(next, offset)| *next = offset.as_usize());
    for Part { span, counts, .. } in parts {
        for (next, count) in next[span.clone()].iter_mut().zip(counts) {
            *next += std::mem::replace(count, *next);
        }
    }
    Ok(offsets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Simd;
    use sparse_core::{Coo, Csc, Csr, Host, reference::Convert};

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
        let found = by_spans(&cpu, rows, lines).unwrap().expect("a band has short spans");
        assert_eq!((&found.offsets, &found.indices), (expected.offsets(), expected.indices()));
        assert_eq!(&found.values, expected.values());
        let scattered = (&[0, 1, 2][..], &[0, 1 << 20][..], &[1.0, 2.0][..]);
        assert!(by_spans::<f64, i32, i32>(&cpu, (1 << 20) + 1, scattered).unwrap().is_none());
        let empty = by_spans::<f64, i32, i32>(&cpu, 3, (&[0, 0], &[], &[])).unwrap().unwrap();
        assert_eq!(empty.offsets, [0, 0, 0, 0]);
    }
}
