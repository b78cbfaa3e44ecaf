//! The rows of op(A), stored or gathered.

use crate::op::entries::{Entries, RowPattern, Slots};
use crate::op::lines::Lines;
use crate::parallel::{hull, rows_by_entries};
use sparse_core::op::Op;
use sparse_core::{Axis, Compressed, Coo, Ell, Host, Hyb, Index, Scalar, Sell};
use std::ops::Range;

/// What a format brings to SpMM besides its entries.
pub trait SpmmFormat: Entries {
    /// The type of the offsets of stored rows.
    type Offset: Index;
    /// Whether the stored direction is by rows; COO, ELL, HYB and SELL are.
    const BY_ROWS: bool = true;

    /// The rows of op(A), if they are stored one after another.
    fn stored_rows(&self, _: Op) -> Option<Lines<'_, Self::Scalar, Self::Index, Self::Offset>> {
        None
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> SpmmFormat for Compressed<A, T, Host, I, O> {
    type Offset = O;
    const BY_ROWS: bool = A::IS_ROW;

    fn stored_rows(&self, op: Op) -> Option<Lines<'_, T, I, O>> {
        (op.transposes() != A::IS_ROW).then(|| Lines::of(self.as_ref()))
    }
}

impl<T: Scalar, I: Index> SpmmFormat for Coo<T, Host, I> {
    type Offset = i64;
}

impl<T: Scalar, I: Index> SpmmFormat for Ell<T, Host, I> {
    type Offset = i64;
}

impl<T: Scalar, I: Index> SpmmFormat for Hyb<T, Host, I> {
    type Offset = i64;
}

impl<T: Scalar, I: Index, O: Index> SpmmFormat for Sell<T, Host, I, O> {
    type Offset = i64;
}

/// The rows of op(A).
#[derive(Clone, Copy)]
pub(super) enum Rows<'a, T, I, O> {
    /// As stored.
    Stored(Lines<'a, T, I, O>),
    /// By the pattern that the plan holds.
    Slotted(&'a RowPattern<I>, Slots<'a, T>),
}

impl<'a, T: Scalar, I: Index, O: Index> Rows<'a, T, I, O> {
    /// The rows of op(A), by `pattern` if they are not stored so.
    pub(super) fn of<M>(a: &'a M, op: Op, pattern: &'a RowPattern<I>) -> Self
    where
        M: SpmmFormat<Scalar = T, Index = I, Offset = O>,
    {
        a.stored_rows(op).map_or_else(|| Self::Slotted(pattern, a.slots()), Self::Stored)
    }

    /// The number of rows.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Stored(lines) => lines.offsets.len() - 1,
            Self::Slotted(pattern, _) => pattern.offsets.len() - 1,
        }
    }

    /// The number of entries.
    pub(super) fn nnz(&self) -> usize {
        match self {
            Self::Stored(lines) => lines.indices.len(),
            Self::Slotted(pattern, _) => pattern.columns.len(),
        }
    }

    /// Ranges of rows with about so many entries each.
    pub(super) fn parts(&self, entries: usize) -> Vec<Range<usize>> {
        match self {
            Self::Stored(lines) => rows_by_entries(lines.offsets, entries),
            Self::Slotted(pattern, _) => rows_by_entries(&pattern.offsets, entries),
        }
    }

    /// The entries before `row`.
    #[inline(always)]
    fn offset(&self, row: usize) -> usize {
        match self {
            Self::Stored(lines) => lines.offsets[row].as_usize(),
            Self::Slotted(pattern, _) => pattern.offsets[row].as_usize(),
        }
    }

    /// The entries of `row`.
    #[inline(always)]
    pub(super) fn entries(&self, row: usize) -> Range<usize> {
        self.offset(row)..self.offset(row + 1)
    }

    /// From the first to the last column of some rows.
    pub(super) fn columns_of(&self, rows: Range<usize>) -> Range<usize> {
        let entries = self.offset(rows.start)..self.offset(rows.end);
        let columns = match self {
            Self::Stored(lines) => &lines.indices[entries],
            Self::Slotted(pattern, _) => &pattern.columns[entries],
        };
        hull(columns.iter().map(|column| column.as_usize()))
    }

    /// Calls `visit(column, value)` for these entries.
    #[inline(always)]
    pub(super) fn for_each(&self, entries: Range<usize>, mut visit: impl FnMut(usize, T)) {
        match self {
            Self::Stored(lines) => {
                for (column, &value) in lines.indices[entries.clone()].iter().zip(&lines.values[entries]) {
                    visit(column.as_usize(), value);
                }
            }
            Self::Slotted(pattern, slots) => {
                let columns = pattern.columns[entries.clone()].iter();
                for (column, &slot) in columns.zip(&pattern.slots[entries]) {
                    visit(column.as_usize(), slots.at(slot));
                }
            }
        }
    }
}
