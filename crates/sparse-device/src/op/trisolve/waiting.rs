//! `waiting`: substitution in one launch, whose rows wait for the rows that they need.
//!
//! Rows are solved in their own order where all of them run at once, or where few need one of those just before them;
//! otherwise level by level. In their own order entries stay where they are, unless some are of the other triangle;
//! otherwise the plan copies the entries of the triangle in the order in which rows are solved. The device finds the
//! levels by a kernel of rows that wait in the same way, and sorts the rows by them.

use super::{Operands, Substitution, is_lower, is_unit};
use crate::buffer::RawBuffer;
use crate::defines::Defines;
use crate::index_type::IndexType;
use crate::lanes::LANES;
use crate::launch::Launch;
use crate::primitive::positions::Positions;
use crate::primitive::prefix_sum::PrefixSum;
use crate::primitive::radix_sort::radix_sort;
use crate::primitive::row_groups::RowGroups;
use crate::{Buffer, Device, Kernel};
use sparse_core::op::{Diagonal, Triangular};
use sparse_core::{Backend, DType, Result};

/// The files of the kernels that solve, that prepare the entries, and that find levels.
pub(super) const WAITING: &str = "trisolve_waiting";
const PLACES: &str = "trisolve_places";
pub(super) const ROW_LEVELS: &str = "trisolve_row_levels";

/// Work-items that a compute unit works on at once.
const ITEMS_PER_UNIT: usize = 2048;

/// The number of levels whose rows run or wait at once. More levels poll the words that they wait for too often, fewer
/// leave units without work. Measured on H100, f32: 8 is best or within 8 % for levels of 3 to 540 work-groups; with
/// all units full, stencils take 1.2 times as long.
const LEVELS_AT_ONCE: usize = 8;

/// Levels are wide if one has at least 1/`WIDE` of the rows that run at once: then the instructions of all rows count,
/// not the latency of one.
const WIDE: usize = 4;

/// Rows are far from those that they need if at most 1/`FAR_PART` of them needs one of the 8192 rows before it: then
/// their own order is as good as that of levels. Measured on H200, f32: it takes 0.94 to
/// 1.13 of the time for uniform rows of 3 to 20 entries, citations and shuffled stencils.
const FAR_PART: usize = 2;

/// Warps per compute unit of the kernel that inspects the rows.
const WARPS_PER_UNIT: usize = 64;

/// Lanes for a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RowLanes {
    /// Lanes that solve a row.
    solve: usize,
    /// Lanes that solve a row where levels are wide.
    wide: usize,
    /// Lanes that solve a row where rows are far from those that they need.
    far: usize,
    /// Lanes that find the level of a row.
    levels: usize,
}

/// The most lanes that solve a row where no row has many times the average.
const MOST_ALIKE: usize = 8;

impl RowLanes {
    /// The lanes for rows of `mean` entries on average, of which the longest has `longest`.
    ///
    /// Measured on H100, f32, 17 matrices: to solve, 4 lanes are best for rows of 2 to 5 entries, 8 for 6 to 21 (16
    /// take 1.15 times as long), 16 where the longest row has 30 to 200 times the average, 32 for 770 times (0.9 of
    /// 16). In wide levels, 1 lane takes 0.74 of the time of 4 for rows of 3 entries, 2 take 0.94 for rows of 5, and 4
    /// take 0.82 of the time of 8 for rows of 9; in their own order (H200) 1 lane takes 0.84 of the time of 2 for rows
    /// of 5, and 2 take 0.76 of the time of 1 for rows of 11. Levels are found sooner by fewer lanes where rows are
    /// short, for more rows wait at a time.
    fn new(mean: usize, longest: usize) -> Self {
        let solve = match longest / mean.max(1) {
            0..16 if mean < 6 => 4,
            0..16 => 8,
            16..512 => 16,
            _ => LANES,
        };
        let wide = if solve <= MOST_ALIKE { (mean / 2).next_power_of_two().min(solve) } else { solve };
        let levels = match solve {
            4 => 1,
            8 => 4,
            _ => solve,
        };
        let far = if solve <= MOST_ALIKE { (mean / 4).next_power_of_two().min(solve) } else { solve };
        Self { solve, wide, far, levels }
    }

    fn of(backend: &Device, groups: &RowGroups) -> Result<Self> {
        let mean = groups.positions.len().div_ceil(groups.nrows().max(1));
        Ok(Self::new(mean, backend.longest_row(&groups.offsets)?))
    }
}

/// Rows in the order of their numbers, that of substitution without levels: the kernel's structure `Found`.
struct FoundRows {
    lanes: RowLanes,
    /// The entries of the other triangle.
    outside: usize,
    /// The rows that need one of the 8192 before them.
    near: usize,
    /// The position of the only entry on the diagonal of each row; −1 if there are several, or none.
    diagonals: Positions,
}

impl FoundRows {
    /// Inspects the rows, and waits for the device twice.
    ///
    /// # Errors
    /// [`Singular`](sparse_core::Error::Singular) if the diagonal of a row is needed and not stored.
    fn new(backend: &Device, groups: &RowGroups, system: Triangular) -> Result<Self> {
        let (n, lanes) = (groups.nrows(), RowLanes::of(backend, groups)?);
        let diagonals = Positions::allocate_as(backend, n, groups.positions.index_type())?;
        let words = backend.zeros::<i64>(3)?;
        let kernel = backend.kernel(PLACES, "trisolve_places_rows", place_defines(groups))?;
        let launch = backend.launch(&kernel).size(n).value(i32::from(is_lower(system)));
        let launch = launch.size(lanes.solve).buffer(&groups.offsets).buffer(&groups.columns);
        let launch = launch.positions(&groups.positions);
        let warps = (n * lanes.solve).div_ceil(LANES).min(backend.caps().compute_units * WARPS_PER_UNIT);
        launch.positions(&diagonals).buffer(&words).warps(warps)?;
        let found = backend.download(&words)?;
        let [missing, outside, near] = std::array::from_fn(|word| found[word] as usize);
        if system.diagonal == Diagonal::Stored && missing > 0 {
            return Err(Triangular::missing_diagonal(n - missing));
        }
        Ok(Self { lanes, outside, near, diagonals })
    }

    /// True if most of the `n` rows need none of those just before them, and all are about as long.
    fn are_far(&self, n: usize) -> bool {
        self.near * FAR_PART <= n && self.lanes.solve <= MOST_ALIKE
    }
}

/// The macros of the kernels of places.
fn place_defines(groups: &RowGroups) -> Defines {
    Defines::default().index(groups.columns.index_type()).set("POS", groups.positions.type_name())
}

/// The level of each row of op(A) in the order of substitution: one more than the highest of the rows that it needs.
pub(super) struct RowLevels {
    /// The level of each row, in the order in which rows are solved.
    levels: RawBuffer,
    highest: usize,
}

impl RowLevels {
    /// Finds the levels on a device whose rows can wait for others.
    pub(super) fn new(backend: &Device, groups: &RowGroups, system: Triangular) -> Result<Self> {
        Self::by_lanes(backend, groups, system, RowLanes::of(backend, groups)?.levels)
    }

    fn by_lanes(backend: &Device, groups: &RowGroups, system: Triangular, lanes: usize) -> Result<Self> {
        let (n, index) = (groups.nrows(), groups.columns.index_type());
        let levels = backend.allocate_raw(n, size_of::<u32>())?;
        let (highest, words) = (backend.zeros::<i64>(1)?, backend.zeros::<i64>(1 + n.div_ceil(2))?);
        let kernel = backend.kernel(ROW_LEVELS, ROW_LEVELS, Defines::default().index(index))?;
        let launch = backend.launch(&kernel).size(n).value(i32::from(is_lower(system))).size(lanes);
        let launch = launch.buffer(&groups.offsets).buffer(&groups.columns);
        launch.buffer(&levels).buffer(&highest).buffer(&words).warps((n * lanes).div_ceil(LANES))?;
        Ok(Self { levels, highest: backend.download(&highest)?[0] as usize })
    }

    /// The levels of rows by their numbers in op(A).
    pub(super) fn of_rows(self, backend: &Device, system: Triangular) -> Result<Vec<usize>> {
        let levels = backend.download(&self.levels.of::<i32>())?;
        let mut of_rows = vec![0; levels.len()];
        // Bits of an unsigned number.
        system.rows(levels.len()).zip(levels).for_each(|(row, level)| of_rows[row] = level as u32 as usize);
        Ok(of_rows)
    }
}

/// The rows in the order of substitution, level by level.
struct LevelOrder {
    /// The numbers of the rows, as they are solved without levels.
    numbers: Positions,
    levels: usize,
}

impl LevelOrder {
    fn new(backend: &Device, groups: &RowGroups, system: Triangular, lanes: usize) -> Result<Self> {
        let RowLevels { levels, highest } = RowLevels::by_lanes(backend, groups, system, lanes)?;
        let bits = usize::BITS - highest.leading_zeros();
        let sorted = radix_sort(backend, levels, None, groups.columns.index_type(), 0..bits)?;
        Ok(Self { numbers: sorted.positions, levels: highest + 1 })
    }
}

/// The entries of the triangle in the order of substitution.
#[derive(Debug)]
struct Places {
    /// The row of each place; `None` if places are the rows, in the order in which they are solved.
    rows: Option<RawBuffer>,
    /// The first entry of each place, and their number.
    starts: Buffer<i64>,
    /// The place whose element of X an entry is multiplied by, its own for the diagonal; its column where there are no
    /// `rows`.
    sources: RawBuffer,
    positions: Positions,
    /// The position of the only entry on the diagonal of each place; −1 if there are several, or none.
    diagonals: Positions,
}

impl Places {
    /// The rows in the order in which they are solved without levels, as they are.
    fn stored(groups: RowGroups, diagonals: Positions) -> Self {
        let RowGroups { offsets: starts, columns: sources, positions, .. } = groups;
        Self { rows: None, starts, sources, positions, diagonals }
    }

    /// The entries of the triangle, by rows in this order, or in that in which they are solved without levels.
    fn new(
        backend: &Device,
        groups: &RowGroups,
        system: Triangular,
        order: Option<&Positions>,
        lanes: usize,
    ) -> Result<Self> {
        let (n, index) = (groups.nrows(), groups.columns.index_type());
        let indices = |len| backend.allocate_raw(len, index.bytes());
        let (rows, place_of) = (indices(n)?, indices(n)?);
        let starts = backend.zeros::<i64>(n + 1)?;
        let defines = place_defines(groups);
        let kernel = backend.kernel(PLACES, "trisolve_places_count", defines.clone())?;
        let lower = i32::from(is_lower(system));
        let warps = (n * lanes).div_ceil(LANES);
        let launch = backend.launch(&kernel).size(n).value(lower).size(lanes).positions_or_null(order);
        let launch = launch.buffer(&groups.offsets).buffer(&groups.columns).buffer(&rows).buffer(&place_of);
        launch.buffer(&starts).warps(warps)?;
        let entries = PrefixSum::series(backend, n + 1)?.starts_and_sum(backend, &starts)?;
        let sources = indices(entries)?;
        let positions = |len| Positions::allocate_as(backend, len, groups.positions.index_type());
        let (positions, diagonals) = (positions(entries)?, positions(n)?);
        let kernel = backend.kernel(PLACES, "trisolve_places_fill", defines)?;
        let launch = backend.launch(&kernel).size(n).value(lower).size(lanes);
        let launch = launch.buffer(&groups.offsets).buffer(&groups.columns).positions(&groups.positions);
        let launch = launch.buffer(&rows).buffer(&place_of).buffer(&starts);
        launch.buffer(&sources).positions(&positions).positions(&diagonals).warps(warps)?;
        Ok(Self { rows: Some(rows), starts, sources, positions, diagonals })
    }

    /// The number of rows.
    fn len(&self) -> usize {
        self.starts.len - 1
    }
}

/// A solve in one launch, and one before it.
#[derive(Debug)]
pub(super) struct Waiting {
    system: Triangular,
    places: Places,
    lanes: usize,
    /// Rows that are at work or waiting, at most.
    rows_at_once: usize,
    begin: Kernel,
    kernel: Kernel,
    /// The words of a solve with one column.
    words: Buffer<i64>,
}

/// The words of a solve: a ticket, and those of each element of X.
fn allocate_words(backend: &Device, elements: usize, element_bytes: usize) -> Result<Buffer<i64>> {
    let bytes = elements * element_bytes.max(size_of::<u32>());
    backend.allocate(1 + bytes.div_ceil(size_of::<i64>()))
}

impl Waiting {
    pub(super) fn new(
        backend: &Device,
        dtype: DType,
        groups: RowGroups,
        system: Triangular,
        kernel: impl Fn(&'static str, &'static str) -> Result<Kernel>,
    ) -> Result<Self> {
        let n = groups.nrows();
        let found = FoundRows::new(backend, &groups, system)?;
        let lanes = found.lanes;
        let resident = backend.caps().compute_units * ITEMS_PER_UNIT / lanes.solve;
        let order = (n > resident && !found.are_far(n))
            .then(|| LevelOrder::new(backend, &groups, system, lanes.levels))
            .transpose()?;
        let width = order.as_ref().map(|order| n.div_ceil(order.levels));
        let places = match order {
            None if found.outside == 0 => Places::stored(groups, found.diagonals),
            order => {
                let numbers = order.as_ref().map(|order| &order.numbers);
                Places::new(backend, &groups, system, numbers, lanes.solve)?
            }
        };
        let lanes = match width {
            None if n > resident => lanes.far,
            Some(width) if width * WIDE >= resident => lanes.wide,
            _ => lanes.solve,
        };
        let rows_at_once = width.map_or(n, |width| LEVELS_AT_ONCE * width);
        let (begin, kernel) = (kernel(WAITING, "trisolve_waiting_begin")?, kernel(WAITING, WAITING)?);
        let words = allocate_words(backend, n, dtype.bytes())?;
        Ok(Self { system, places, lanes, rows_at_once, begin, kernel, words })
    }

    /// 1 if places are rows from the last one on.
    fn is_reversed(&self) -> i32 {
        i32::from(self.places.rows.is_none() && !is_lower(self.system))
    }

    /// Clears the words; `zero` becomes 1 if `checks` and a diagonal is zero.
    fn begin(
        &self,
        backend: &Device,
        values: &RawBuffer,
        zero: &Buffer<i32>,
        words: &Buffer<i64>,
        checks: bool,
    ) -> Result<()> {
        let n = self.nrows();
        let launch = backend.launch(&self.begin).size(n).size(words.len).value(i32::from(!checks));
        let launch = launch.value(self.is_reversed());
        let launch = self.entries(launch, values).positions(&self.places.diagonals);
        launch.buffer(zero).buffer(words).items(if checks { n.max(words.len) } else { words.len })
    }

    fn substitute(&self, backend: &Device, operands: Operands<'_>, words: &Buffer<i64>) -> Result<()> {
        let (n, columns, block) = (self.nrows(), operands.b.cols, backend.inner.block);
        let launch = backend.launch(&self.kernel).size(n).size(columns);
        let launch = launch.value(i32::from(is_unit(self.system))).value(self.is_reversed()).size(self.lanes);
        let launch = launch.buffer_or_null(self.places.rows.as_ref());
        let launch = self.entries(launch, operands.values).dense(operands.b).dense(operands.x).buffer(words);
        let units = backend.caps().compute_units;
        let groups = |rows: usize| (rows * columns * self.lanes).div_ceil(block);
        let most = units * ITEMS_PER_UNIT / block;
        launch.groups(groups(n).min(groups(self.rows_at_once).clamp(units, most)), block)
    }
}

impl Substitution for Waiting {
    /// The device goes on solving when the call returns.
    fn solve(&self, backend: &Device, operands: Operands<'_>, zero: &Buffer<i32>) -> Result<bool> {
        let columns = operands.b.cols;
        let of_many = (columns > 1)
            .then(|| allocate_words(backend, self.nrows() * columns, operands.values.element_bytes))
            .transpose()?;
        let words = of_many.as_ref().unwrap_or(&self.words);
        self.begin(backend, operands.values, zero, words, !is_unit(self.system))?;
        if is_unit(self.system) {
            self.substitute(backend, operands, words)?;
            return Ok(false);
        }
        let found =
            backend.download_before(zero.view(), &mut || self.substitute(backend, operands, words))?;
        Ok(found != 0)
    }

    fn enqueue(&self, backend: &Device, operands: Operands<'_>, zero: &Buffer<i32>) -> Result<()> {
        self.begin(backend, operands.values, zero, &self.words, false)?;
        self.substitute(backend, operands, &self.words)
    }

    fn entries<'a>(&'a self, launch: Launch<'a>, values: &'a RawBuffer) -> Launch<'a> {
        let Places { starts, sources, positions, .. } = &self.places;
        launch.buffer(starts).buffer(sources).positions(positions).buffer(values)
    }

    fn first_row(&self, backend: &Device, places: &mut dyn Iterator<Item = usize>) -> Result<Option<usize>> {
        let Some(rows) = &self.places.rows else { return Ok(places.next()) };
        let rows: Vec<_> = match rows.index_type() {
            IndexType::I32 => backend.indices::<i32>(rows)?.iter().map(|&row| row as usize).collect(),
            IndexType::I64 => backend.indices::<i64>(rows)?.iter().map(|&row| row as usize).collect(),
        };
        Ok(places.map(|place| rows[place]).min())
    }

    fn nrows(&self) -> usize {
        self.places.len()
    }

    fn bytes(&self) -> usize {
        let Places { rows, starts, sources, positions, diagonals } = &self.places;
        let rows = rows.as_ref().map_or(0, RawBuffer::bytes);
        let places = rows + starts.bytes() + sources.bytes() + positions.bytes() + diagonals.bytes();
        places + self.words.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_rows_have_few_lanes_and_skewed_ones_many() {
        assert_eq!(RowLanes::new(3, 3), RowLanes { solve: 4, wide: 1, far: 1, levels: 1 });
        assert_eq!(RowLanes::new(5, 9), RowLanes { solve: 4, wide: 2, far: 1, levels: 1 });
        assert_eq!(RowLanes::new(14, 14), RowLanes { solve: 8, wide: 8, far: 4, levels: 4 });
        assert_eq!(RowLanes::new(33, 2577), RowLanes { solve: 16, wide: 16, far: 16, levels: 16 });
        assert_eq!(RowLanes::new(5, 6000), RowLanes { solve: 32, wide: 32, far: 32, levels: 32 });
        assert_eq!(RowLanes::new(0, 0), RowLanes { solve: 4, wide: 1, far: 1, levels: 1 });
    }
}
