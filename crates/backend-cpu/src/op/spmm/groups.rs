//! Groups of neighbouring rows, each with the columns of the row before, one further, as in stencils and bands. A
//! product reads the columns of the first of them alone, and neighbours share rows of B.

use super::part::Part;
use super::rows::Rows;
use super::thresholds::SpmmThresholds;
use crate::Cpu;
use crate::primitive::shifted_rows::is_second_half_shifted;
use crate::simd::{Isa, Vectorize};
use std::ops::Range;

/// Parts sampled for groups.
const SAMPLES: usize = 64;

/// The parts with their groups, if the values are stored line by line and about `calls` products pay for the search.
pub(super) fn find_groups<R: Rows>(cpu: &Cpu, rows: &R, parts: Vec<Range<usize>>, calls: usize) -> Vec<Part> {
    let find = |part: Range<usize>| cpu.simd().run(FindGroups { rows, part });
    let mut samples = parts.iter().step_by(parts.len().div_ceil(SAMPLES).max(1));
    let pays = rows.stored_values().is_some() && calls >= SpmmThresholds::CPU.calls_of_groups;
    let looks = pays && !samples.all(|part| find(part.clone()).is_empty());
    cpu.map(rows.columns().len(), parts, |range| {
        let part = Part::new(rows, range.clone());
        if looks && !part.skips_empty_rows() { part.grouped(find(range)) } else { part }
    })
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
    let are_alike = before.len() == own.len() && before.end == own.start;
    are_alike && is_second_half_shifted::<S, R::Index>(&rows.columns()[before.start..own.end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitive::lines::Lines;

    fn parts_of(offsets: &[i32], indices: &[i32]) -> Vec<Part> {
        let cpu = Cpu::with(2, crate::Simd::detect()).unwrap();
        let rows = Lines { offsets, indices, values: &vec![0.0_f32; indices.len()] };
        find_groups(&cpu, &rows, rows.parts(1 << 10), 100)
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
        let parts = parts_of(&offsets, &indices);
        assert_eq!(parts.iter().map(|part| part.rows.clone()).collect::<Vec<_>>(), vec![0..40]);
        assert_eq!(parts[0].groups, [0..20, 20..21, 21..30, 30..40]);
    }

    #[test]
    fn rows_that_are_groups_of_their_own_are_stored_nowhere() {
        let offsets: Vec<_> = (0..=40).map(|row| 2 * row).collect();
        let indices: Vec<_> = (0..40).flat_map(|row| [row % 3, 5]).collect();
        assert!(parts_of(&offsets, &indices)[0].groups.is_empty());
        assert!(parts_of(&[0; 11], &[])[0].groups.is_empty());
        assert_eq!(parts_of(&[0], &[]), []);
    }
}
