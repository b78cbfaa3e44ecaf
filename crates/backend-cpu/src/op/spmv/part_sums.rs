//! The sums of the rows of one part.

use super::long_row::Columns;
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
    pub(super) x: &'a [T],
    pub(super) op: Op,
    pub(super) known: Columns,
    /// Called with the first of some rows, counted from the first of the part, and their sums.
    pub(super) write: Write,
}

impl<T: Scalar, I: Index, Ends: RowEnds, Write> Vectorize for PartSums<'_, T, I, Ends, Write>
where
    Write: FnMut(usize, &[T::Acc]),
{
    /// `None` if a column is not below the length of `x`, after which what was written has no meaning.
    type Out = Option<Carry<T::Acc>>;

    #[inline(always)]
    fn run<S: Isa>(self) -> Self::Out {
        let Self { part, ends, columns, values, x, op, known, mut write } = self;
        let entries = Entries { columns, values, x, op, known };
        let mut block = Block::new();
        let write = |row, sums: &[T::Acc]| write(row - part.rows.start, sums);
        let (head, rows, entry) = part.split(&ends);
        // SAFETY: the entries of a part are those of its matrix; `S` is only run where the processor has it.
        unsafe {
            let head = match head {
                Some(range) => Some(entries.sum::<S>(range)?),
                None => None,
            };
            let end = block.sum::<S, T, I>(&entries, rows, entry, &ends, write)?;
            Some(Carry { head, tail: entries.sum::<S>(end..part.entries.end)? })
        }
    }
}
