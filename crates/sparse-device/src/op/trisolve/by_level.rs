//! Substitution level by level: rows of one level need no other row of it, so that a launch solves them together.
//! Levels of few rows share a launch of one work-group, which waits at a barrier between them.

use super::waiting::{ROW_LEVELS, RowLevels};
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
    /// Narrow levels, all by one work-group.
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
fn row_levels(backend: &Device, groups: &RowGroups, system: Triangular) -> Result<Vec<usize>> {
    let offsets = backend.download(&groups.offsets)?;
    match groups.columns.index_type() {
        IndexType::I32 => {
            levels(backend, groups, system, &offsets, &backend.indices::<i32>(&groups.columns)?)
        }
        IndexType::I64 => {
            levels(backend, groups, system, &offsets, &backend.indices::<i64>(&groups.columns)?)
        }
    }
}

/// The levels of rows with these columns, found on the device if it has the kernel, else on the host.
fn levels<I: Index>(
    backend: &Device,
    groups: &RowGroups,
    system: Triangular,
    offsets: &[i64],
    columns: &[I],
) -> Result<Vec<usize>> {
    check_diagonal(system, offsets, columns)?;
    match backend.lacks(ROW_LEVELS) {
        None if groups.nrows() > 0 => RowLevels::new(backend, groups, system)?.of_rows(backend, system),
        _ => Ok(levels_on_host(system, offsets, columns)),
    }
}

/// The columns of a row.
fn row_of<'a, I>(row: usize, offsets: &[i64], columns: &'a [I]) -> &'a [I] {
    &columns[offsets[row] as usize..offsets[row + 1] as usize]
}

/// # Errors
/// [`Singular`](sparse_core::Error::Singular) if the diagonal of a row is needed and not stored.
fn check_diagonal<I: Index>(system: Triangular, offsets: &[i64], columns: &[I]) -> Result<()> {
    let lacks = |&row: &usize| row_of(row, offsets, columns).iter().all(|col| col.as_usize() != row);
    match (system.diagonal, (0..offsets.len() - 1).find(lacks)) {
        (Diagonal::Stored, Some(row)) => Err(Triangular::missing_diagonal(row)),
        _ => Ok(()),
    }
}

/// The levels of rows with these columns.
fn levels_on_host<I: Index>(system: Triangular, offsets: &[i64], columns: &[I]) -> Vec<usize> {
    let (n, triangle) = (offsets.len() - 1, system.solved_triangle());
    let mut levels = vec![0; n];
    for row in system.rows(n) {
        let all = row_of(row, offsets, columns).iter().map(|col| col.as_usize());
        let needed = all.filter(|&col| triangle.has(row, col));
        levels[row] = needed.map(|col| levels[col] + 1).max().unwrap_or(0);
    }
    levels
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
        let index = groups.columns.index_type();
        let levels = Levels::new(system, &row_levels(backend, &groups, system)?);
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
        assert_eq!(levels_on_host(Triangular::lower(), &offsets, &columns), [0, 0, 0, 1]);
        assert_eq!(levels_on_host(Triangular::upper(), &offsets, &columns), [0, 1, 0, 0]);
        let error = check_diagonal(Triangular::lower(), &[0, 1, 2], &[0, 0]).unwrap_err();
        assert_eq!(error.to_string(), Triangular::missing_diagonal(1).to_string());
    }
}
