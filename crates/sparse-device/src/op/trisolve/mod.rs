//! `op(A)·X = B` for triangular A: in one launch, whose rows wait for those that they need, where the device promises that
//! work-groups get on while others wait; else level by level. Rows of one level need no other row of it, so that a launch
//! solves them together. Levels of few rows share a launch of one work-group, which waits at a barrier between them.
//!
//! The plan groups the entries of op(A) by rows on the device. It finds the levels on the device where rows can wait, else
//! on the host. A solve reads the column, the position and the value of each entry, 12 to 24 bytes in f64, and as many
//! elements of X. A row is summed in the order that [`TrisolvePlan`](sparse_core::op::TrisolvePlan) describes.
//!
//! Anderson, Saad: Solving sparse triangular linear systems on parallel computers. Int. J. High Speed Computing 1 (1989).
//! Liu, Li, Hogg, Duff, Vinter: A synchronization-free algorithm for parallel sparse triangular solves. Euro-Par 2016.

use super::available_algorithms::Needs;
use crate::buffer::RawBuffer;
use crate::defines::Defines;
use crate::index_type::IndexType;
use crate::lanes::LANES;
use crate::launch::Launch;
use crate::place::DensePlace;
use crate::primitive::positions::Positions;
use crate::primitive::radix_sort::radix_sort;
use crate::primitive::row_groups::RowGroups;
use crate::primitive::stored_values::StoredValues;
use crate::{Buffer, Device, Kernel};
use sparse_core::op::{Diagonal, Levels, Triangle, Triangular, TrisolveKernel};
use sparse_core::{
    Algorithm, AlgorithmSet, Axis, Backend, Choice, Compressed, DType, DenseView, DenseViewMut, Index,
    KernelPlan, PlanOptions, Result, Scalar, algorithms,
};
use std::ops::Range;

/// The files of the kernels.
const FILE: &str = "trisolve";
const WAITING: &str = "trisolve_waiting";
const ROW_LEVELS: &str = "trisolve_row_levels";

algorithms! {
    /// The algorithms of CSR and CSC.
    enum TrisolveAlgorithm needs Needs {
        MergedLevels = Algorithm::new(
            "merged_levels",
            "where rows cannot wait for others: a launch for each level with more rows than a work-group, one \
             work-group for those between",
        )
        .preprocessing("the entries by rows of op(A), sorted on the device; levels of rows, found on the host"),
        Needs::Nothing;

        LevelPerLaunch = Algorithm::new("level_per_launch", "never: for comparison, a launch for each level")
            .preprocessing("the same"),
        Needs::Nothing;

        Waiting = Algorithm::new("waiting", "always: one launch, elements of X wait for those that they need")
            .preprocessing("the entries by rows of op(A), and the rows by levels, found and sorted on the device"),
        Needs::File(WAITING);
    }
}

/// The plan of a triangular solve.
#[derive(Debug)]
pub struct LevelPlan {
    choice: Choice,
    system: Triangular,
    groups: RowGroups,
    substitution: Substitution,
    zeros: Kernel,
    /// 1 if a diagonal was zero.
    zero: Buffer<i32>,
}

/// The kernels that solve.
#[derive(Debug)]
enum Substitution {
    /// Level by level.
    ByLevel(LevelLaunches),
    /// In one launch, with `lanes` for each element of X; `order` has the places of rows in the order of substitution,
    /// level by level.
    Waiting { order: Positions, lanes: usize, kernel: Kernel },
}

/// The launches of a solve by levels.
#[derive(Debug)]
struct LevelLaunches {
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
    /// These levels, by one work-group.
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

/// Rows count as skewed where the longest has more than this many times the average.
const SKEW_RATIO: usize = 64;

/// Lanes for a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RowLanes {
    solve: usize,
    levels: usize,
}

impl RowLanes {
    /// For rows of `mean` entries on average, of which the longest has `longest`.
    ///
    /// Measured on H100, f32: to solve, 4 lanes are best for rows of 3 to 6 entries (0.82 to 1.0 of the time of 8),
    /// 16 for 14 (0.94 of 8), 32 for a power law of 5 (0.19 of 4). To find levels, 4 are best for rows of 14 and 21,
    /// 32 for the power law; where rows are short, fewer lanes let more rows wait at a time.
    fn new(mean: usize, longest: usize) -> Self {
        if longest > SKEW_RATIO * mean {
            return Self { solve: LANES, levels: LANES };
        }
        let solve = (2 * mean / 3).next_power_of_two().clamp(4, LANES);
        Self { solve, levels: solve / 4 }
    }

    fn of(backend: &Device, groups: &RowGroups) -> Result<Self> {
        let mean = groups.positions.len().div_ceil(groups.nrows().max(1));
        Ok(Self::new(mean, backend.longest_row(&groups.offsets)?))
    }
}

/// The places of the rows of op(A) in the order of substitution, level by level: the device finds the levels by rows that
/// wait for those that they need, and sorts.
///
/// # Errors
/// [`Singular`](sparse_core::Error::Singular) if the diagonal of a row is needed and not stored.
fn order_by_level(
    backend: &Device,
    groups: &RowGroups,
    system: Triangular,
    lanes: usize,
) -> Result<Positions> {
    let (n, index) = (groups.nrows(), groups.columns.index_type());
    let levels = backend.allocate_raw(n, size_of::<u32>())?;
    let (found, words): (Buffer<i64>, Buffer<i64>) = (backend.zeros(2)?, backend.zeros(1 + n)?);
    let kernel = backend.kernel(ROW_LEVELS, ROW_LEVELS, Defines::default().index(index))?;
    let launch = backend.launch(&kernel).size(n).value(i32::from(is_lower(system))).size(lanes);
    let launch = launch.buffer(&groups.offsets).buffer(&groups.columns);
    launch.buffer(&levels).buffer(&found).buffer(&words).warps((n * lanes).div_ceil(LANES))?;
    let found = backend.download(&found)?;
    let [rows_from_missing, highest] = [found[0] as usize, found[1] as usize];
    if system.diagonal == Diagonal::Stored && rows_from_missing > 0 {
        return Err(Triangular::missing_diagonal(n - rows_from_missing));
    }
    let bits = usize::BITS - highest.leading_zeros();
    Ok(radix_sort(backend, levels, None, index, 0..bits)?.positions)
}

/// True if the rows of op(A) are solved from the first one on.
fn is_lower(system: Triangular) -> bool {
    system.solved_triangle() == Triangle::Lower
}

impl LevelLaunches {
    /// Levels of up to `narrow` rows share a launch.
    fn new(
        backend: &Device,
        groups: &RowGroups,
        system: Triangular,
        narrow: usize,
        kernel: impl Fn(&'static str) -> Result<Kernel>,
    ) -> Result<Self> {
        let (offsets, index) = (backend.download(&groups.offsets)?, groups.columns.index_type());
        let levels = match index {
            IndexType::I32 => levels(system, &offsets, &backend.indices::<i32>(&groups.columns)?)?,
            IndexType::I64 => levels(system, &offsets, &backend.indices::<i64>(&groups.columns)?)?,
        };
        let levels = Levels::new(system, &levels);
        let starts: Vec<_> = levels.starts().iter().map(|&start| start as i64).collect();
        Ok(Self {
            order: backend.upload_indices("a row", levels.rows(), index)?,
            starts: backend.upload(&starts)?,
            launches: launches(levels.starts(), narrow),
            level: kernel("trisolve_level")?,
            levels: kernel("trisolve_levels")?,
        })
    }
}

impl LevelPlan {
    fn new(
        backend: &Device,
        dtype: DType,
        groups: RowGroups,
        system: Triangular,
        options: &PlanOptions,
    ) -> Result<Self> {
        let offered = backend.offered::<TrisolveAlgorithm>();
        let automatic = match offered.contains(TrisolveAlgorithm::Waiting.row()) {
            true => (TrisolveAlgorithm::Waiting, "rows can wait for others in one launch"),
            false => (TrisolveAlgorithm::MergedLevels, "it has the fewest launches"),
        };
        let (algorithm, choice) = backend.choose(FILE, options, offered, automatic)?;
        let defines = Defines::default().index(groups.columns.index_type());
        let defines = defines.set("POS", groups.positions.type_name()).conj(dtype, system.op);
        let kernel = |file, entry| backend.kernel_of(dtype, file, entry, defines.clone());
        let by_level = |narrow| {
            LevelLaunches::new(backend, &groups, system, narrow, |entry| kernel(FILE, entry))
                .map(Substitution::ByLevel)
        };
        let substitution = match algorithm {
            TrisolveAlgorithm::MergedLevels => by_level(backend.inner.block)?,
            TrisolveAlgorithm::LevelPerLaunch => by_level(0)?,
            TrisolveAlgorithm::Waiting => {
                let RowLanes { solve, levels } = RowLanes::of(backend, &groups)?;
                let order = order_by_level(backend, &groups, system, levels)?;
                Substitution::Waiting { order, lanes: solve, kernel: kernel(WAITING, WAITING)? }
            }
        };
        let zeros = kernel(FILE, "trisolve_zeros")?;
        Ok(Self { choice, system, substitution, zeros, zero: backend.zeros(1)?, groups })
    }

    fn run(&self, backend: &Device, values: &RawBuffer, b: DensePlace<'_>, x: DensePlace<'_>) -> Result<()> {
        match &self.substitution {
            Substitution::ByLevel(levels) => {
                levels
                    .launches
                    .iter()
                    .try_for_each(|range| self.launch(backend, range, levels, values, (b, x)))?;
            }
            Substitution::Waiting { order, lanes, kernel } => {
                let items = self.groups.nrows() * b.cols;
                let words: Buffer<i64> = backend.zeros(1 + items * values.element_bytes.div_ceil(4))?;
                let launch = self.system(backend.launch(kernel).size(self.groups.nrows()), b.cols);
                let launch = self.operands(launch.size(*lanes).positions(order), values, b, x);
                launch.buffer(&words).warps((items * lanes).div_ceil(LANES))?;
            }
        }
        if self.system.diagonal == Diagonal::Stored && backend.download(&self.zero)?[0] != 0 {
            backend.clear(&self.zero)?;
            return Err(self.first_zero(backend, values)?);
        }
        Ok(())
    }

    /// Solves one level, or some narrow ones.
    fn launch(
        &self,
        backend: &Device,
        launch: &LevelLaunch,
        LevelLaunches { order, starts, level, levels, .. }: &LevelLaunches,
        values: &RawBuffer,
        (b, x): (DensePlace<'_>, DensePlace<'_>),
    ) -> Result<()> {
        match launch {
            LevelLaunch::Wide(rows) => {
                let launch = backend.launch(level).size(rows.start).size(rows.end);
                let launch = self.system(launch, b.cols).buffer(order);
                self.operands(launch, values, b, x).items(rows.len() * b.cols)
            }
            LevelLaunch::Narrow(range) => {
                let launch = backend.launch(levels).size(range.start).size(range.end);
                let launch = self.system(launch, b.cols).buffer(starts).buffer(order);
                self.operands(launch, values, b, x).groups(1, backend.inner.block)
            }
        }
    }

    /// The number of columns of B, and the triangle.
    fn system<'a>(&self, launch: Launch<'a>, columns: usize) -> Launch<'a> {
        let is_unit = self.system.diagonal == Diagonal::Unit;
        launch.size(columns).value(i32::from(is_lower(self.system))).value(i32::from(is_unit))
    }

    /// The arguments that all kernels that solve have in common at their end.
    fn operands<'a>(
        &'a self,
        launch: Launch<'a>,
        values: &'a RawBuffer,
        b: DensePlace<'a>,
        x: DensePlace<'a>,
    ) -> Launch<'a> {
        self.entries(launch, values).dense(b).dense(x).buffer(&self.zero)
    }

    /// The entries by rows.
    fn entries<'a>(&'a self, launch: Launch<'a>, values: &'a RawBuffer) -> Launch<'a> {
        let RowGroups { offsets, columns, positions } = &self.groups;
        launch.buffer(offsets).buffer(columns).positions(positions).buffer(values)
    }

    /// The error of the first row whose diagonal is zero.
    #[cold]
    fn first_zero(&self, backend: &Device, values: &RawBuffer) -> Result<sparse_core::Error> {
        let n = self.groups.nrows();
        let zeros: Buffer<i32> = backend.allocate(n)?;
        self.entries(backend.launch(&self.zeros).size(n), values).buffer(&zeros).items(n)?;
        let first = backend.download(&zeros)?.iter().position(|&zero| zero != 0);
        Ok(Triangular::zero_diagonal(first.expect("the solve found a row whose diagonal is zero")))
    }
}

impl KernelPlan for LevelPlan {
    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn workspace_bytes(&self) -> usize {
        let order = match &self.substitution {
            Substitution::ByLevel(levels) => levels.order.bytes() + levels.starts.bytes(),
            Substitution::Waiting { order, .. } => order.bytes(),
        };
        self.groups.bytes() + order + self.zero.bytes()
    }
}

impl Device {
    /// Indices of this type, read back.
    fn indices<I: Index>(&self, buffer: &RawBuffer) -> Result<Vec<I>> {
        let mut indices = vec![I::default(); buffer.len];
        self.download_into(buffer.view(), &mut indices)?;
        Ok(indices)
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> TrisolveKernel<Compressed<A, T, Device, I, O>> for Device {
    type Plan = LevelPlan;

    fn trisolve_algorithms(&self) -> &'static [Algorithm] {
        self.offered::<TrisolveAlgorithm>()
    }

    unsafe fn plan_trisolve(
        &self,
        a: &Compressed<A, T, Device, I, O>,
        system: Triangular,
        options: &PlanOptions,
    ) -> Result<LevelPlan> {
        LevelPlan::new(self, T::DTYPE, a.row_groups(self, system.op)?, system, options)
    }

    unsafe fn trisolve(
        &self,
        plan: &mut LevelPlan,
        a: &Compressed<A, T, Device, I, O>,
        b: DenseView<'_, T, Device>,
        x: DenseViewMut<'_, T, Device>,
    ) -> Result<()> {
        plan.run(self, a.values(), b.into(), x.into())
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
    fn short_rows_have_few_lanes_and_skewed_ones_a_warp() {
        assert_eq!(RowLanes::new(3, 3), RowLanes { solve: 4, levels: 1 });
        assert_eq!(RowLanes::new(14, 14), RowLanes { solve: 16, levels: 4 });
        assert_eq!(RowLanes::new(5, 6000), RowLanes { solve: 32, levels: 32 });
        assert_eq!(RowLanes::new(1, 1), RowLanes { solve: 4, levels: 1 });
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
