//! Algorithm `rows_by_length`: all products of a part first, without regard to rows, then the sums of its rows by their
//! length, so that no branch depends on the end of a row, and many elements of x are loaded at once. For short rows.

use super::Product;
use super::members::Members;
use super::thresholds::SpmvThresholds;
use crate::Cpu;
use crate::parallel::{CHUNK, rows_by_entries, split_mut};
use crate::primitive::dot::dot;
use crate::primitive::lines::Lines;
use crate::primitive::update::Update;
use crate::simd::{Isa, Vectorize, fetch_line};
use sparse_core::op::Op;
use sparse_core::{Accumulator, Index, Scalar};
use std::ops::Range;

/// The longest rows that are summed side by side.
const SHORT: usize = 16;

/// Rows of one length that are summed side by side where no vectors do it.
const SIDE_BY_SIDE: usize = 4;

/// Entries of a cache line, between prefetches, and by which columns and values are prefetched ahead.
const LINE: usize = 16;
pub(super) const AHEAD: usize = 512;

/// Parts per task, summed one after the other in the same memory.
const PARTS_OF_TASK: usize = 4;

/// Neighbouring rows of a member that have [`CHUNK`] entries and rows together, or one longer row.
struct RowChunk {
    member: usize,
    rows: Range<usize>,
    entries: Range<usize>,
    /// The positions of its rows in the lists: up to [`SHORT`] entries, then longer ones.
    short: Range<usize>,
    long: Range<usize>,
}

/// The rows of all parts that have entries, those of a part by their length.
pub struct ByLength {
    parts: Vec<RowChunk>,
    /// Counted from the first row of the part.
    rows: Vec<u16>,
    /// The first entry, counted from the first one of the part.
    starts: Vec<u16>,
    lengths: Vec<u16>,
    entries: usize,
}

/// Some rows of a part: number, first entry and length of each.
#[derive(Clone, Copy)]
pub(super) struct Listed<'a> {
    pub(super) rows: &'a [u16],
    pub(super) starts: &'a [u16],
    pub(super) lengths: &'a [u16],
}

/// True if rows are short on average.
pub(super) fn are_short<M: Members>(a: &M) -> bool {
    let rows: usize = (0..a.members()).map(|k| a.lines(k).offsets.len() - 1).sum();
    a.nnz() < SpmvThresholds::CPU.long_rows * rows
}

impl RowChunk {
    fn is_one_long_row(&self) -> bool {
        self.rows.len() + self.entries.len() > CHUNK
    }
}

impl ByLength {
    pub(super) fn new<M: Members>(a: &M) -> Self {
        let (parts, entries) = (vec![], a.nnz());
        let mut plan = Self { parts, rows: vec![], starts: vec![], lengths: vec![], entries };
        for member in 0..a.members() {
            let offsets = a.lines(member).offsets;
            for rows in rows_by_entries(offsets, CHUNK) {
                plan.add(member, offsets, rows);
            }
        }
        plan
    }

    /// Adds a part.
    fn add<O: Index>(&mut self, member: usize, offsets: &[O], rows: Range<usize>) {
        let entries = offsets[rows.start].as_usize()..offsets[rows.end].as_usize();
        let first = self.rows.len();
        let mut part =
            RowChunk { member, rows: rows.clone(), entries, short: first..first, long: first..first };
        if !part.is_one_long_row() {
            let length = |row: &usize| offsets[row + 1].as_usize() - offsets[*row].as_usize();
            let mut filled: Vec<_> = rows.clone().filter(|row| length(row) > 0).collect();
            filled.sort_by_key(length);
            part.short.end += filled.partition_point(|row| length(row) <= SHORT);
            part.long = part.short.end..first + filled.len();
            self.rows.extend(filled.iter().map(|row| (row - rows.start) as u16));
            let start = |row: &usize| (offsets[*row].as_usize() - part.entries.start) as u16;
            self.starts.extend(filled.iter().map(start));
            self.lengths.extend(filled.iter().map(|row| length(row) as u16));
        }
        self.parts.push(part);
    }

    fn listed(&self, range: &Range<usize>) -> Listed<'_> {
        let [rows, starts, lengths] =
            [&self.rows, &self.starts, &self.lengths].map(|list| &list[range.clone()]);
        Listed { rows, starts, lengths }
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.parts.as_slice()) + 3 * size_of_val(self.rows.as_slice())
    }

    pub(super) fn multiply<M: Members>(&self, a: &M, cpu: &Cpu, product: Product<'_, M::Scalar>) {
        let Product { x, y, update, op } = product;
        let cols = x.len() / a.members().max(1);
        let rows: Vec<_> = self.parts.iter().map(|part| part.rows.clone()).collect();
        let mut parts: Vec<_> = self.parts.iter().zip(split_mut(y, &rows)).collect();
        let tasks = parts.chunks_mut(PARTS_OF_TASK).collect();
        cpu.for_each_in_runs(self.entries, tasks, |parts: &mut [_]| {
            let mut memory = vec![<M::Scalar as Scalar>::Acc::ZERO; CHUNK];
            for (part, y) in parts {
                let lines = a.lines(part.member);
                let x = &x[part.member * cols..][..cols];
                cpu.simd().run(PartSums { plan: self, part, lines, x, y, memory: &mut memory, update, op });
            }
        });
    }
}

/// The sums of one part.
struct PartSums<'a, T: Scalar, I, O> {
    plan: &'a ByLength,
    part: &'a RowChunk,
    lines: Lines<'a, T, I, O>,
    x: &'a [T],
    y: &'a mut [T],
    /// Workspace for the products, then the sums.
    memory: &'a mut [T::Acc],
    update: Update<T::Acc>,
    op: Op,
}

impl<T: Scalar, I: Index, O: Index> Vectorize for PartSums<'_, T, I, O> {
    type Out = ();

    #[inline(always)]
    fn run<S: Isa>(self) {
        let Self { plan, part, lines, x, y, memory, update, op } = self;
        let (columns, values) = (&lines.indices[part.entries.clone()], &lines.values[part.entries.clone()]);
        if part.is_one_long_row() {
            // SAFETY: the columns of a matrix are below the length of `x`, as the plan checked.
            return update.write(&mut y[0], unsafe { dot::<S, T, I>(columns, values, x, op) });
        }
        let (products, sums) = memory.split_at_mut(columns.len());
        let sums = &mut sums[..y.len()];
        sums.fill(T::Acc::ZERO);
        let (short, long) = (plan.listed(&part.short), plan.listed(&part.long));
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `S` is only run where the processor has it; columns as above; the lists are those of the part, whose
        // products and sums these are.
        let done = unsafe {
            super::by_length_avx512::sums::<S, T, I>(columns, values, x, products, (short, long), sums)
        };
        #[cfg(not(target_arch = "x86_64"))]
        let done = false;
        if !done {
            for at in (0..columns.len()).step_by(LINE) {
                fetch_line(columns, at + AHEAD);
                fetch_line(values, at + AHEAD);
                let entries = at..columns.len().min(at + LINE);
                for entry in entries {
                    // SAFETY: as many products as columns and values; the columns of a matrix are below the length of
                    // `x`, as the plan checked.
                    unsafe {
                        let x = x.get_unchecked(columns.get_unchecked(entry).as_usize());
                        let value = op.apply(*values.get_unchecked(entry));
                        *products.get_unchecked_mut(entry) = value.to_acc() * x.to_acc();
                    }
                }
            }
            short.add(products, sums);
            long.add(products, sums);
        }
        for (y, &mut sum) in y.iter_mut().zip(sums) {
            update.write(y, sum);
        }
    }
}

impl Listed<'_> {
    /// Adds the products of each row to its sum: [`SIDE_BY_SIDE`] rows of one length at a time, so that their additions
    /// need not wait for each other and the processor foresees the end of most rows, which are sorted by length.
    #[inline(always)]
    fn add<Acc: Accumulator>(self, products: &[Acc], sums: &mut [Acc]) {
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
