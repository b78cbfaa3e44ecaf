//! The sums of the rows of one part.

use crate::primitive::dot::dot;
use crate::primitive::partition::{Carry, Part, RowEnds};
use crate::simd::{Isa, Vectorize, fetch_line};
use sparse_core::op::Op;
use sparse_core::{Index, Scalar};
use std::ops::Range;

/// The longest rows whose columns and values are prefetched, one cache line each.
const SHORT: usize = 16;

/// Entries by which they are prefetched ahead.
const AHEAD: usize = 512;

/// The sums of one part, whose entries are contiguous in `columns` and `values`.
pub(super) struct PartSums<'a, T, I, Ends, Write> {
    pub(super) part: &'a Part,
    pub(super) ends: Ends,
    pub(super) columns: &'a [I],
    pub(super) values: &'a [T],
    /// The operand, whose length exceeds every column.
    pub(super) x: &'a [T],
    pub(super) op: Op,
    /// Called with a row, counted from the first of the part, and its sum.
    pub(super) write: Write,
}

impl<T: Scalar, I: Index, Ends: RowEnds, Write> Vectorize for PartSums<'_, T, I, Ends, Write>
where
    Write: FnMut(usize, T::Acc),
{
    type Out = Carry<T::Acc>;

    #[inline(always)]
    fn run<S: Isa>(self) -> Carry<T::Acc> {
        let Self { part, ends, columns, values, x, op, write } = self;
        let sum = |entries: Range<usize>| {
            if entries.len() <= SHORT {
                fetch_line(columns, entries.start + AHEAD);
                fetch_line(values, entries.start + AHEAD);
            }
            // SAFETY: the columns of a matrix are below the length of `x`, as the plan checked.
            unsafe { dot::<S, T, I>(&columns[entries.clone()], &values[entries], x, op) }
        };
        part.sums(ends, sum, write)
    }
}
