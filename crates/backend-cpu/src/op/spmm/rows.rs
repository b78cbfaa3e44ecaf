//! The rows of op(A), stored or gathered.

use crate::parallel::{hull, rows_by_entries};
use crate::primitive::entries::{Entries, RowPattern, ValueArrays};
use crate::primitive::lines::Lines;
use sparse_core::op::Op;
use sparse_core::{Axis, BatchCompressed, Compressed, Coo, Ell, Host, HostCsr, Hyb, Index, Scalar, Sell};
use std::ops::Range;

/// The rows of a format for SpMM.
pub trait SpmmFormat: Entries {
    /// The type of the offsets of stored rows.
    type Offset: Index;
    /// The type of the columns of gathered rows: that of the format, but for batches, whose members have columns of
    /// their own.
    type Column: Index;
    /// True if the stored direction is by rows, as in COO, ELL, HYB and SELL.
    const BY_ROWS: bool = true;

    /// The rows of op(A), if they are stored one after another.
    fn stored_rows(&self, _: Op) -> Option<Lines<'_, Self::Scalar, Self::Index, Self::Offset>> {
        None
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> SpmmFormat for Compressed<A, T, Host, I, O> {
    type Offset = O;
    type Column = I;
    const BY_ROWS: bool = A::IS_ROW;

    fn stored_rows(&self, op: Op) -> Option<Lines<'_, T, I, O>> {
        (op.transposes() != A::IS_ROW).then(|| Lines::of(self.as_ref()))
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> SpmmFormat for BatchCompressed<A, T, Host, I, O> {
    type Offset = i64;
    type Column = i64;
    const BY_ROWS: bool = A::IS_ROW;
}

impl<T: Scalar, I: Index, O: Index> SpmmFormat for HostCsr<T, I, O> {
    type Offset = O;
    type Column = I;

    fn stored_rows(&self, op: Op) -> Option<Lines<'_, T, I, O>> {
        (!op.transposes()).then(|| Lines::of(self.as_ref()))
    }
}

impl<T: Scalar, I: Index> SpmmFormat for Coo<T, Host, I> {
    type Offset = i64;
    type Column = I;
}

impl<T: Scalar, I: Index> SpmmFormat for Ell<T, Host, I> {
    type Offset = i64;
    type Column = I;
}

impl<T: Scalar, I: Index> SpmmFormat for Hyb<T, Host, I> {
    type Offset = i64;
    type Column = I;
}

impl<T: Scalar, I: Index, O: Index> SpmmFormat for Sell<T, Host, I, O> {
    type Offset = i64;
    type Column = I;
}

/// The rows of op(A), with the entries of each contiguous.
pub(super) trait Rows: Copy + Send + Sync {
    /// The type of the values.
    type Scalar: Scalar;
    /// The type of the columns.
    type Index: Index;

    /// The number of rows.
    fn len(&self) -> usize;

    /// The entries of `row`.
    fn entries(&self, row: usize) -> Range<usize>;

    /// The columns of all entries.
    fn columns(&self) -> &[Self::Index];

    /// The values of these entries.
    fn values(&self, entries: Range<usize>) -> impl Iterator<Item = Self::Scalar>;

    /// The values of all entries, if they are contiguous.
    fn stored_values(&self) -> Option<&[Self::Scalar]> {
        None
    }

    /// Ranges of rows with about `entries` entries each.
    fn parts(&self, entries: usize) -> Vec<Range<usize>>;

    /// The range from the first to the last column of some rows.
    fn columns_of(&self, rows: Range<usize>) -> Range<usize> {
        let entries = self.entries(rows.start).start..self.entries(rows.end - 1).end;
        hull(self.columns()[entries].iter().map(|column| column.as_usize()))
    }
}

/// Rows as stored.
impl<T: Scalar, I: Index, O: Index> Rows for Lines<'_, T, I, O> {
    type Scalar = T;
    type Index = I;

    fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    #[inline(always)]
    fn entries(&self, row: usize) -> Range<usize> {
        self.offsets[row].as_usize()..self.offsets[row + 1].as_usize()
    }

    #[inline(always)]
    fn columns(&self) -> &[I] {
        self.indices
    }

    #[inline(always)]
    fn values(&self, entries: Range<usize>) -> impl Iterator<Item = T> {
        self.values[entries].iter().copied()
    }

    #[inline(always)]
    fn stored_values(&self) -> Option<&[T]> {
        Some(self.values)
    }

    fn parts(&self, entries: usize) -> Vec<Range<usize>> {
        rows_by_entries(self.offsets, entries)
    }
}

/// Some entries of a row, as a matrix of one row.
#[derive(Clone, Copy)]
pub(super) struct OneRow<R> {
    rows: R,
    first: usize,
    len: usize,
}

impl<R> OneRow<R> {
    pub(super) fn new(rows: R, entries: &Range<usize>) -> Self {
        Self { rows, first: entries.start, len: entries.len() }
    }
}

impl<R: Rows> Rows for OneRow<R> {
    type Scalar = R::Scalar;
    type Index = R::Index;

    fn len(&self) -> usize {
        1
    }

    #[inline(always)]
    fn entries(&self, _: usize) -> Range<usize> {
        self.first..self.first + self.len
    }

    #[inline(always)]
    fn columns(&self) -> &[R::Index] {
        self.rows.columns()
    }

    #[inline(always)]
    fn values(&self, entries: Range<usize>) -> impl Iterator<Item = R::Scalar> {
        self.rows.values(entries)
    }

    fn parts(&self, _: usize) -> Vec<Range<usize>> {
        std::iter::once(0..1).collect()
    }
}

/// Rows by the plan's pattern.
#[derive(Clone, Copy)]
pub(super) struct GatheredRows<'a, T, I> {
    pub(super) pattern: &'a RowPattern<I>,
    pub(super) values: ValueArrays<'a, T>,
}

impl<T: Scalar, I: Index> Rows for GatheredRows<'_, T, I> {
    type Scalar = T;
    type Index = I;

    fn len(&self) -> usize {
        self.pattern.offsets.len() - 1
    }

    #[inline(always)]
    fn entries(&self, row: usize) -> Range<usize> {
        self.pattern.offsets[row].as_usize()..self.pattern.offsets[row + 1].as_usize()
    }

    #[inline(always)]
    fn columns(&self) -> &[I] {
        &self.pattern.columns
    }

    #[inline(always)]
    fn values(&self, entries: Range<usize>) -> impl Iterator<Item = T> {
        self.pattern.positions[entries].iter().map(|&position| self.values.at(position))
    }

    fn parts(&self, entries: usize) -> Vec<Range<usize>> {
        rows_by_entries(&self.pattern.offsets, entries)
    }
}
