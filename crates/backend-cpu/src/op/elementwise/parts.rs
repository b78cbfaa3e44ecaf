//! Parts of two matrices with about equally many entries, which are merged independently of each other.

use crate::parallel::{CHUNK, partition_point, rows_by_weight};
use sparse_core::{Axis, CompressedRef, Host, Index, Scalar};
use std::ops::Range;

/// The structure of a matrix: line `k` has the indices `offsets[k]..offsets[k + 1]`, sorted and without duplicates.
#[derive(Debug, Clone, Copy)]
pub(super) struct Structure<'a, I, O> {
    pub(super) offsets: &'a [O],
    pub(super) indices: &'a [I],
}

impl<'a, I: Index, O: Index> Structure<'a, I, O> {
    pub(super) fn of<A: Axis, T: Scalar>(matrix: CompressedRef<'a, A, T, Host, I, O>) -> Self {
        Self { offsets: matrix.offsets, indices: matrix.indices }
    }

    fn end(&self, row: usize) -> usize {
        self.offsets[row + 1].as_usize()
    }

    fn row(&self, row: usize) -> Range<usize> {
        self.offsets[row].as_usize()..self.end(row)
    }
}

/// Entries of A and B, and the rows that end among them. The first of these rows may have begun in the part before, and
/// the row after the last one may begin here.
#[derive(Debug, Clone)]
pub(super) struct MergePart {
    pub(super) rows: Range<usize>,
    a: Range<usize>,
    b: Range<usize>,
}

impl MergePart {
    /// Calls `visit(entries of A, entries of B)` for each row that ends here, then for what there is of the next one.
    #[inline(always)]
    pub(super) fn each_row<I: Index, O: Index>(
        &self,
        a: Structure<'_, I, O>,
        b: Structure<'_, I, O>,
        mut visit: impl FnMut(Range<usize>, Range<usize>),
    ) {
        let (mut p, mut q) = (self.a.start, self.b.start);
        for row in self.rows.clone() {
            let ends = (a.end(row), b.end(row));
            visit(p..ends.0, q..ends.1);
            (p, q) = ends;
        }
        visit(p..self.a.end, q..self.b.end);
    }
}

/// Parts of about [`CHUNK`] entries each, long rows cut between columns. They depend on the patterns alone.
pub(super) fn cut<I: Index, O: Index>(a: Structure<'_, I, O>, b: Structure<'_, I, O>) -> Vec<MergePart> {
    let weight = |row: usize| a.offsets[row].as_usize() + b.offsets[row].as_usize() + row;
    let mut parts = vec![];
    for rows in rows_by_weight(a.offsets.len() - 1, weight, CHUNK) {
        let last = rows.end - 1;
        let (a_range, b_range) = (a.row(rows.start).start..a.end(last), b.row(rows.start).start..b.end(last));
        if rows.len() == 1 && a_range.len() + b_range.len() > 2 * CHUNK {
            cut_row(rows.start, (a.indices, a_range), (b.indices, b_range), &mut parts);
        } else {
            parts.push(MergePart { rows, a: a_range, b: b_range });
        }
    }
    parts
}

/// Splits one row into parts.
fn cut_row<I: Index>(
    row: usize,
    (a_indices, a): (&[I], Range<usize>),
    (b_indices, b): (&[I], Range<usize>),
    parts: &mut Vec<MergePart>,
) {
    let (a_row, b_row) = (&a_indices[a.clone()], &b_indices[b.clone()]);
    let mut start = (a.start, b.start);
    for entries in (CHUNK..a.len() + b.len()).step_by(CHUNK) {
        let (p, q) = split(a_row, b_row, entries);
        let end = (a.start + p, b.start + q);
        parts.push(MergePart { rows: row..row, a: start.0..end.0, b: start.1..end.1 });
        start = end;
    }
    parts.push(MergePart { rows: row..row + 1, a: start.0..a.end, b: start.1..b.end });
}

/// The numbers of entries of two rows that make the first `entries` of their merge; one more where two with the same
/// index would be separated.
fn split<I: Index>(a: &[I], b: &[I], entries: usize) -> (usize, usize) {
    let p = partition_point(entries.saturating_sub(b.len())..entries.min(a.len()), |p| {
        a[p] <= b[entries - 1 - p]
    });
    let q = entries - p;
    let separates = p > 0 && q < b.len() && a[p - 1] == b[q];
    (p, q + usize::from(separates))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_split_where_no_index_stands_on_both_sides() {
        let (a, b) = ([0_i32, 2, 4, 6, 8], [1_i32, 2, 3, 8]);
        for entries in 0..=9 {
            let (p, q) = split(&a, &b, entries);
            assert!((entries..=entries + 1).contains(&(p + q)), "{entries}: {p} {q}");
            let before = a[..p].iter().chain(&b[..q]).max();
            let after = a[p..].iter().chain(&b[q..]).min();
            assert!(before.zip(after).is_none_or(|(before, after)| before < after), "{entries}: {p} {q}");
        }
    }

    #[test]
    fn parts_cover_all_entries_and_rows_once() {
        let long = 3 * CHUNK as i32;
        let indices: Vec<i32> = (0..long).chain([0, 1]).collect();
        let a = Structure { offsets: &[0, 0, long, long + 2], indices: &indices };
        let b = Structure {
            offsets: &[0, 1, long + 1, long + 1],
            indices: &[&[5], &indices[..long as usize]].concat(),
        };
        let parts = cut(a, b);
        assert!(parts.len() > 4, "{} parts", parts.len());
        let follow =
            |of: fn(&MergePart) -> Range<usize>| parts.windows(2).all(|w| of(&w[0]).end == of(&w[1]).start);
        assert!(
            follow(|part| part.rows.clone())
                && follow(|part| part.a.clone())
                && follow(|part| part.b.clone())
        );
        let (first, last) = (&parts[0], &parts[parts.len() - 1]);
        assert_eq!((first.rows.start, first.a.start, first.b.start), (0, 0, 0));
        assert_eq!((last.rows.end, last.a.end, last.b.end), (3, long as usize + 2, long as usize + 1));
        assert!(
            cut(
                Structure { offsets: &[0_i32], indices: &[0_i32; 0] },
                Structure { offsets: &[0], indices: &[] }
            )
            .is_empty()
        );
    }
}
