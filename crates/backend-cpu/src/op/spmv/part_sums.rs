//! The sums of the rows of one part.

use crate::primitive::dot::{dot, dot_by_loads};
use crate::primitive::partition::{Carry, Part, RowEnds};
use crate::simd::{Isa, Simd, Vectorize, fetch_line};
use sparse_core::op::Op;
use sparse_core::{Index, Scalar};
use std::ops::Range;

/// The longest rows whose columns and values are prefetched, one cache line each.
const SHORT: usize = 16;

/// Entries by which they are prefetched ahead.
const AHEAD: usize = 512;

/// Rows of a part whose lengths are looked at.
const LOOKED_AT: usize = 64;

/// Entries of long rows.
const LONG: usize = 24;

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
        let by_loads = !Simd::has_fast_gathers() && has_like_rows(part, &ends);
        let sum = |entries: Range<usize>| {
            if entries.len() <= SHORT {
                fetch_line(columns, entries.start + AHEAD);
                fetch_line(values, entries.start + AHEAD);
            }
            let (columns, values) = (&columns[entries.clone()], &values[entries]);
            if by_loads {
                return dot_by_loads(columns, values, x, op);
            }
            // SAFETY: the columns of a matrix are below the length of `x`, as the plan checked.
            unsafe { dot::<S, T, I>(columns, values, x, op) }
        };
        part.sums(ends, sum, write)
    }
}

/// True if the first rows of a part are as long as their neighbours, or long, so that a processor foresees the ends of
/// loops over their entries. Where its gathers are slow, loads then take less time: with rows of 3, 5, 13 and 50 entries
/// each in f64 0.56, 0.63, 0.70 and 0.90 of it (Zen 4), but 1.5 with 1 to 5 entries in f32.
fn has_like_rows(part: &Part, ends: &impl RowEnds) -> bool {
    let rows = part.rows.clone().take(LOOKED_AT);
    let (count, mut entry) = (rows.len(), part.entries.start);
    let (mut last, mut changes) = (None, 0);
    for row in rows {
        let end = ends.end(row, entry);
        changes += usize::from(last.is_some_and(|last| last != end - entry));
        (last, entry) = (Some(end - entry), end);
    }
    changes <= count / 8 || entry - part.entries.start >= LONG * count
}
