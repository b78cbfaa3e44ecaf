//! Equal parts of a matrix's rows and entries, and the sums of rows that two parts have in common.
//!
//! Merrill, Garland: Merge-based parallel sparse matrix-vector multiplication. SC 2016.

use crate::Cpu;
use crate::parallel::{partition_point, rows_by_entries, split_mut};
use sparse_core::{Accumulator, Index};
use std::ops::Range;

/// Entries and rows of one part.
pub(crate) const PART_SIZE: usize = 16 * 1024;

/// A part of one member's work: its entries, and the rows that end in it. Its first row may have begun in the part
/// before, and the row after its last one may begin here.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) member: usize,
    pub(crate) rows: Range<usize>,
    pub(crate) entries: Range<usize>,
}

/// The places where a member's rows are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Between rows.
    Rows,
    /// Within rows too: parts of equal size.
    MergePath,
}

/// The ends of rows among entries in row order.
pub(crate) trait RowEnds: Sync {
    /// True if `entry` is the first entry of `row`, or the end of an empty one.
    fn row_starts_at(&self, row: usize, entry: usize) -> bool;

    /// The end of `row`; `entry` is one of its entries, or its end.
    fn end(&self, row: usize, entry: usize) -> usize;
}

impl<O: Index> RowEnds for &[O] {
    #[inline(always)]
    fn row_starts_at(&self, row: usize, entry: usize) -> bool {
        self[row].as_usize() == entry
    }

    #[inline(always)]
    fn end(&self, row: usize, _: usize) -> usize {
        self[row + 1].as_usize()
    }
}

/// The partial sums at the ends of a part.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Carry<Acc> {
    /// The sum of the rest of the first row, if that row began earlier.
    pub(crate) head: Option<Acc>,
    /// The sum of the row that continues in the next part.
    pub(crate) tail: Acc,
}

impl Part {
    /// The rest of the first row, if that row began earlier; the rows that lie in this part as a whole, and the first
    /// of their entries.
    #[inline(always)]
    pub(crate) fn split(&self, ends: &impl RowEnds) -> (Option<Range<usize>>, Range<usize>, usize) {
        let (Range { start, end: last }, entry) = (self.rows.clone(), self.entries.start);
        if start == last || ends.row_starts_at(start, entry) {
            return (None, start..last, entry);
        }
        let end = ends.end(start, entry);
        (Some(entry..end), start + 1..last, end)
    }
}

/// The parts of a matrix, consecutive ones grouped into tasks of enough work, with their carries.
pub struct Partition<Acc> {
    parts: Vec<Part>,
    tasks: Vec<Range<usize>>,
    task_rows: Vec<Range<usize>>,
    carries: Vec<Carry<Acc>>,
    entries: usize,
}

/// The sums of a part, by a workspace and the part's number.
type PartWork<'a, W, T, Acc> = dyn Fn(&mut W, usize, &Part, &mut [T]) -> Carry<Acc> + Sync + 'a;

/// The work of one task: its parts, their elements of `y`, and their carries.
struct Task<'a, T, Acc> {
    /// The number of the first part.
    first: usize,
    parts: &'a [Part],
    y: &'a mut [T],
    carries: &'a mut [Carry<Acc>],
}

impl<Acc: Accumulator> Partition<Acc> {
    /// The parts of members with these offsets; the first offset of a member need not be 0.
    pub(crate) fn cut<'a, O: Index>(cut: Cut, members: impl Iterator<Item = &'a [O]>) -> Self {
        let mut parts = vec![];
        for (member, offsets) in members.enumerate() {
            match cut {
                Cut::Rows => cut_rows(member, offsets, &mut parts),
                Cut::MergePath => cut_merge_path(member, offsets, PART_SIZE, &mut parts),
            }
        }
        Self::of(parts)
    }

    /// Groups `parts`, which cover all rows in order.
    pub(crate) fn of(parts: Vec<Part>) -> Self {
        Self::of_tasks(parts, PART_SIZE / 2)
    }

    /// Groups `parts`, which cover all rows in order, into tasks of `task_size` rows and entries.
    pub(crate) fn of_tasks(parts: Vec<Part>, task_size: usize) -> Self {
        let (mut tasks, mut task_rows) = (vec![], vec![]);
        let (mut first, mut first_row, mut row, mut work) = (0, 0, 0, 0);
        for (k, part) in parts.iter().enumerate() {
            row += part.rows.len();
            work += part.rows.len() + part.entries.len();
            if work >= task_size || k + 1 == parts.len() {
                tasks.push(first..k + 1);
                task_rows.push(first_row..row);
                (first, first_row, work) = (k + 1, row, 0);
            }
        }
        let carries = vec![Carry { head: None, tail: Acc::ZERO }; parts.len()];
        let entries = parts.iter().map(|part| part.entries.len()).sum();
        Self { parts, tasks, task_rows, carries, entries }
    }

    /// The entries of the longest part.
    pub(crate) fn longest(&self) -> usize {
        self.parts.iter().map(|part| part.entries.len()).max().unwrap_or(0)
    }

    /// Bytes of the parts and carries.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(self.parts.as_slice())
            + size_of_val(self.carries.as_slice())
            + 2 * size_of_val(self.tasks.as_slice())
    }

    /// Runs `work(part, its part of y)` on all parts, joins the carries in order, and writes the rows that span parts.
    pub(crate) fn run<T: Send>(
        &mut self,
        cpu: &Cpu,
        y: &mut [T],
        write: &dyn Fn(&mut T, Acc),
        work: &(dyn Fn(&Part, &mut [T]) -> Carry<Acc> + Sync),
    ) {
        self.run_with(cpu, y, write, &|| (), &|(), _, part, y| work(part, y));
    }

    /// [`run`](Self::run) with a workspace for each task and the number of each part.
    pub(crate) fn run_with<T: Send, W>(
        &mut self,
        cpu: &Cpu,
        y: &mut [T],
        write: &dyn Fn(&mut T, Acc),
        workspace: &(dyn Fn() -> W + Sync),
        work: &PartWork<'_, W, T, Acc>,
    ) {
        let y_parts = split_mut(y, &self.task_rows);
        let carry_parts = split_mut(&mut self.carries, &self.tasks);
        let tasks = self.tasks.iter().zip(y_parts).zip(carry_parts);
        let tasks = tasks
            .map(|((range, y), carries)| Task {
                first: range.start,
                parts: &self.parts[range.clone()],
                y,
                carries,
            })
            .collect();
        cpu.for_each_in_runs(self.entries, tasks, |task: Task<'_, T, Acc>| {
            let (mut y, mut workspace) = (task.y, workspace());
            for ((k, part), carry) in (task.first..).zip(task.parts).zip(task.carries) {
                let (y_part, rest) = y.split_at_mut(part.rows.len());
                *carry = work(&mut workspace, k, part, y_part);
                y = rest;
            }
        });
        let mut open = Acc::ZERO;
        let mut row = 0;
        for (part, carry) in self.parts.iter().zip(&self.carries) {
            if let Some(head) = carry.head {
                write(&mut y[row], open + head);
            }
            row += part.rows.len();
            open = if part.rows.is_empty() { open + carry.tail } else { carry.tail };
        }
    }
}

fn cut_rows<O: Index>(member: usize, offsets: &[O], parts: &mut Vec<Part>) {
    parts.extend(rows_by_entries(offsets, PART_SIZE).into_iter().map(|rows| {
        let entries = offsets[rows.start].as_usize()..offsets[rows.end].as_usize();
        Part { member, rows, entries }
    }));
}

/// Parts of `size` rows and entries together. Position `d` of the merge path has `d` entries and row ends before it,
/// each row's end behind its entries.
pub(crate) fn cut_merge_path<O: Index>(member: usize, offsets: &[O], size: usize, parts: &mut Vec<Part>) {
    let rows = offsets.len() - 1;
    let first = offsets[0].as_usize();
    let length = offsets[rows].as_usize() - first + rows;
    let (mut row, mut entry) = (0, first);
    for position in (size..length).step_by(size).chain((length > 0).then_some(length)) {
        let row_end = partition_point(row..rows, |r| offsets[r + 1].as_usize() - first + r < position);
        let entry_end = position - row_end + first;
        parts.push(Part { member, rows: row..row_end, entries: entry..entry_end });
        (row, entry) = (row_end, entry_end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(cut: Cut, offsets: &[i32]) -> Vec<(Range<usize>, Range<usize>)> {
        let parts = Partition::<f64>::cut(cut, [offsets].into_iter());
        parts.parts.into_iter().map(|part| (part.rows, part.entries)).collect()
    }

    #[test]
    fn a_long_row_is_cut_by_the_merge_path_alone() {
        let long = 2 * PART_SIZE as i32;
        let offsets = [0, 1, long + 1, long + 1];
        let rows = parts(Cut::Rows, &offsets);
        assert!(rows.iter().all(|(rows, _)| !rows.is_empty()));
        let path = parts(Cut::MergePath, &offsets);
        assert_eq!(path[0], (0..1, 0..PART_SIZE - 1));
        assert_eq!(path[1], (1..1, PART_SIZE - 1..2 * PART_SIZE - 1));
        assert_eq!(path[2], (1..3, 2 * PART_SIZE - 1..2 * PART_SIZE + 1));
    }

    #[test]
    fn members_without_rows_have_no_parts() {
        assert!(parts(Cut::MergePath, &[0]).is_empty());
        assert!(parts(Cut::Rows, &[0]).is_empty());
    }
}
