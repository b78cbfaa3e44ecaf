//! Algorithms `transposed_pattern` and `sorted_rows`: the plan has the entries of op(A) row by row.

use super::Product;
use crate::Cpu;
use crate::primitive::entries::{Entries, RowPattern, ValueArrays};
use crate::primitive::partition::{Carry, Cut, Partition};
use sparse_core::op::Op;
use sparse_core::{Accumulator, Index, Result, Scalar};
use std::ops::Range;

/// A pattern by rows, cut along its merge path.
pub(super) struct Gathered<I, Acc> {
    pattern: RowPattern<I>,
    parts: Partition<Acc>,
    /// (rows, columns) of a member of op(A).
    shape: (usize, usize),
}

impl<I: Index, Acc: Accumulator> Gathered<I, Acc> {
    pub(super) fn new<M: Entries<Index = I>>(a: &M, op: Op) -> Result<Self> {
        let pattern = RowPattern::new(a, op)?;
        let (rows, cols) = a.member_shape();
        let shape = op.orient(rows, cols);
        let starts = (0..pattern.offsets.len() - 1).step_by(shape.0.max(1));
        let members = starts.map(|start| &pattern.offsets[start..=start + shape.0]);
        let parts = Partition::cut(Cut::MergePath, members);
        Ok(Self { pattern, parts, shape })
    }

    pub(super) fn bytes(&self) -> usize {
        self.pattern.bytes() + self.parts.bytes()
    }

    pub(super) fn multiply<T>(&mut self, cpu: &Cpu, values: ValueArrays<'_, T>, product: Product<'_, T>)
    where
        T: Scalar<Acc = Acc>,
    {
        let Product { x, y, update, op } = product;
        let (pattern, (rows, cols)) = (&self.pattern, self.shape);
        self.parts.run(cpu, y, &|y, sum| update.write(y, sum), &|part, y| {
            let offsets = &pattern.offsets[part.member * rows..][..=rows];
            let x = &x[part.member * cols..][..cols];
            let sum = |range| sum(pattern, values, x, op, range);
            let (head, rows, mut entry) = part.split(&offsets);
            for row in rows {
                let end = offsets[row + 1].as_usize();
                update.write(&mut y[row - part.rows.start], sum(entry..end));
                entry = end;
            }
            Carry { head: head.map(sum), tail: sum(entry..part.entries.end) }
        });
    }
}

#[inline(always)]
fn sum<T: Scalar, I: Index>(
    pattern: &RowPattern<I>,
    values: ValueArrays<'_, T>,
    x: &[T],
    op: Op,
    range: Range<usize>,
) -> T::Acc {
    let mut sum = T::Acc::ZERO;
    for (column, &position) in pattern.columns[range.clone()].iter().zip(&pattern.positions[range]) {
        let value = values.at(position);
        let value = op.apply(value);
        sum += value.to_acc() * x[column.as_usize()].to_acc();
    }
    sum
}
