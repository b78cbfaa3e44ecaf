//! Rows of a triangle, one after the other, each with its entries but the diagonal side by side: where A stores them,
//! or copied.

use super::schedule::Entries;
use super::substitution::{Substitution, ZeroDiagonal, steps};
use crate::Cpu;
use crate::simd::{Isa, Vectorize};
use sparse_core::op::{Diagonal, Triangle};
use sparse_core::{DenseViewMut, Index, Order, Result, Scalar};
use std::hint::black_box;
use std::ops::Range;

/// Columns of B that are solved together.
const BLOCK: usize = 8;

/// The rows of a triangle.
pub(super) struct TriangleRows<I, O> {
    is_lower: bool,
    has_diagonal: bool,
    /// The entries of each row but the diagonal, in the order of substitution, and the end of the last row of a copy.
    spans: Vec<[O; 2]>,
    copy: Option<CopiedRows<I, O>>,
}

/// The entries of rows that do not stand side by side in A: those of a row, then those on its diagonal.
struct CopiedRows<I, O> {
    columns: Vec<I>,
    /// The positions of the values in A.
    places: Vec<O>,
}

impl<I: Index, O: Index> TriangleRows<I, O> {
    /// The rows where A stores them: entries side by side, before that of the diagonal in a lower triangle, behind it
    /// in an upper one. `None` if they are not stored so.
    pub(super) fn stored(entries: &Entries<'_, I, O>) -> Option<Self> {
        if !entries.has_rows {
            return None;
        }
        let rows = Self::empty(entries);
        let order = entries.system.rows(entries.order());
        let spans = order.map(|row| rows.span_of(entries, row)).collect::<Option<_>>()?;
        Some(Self { spans, ..rows })
    }

    /// The rows with a copy of their columns and the places of their values, in the order of substitution: read from
    /// the last row of an upper triangle on, rows in the order of A took 1.4 times as long with 20 scattered entries.
    /// `lengths` are their numbers of entries.
    pub(super) fn copied(entries: &Entries<'_, I, O>, lengths: &[usize]) -> Self {
        let (mut total, mut starts) = (0, vec![0; lengths.len()]);
        for row in entries.system.rows(lengths.len()) {
            starts[row] = total;
            total += lengths[row];
        }
        let (mut next, mut copy) = (
            starts.clone(),
            CopiedRows { columns: vec![I::default(); total], places: vec![O::default(); total] },
        );
        let mut append = |next: &mut [usize], of_diagonal: bool| {
            for major in 0..entries.order() {
                entries.visit(major, |row, col, place| {
                    if (row == col) == of_diagonal {
                        let at = next[row];
                        (copy.columns[at], copy.places[at]) = (I::cast(col), O::cast(place));
                        next[row] += 1;
                    }
                });
            }
        };
        append(&mut next, false);
        let order = entries.system.rows(lengths.len());
        let spans = order.map(|row| [O::cast(starts[row]), O::cast(next[row])]);
        let spans = spans.chain([[O::cast(total); 2]]).collect();
        append(&mut next, true);
        Self { spans, copy: Some(copy), ..Self::empty(entries) }
    }

    fn empty(entries: &Entries<'_, I, O>) -> Self {
        Self {
            is_lower: entries.system.solved_triangle() == Triangle::Lower,
            has_diagonal: entries.system.diagonal == Diagonal::Stored,
            spans: vec![],
            copy: None,
        }
    }

    /// The places in A of the entries of a row but the diagonal.
    fn span_of(&self, entries: &Entries<'_, I, O>, row: usize) -> Option<[O; 2]> {
        let (mut all, mut count, mut diagonals, mut diagonal) = (0..0, 0, 0, 0);
        entries.visit(row, |_, col, place| {
            all = if count == 0 { place } else { all.start }..place + 1;
            count += 1;
            if col == row {
                diagonals += 1;
                diagonal = place;
            }
        });
        if all.len() != count || diagonals != usize::from(self.has_diagonal) {
            return None;
        }
        let others = match self.has_diagonal {
            false => all,
            true if self.is_lower && diagonal + 1 == all.end => all.start..diagonal,
            true if !self.is_lower && diagonal == all.start => diagonal + 1..all.end,
            true => return None,
        };
        Some([O::cast(others.start), O::cast(others.end)])
    }

    /// The entries but the diagonal of the row at `position` in the order of substitution.
    #[inline(always)]
    fn span(&self, position: usize) -> Range<usize> {
        let [start, end] = self.spans[position];
        start.as_usize()..end.as_usize()
    }

    /// The entries on the diagonal of the row at `position`, whose other entries are `others`.
    #[inline(always)]
    fn diagonal(&self, position: usize, others: &Range<usize>) -> Range<usize> {
        match (&self.copy, self.has_diagonal) {
            (Some(_), _) => others.end..self.spans[position + 1][0].as_usize(),
            (None, false) => others.end..others.end,
            (None, true) if self.is_lower => others.end..others.end + 1,
            (None, true) => others.start - 1..others.start,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let copied =
            self.copy.as_ref().map(|copy| size_of_val(&copy.columns[..]) + size_of_val(&copy.places[..]));
        size_of_val(&self.spans[..]) + copied.unwrap_or(0)
    }
}

/// [`BLOCK`] columns of B, for which the rows of a triangle are solved together.
struct BlockOfColumns<'a, 'b, 'c, T: Scalar, I, O, E> {
    substitution: &'a Substitution<'a, 'b, T>,
    rows: &'a TriangleRows<I, O>,
    entries: E,
    first: usize,
    x: &'a mut DenseViewMut<'c, T>,
    zero: &'a ZeroDiagonal,
}

impl<T: Scalar, I: Index, O: Index, E: ColumnsAndValues<T>> Vectorize
    for BlockOfColumns<'_, '_, '_, T, I, O, E>
{
    type Out = ();

    #[inline(always)]
    fn run<S: Isa>(self) {
        let Self { substitution, rows, entries, first, x, zero } = self;
        if steps(x).1 == 1 {
            substitution.solve_columns::<I, O, BLOCK, true>(rows, entries, first, x, zero);
        } else {
            substitution.solve_columns::<I, O, BLOCK, false>(rows, entries, first, x, zero);
        }
    }
}

/// Columns and values of entries.
trait ColumnsAndValues<T: Scalar>: Copy {
    /// The entries before `end`: positions that are compared with `end` need no other check.
    fn before(self, end: usize) -> Self;

    /// The column of an entry.
    fn column(&self, entry: usize) -> usize;

    /// The value of an entry.
    fn value(&self, entry: usize) -> T;
}

/// Entries in the arrays of A.
#[derive(Clone, Copy)]
struct StoredEntries<'a, T, I> {
    columns: &'a [I],
    values: &'a [T],
}

impl<T: Scalar, I: Index> ColumnsAndValues<T> for StoredEntries<'_, T, I> {
    #[inline(always)]
    fn before(self, end: usize) -> Self {
        Self { columns: &self.columns[..end], values: &self.values[..end] }
    }

    #[inline(always)]
    fn column(&self, entry: usize) -> usize {
        self.columns[entry].as_usize()
    }

    #[inline(always)]
    fn value(&self, entry: usize) -> T {
        self.values[entry]
    }
}

/// Entries of a copy, and the values of A.
#[derive(Clone, Copy)]
struct CopiedEntries<'a, T, I, O> {
    columns: &'a [I],
    places: &'a [O],
    values: &'a [T],
}

impl<T: Scalar, I: Index, O: Index> ColumnsAndValues<T> for CopiedEntries<'_, T, I, O> {
    #[inline(always)]
    fn before(self, end: usize) -> Self {
        Self { columns: &self.columns[..end], places: &self.places[..end], ..self }
    }

    #[inline(always)]
    fn column(&self, entry: usize) -> usize {
        self.columns[entry].as_usize()
    }

    #[inline(always)]
    fn value(&self, entry: usize) -> T {
        self.values[self.places[entry].as_usize()]
    }
}

impl<T: Scalar> Substitution<'_, '_, T> {
    /// Solves for all columns of B, row by row; `indices` are the columns of A's entries.
    ///
    /// # Errors
    /// [`Singular`](sparse_core::Error::Singular) with the first row whose diagonal is zero.
    pub(super) fn by_row<I: Index, O: Index>(
        &self,
        cpu: &Cpu,
        rows: &TriangleRows<I, O>,
        indices: &[I],
        mut x: DenseViewMut<'_, T>,
    ) -> Result<()> {
        let (zero, values) = (ZeroDiagonal::new(), self.values);
        match &rows.copy {
            None => self.solve(cpu, rows, StoredEntries { columns: indices, values }, &mut x, &zero),
            Some(CopiedRows { columns, places }) => {
                self.solve(cpu, rows, CopiedEntries { columns, places, values }, &mut x, &zero);
            }
        }
        zero.check()
    }

    fn solve<I: Index, O: Index>(
        &self,
        cpu: &Cpu,
        rows: &TriangleRows<I, O>,
        entries: impl ColumnsAndValues<T>,
        x: &mut DenseViewMut<'_, T>,
        zero: &ZeroDiagonal,
    ) {
        let (count, blocks) = (self.b.ncols(), self.b.ncols() / BLOCK);
        for first in (0..blocks * BLOCK).step_by(BLOCK) {
            cpu.simd().run(BlockOfColumns { substitution: self, rows, entries, first, x, zero });
        }
        for column in blocks * BLOCK..count {
            match (steps(x).0, rows.is_lower) {
                (1, true) => self.solve_column::<I, O, true>(rows, entries, column, x, zero),
                (1, false) => self.solve_column::<I, O, false>(rows, entries, column, x, zero),
                _ => self.solve_columns::<I, O, 1, false>(rows, entries, column, x, zero),
            }
        }
    }

    /// Solves for one column of B, where the elements of a column of X stand side by side.
    ///
    /// Rows of a stencil or a band need the row solved just before, by their last entry in a lower triangle and by
    /// their first in an upper one. Its element of X is taken from a register: a load would wait for the store, some 8
    /// of the 24 cycles between two rows that need each other.
    fn solve_column<I: Index, O: Index, const LOWER: bool>(
        &self,
        rows: &TriangleRows<I, O>,
        entries: impl ColumnsAndValues<T>,
        column: usize,
        x: &mut DenseViewMut<'_, T>,
        zero: &ZeroDiagonal,
    ) {
        let start = column * steps(x).1;
        let x = x.data_mut().as_mut_ptr();
        // SAFETY: A is square and X has its order, so that rows and columns of A's entries are rows of X, and the
        // columns of X are as many as those of B.
        let element = |row: usize| unsafe { &mut *x.add(start + row) };
        let (mut before, mut solved) = (usize::MAX, T::Acc::ZERO);
        // Unknown to the compiler, which else unrolls the loop over entries: rows of other lengths than the one before
        // then end in more branches that nobody foresees. Uniform rows with 8 entries 9.8 → 9.0 ms.
        let one = black_box(1);
        for (position, row) in self.system.rows(self.b.nrows()).enumerate() {
            let span = rows.span(position);
            let mut others = span.clone();
            let mut sum = self.b.at(row, column).to_acc();
            if !LOWER && !others.is_empty() && entries.column(others.start) == before {
                sum -= self.value(entries.value(others.start)) * solved;
                others.start += 1;
            }
            let ends_before = LOWER && !others.is_empty() && entries.column(others.end - 1) == before;
            others.end -= usize::from(ends_before);
            let (all, mut entry) = (entries.before(others.end), others.start);
            while entry < others.end {
                sum -= self.value(all.value(entry)) * element(all.column(entry)).to_acc();
                entry += one;
            }
            if ends_before {
                sum -= self.value(entries.value(span.end - 1)) * solved;
            }
            let diagonal = self.diagonal(entries, rows.diagonal(position, &span));
            if diagonal.is_zero() {
                zero.found(row);
            }
            let solution = Self::element(sum, diagonal);
            *element(row) = solution;
            (before, solved) = (row, solution.to_acc());
        }
    }

    /// Solves for `W` columns of B from the `first` on; elements of a row of X stand side by side if they are
    /// `CONTIGUOUS`.
    #[inline(always)]
    fn solve_columns<I: Index, O: Index, const W: usize, const CONTIGUOUS: bool>(
        &self,
        rows: &TriangleRows<I, O>,
        entries: impl ColumnsAndValues<T>,
        first: usize,
        x: &mut DenseViewMut<'_, T>,
        zero: &ZeroDiagonal,
    ) {
        let (row_step, column_step) = steps(x);
        let x = x.data_mut().as_mut_ptr();
        let element = |row: usize, j: usize| x.wrapping_add(row * row_step + (first + j) * column_step);
        // Side by side, they are read as they were written, by one instruction: a load of what several stores wrote
        // waits for all of them.
        let read = |row: usize| -> [T; W] {
            let mut solved = [T::ZERO; W];
            // SAFETY: A is square and X has its order, so that rows and columns of A's entries are rows of X, and the
            // columns of X are as many as those of B.
            unsafe {
                match CONTIGUOUS {
                    true => solved = *element(row, 0).cast(),
                    false => (0..W).for_each(|j| solved[j] = *element(row, j)),
                }
            }
            solved
        };
        for (position, row) in self.system.rows(self.b.nrows()).enumerate() {
            let span = rows.span(position);
            let mut sums = self.of_b::<W>(row, first);
            let all = entries.before(span.end);
            for entry in span.clone() {
                let (solved, value) = (read(all.column(entry)), self.value(all.value(entry)));
                for (sum, solved) in sums.iter_mut().zip(solved) {
                    *sum -= value * solved.to_acc();
                }
            }
            let diagonal = self.diagonal(entries, rows.diagonal(position, &span));
            if diagonal.is_zero() {
                zero.found(row);
            }
            let mut solutions = [T::ZERO; W];
            for (solution, sum) in solutions.iter_mut().zip(sums) {
                *solution = Self::element(sum, diagonal);
            }
            // SAFETY: as above.
            unsafe {
                match CONTIGUOUS {
                    true => *element(row, 0).cast() = solutions,
                    false => (0..W).for_each(|j| *element(row, j) = solutions[j]),
                }
            }
        }
    }

    /// Elements of a row of B. By loops: closures are not always inlined into code for the instruction set, and a
    /// vector that is loaded from what another function has stored one by one waits for all stores.
    #[inline(always)]
    fn of_b<const W: usize>(&self, row: usize, first: usize) -> [T::Acc; W] {
        let mut elements = [T::Acc::ZERO; W];
        if self.b.order() == Order::RowMajor {
            let start = self.b.position(row, first);
            for (element, b) in elements.iter_mut().zip(&self.b.data()[start..start + W]) {
                *element = b.to_acc();
            }
        } else {
            for (j, element) in elements.iter_mut().enumerate() {
                *element = self.b.at(row, first + j).to_acc();
            }
        }
        elements
    }

    /// The sum of the diagonal's entries, or one if it is not stored.
    #[inline(always)]
    fn diagonal(&self, entries: impl ColumnsAndValues<T>, range: Range<usize>) -> T::Acc {
        range.fold(self.initial_diagonal(), |sum, entry| sum + self.value(entries.value(entry)))
    }
}
