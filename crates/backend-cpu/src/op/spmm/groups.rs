//! Groups of neighbouring rows, each with the columns of the row before, one further, as in stencils and bands. A
//! product reads the columns of the first of them alone, and its neighbours share rows of B.

use super::rows::Rows;
use super::thresholds::SpmmThresholds;
use crate::Cpu;
#[cfg(target_arch = "x86_64")]
use crate::op::spmv::shifted_x86::are_shifted;
#[cfg(target_arch = "x86_64")]
use crate::simd::Simd;
use crate::simd::{Isa, Vectorize};
use sparse_core::Index;
use std::ops::Range;

/// Parts sampled for groups.
const SAMPLES: usize = 64;

/// Lines, which are rows or a part of one. Line `k` has the entries behind those of line `k - 1`, in the columns of line
/// 0, each `k` further.
#[derive(Debug, Clone)]
pub(super) struct Group {
    pub(super) first: usize,
    pub(super) count: usize,
    /// The entries of the first line.
    pub(super) entries: Range<usize>,
}

/// Groups to sum one after the other.
pub(super) trait Groups: Iterator<Item = Group> + Clone {}

impl<T: Iterator<Item = Group> + Clone> Groups for T {}

/// One line of a group.
pub(super) struct Line {
    pub(super) number: usize,
    pub(super) entries: Range<usize>,
    /// The entries of the first line, whose columns the line has, each `shift` further.
    pub(super) columns: Range<usize>,
    pub(super) shift: usize,
}

impl Group {
    /// A group of one line.
    pub(super) fn of_one(line: usize, entries: Range<usize>) -> Self {
        Self { first: line, count: 1, entries }
    }

    /// The lines.
    #[inline(always)]
    pub(super) fn lines(self) -> impl Iterator<Item = Line> + Clone {
        (0..self.count).map(move |k| self.line(k))
    }

    /// The line `k` behind the first.
    #[inline(always)]
    pub(super) fn line(&self, k: usize) -> Line {
        let Self { first, entries, .. } = self;
        let behind = k * entries.len();
        Line {
            number: first + k,
            entries: entries.start + behind..entries.end + behind,
            columns: entries.clone(),
            shift: k,
        }
    }
}

/// The rows of a task.
pub(super) struct Part {
    rows: Range<usize>,
    /// The rows of each group; none where most rows would be groups of their own.
    groups: Vec<Range<usize>>,
}

impl Part {
    /// The groups of all rows.
    #[inline(always)]
    pub(super) fn groups<R: Rows>(&self, rows: &R) -> impl Groups {
        let alone = if self.groups.is_empty() { self.rows.clone() } else { 0..0 };
        let groups = self.groups.iter().cloned().chain(alone.map(|row| row..row + 1));
        groups.map(|group| Group {
            first: group.start,
            count: group.len(),
            entries: rows.entries(group.start),
        })
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(self.groups.as_slice())
    }
}

/// Parts of the rows with about `entries` entries each, with their groups if about `calls` products pay for them.
pub(super) fn parts<R: Rows>(cpu: &Cpu, rows: &R, entries: usize, calls: usize) -> Vec<Part> {
    let parts = rows.parts(entries);
    let find = |rows_of_part: Range<usize>| cpu.simd().run(FindGroups { rows, part: rows_of_part });
    let mut samples = parts.iter().step_by(parts.len().div_ceil(SAMPLES).max(1));
    if calls < SpmmThresholds::CPU.calls_of_groups || samples.all(|part| find(part.clone()).is_empty()) {
        return parts.into_iter().map(|rows| Part { rows, groups: vec![] }).collect();
    }
    cpu.map(rows.columns().len(), parts, |rows| Part { groups: find(rows.clone()), rows })
}

/// The groups of the rows of a part, or none if they have fewer than [`SpmmThresholds::rows_of_group`] rows on average.
struct FindGroups<'a, R> {
    rows: &'a R,
    part: Range<usize>,
}

impl<R: Rows> Vectorize for FindGroups<'_, R> {
    type Out = Vec<Range<usize>>;

    #[inline(always)]
    fn run<S: Isa>(self) -> Vec<Range<usize>> {
        let Self { rows, part } = self;
        let most = part.len() / SpmmThresholds::CPU.rows_of_group;
        let mut groups: Vec<Range<usize>> = vec![];
        for row in part {
            let count = groups.len();
            match groups.last_mut() {
                Some(group) if follows::<S, R>(rows, row) => group.end = row + 1,
                _ if count == most => return vec![],
                _ => groups.push(row..row + 1),
            }
        }
        groups.shrink_to_fit();
        groups
    }
}

/// True if the columns of a row are those of the row before, each one further, and its entries come next.
#[inline(always)]
fn follows<S: Isa, R: Rows>(rows: &R, row: usize) -> bool {
    let (before, own) = (rows.entries(row - 1), rows.entries(row));
    if before.len() != own.len() || before.end != own.start || own.is_empty() {
        return false;
    }
    let all = &rows.columns()[before.start..own.end];
    let (before, own) = all.split_at(own.len());
    let is_next = |before: &R::Index, own: &R::Index| before.as_usize() + 1 == own.as_usize();
    // The first columns tell most rows; the others are compared without branches, by vectors.
    if !is_next(&before[0], &own[0]) {
        return false;
    }
    #[cfg(target_arch = "x86_64")]
    if const { S::SIMD as u8 == Simd::Avx512 as u8 } {
        // SAFETY: `S` is only run where the processor has it; there are columns of two rows.
        return unsafe { are_shifted(all, own.len(), 2) };
    }
    before.iter().zip(own).fold(true, |all, (before, own)| all & is_next(before, own))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitive::lines::Lines;

    /// The first row, the number of rows and the entries of the first row of each group.
    fn found(offsets: &[i32], indices: &[i32]) -> Vec<(usize, usize, Range<usize>)> {
        let cpu = Cpu::with(2, crate::Simd::detect()).unwrap();
        let rows = Lines { offsets, indices, values: &vec![0.0_f32; indices.len()] };
        let parts = parts(&cpu, &rows, 1 << 10, 100);
        let groups = parts.iter().flat_map(|part| part.groups(&rows).collect::<Vec<_>>());
        groups.map(|group| (group.first, group.count, group.entries)).collect()
    }

    #[test]
    fn neighbours_whose_columns_are_one_further_are_a_group() {
        // Rows of two entries, of which that of row 20 is elsewhere and that of row 30 not one further.
        let columns = |row: i32| match row {
            20 => [50, 60],
            30.. => [row, row + 7],
            _ => [row, row + 5],
        };
        let offsets: Vec<_> = (0..=40).map(|row| 2 * row).collect();
        let indices: Vec<_> = (0..40).flat_map(columns).collect();
        assert_eq!(
            found(&offsets, &indices),
            [(0, 20, 0..2), (20, 1, 40..42), (21, 9, 42..44), (30, 10, 60..62)]
        );
    }

    #[test]
    fn rows_that_are_groups_of_their_own_are_stored_nowhere() {
        let offsets: Vec<_> = (0..=40).map(|row| 2 * row).collect();
        let indices: Vec<_> = (0..40).flat_map(|row| [row % 3, 5]).collect();
        let alone: Vec<_> = (0..40).map(|row| (row, 1, 2 * row..2 * row + 2)).collect();
        assert_eq!(found(&offsets, &indices), alone);
        assert_eq!(found(&[0; 11], &[]), (0..10).map(|row| (row, 1, 0..0)).collect::<Vec<_>>());
        assert!(found(&[0], &[]).is_empty());
    }

    #[test]
    fn lines_of_a_group_follow_each_other() {
        let lines: Vec<_> = Group { first: 7, count: 3, entries: 10..14 }.lines().collect();
        let fields = lines.into_iter().map(|line| (line.number, line.entries, line.columns, line.shift));
        assert!(fields.eq([(7, 10..14, 10..14, 0), (8, 14..18, 10..14, 1), (9, 18..22, 10..14, 2)]));
    }
}
