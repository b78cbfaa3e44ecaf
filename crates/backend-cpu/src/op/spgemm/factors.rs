//! The patterns of two factors, row by row, and the work of a product.

use crate::Cpu;
use crate::simd::fetch_line;
use sparse_core::{CompressedPattern, Host, Index, IndexOrder, Result};
use std::ops::Range;

/// Rows whose products are counted together.
const COUNTED_ROWS: usize = 4096;

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
}

impl<'a, I: Index, O: Index> Factors<'a, I, O> {
    pub(super) fn new(
        left: &'a CompressedPattern<Host, I, O>,
        right: &'a CompressedPattern<Host, I, O>,
    ) -> Self {
        Self { left: left.into(), right: right.into() }
    }

    /// The rows of the right factor whose entries are multiplied in a row of C.
    #[inline(always)]
    pub(super) fn right_rows(self, row: usize) -> impl Iterator<Item = &'a [I]> {
        let right = self.right;
        self.left.row(row).iter().map(move |k| right.row(k.as_usize()))
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
        let (columns, offsets) = (self.left.indices, self.right.offsets);
        if let Some(k) = columns.get(entry + 2 * AHEAD) {
            fetch_line(offsets, k.as_usize());
        }
        if let Some(k) = columns.get(entry + AHEAD) {
            fetch(offsets[k.as_usize()].as_usize());
        }
    }

    /// The number of products in a row of C.
    fn products(self, row: usize) -> usize {
        self.left.row(row).iter().map(|k| self.right.range(k.as_usize()).len()).sum()
    }

    /// The columns between the first and the last one of a row of C; all columns, where the right factor is unsorted.
    #[inline(always)]
    pub(super) fn window(self, row: usize) -> Range<usize> {
        if !self.right.order.sorted {
            return 0..self.right.minor;
        }
        let (mut first, mut end) = (self.right.minor, 0);
        for (entry, columns) in (self.left.range(row).start..).zip(self.right_rows(row)) {
            self.fetch_ahead(entry, |start| fetch_line(self.right.indices, start));
            if let [least, ..] = columns
                && let [.., greatest] = columns
            {
                first = first.min(least.as_usize());
                end = end.max(greatest.as_usize() + 1);
            }
        }
        first.min(end)..end
    }

    /// The rows of C that are the row before, shifted by one column: those of a stencil or a band.
    pub(super) fn repetitions(self, cpu: &Cpu) -> Repetitions {
        let right = shifted_rows(cpu, self.right);
        // Arrays without entries may have one address.
        let is_square = std::ptr::eq(self.left.offsets, self.right.offsets)
            && std::ptr::eq(self.left.indices, self.right.indices);
        Repetitions { left: (!is_square).then(|| shifted_rows(cpu, self.left)), right }
    }

    /// True if `row` of C is the row before, shifted by one column.
    #[inline(always)]
    pub(super) fn repeats(self, repetitions: &Repetitions, row: usize) -> bool {
        let Repetitions { left, right } = repetitions;
        left.as_ref().unwrap_or(right)[row] && self.left.row(row).iter().all(|k| right[k.as_usize()])
    }

    /// The number of products before each row of C, and of all.
    pub(super) fn product_offsets(self, cpu: &Cpu) -> Result<Vec<i64>> {
        let mut counts = vec![0; self.left.major()];
        cpu.for_chunks(&mut counts, COUNTED_ROWS, |first, counts| {
            for (row, count) in (first..).zip(counts) {
                *count = self.products(row);
            }
        });
        cpu.offsets(&counts)
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
    before.len() == row.len() && before.iter().zip(row).all(|(a, b)| a.as_i64() + 1 == b.as_i64())
}
