//! The sums of the rows of one part.

use super::row_block::{Block, Entries};
use crate::primitive::partition::{Carry, Part, RowEnds};
use crate::simd::{Isa, Vectorize};
use sparse_core::op::Op;
use sparse_core::{Index, Scalar};

/// The sums of one part, whose entries are contiguous in `columns` and `values`.
pub(super) struct PartSums<'a, T, I, Ends, Write> {
    pub(super) part: &'a Part,
    pub(super) ends: Ends,
    pub(super) columns: &'a [I],
    pub(super) values: &'a [T],
    /// The operand, whose length exceeds every column.
    pub(super) x: &'a [T],
    pub(super) op: Op,
    /// Called with the first of some rows, counted from the first of the part, and their sums.
    pub(super) write: Write,
}

impl<T: Scalar, I: Index, Ends: RowEnds, Write> Vectorize for PartSums<'_, T, I, Ends, Write>
where
    Write: FnMut(usize, &[T::Acc]),
{
    type Out = Carry<T::Acc>;

    #[inline(always)]
    fn run<S: Isa>(self) -> Carry<T::Acc> {
        let Self { part, ends, columns, values, x, op, mut write } = self;
        let entries = Entries { columns, values, x, op };
        let mut block = Block::new();
        let write = |row, sums: &[T::Acc]| write(row - part.rows.start, sums);
        // SAFETY: the entries of a part are those of its matrix, whose columns the plan checked; `S` is only run where the
        // processor has it.
        part.sums(
            &ends,
            |rows, entry| unsafe { block.sum::<S, T, I>(&entries, rows, entry, &ends, write) },
            |range| unsafe { entries.sum::<S>(range) },
        )
    }
}
