//! Substitution level by level: rows of one level need no other row of it, so that a launch solves them together.
//! Levels of few rows share a launch of one work-group, which waits at a barrier between them.

use super::{FILE, Operands, Substitution, is_lower, is_unit};
use crate::buffer::RawBuffer;
use crate::index_type::IndexType;
use crate::launch::Launch;
use crate::primitive::row_groups::RowGroups;
use crate::{Buffer, Device, Kernel};
use sparse_core::op::{Diagonal, Levels, Triangular};
use sparse_core::{Backend, Index, Result};
use std::ops::Range;

/// The launches of a solve by levels.
#[derive(Debug)]
pub(super) struct ByLevel {
    system: Triangular,
    groups: RowGroups,
    /// The rows, level by level.
    order: RawBuffer,
    /// The first position of each level in the order, and the number of rows.
    starts: Buffer<i64>,
    launches: Vec<LevelLaunch>,
    level: Kernel,
    levels: Kernel,
}

/// A launch of a solve by levels.
#[derive(Debug, Clone, PartialEq, Eq)]
enum LevelLaunch {
    /// The rows at these positions, of one level.
    Wide(Range<usize>),
    /// These levels, all by one work-group.
    Narrow(Range<usize>),
}

/// The launches for levels that start at these positions; those of up to `narrow` rows share one.
fn launches(starts: &[usize], narrow: usize) -> Vec<LevelLaunch> {
    let mut launches = vec![];
    for (level, ends) in starts.windows(2).enumerate() {
        if ends[1] - ends[0] > narrow {
            launches.push(LevelLaunch::Wide(ends[0]..ends[1]));
        } else if let Some(LevelLaunch::Narrow(levels)) = launches.last_mut() {
            levels.end = level + 1;
        } else {
            launches.push(LevelLaunch::Narrow(level..level + 1));
        }
    }
    launches
}

/// The level of each row of op(A): one more than the highest of the rows that it needs.
///
/// # Errors
/// [`Singular`](sparse_core::Error::Singular) if the diagonal of a row is needed and not stored.
fn levels<I: Index>(system: Triangular, offsets: &[i64], columns: &[I]) -> Result<Vec<usize>> {
    let (n, triangle) = (offsets.len() - 1, system.solved_triangle());
    let row_of = |row: usize| columns[offsets[row] as usize..offsets[row + 1] as usize].iter();
    let is_stored = |row: usize| row_of(row).any(|col| col.as_usize() == row);
    if let (Diagonal::Stored, Some(row)) = (system.diagonal, (0..n).find(|&row| !is_stored(row))) {
        return Err(Triangular::missing_diagonal(row));
    }
    let mut levels = vec![0; n];
    for row in system.rows(n) {
        let needed = row_of(row).map(|col| col.as_usize()).filter(|&col| triangle.has(row, col));
        levels[row] = needed.map(|col| levels[col] + 1).max().unwrap_or(0);
    }
    Ok(levels)
}

impl ByLevel {
    /// Levels of up to `narrow` rows share a launch.
    pub(super) fn new(
        backend: &Device,
        groups: RowGroups,
        system: Triangular,
        narrow: usize,
        kernel: impl Fn(&'static str, &'static str) -> Result<Kernel>,
    ) -> Result<Self> {
        let (offsets, index) = (backend.download(&groups.offsets)?, groups.columns.index_type());
        let levels = match index {
            IndexType::I32 => levels(system, &offsets, &backend.indices::<i32>(&groups.columns)?)?,
            IndexType::I64 => levels(system, &offsets, &backend.indices::<i64>(&groups.columns)?)?,
        };
        let levels = Levels::new(system, &levels);
        let starts: Vec<_> = levels.starts().iter().map(|&start| start as i64).collect();
        Ok(Self {
            system,
            groups,
            order: backend.upload_indices("a row", levels.rows(), index)?,
            starts: backend.upload(&starts)?,
            launches: launches(levels.starts(), narrow),
            level: kernel(FILE, "trisolve_level")?,
            levels: kernel(FILE, "trisolve_levels")?,
        })
    }

    /// Starts all launches; `zero` becomes 1 if a diagonal is zero.
    fn launch_all(&self, backend: &Device, operands: Operands<'_>, zero: &RawBuffer) -> Result<()> {
        self.launches.iter().try_for_each(|launch| self.launch(backend, launch, operands, zero))
    }

    /// Solves one level, or some narrow ones.
    fn launch(
        &self,
        backend: &Device,
        launch: &LevelLaunch,
        operands: Operands<'_>,
        zero: &RawBuffer,
    ) -> Result<()> {
        let Operands { values, b, x } = operands;
        let columns = b.cols;
        match launch {
            LevelLaunch::Wide(rows) => {
                let launch = backend.launch(&self.level).size(rows.start).size(rows.end);
                let launch = self.system(launch, columns).buffer(&self.order);
                let launch = self.entries(launch, values).dense(b).dense(x).buffer(zero);
                launch.items(rows.len() * columns)
            }
            LevelLaunch::Narrow(range) => {
                let launch = backend.launch(&self.levels).size(range.start).size(range.end);
                let launch = self.system(launch, columns).buffer(&self.starts).buffer(&self.order);
                let launch = self.entries(launch, values).dense(b).dense(x).buffer(zero);
                launch.groups(1, backend.inner.block)
            }
        }
    }

    /// The number of columns of B, and the triangle.
    fn system<'a>(&self, launch: Launch<'a>, columns: usize) -> Launch<'a> {
        launch.size(columns).value(i32::from(is_lower(self.system))).value(i32::from(is_unit(self.system)))
    }
}

impl Substitution for ByLevel {
    fn solve(&self, backend: &Device, operands: Operands<'_>, zero: &Buffer<i32>) -> Result<bool> {
        self.launch_all(backend, operands, zero)?;
        Ok(!is_unit(self.system) && backend.download(zero)?[0] != 0)
    }

    fn enqueue(&self, backend: &Device, operands: Operands<'_>, zero: &Buffer<i32>) -> Result<()> {
        self.launch_all(backend, operands, zero)?;
        backend.clear(zero)
    }

    fn entries<'a>(&'a self, launch: Launch<'a>, values: &'a RawBuffer) -> Launch<'a> {
        let RowGroups { offsets, columns, positions, .. } = &self.groups;
        launch.buffer(offsets).buffer(columns).positions(positions).buffer(values)
    }

    /// The entries are in the order of the rows.
    fn first_row(&self, _: &Device, places: &mut dyn Iterator<Item = usize>) -> Result<Option<usize>> {
        Ok(places.next())
    }

    fn nrows(&self) -> usize {
        self.groups.nrows()
    }

    fn bytes(&self) -> usize {
        self.groups.bytes() + self.order.bytes() + self.starts.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_levels_between_wide_ones_share_a_launch() {
        let starts = [0, 1, 3, 9, 10, 11, 12];
        let expected = [LevelLaunch::Narrow(0..2), LevelLaunch::Wide(3..9), LevelLaunch::Narrow(3..6)];
        assert_eq!(launches(&starts, 2), expected);
        assert_eq!(launches(&starts[..2], 0), [LevelLaunch::Wide(0..1)]);
        assert_eq!(launches(&[0], 2), []);
    }

    #[test]
    fn a_level_is_one_more_than_the_highest_of_the_rows_needed() {
        let (offsets, columns) = ([0, 1, 3, 4, 7], [0, 1, 2, 2, 0, 2, 3]);
        assert_eq!(levels(Triangular::lower(), &offsets, &columns).unwrap(), [0, 0, 0, 1]);
        assert_eq!(levels(Triangular::upper(), &offsets, &columns).unwrap(), [0, 1, 0, 0]);
        let error = levels(Triangular::lower(), &[0, 1, 2], &[0, 0]).unwrap_err();
        assert_eq!(error.to_string(), Triangular::missing_diagonal(1).to_string());
    }
}
