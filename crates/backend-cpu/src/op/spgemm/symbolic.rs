//! The pattern of C: the union of rows of the right factor, in order, for each row of the left one.

use super::RowMethod;
use super::bitmap::Bitmap;
use super::factors::{Factors, Repetitions};
use super::hash::ColumnTable;
use super::pool::Pool;
use super::thresholds::SpgemmThresholds;
use crate::Cpu;
use crate::parallel::split_mut;
use crate::primitive::fill::{entry_ranges, zeroed};
use sparse_core::{CompressedPattern, Host, Index, IndexOrder, Result};
use std::ops::Range;

/// The pattern of C, found in these parts of its rows; by one method, or for each row by its own.
///
/// # Errors
/// [`IndexOverflow`](sparse_core::Error::IndexOverflow) if `O` does not count its entries; where `most_entries` do not
/// fit, they are counted first without being stored.
pub(super) fn pattern<I: Index, O: Index>(
    cpu: &Cpu,
    factors: Factors<'_, I, O>,
    (parts, products): (&[Range<usize>], &[i64]),
    method: Option<RowMethod>,
    most_entries: u64,
) -> Result<CompressedPattern<Host, I, O>> {
    let repetitions = method.is_none().then(|| factors.repetitions(cpu));
    let search = Search { factors, products, method, repetitions };
    if most_entries > O::MAX as u64 {
        cpu.offsets::<O>(&lengths(&search.find(cpu, parts, false)))?;
    }
    let found = search.find(cpu, parts, true);
    let offsets = cpu.offsets::<O>(&lengths(&found))?;
    let entries = entry_ranges(&offsets, parts);
    let mut indices = zeroed::<I>(offsets[factors.left.major()].as_usize());
    let nnz = indices.len();
    let outputs = split_mut(&mut indices, &entries).into_iter().zip(found).collect();
    cpu.for_each(nnz, outputs, |(output, part): (&mut [I], PartPattern<I>)| {
        output.copy_from_slice(&part.columns);
    });
    let shape = (factors.left.major(), factors.right.minor());
    // SAFETY: the offsets are sums of the lengths of rows; the columns are those of the right factor, so that they are
    // below its extent, and every row has them in order and once.
    Ok(unsafe { CompressedPattern::new_unchecked(shape, offsets, indices, IndexOrder::CANONICAL) })
}

/// The rows of a part: their lengths, and their columns one after the other.
struct PartPattern<I> {
    lengths: Vec<usize>,
    columns: Vec<I>,
}

/// The lengths of all rows.
fn lengths<I>(parts: &[PartPattern<I>]) -> Vec<usize> {
    parts.iter().flat_map(|part| &part.lengths).copied().collect()
}

/// The data that a thread needs to find rows.
#[derive(Debug)]
struct Workspace<I> {
    bitmap: Bitmap,
    table: ColumnTable<I>,
}

impl<I> Default for Workspace<I> {
    fn default() -> Self {
        Self { bitmap: Bitmap::default(), table: ColumnTable::default() }
    }
}

/// The search for the pattern of C.
struct Search<'a, I: Index, O: Index> {
    factors: Factors<'a, I, O>,
    /// The number of products before each row, and of all.
    products: &'a [i64],
    /// The method of all rows; `None` where each has its own.
    method: Option<RowMethod>,
    /// `None` where repeated rows are not to be copied.
    repetitions: Option<Repetitions>,
}

impl<I: Index, O: Index> Search<'_, I, O> {
    /// The rows of these parts; without their columns, if these are not to be stored.
    fn find(&self, cpu: &Cpu, parts: &[Range<usize>], stores: bool) -> Vec<PartPattern<I>> {
        let pool = Pool::<Workspace<I>>::default();
        let total = self.products[self.factors.left.major()] as usize;
        cpu.map(total, parts.to_vec(), |rows| {
            pool.lend(|workspace| {
                let mut found = PartPattern { lengths: Vec::with_capacity(rows.len()), columns: vec![] };
                for row in rows {
                    let length = self.find_row(workspace, row, &mut found, stores);
                    found.lengths.push(length);
                }
                found
            })
        })
    }

    /// Appends the columns of a row, if they are to be stored; returns their number.
    #[inline(always)]
    fn find_row(
        &self,
        workspace: &mut Workspace<I>,
        row: usize,
        PartPattern { lengths, columns }: &mut PartPattern<I>,
        stores: bool,
    ) -> usize {
        let (factors, start) = (self.factors, columns.len());
        if let Some(repetitions) = &self.repetitions
            && let Some(&length) = lengths.last()
            && factors.repeats(repetitions, row)
        {
            if stores {
                repeat(columns, length);
            }
            return length;
        }
        if let Some(only) = factors.only_row(row) {
            if stores {
                columns.extend_from_slice(only);
            }
            return only.len();
        }
        self.unite(workspace, row, columns);
        let length = columns.len() - start;
        if !stores {
            columns.truncate(start);
        }
        length
    }

    /// Appends the columns of all products of a row.
    #[inline(always)]
    fn unite(&self, workspace: &mut Workspace<I>, row: usize, columns: &mut Vec<I>) {
        let (factors, start) = (self.factors, columns.len());
        let products = (self.products[row + 1] - self.products[row]) as usize;
        if products == 0 {
            return;
        }
        let window = factors.window(row);
        match self.method.unwrap_or_else(|| SpgemmThresholds::CPU.of_pattern(products, window.len())) {
            RowMethod::Sort => {
                factors.right_rows(row).for_each(|row| columns.extend_from_slice(row));
                columns[start..].sort_unstable();
                remove_duplicates(columns, start);
            }
            RowMethod::Hash => {
                workspace.table.clear(products.min(window.len()));
                for &column in factors.right_rows(row).flatten() {
                    if workspace.table.insert(column).1 {
                        columns.push(column);
                    }
                }
                columns[start..].sort_unstable();
            }
            RowMethod::Dense => {
                workspace.bitmap.union(window, (factors.right_rows(row), products), columns);
            }
        }
    }
}

/// Appends the last `length` columns again, each one higher.
fn repeat<I: Index>(columns: &mut Vec<I>, length: usize) {
    let start = columns.len();
    columns.extend_from_within(start - length..);
    for column in &mut columns[start..] {
        *column = I::cast(column.as_usize() + 1);
    }
}

/// Removes repetitions among the sorted columns from `start` on.
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
