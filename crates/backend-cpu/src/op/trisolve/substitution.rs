//! The values of X, row by row, in the order of a schedule.

use super::schedule::Schedule;
use super::thresholds::TrisolveThresholds;
use crate::Cpu;
use crate::parallel::{rows_by_weight, split_mut};
use num_traits::One;
use sparse_core::op::{Diagonal, Op, Triangular, quotient};
use sparse_core::{DenseView, DenseViewMut, Index, Result, Scalar};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The operands of a solve.
pub(super) struct Substitution<'a, 'b, T: Scalar, I, O> {
    pub(super) schedule: &'a Schedule<I, O>,
    pub(super) system: Triangular,
    pub(super) values: &'a [T],
    pub(super) b: DenseView<'b, T>,
}

/// The least row whose diagonal is zero.
struct ZeroDiagonal(AtomicUsize);

impl ZeroDiagonal {
    const NONE: usize = usize::MAX;

    fn found(&self, row: usize) {
        self.0.fetch_min(row, Ordering::Relaxed);
    }
}

impl<T: Scalar, I: Index, O: Index> Substitution<'_, '_, T, I, O> {
    /// Solves for all columns of B. `solved` is workspace: the rows of X in the order of the schedule.
    ///
    /// # Errors
    /// [`Singular`](sparse_core::Error::Singular) with the first row whose diagonal is zero.
    pub(super) fn run(&self, cpu: &Cpu, solved: &mut Vec<T::Acc>, mut x: DenseViewMut<'_, T>) -> Result<()> {
        let columns = self.b.ncols();
        solved.resize(self.schedule.order() * columns, T::Acc::ZERO);
        let zero = ZeroDiagonal(AtomicUsize::new(ZeroDiagonal::NONE));
        match &self.schedule.levels[..] {
            [] => self.rows(0..self.schedule.order(), solved, &zero),
            levels => {
                levels.windows(2).for_each(|level| self.level(cpu, level[0]..level[1], solved, &zero));
            }
        }
        let zero = zero.0.into_inner();
        if zero != ZeroDiagonal::NONE {
            return Err(Triangular::zero_diagonal(zero));
        }
        for (row, solved) in self.schedule.rows.iter().zip(solved.chunks_exact(columns)) {
            for (column, &value) in solved.iter().enumerate() {
                *x.at_mut(row.as_usize(), column) = T::from_acc(value);
            }
        }
        Ok(())
    }

    /// Solves the rows at these positions, none of which needs another, in parallel if there are enough entries.
    fn level(&self, cpu: &Cpu, positions: Range<usize>, solved: &mut [T::Acc], zero: &ZeroDiagonal) {
        let (columns, TrisolveThresholds { level_entries, part, .. }) =
            (self.b.ncols(), TrisolveThresholds::CPU);
        let before = self.schedule.weight(positions.start);
        let weight = (self.schedule.weight(positions.end) - before) * columns;
        if weight < level_entries {
            return self.rows(positions, solved, zero);
        }
        let weight_before = |row| self.schedule.weight(positions.start + row) - before;
        let parts = rows_by_weight(positions.len(), weight_before, part.div_ceil(columns));
        let (done, rest) = solved.split_at_mut(positions.start * columns);
        let elements: Vec<_> = parts.iter().map(|rows| rows.start * columns..rows.end * columns).collect();
        let (done, start) = (&*done, positions.start);
        let items = parts.iter().zip(split_mut(rest, &elements)).collect();
        cpu.for_each(weight, items, |(rows, solved): (&Range<usize>, &mut [T::Acc])| {
            for (row, x) in rows.clone().zip(solved.chunks_exact_mut(columns)) {
                self.row(start + row, done, x, zero);
            }
        });
    }

    /// Solves the rows at these positions one after the other.
    fn rows(&self, positions: Range<usize>, solved: &mut [T::Acc], zero: &ZeroDiagonal) {
        let columns = self.b.ncols();
        for position in positions {
            let (done, rest) = solved.split_at_mut(position * columns);
            self.row(position, done, &mut rest[..columns], zero);
        }
    }

    /// Solves one row from those before it.
    #[inline(always)]
    fn row(&self, position: usize, done: &[T::Acc], x: &mut [T::Acc], zero: &ZeroDiagonal) {
        let row = self.schedule.rows[position].as_usize();
        let diagonal = match &mut *x {
            [x] => {
                let mut sum = self.b.at(row, 0).to_acc();
                let diagonal = self.entries(position, |at, value| sum -= value * done[at]);
                *x = sum;
                diagonal
            }
            x => {
                x.iter_mut().enumerate().for_each(|(column, x)| *x = self.b.at(row, column).to_acc());
                self.entries(position, |at, value| {
                    let done = &done[at * x.len()..][..x.len()];
                    x.iter_mut().zip(done).for_each(|(x, &done)| *x -= value * done);
                })
            }
        };
        if diagonal.is_zero() {
            zero.found(row);
        }
        x.iter_mut().for_each(|x| *x = T::from_acc(quotient(*x, diagonal)).to_acc());
    }

    /// Calls `subtract` with position and value of each entry of a row but the diagonal, which it returns.
    #[inline(always)]
    fn entries(&self, position: usize, mut subtract: impl FnMut(usize, T::Acc)) -> T::Acc {
        let conjugates = self.system.op == Op::ConjugateTranspose;
        let is_unit = self.system.diagonal == Diagonal::Unit;
        let mut diagonal = if is_unit { T::Acc::one() } else { T::Acc::ZERO };
        let range = self.schedule.range(position);
        for (column, place) in self.schedule.columns[range.clone()].iter().zip(&self.schedule.places[range]) {
            let value = self.values[place.as_usize()];
            let value = if conjugates { value.conj() } else { value }.to_acc();
            if column.as_usize() == position {
                diagonal += value;
            } else {
                subtract(column.as_usize(), value);
            }
        }
        diagonal
    }
}
