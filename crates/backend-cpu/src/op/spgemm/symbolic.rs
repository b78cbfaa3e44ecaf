//! The pattern of C: the union of rows of the right factor, in order, for each row of the left one.

use super::RowMethod;
use super::column_set::ColumnSet;
use super::factors::{Factors, Parts, Repetitions};
use super::hash::ColumnTable;
use super::pool::Pool;
use super::ranked::Ranked;
use super::thresholds::SpgemmThresholds;
use crate::Cpu;
use crate::parallel::split_mut;
use crate::primitive::fill::{entry_ranges, try_zeroed};
use crate::simd::{Isa, Vectorize, fetch_line};
use sparse_core::{CompressedPattern, Host, Index, IndexOrder, Result};
use std::ops::Range;

/// The pattern of C, found in these parts of its rows; by one method, or for each row by its own.
///
/// # Errors
/// [`IndexOverflow`](sparse_core::Error::IndexOverflow) if `O` does not count its entries; where as many as there may
/// be do not fit, they are counted first without being stored.
pub(super) fn pattern<I: Index, O: Index>(
    cpu: &Cpu,
    factors: Factors<'_, I, O>,
    parts: &Parts,
    method: Option<RowMethod>,
) -> Result<CompressedPattern<Host, I, O>> {
    let search = Search::new(cpu, factors, method);
    search.check(cpu, parts)?;
    let found = search.find(cpu, parts, true);
    let offsets = cpu.offsets::<O>(&lengths(&found))?;
    let entries = entry_ranges(&offsets, &parts.rows);
    let mut indices = try_zeroed::<I>(offsets[factors.left.major()].as_usize())?;
    let nnz = indices.len();
    let outputs = split_mut(&mut indices, &entries).into_iter().zip(found).collect();
    cpu.for_each(nnz, outputs, |(output, part): (&mut [I], PartPattern<I>)| {
        output.copy_from_slice(&part.columns);
    });
    let shape = (factors.left.major(), factors.right.minor);
    // SAFETY: the offsets are sums of the lengths of rows; the columns are those of the right factor, so that they are
    // below its extent, and every row has them in order and once.
    Ok(unsafe { CompressedPattern::new_unchecked(shape, offsets, indices, IndexOrder::CANONICAL) })
}

/// The rows of a part: their lengths, and their columns one after the other.
#[derive(Debug)]
pub(super) struct PartPattern<I> {
    pub(super) lengths: Vec<usize>,
    pub(super) columns: Vec<I>,
}

impl<I> Default for PartPattern<I> {
    fn default() -> Self {
        Self { lengths: vec![], columns: vec![] }
    }
}

/// The lengths of all rows.
fn lengths<I>(parts: &[PartPattern<I>]) -> Vec<usize> {
    parts.iter().flat_map(|part| &part.lengths).copied().collect()
}

/// The data that a thread needs to find rows.
#[derive(Debug)]
pub(super) struct Workspace<I> {
    pub(super) columns: ColumnSet,
    pub(super) ranked: Ranked,
    table: ColumnTable<I>,
}

impl<I> Default for Workspace<I> {
    fn default() -> Self {
        Self { columns: ColumnSet::default(), ranked: Ranked::default(), table: ColumnTable::default() }
    }
}

/// The search for the pattern of C.
pub(super) struct Search<'a, I: Index, O: Index> {
    factors: Factors<'a, I, O>,
    /// The method of all rows; `None` where each has its own.
    method: Option<RowMethod>,
    /// `None` where repeated rows are not to be copied, or too few.
    repetitions: Option<Repetitions>,
}

impl<'a, I: Index, O: Index> Search<'a, I, O> {
    pub(super) fn new(cpu: &Cpu, factors: Factors<'a, I, O>, method: Option<RowMethod>) -> Self {
        let repetitions = if method.is_none() { factors.repetitions(cpu) } else { None };
        Self { factors, method, repetitions }
    }

    /// Counts the entries of C without storing them, where `O` might not count them.
    pub(super) fn check(&self, cpu: &Cpu, parts: &Parts) -> Result<()> {
        if parts.all.entries > O::MAX {
            cpu.offsets::<O>(&lengths(&self.find(cpu, parts, false)))?;
        }
        Ok(())
    }

    /// The rows of these parts; without their columns, if these are not to be stored.
    fn find(&self, cpu: &Cpu, parts: &Parts, stores: bool) -> Vec<PartPattern<I>> {
        let pool = Pool::<Workspace<I>>::default();
        cpu.map(parts.all.products, parts.rows.clone(), |rows| {
            let mut found = PartPattern { lengths: Vec::with_capacity(rows.len()), columns: vec![] };
            let part = &mut found;
            pool.lend(|workspace| {
                cpu.simd().run(FindRows { search: self, rows, workspace, found: part, stores })
            });
            found
        })
    }

    /// Appends the columns of a row, if they are to be stored; returns their number.
    #[inline(always)]
    fn find_row<S: Isa>(
        &self,
        workspace: &mut Workspace<I>,
        row: usize,
        PartPattern { lengths, columns }: &mut PartPattern<I>,
        stores: bool,
    ) -> usize {
        let start = columns.len();
        if let Some(length) = self.repeats(row, lengths) {
            if stores {
                repeat(columns, length, 1);
            }
            return length;
        }
        if let Some(only) = self.factors.only_row(row) {
            if stores {
                columns.extend_from_slice(only);
            }
            return only.len();
        }
        self.unite::<S>(
            row,
            self.factors.span(row, |start| fetch_line(self.factors.right.indices, start)),
            workspace,
            columns,
        );
        let length = columns.len() - start;
        if !stores {
            columns.truncate(start);
        }
        length
    }

    /// The length of the row before, the last of these, if `row` is that row shifted by one column.
    #[inline(always)]
    pub(super) fn repeats(&self, row: usize, lengths: &[usize]) -> Option<usize> {
        let (repetitions, &length) = (self.repetitions.as_ref()?, lengths.last()?);
        if self.factors.repeats(repetitions, row) { Some(length) } else { None }
    }

    /// The rows from the first one on that repeat the row before, at most `most` and up to `end`; the first one does.
    #[inline(always)]
    pub(super) fn repeated_rows(&self, first: usize, end: usize, most: usize) -> Range<usize> {
        let repeats = |row: &usize| {
            self.repetitions.as_ref().is_some_and(|repetitions| self.factors.repeats(repetitions, *row))
        };
        let end = end.min(first + most);
        first..(first + 1..end).find(|row| !repeats(row)).unwrap_or(end)
    }

    /// True if rows may repeat the row before.
    #[inline(always)]
    pub(super) fn has_repetitions(&self) -> bool {
        self.repetitions.is_some()
    }

    /// Appends the columns of the `products` products of a row, all in `window`.
    #[inline(always)]
    pub(super) fn unite<S: Isa>(
        &self,
        row: usize,
        (products, window): (usize, Range<usize>),
        workspace: &mut Workspace<I>,
        columns: &mut Vec<I>,
    ) {
        if products == 0 {
            return;
        }
        let (factors, start) = (self.factors, columns.len());
        match self.method.unwrap_or_else(|| SpgemmThresholds::CPU.of_pattern(products, window.len())) {
            RowMethod::Sort if Ranked::fits(products, window.len()) => {
                let ranked = &mut workspace.ranked;
                ranked.begin(window.start, products);
                factors.right_rows(row).for_each(|row| ranked.push::<S, I>(row));
                ranked.append_columns::<S, I>(columns);
            }
            RowMethod::Sort => {
                for row in factors.right_rows(row) {
                    columns.extend_from_slice(row);
                }
                columns[start..].sort_unstable();
                remove_duplicates(columns, start);
            }
            RowMethod::Hash => {
                workspace.table.clear(products.min(window.len()));
                for row in factors.right_rows(row) {
                    for &column in row {
                        if workspace.table.insert(column).1 {
                            columns.push(column);
                        }
                    }
                }
                columns[start..].sort_unstable();
            }
            RowMethod::Dense => {
                let set = &mut workspace.columns;
                set.begin(&window, products);
                if set.skips_blocks() {
                    factors.insert_columns::<true>(row, set);
                } else {
                    factors.insert_columns::<false>(row, set);
                }
                set.drain::<S, I>(products, columns);
            }
        }
    }
}

/// The search for some rows.
struct FindRows<'a, 'b, I: Index, O: Index> {
    search: &'a Search<'b, I, O>,
    rows: Range<usize>,
    workspace: &'a mut Workspace<I>,
    found: &'a mut PartPattern<I>,
    stores: bool,
}

impl<I: Index, O: Index> Vectorize for FindRows<'_, '_, I, O> {
    type Out = ();

    #[inline(always)]
    fn run<S: Isa>(self) {
        let Self { search, rows, workspace, found, stores } = self;
        for row in rows {
            let length = search.find_row::<S>(workspace, row, found, stores);
            found.lengths.push(length);
        }
    }
}

/// Appends the last `length` columns `count` times again, each time one higher.
#[inline(always)]
pub(super) fn repeat<I: Index>(columns: &mut Vec<I>, length: usize, count: usize) {
    let start = columns.len();
    columns.resize(start + count * length, I::default());
    // Not copied and increased in place: a load of what another size of store has just written waits for it.
    let (before, rows) = columns.split_at_mut(start);
    let before = &before[start - length..];
    for (row, step) in rows.chunks_exact_mut(length.max(1)).zip(1..) {
        for (column, before) in row.iter_mut().zip(before) {
            *column = I::cast(before.as_usize() + step);
        }
    }
}

/// Removes repetitions among the sorted columns from `start` on.
#[inline(always)]
fn remove_duplicates<I: Index>(columns: &mut Vec<I>, start: usize) {
    let mut end = start;
    for at in start..columns.len() {
        if end == start || columns[at] != columns[end - 1] {
            columns[end] = columns[at];
            end += 1;
        }
    }
    columns.truncate(end);
}
