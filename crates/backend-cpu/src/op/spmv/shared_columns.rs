//! Algorithm `shared_columns`: neighbouring rows with the same columns, as those of the unknowns of a node and those of
//! dense blocks. The plan has the groups of such rows, so that a product reads the columns of the first row of each and
//! loads their elements of x once for several rows.

use super::Product;
use super::compressed::longest_line;
use super::members::Members;
use super::repeated_rows::{chunks_of_rows, has_at_most};
#[cfg(target_arch = "x86_64")]
use super::shared_columns_x86;
use super::thresholds::SpmvThresholds;
use crate::Cpu;
use crate::parallel::{CHUNK, split_mut};
use crate::primitive::lines::Lines;
use crate::primitive::partition::PART_SIZE;
use crate::primitive::update::Update;
use crate::simd::{Isa, Vectorize};
use sparse_core::op::Op;
use sparse_core::{Index, Scalar};
use std::ops::Range;

/// The rows of a member that one task sums.
struct RowTask {
    member: usize,
    rows: Range<usize>,
    /// The number of rows of each group.
    groups: Vec<u32>,
}

/// The groups of all rows.
pub struct SharedColumns {
    tasks: Vec<RowTask>,
    entries: usize,
    /// True if columns and values are prefetched.
    fetches: bool,
}

/// True if a row has the columns of the row before.
fn follows<I: Index, O: Index>(offsets: &[O], indices: &[I], row: usize) -> bool {
    let [before, own, end] = [row - 1, row, row + 1].map(|row| offsets[row].as_usize());
    indices[before..own] == indices[own..end]
}

/// The number of rows of each group.
fn groups<I: Index, O: Index>(offsets: &[O], indices: &[I], rows: Range<usize>) -> Vec<u32> {
    let mut groups = vec![];
    for row in rows {
        match groups.last_mut() {
            Some(count) if follows(offsets, indices, row) => *count += 1,
            _ => groups.push(1),
        }
    }
    groups
}

impl SharedColumns {
    /// True if products by groups take less time: groups have 1.5 of the `filled` rows, those with entries, and
    /// `bytes_of_group` of values or more on average.
    pub(super) fn pays_off<M: Members>(a: &M, filled: usize, cpu: &Cpu) -> bool {
        // Three rows in two groups.
        let bytes = a.nnz() * size_of::<M::Scalar>();
        let most = (filled / 3 * 2).min(bytes / SpmvThresholds::CPU.bytes_of_group);
        has_at_most(a, cpu, most, &|&Lines { offsets, indices, .. }, rows| {
            let begins = |row: usize| {
                row == 0 || (offsets[row] != offsets[row + 1] && !follows(offsets, indices, row))
            };
            rows.filter(|&row| begins(row)).count()
        }) && (0..a.members()).all(|k| longest_line(a.lines(k).offsets) <= PART_SIZE)
    }

    pub(super) fn new<M: Members>(a: &M, cpu: &Cpu) -> Self {
        let tasks = cpu.map(a.nnz(), chunks_of_rows(a, CHUNK), |(member, rows): (usize, Range<usize>)| {
            let Lines { offsets, indices, .. } = a.lines(member);
            RowTask { member, rows: rows.clone(), groups: groups(offsets, indices, rows) }
        });
        Self { tasks, entries: a.nnz(), fetches: SpmvThresholds::CPU.fetches_entries(a) }
    }

    pub(super) fn bytes(&self) -> usize {
        let groups: usize = self.tasks.iter().map(|task| size_of_val(task.groups.as_slice())).sum();
        groups + size_of_val(self.tasks.as_slice())
    }

    pub(super) fn multiply<M: Members>(&self, a: &M, cpu: &Cpu, product: Product<'_, M::Scalar>) {
        let Product { x, y, update, op } = product;
        let cols = x.len() / a.members().max(1);
        let rows: Vec<_> = self.tasks.iter().map(|task| task.rows.clone()).collect();
        let tasks = self.tasks.iter().zip(split_mut(y, &rows)).collect();
        cpu.for_each_in_runs(self.entries, tasks, |(task, y)| {
            let x = &x[task.member * cols..][..cols];
            let lines = a.lines(task.member);
            cpu.simd().run(TaskSums { task, lines, x, y, update, op, fetches: self.fetches });
        });
    }
}

/// The sums of the rows of a task.
struct TaskSums<'a, T: Scalar, I, O> {
    task: &'a RowTask,
    lines: Lines<'a, T, I, O>,
    x: &'a [T],
    y: &'a mut [T],
    update: Update<T::Acc>,
    op: Op,
    fetches: bool,
}

impl<T: Scalar, I: Index, O: Index> Vectorize for TaskSums<'_, T, I, O> {
    type Out = ();

    #[inline(always)]
    fn run<S: Isa>(self) {
        let Self { task, lines: Lines { offsets, indices, values }, x, mut y, update, op, fetches } = self;
        let mut row = task.rows.start;
        for &rows in &task.groups {
            let rows = rows as usize;
            let [start, end, group_end] = [row, row + 1, row + rows].map(|row| offsets[row].as_usize());
            let columns = &indices[start..end];
            let (own, rest) = y.split_at_mut(rows);
            let values = &values[start..group_end];
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `S` is only run where the processor has it; the columns of a matrix are below the length of `x`,
            // as the plan checked; each row has as many values as columns.
            let done =
                unsafe { shared_columns_x86::sums::<S, T, I>(columns, values, x, own, update, fetches) };
            #[cfg(not(target_arch = "x86_64"))]
            let (done, _) = (false, fetches);
            if !done {
                for (k, y) in own.iter_mut().enumerate() {
                    let products = columns
                        .iter()
                        .zip(&values[k * columns.len()..])
                        .map(|(column, &value)| op.apply(value).to_acc() * x[column.as_usize()].to_acc());
                    update.write(y, products.fold(T::Acc::ZERO, |sum, product| sum + product));
                }
            }
            (row, y) = (row + rows, rest);
        }
    }
}
