//! The pattern of C: the union of rows of the right factor, in order, for each row of the left one.

use super::RowMethod;
use super::bitmap::Bitmap;
use super::factors::{Factors, Repetitions};
use super::hash::ColumnTable;
use super::pool::Pool;
use super::thresholds::SpgemmThresholds;
use crate::Cpu;
use crate::op::fill::{entry_ranges, zeroed};
use crate::parallel::split_mut;
use sparse_core::{CompressedPattern, Host, Index, IndexOrder, Result};
use std::ops::Range;

/// The rows of a part: their lengths, and their columns one after the other.
struct PartPattern<I> {
    lengths: Vec<usize>,
    columns: Vec<I>,
}

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
    let pool = Pool::<Workspace<I>>::default();
    let total = products[factors.left.major()] as usize;
    let repetitions = method.is_none().then(|| factors.repetitions(cpu));
    let find = |stores: bool| {
        let methods = (method, repetitions.as_ref());
        cpu.map(total, parts.to_vec(), |rows| {
            pool.lend(|workspace| workspace.find((factors, products), rows, methods, stores))
        })
    };
    let lengths_of =
        |found: &[PartPattern<I>]| found.iter().flat_map(|part| &part.lengths).copied().collect::<Vec<_>>();
    if most_entries > O::MAX as u64 {
        cpu.offsets::<O>(&lengths_of(&find(false)))?;
    }
    let found = find(true);
    let offsets = cpu.offsets::<O>(&lengths_of(&found))?;
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

/// What a thread needs to find rows.
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

impl<I: Index> Workspace<I> {
    /// The rows of a part; without their columns, if these are not to be stored.
    fn find<O: Index>(
        &mut self,
        (factors, products): (Factors<'_, I, O>, &[i64]),
        rows: Range<usize>,
        (method, repetitions): (Option<RowMethod>, Option<&Repetitions>),
        stores: bool,
    ) -> PartPattern<I> {
        let mut found = PartPattern { lengths: Vec::with_capacity(rows.len()), columns: vec![] };
        for row in rows {
            if let Some(repetitions) = repetitions
                && let Some(&length) = found.lengths.last()
                && factors.repeats(repetitions, row)
            {
                found.lengths.push(length);
                if stores {
                    repeat(&mut found.columns, length);
                }
                continue;
            }
            let start = found.columns.len();
            let length = match factors.only_row(row) {
                Some(only) if !stores => only.len(),
                Some(only) => {
                    found.columns.extend_from_slice(only);
                    only.len()
                }
                None => {
                    let products = (products[row + 1] - products[row]) as usize;
                    self.find_row(factors, row, products, method, &mut found.columns);
                    found.columns.len() - start
                }
            };
            found.lengths.push(length);
            if !stores {
                found.columns.truncate(start);
            }
        }
        found
    }

    /// Appends the columns of a row.
    #[inline(always)]
    fn find_row<O: Index>(
        &mut self,
        factors: Factors<'_, I, O>,
        row: usize,
        products: usize,
        method: Option<RowMethod>,
        columns: &mut Vec<I>,
    ) {
        const CPU: SpgemmThresholds = SpgemmThresholds::CPU;
        if products == 0 {
            return;
        }
        let window = factors.window(row);
        match method.unwrap_or_else(|| CPU.of_pattern(products, window.len())) {
            RowMethod::Sort => {
                let start = columns.len();
                factors.right_rows(row).for_each(|row| columns.extend_from_slice(row));
                sort_from(columns, start);
                remove_duplicates(columns, start);
            }
            RowMethod::Hash => {
                let start = columns.len();
                self.table.clear(products.min(window.len()));
                for &column in factors.right_rows(row).flatten() {
                    if self.table.insert(column).1 {
                        columns.push(column);
                    }
                }
                sort_from(columns, start);
            }
            RowMethod::Dense => {
                let is_narrow = window.len() / 64 <= CPU.words_per_product * products;
                self.bitmap.union(window, factors.right_rows(row), is_narrow, columns);
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

fn sort_from<I: Index>(columns: &mut [I], start: usize) {
    columns[start..].sort_unstable();
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
