//! Algorithm `rows_by_length`: all products of a part first, without regard to rows, then the sums of its rows by their
//! length, so that no branch depends on the end of a row, and many elements of x are loaded at once. For short rows.

use super::Product;
use super::members::Members;
use crate::Cpu;
use crate::primitive::lines::Lines;
use crate::primitive::partition::{Carry, Part, Partition, cut_merge_path};
use crate::simd::{Isa, LINE, Vectorize, fetch_line};
use sparse_core::op::Op;
use sparse_core::{Accumulator, Index, Scalar};
use std::ops::Range;

/// The longest rows that are summed side by side.
const SHORT: usize = 16;

/// Rows of one length that are summed side by side, and sums of a longer one.
const SIDE_BY_SIDE: usize = 4;

/// Entries by which columns and values are prefetched ahead.
const AHEAD: usize = 512;

/// Bytes of the products of a part, which stay in the L1 cache.
const PART_BYTES: usize = 32 << 10;

/// Entries and rows of a task, whose parts are summed one after the other in the same memory.
const TASK_SIZE: usize = 32 << 10;

/// Entries and rows of a part.
const fn part_size<Acc>() -> usize {
    PART_BYTES / size_of::<Acc>()
}

/// Equal parts of the entries and rows, with the rows of each.
pub struct ByLength<Acc> {
    parts: Partition<Acc>,
    rows: Vec<RowLists>,
}

/// The rows of a part that have entries, by their length.
#[derive(Default)]
struct RowLists {
    /// Counted from the first row of the part. Behind its last one may be another, which ends in a later part.
    rows: Vec<u16>,
    /// The first entry, counted from the first one of the part.
    starts: Vec<u16>,
    lengths: Vec<u16>,
    /// The number of those of up to [`SHORT`] entries.
    short: usize,
}

/// Some rows of a part: number, first entry and length of each.
#[derive(Clone, Copy)]
struct Listed<'a> {
    rows: &'a [u16],
    starts: &'a [u16],
    lengths: &'a [u16],
}

impl<Acc: Accumulator> ByLength<Acc> {
    pub(super) fn new<M: Members>(a: &M, cpu: &Cpu) -> Self {
        let mut parts = vec![];
        for member in 0..a.members() {
            cut_merge_path(member, a.lines(member).offsets, part_size::<Acc>(), &mut parts);
        }
        let rows = cpu.map(a.nnz() + a.nrows(), parts.iter().collect(), |part: &Part| {
            RowLists::new(rows_of(part, a.lines(part.member).offsets))
        });
        Self { parts: Partition::of_tasks(parts, TASK_SIZE), rows }
    }

    pub(super) fn bytes(&self) -> usize {
        let of_rows: usize = self.rows.iter().map(RowLists::bytes).sum();
        self.parts.bytes() + size_of_val(self.rows.as_slice()) + of_rows
    }

    pub(super) fn multiply<M>(&mut self, a: &M, cpu: &Cpu, product: Product<'_, M::Scalar>)
    where
        M: Members,
        M::Scalar: Scalar<Acc = Acc>,
    {
        let Product { x, y, update, op } = product;
        let cols = x.len() / a.members().max(1);
        let rows = &self.rows;
        let write = |y: &mut M::Scalar, sum| update.write(y, sum);
        let workspace = || vec![Acc::ZERO; part_size::<Acc>() + 1];
        self.parts.run_with(cpu, y, &write, &workspace, &|workspace, k, part, y| {
            let Lines { offsets, indices, values } = a.lines(part.member);
            let (columns, values) = (&indices[part.entries.clone()], &values[part.entries.clone()]);
            let x = &x[part.member * cols..][..cols];
            let lists = rows[k].short_and_long();
            let sums = cpu.simd().run(ListedSums { columns, values, x, lists, rows: y.len(), workspace, op });
            let (head, whole, _) = part.split(&offsets);
            let first = whole.start - part.rows.start;
            update.write_all(&mut y[first..], &sums[first..]);
            Carry { head: head.map(|_| sums[0]), tail: sums[y.len()] }
        });
    }
}

/// The rows of a part and their entries, both counted from its first ones: of a row that begins in an earlier part or
/// ends in a later one, the entries of this part.
fn rows_of<O: Index>(part: &Part, offsets: &[O]) -> Vec<(usize, Range<usize>)> {
    let first = part.entries.start;
    let end_of = |row: usize| offsets[row + 1].as_usize() - first;
    let mut start = 0;
    let ends = part.rows.clone().map(end_of).chain([part.entries.len()]);
    ends.enumerate().map(|(row, end)| (row, std::mem::replace(&mut start, end)..end)).collect()
}

impl RowLists {
    /// The rows of a part: their numbers and entries, of which there are no more than a `u16` counts.
    fn new(mut rows: Vec<(usize, Range<usize>)>) -> Self {
        rows.retain(|(_, entries)| !entries.is_empty());
        rows.sort_by_key(|(_, entries)| entries.len());
        Self {
            rows: rows.iter().map(|(row, _)| *row as u16).collect(),
            starts: rows.iter().map(|(_, entries)| entries.start as u16).collect(),
            lengths: rows.iter().map(|(_, entries)| entries.len() as u16).collect(),
            short: rows.partition_point(|(_, entries)| entries.len() <= SHORT),
        }
    }

    /// The short and the long rows.
    fn short_and_long(&self) -> [Listed<'_>; 2] {
        [0..self.short, self.short..self.rows.len()].map(|range| {
            let [rows, starts, lengths] =
                [&self.rows, &self.starts, &self.lengths].map(|list| &list[range.clone()]);
            Listed { rows, starts, lengths }
        })
    }

    fn bytes(&self) -> usize {
        3 * size_of_val(self.rows.as_slice())
    }
}

/// The sums of the listed rows of one part.
struct ListedSums<'a, T: Scalar, I> {
    columns: &'a [I],
    values: &'a [T],
    x: &'a [T],
    /// The short and the long rows.
    lists: [Listed<'a>; 2],
    /// The number of rows that end in the part.
    rows: usize,
    /// For the products, then the sums.
    workspace: &'a mut [T::Acc],
    op: Op,
}

impl<'a, T: Scalar, I: Index> Vectorize for ListedSums<'a, T, I> {
    /// The sums of the rows that end in the part, and that of the row that ends later.
    type Out = &'a [T::Acc];

    #[inline(always)]
    fn run<S: Isa>(self) -> Self::Out {
        let Self { columns, values, x, lists, rows, workspace, op } = self;
        let (products, sums) = workspace.split_at_mut(columns.len());
        let sums = &mut sums[..=rows];
        sums.fill(T::Acc::ZERO);
        // SAFETY: as many products as columns and values; the columns of a matrix are below the length of `x`, as the plan
        // checked.
        unsafe { multiply(columns, values, x, op, products) };
        lists[0].add_side_by_side(products, sums);
        lists[1].add_one_by_one(products, sums);
        sums
    }
}

/// The products of all entries.
///
/// # Safety
/// Columns, values and products have one length; every column is below the length of `x`.
#[inline(always)]
unsafe fn multiply<T: Scalar, I: Index>(
    columns: &[I],
    values: &[T],
    x: &[T],
    op: Op,
    products: &mut [T::Acc],
) {
    let line = LINE / size_of::<T>();
    for at in (0..columns.len()).step_by(line) {
        fetch_line(columns, at + AHEAD);
        fetch_line(values, at + AHEAD);
        for entry in at..columns.len().min(at + line) {
            // SAFETY: the caller's promises.
            unsafe {
                let x = x.get_unchecked(columns.get_unchecked(entry).as_usize());
                let value = op.apply(*values.get_unchecked(entry));
                *products.get_unchecked_mut(entry) = value.to_acc() * x.to_acc();
            }
        }
    }
}

impl Listed<'_> {
    /// Adds the products of each row to its sum: [`SIDE_BY_SIDE`] rows of one length at a time, so that their additions
    /// need not wait for each other and the processor foresees the end of most rows, which are sorted by length.
    #[inline(always)]
    fn add_side_by_side<Acc: Accumulator>(self, products: &[Acc], sums: &mut [Acc]) {
        let (rows, starts, lengths) = (self.rows, self.starts, self.lengths);
        let mut at = 0;
        while at < rows.len() {
            let length = usize::from(lengths[at]);
            match (starts[at..].first_chunk(), lengths.get(at + SIDE_BY_SIDE - 1)) {
                (Some(starts), Some(&last)) if usize::from(last) == length => {
                    let side_by_side = sums_of_rows::<_, SIDE_BY_SIDE>(products, starts, length);
                    for (&row, sum) in rows[at..].iter().zip(side_by_side) {
                        sums[usize::from(row)] = sum;
                    }
                    at += SIDE_BY_SIDE;
                }
                _ => {
                    [sums[usize::from(rows[at])]] = sums_of_rows(products, &[starts[at]], length);
                    at += 1;
                }
            }
        }
    }

    /// Adds the products of each row to its sum, each [`SIDE_BY_SIDE`]th to one of its sums.
    #[inline(always)]
    fn add_one_by_one<Acc: Accumulator>(self, products: &[Acc], sums: &mut [Acc]) {
        for ((&row, &start), &length) in self.rows.iter().zip(self.starts).zip(self.lengths) {
            let products = &products[usize::from(start)..][..usize::from(length)];
            let (groups, rest) = products.as_chunks::<SIDE_BY_SIDE>();
            let mut totals = [Acc::ZERO; SIDE_BY_SIDE];
            for group in groups {
                totals.iter_mut().zip(group).for_each(|(total, &product)| *total += product);
            }
            let rest = rest.iter().fold(Acc::ZERO, |sum, &product| sum + product);
            sums[usize::from(row)] = totals.into_iter().fold(rest, |sum, total| sum + total);
        }
    }
}

/// The sums of rows of one length, which begin at these products.
#[inline(always)]
fn sums_of_rows<Acc: Accumulator, const N: usize>(
    products: &[Acc],
    starts: &[u16; N],
    length: usize,
) -> [Acc; N] {
    let rows = starts.map(|start| &products[usize::from(start)..][..length]);
    let mut sums = [Acc::ZERO; N];
    for k in 0..length {
        for (sum, row) in sums.iter_mut().zip(rows) {
            *sum += row[k];
        }
    }
    sums
}
