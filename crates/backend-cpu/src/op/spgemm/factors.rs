//! The patterns of two factors, row by row, and the work of a product.

use super::column_set::ColumnSet;
use crate::Cpu;
use crate::parallel::chunks;
use crate::primitive::filled_rows::{are_often_empty, for_each_filled_row};
use crate::simd::fetch_line;
use sparse_core::{CompressedPattern, Host, Index, IndexOrder};
use std::ops::Range;

/// Rows that a thread counts or compares at once.
const COUNTED_ROWS: usize = 4096;

/// Products and rows of a part.
const PART: usize = 32 * 1024;

/// The most neighbouring rows whose products are counted as one number.
const BLOCK: usize = 64;

/// Rows of the right factor that are looked at before all of them are searched for repetitions.
const SAMPLED_ROWS: usize = 255;

/// Entries of the left factor between one whose row of the right factor is read, and the one whose row is prefetched;
/// the offset of that row is prefetched as far again ahead.
const AHEAD: usize = 8;

/// The pattern of a factor, in a matrix or in arrays of the caller's.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pattern<'a, I, O> {
    pub(super) offsets: &'a [O],
    pub(super) indices: &'a [I],
    pub(super) minor: usize,
    pub(super) order: IndexOrder,
}

impl<'a, I: Index, O: Index> From<&'a CompressedPattern<Host, I, O>> for Pattern<'a, I, O> {
    fn from(pattern: &'a CompressedPattern<Host, I, O>) -> Self {
        let (minor, order) = (pattern.minor(), pattern.order());
        Self { offsets: pattern.offsets(), indices: pattern.indices(), minor, order }
    }
}

impl<'a, I: Index, O: Index> Pattern<'a, I, O> {
    pub(super) fn major(self) -> usize {
        self.offsets.len() - 1
    }

    /// True if the columns of each row ascend without repetition.
    #[inline(always)]
    pub(super) fn is_canonical(self) -> bool {
        self.order.sorted && self.order.unique
    }

    /// The entries of a row.
    #[inline(always)]
    pub(super) fn range(self, row: usize) -> Range<usize> {
        self.offsets[row].as_usize()..self.offsets[row + 1].as_usize()
    }

    /// The entries of some rows.
    #[inline(always)]
    pub(super) fn range_of(self, rows: &Range<usize>) -> Range<usize> {
        self.offsets[rows.start].as_usize()..self.offsets[rows.end].as_usize()
    }

    /// True if neighbouring rows, by a sample, begin with neighbouring columns.
    fn first_columns_stay_near(self) -> bool {
        let rows = (1..self.major()).step_by(self.major() / LOCAL_ROWS + 1);
        let (mut pairs, mut near) = (0, 0);
        for row in rows {
            if let ([before, ..], [first, ..]) = (self.row(row - 1), self.row(row)) {
                pairs += 1;
                near += usize::from(before.as_usize().abs_diff(first.as_usize()) <= NEAR);
            }
        }
        4 * near >= 3 * pairs
    }

    /// The columns of a row.
    #[inline(always)]
    pub(super) fn row(self, row: usize) -> &'a [I] {
        &self.indices[self.range(row)]
    }
}

/// The patterns of the left and the right factor: of CSR those of A and B, of CSC those of Bᵀ and Aᵀ.
#[derive(Debug, Clone, Copy)]
pub(super) struct Factors<'a, I, O> {
    pub(super) left: Pattern<'a, I, O>,
    pub(super) right: Pattern<'a, I, O>,
    /// True if rows of the right factor are to be prefetched.
    fetches: bool,
    /// The entries of each row of the right factor, if these are known to be equally long.
    right_length: Option<usize>,
}

/// Rows of the left factor that are looked at for whether neighbours multiply neighbours.
const LOCAL_ROWS: usize = 64;

/// Rows of the right factor between those of neighbouring rows that still are in the cache, or prefetched by itself.
const NEAR: usize = 16;

impl<'a, I: Index, O: Index> Factors<'a, I, O> {
    pub(super) fn new(left: Pattern<'a, I, O>, right: Pattern<'a, I, O>) -> Self {
        Self { left, right, fetches: !left.first_columns_stay_near(), right_length: None }
    }

    /// The factors, for which it is known whether rows of the right one are equally long.
    pub(super) fn with_right_length(self, cpu: &Cpu) -> Self {
        let (offsets, rows) = (self.right.offsets, self.right.major());
        let length = self.right.indices.len().checked_div(rows).unwrap_or(0);
        let have_length = |rows: Range<usize>| {
            rows.into_iter().all(|row| offsets[row + 1].as_usize() == (row + 1) * length)
        };
        let are_alike = self.right.indices.len() == rows * length
            && cpu.map(rows, chunks(rows, COUNTED_ROWS), have_length).into_iter().all(|alike| alike);
        Self { right_length: are_alike.then_some(length), ..self }
    }

    /// The entries of each row of the right factor, if these are known to be equally long.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn right_length(self) -> Option<usize> {
        self.right_length
    }

    /// The rows of the right factor whose entries are multiplied in a row of C.
    #[inline(always)]
    pub(super) fn right_rows(self, row: usize) -> impl Iterator<Item = &'a [I]> {
        let right = self.right;
        self.left.row(row).iter().map(move |k| right.row(k.as_usize()))
    }

    /// Adds the columns of all products of a row to a set, which has begun with their window.
    #[inline(always)]
    pub(super) fn insert_columns<const SKIPS_BLOCKS: bool>(self, row: usize, set: &mut ColumnSet) {
        for column in self.right_rows(row).flatten() {
            set.insert::<SKIPS_BLOCKS>(column.as_usize());
        }
    }

    /// The row of the right factor that is a row of C as it is: where the left one has one entry.
    #[inline(always)]
    pub(super) fn only_row(self, row: usize) -> Option<&'a [I]> {
        match self.left.row(row) {
            [k] if self.right.is_canonical() => Some(self.right.row(k.as_usize())),
            _ => None,
        }
    }

    /// Prefetches what the entries of the left factor behind `entry` need: offsets of the right one, and by `fetch` the
    /// entries from a position on.
    #[inline(always)]
    pub(super) fn fetch_ahead(self, entry: usize, fetch: impl Fn(usize)) {
        if !self.fetches {
            return;
        }
        let (columns, offsets) = (self.left.indices, self.right.offsets);
        if let Some(k) = columns.get(entry + 2 * AHEAD) {
            fetch_line(offsets, k.as_usize());
        }
        if let Some(k) = columns.get(entry + AHEAD) {
            fetch(offsets[k.as_usize()].as_usize());
        }
    }

    /// The number of products in a row of C.
    #[inline(always)]
    pub(super) fn products(self, row: usize) -> usize {
        if let Some(length) = self.right_length {
            return length * self.left.range(row).len();
        }
        self.left.row(row).iter().map(|k| self.right.range(k.as_usize()).len()).sum()
    }

    /// The number of products in a row of C, and the columns between the first and the last one; all columns, where the
    /// right factor is unsorted. `fetch` prefetches the entries of the right factor from a position on.
    #[inline(always)]
    pub(super) fn span(self, row: usize, fetch: impl Fn(usize)) -> (usize, Range<usize>) {
        let (mut products, mut first, mut end) = (0, self.right.minor, 0);
        for (entry, columns) in (self.left.range(row).start..).zip(self.right_rows(row)) {
            self.fetch_ahead(entry, &fetch);
            products += columns.len();
            if let [least, ..] = columns
                && let [.., greatest] = columns
            {
                first = first.min(least.as_usize());
                end = end.max(greatest.as_usize() + 1);
            }
        }
        (products, if self.right.order.sorted { first.min(end)..end } else { 0..self.right.minor })
    }

    /// The rows of C that are the row before, shifted by one column: those of a stencil or a band. `None` where they
    /// are too few to look for.
    pub(super) fn repetitions(self, cpu: &Cpu) -> Option<Repetitions> {
        let step = self.right.major() / SAMPLED_ROWS;
        let is_shifted = |row| is_shifted(self.right.row(row - 1), self.right.row(row));
        let sampled = (1..self.right.major()).step_by((step | 1).max(1));
        let (sampled, shifted) = (sampled.clone().count(), sampled.filter(|&row| is_shifted(row)).count());
        if 4 * shifted < 3 * sampled {
            return None;
        }
        let right = shifted_rows(cpu, self.right);
        // Arrays without entries may have one address.
        let is_square = std::ptr::eq(self.left.offsets, self.right.offsets)
            && std::ptr::eq(self.left.indices, self.right.indices);
        Some(Repetitions { left: (!is_square).then(|| shifted_rows(cpu, self.left)), right })
    }

    /// True if `row` of C is the row before, shifted by one column.
    #[inline(always)]
    pub(super) fn repeats(self, repetitions: &Repetitions, row: usize) -> bool {
        let Repetitions { left, right } = repetitions;
        left.as_ref().unwrap_or(right)[row] && self.left.row(row).iter().all(|k| right[k.as_usize()])
    }

    /// All rows of C, in parts of about equal numbers of products.
    pub(super) fn parts(self, cpu: &Cpu) -> Parts {
        let (rows, most) = (self.left.major(), self.right.minor);
        let is_often_empty = are_often_empty(rows, self.left.indices.len());
        let block = if is_often_empty { BLOCK } else { (rows / COUNTED_ROWS).clamp(1, BLOCK) };
        let count = |rows: Range<usize>| {
            let mut count = Count { rows: rows.len(), ..Count::default() };
            let mut add = |row| {
                let products = self.products(row);
                count.add(Count { rows: 0, products, entries: products.min(most) });
            };
            if is_often_empty {
                let offsets = &self.left.offsets[rows.start..=rows.end];
                for_each_filled_row(offsets, |row, _| add(rows.start + row));
            } else {
                rows.for_each(add);
            }
            count
        };
        let blocks =
            cpu.map(self.left.indices.len() + rows, chunks(rows, COUNTED_ROWS / BLOCK * block), |rows| {
                let start = rows.start;
                let blocks = chunks(rows.len(), block).into_iter();
                blocks.map(|rows| count(start + rows.start..start + rows.end)).collect::<Vec<_>>()
            });
        let mut parts = Parts::default();
        for block in blocks.into_iter().flatten() {
            let start = parts.all.rows + parts.last.rows;
            if block.weight() > PART {
                (start..start + block.rows).for_each(|row| parts.add(count(row..row + 1)));
            } else {
                parts.add(block);
            }
        }
        parts.close();
        parts
    }
}

/// Numbers of some rows of C.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Count {
    pub(super) rows: usize,
    pub(super) products: usize,
    /// The most entries that the rows can have: as many as products, or as columns if those are fewer.
    pub(super) entries: usize,
}

impl Count {
    fn add(&mut self, other: Self) {
        self.rows += other.rows;
        self.products += other.products;
        self.entries += other.entries;
    }

    fn weight(self) -> usize {
        self.products + self.rows
    }
}

/// Rows of C in parts of [`PART`] products and rows at most; a row with more is a part of its own.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) rows: Vec<Range<usize>>,
    /// The numbers of each part.
    pub(super) counts: Vec<Count>,
    /// Those of all parts.
    pub(super) all: Count,
    /// Those of the rows behind the parts.
    last: Count,
}

impl Parts {
    fn add(&mut self, rows: Count) {
        if self.last.weight() + rows.weight() > PART {
            self.close();
        }
        self.last.add(rows);
    }

    /// Makes a part of the rows behind the last one, if there are some.
    fn close(&mut self) {
        let part = std::mem::take(&mut self.last);
        if part.rows > 0 {
            self.rows.push(self.all.rows..self.all.rows + part.rows);
            self.counts.push(part);
            self.all.add(part);
        }
    }
}

/// For each row of both factors, true if it is the row before, shifted by one column.
#[derive(Debug)]
pub(super) struct Repetitions {
    /// `None` where both factors have one pattern.
    left: Option<Vec<bool>>,
    right: Vec<bool>,
}

fn shifted_rows<I: Index, O: Index>(cpu: &Cpu, pattern: Pattern<'_, I, O>) -> Vec<bool> {
    let mut shifted = vec![false; pattern.major()];
    cpu.for_chunks(&mut shifted, COUNTED_ROWS, |first, shifted| {
        for (row, shifted) in (first..).zip(shifted).skip(usize::from(first == 0)) {
            *shifted = is_shifted(pattern.row(row - 1), pattern.row(row));
        }
    });
    shifted
}

fn is_shifted<I: Index>(before: &[I], row: &[I]) -> bool {
    // Empty rows are done without a look at the row before.
    !row.is_empty()
        && before.len() == row.len()
        && before.iter().zip(row).all(|(a, b)| a.as_i64() + 1 == b.as_i64())
}
