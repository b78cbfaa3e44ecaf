//! `op(A)·X = B` for triangular A, level by level: rows of one level need no other row of it, so that a launch solves them
//! together. Levels of few rows share a launch of one work-group, which waits at a barrier between them.
//!
//! The plan groups the entries of op(A) by rows on the device, and finds the levels on the host. A solve reads the column,
//! the position and the value of each entry, 12 to 24 bytes in f64, and as many elements of X. A row is summed in the order
//! that [`TrisolvePlan`](sparse_core::op::TrisolvePlan) describes.
//!
//! Anderson, Saad: Solving sparse triangular linear systems on parallel computers. Int. J. High Speed Computing 1 (1989).

use super::available_algorithms::Needs;
use crate::buffer::RawBuffer;
use crate::defines::Defines;
use crate::index_type::IndexType;
use crate::lanes::LANES;
use crate::launch::Launch;
use crate::place::DensePlace;
use crate::primitive::row_groups::RowGroups;
use crate::primitive::stored_values::StoredValues;
use crate::{Buffer, Device, Kernel};
use sparse_core::op::{Diagonal, Levels, Triangle, Triangular, TrisolveKernel};
use sparse_core::{
    Algorithm, Axis, Backend, Choice, Compressed, DType, DenseView, DenseViewMut, Index, KernelPlan,
    PlanOptions, Result, Scalar, algorithms,
};
use std::ops::Range;

/// The files of the kernels.
const FILE: &str = "trisolve";
const WAITING: &str = "trisolve_waiting";

algorithms! {
    /// The algorithms of CSR and CSC.
    enum TrisolveAlgorithm needs Needs {
        MergedLevels = Algorithm::new(
            "merged_levels",
            "always: a launch for each level with more rows than a work-group, one work-group for those between",
        )
        .preprocessing("the entries by rows of op(A), sorted on the device; levels of rows, found on the host"),
        Needs::Nothing;

        LevelPerLaunch = Algorithm::new("level_per_launch", "never: for comparison, a launch for each level")
            .preprocessing("the same"),
        Needs::Nothing;

        Waiting = Algorithm::new("waiting", "never, by its name alone: one launch, elements of X wait for those they need")
            .preprocessing("the same"),
        Needs::File(WAITING);
    }
}

/// The plan of a triangular solve.
#[derive(Debug)]
pub struct LevelPlan {
    choice: Choice,
    system: Triangular,
    groups: RowGroups,
    /// The rows, level by level.
    order: RawBuffer,
    substitution: Substitution,
    zeros: Kernel,
    /// 1 if a diagonal was zero.
    zero: Buffer<i32>,
}

/// The kernels that solve.
#[derive(Debug)]
enum Substitution {
    /// Level by level; `starts` are the first position of each level in the order, and the number of rows.
    ByLevel { starts: Buffer<i64>, launches: Vec<LevelLaunch>, level: Kernel, levels: Kernel },
    /// In one launch.
    Waiting(Kernel),
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

impl LevelPlan {
    fn new(
        backend: &Device,
        dtype: DType,
        groups: RowGroups,
        system: Triangular,
        options: &PlanOptions,
    ) -> Result<Self> {
        let automatic = (TrisolveAlgorithm::MergedLevels, "it has the fewest launches");
        let offered = backend.offered::<TrisolveAlgorithm>();
        let (algorithm, choice) = backend.choose(FILE, options, offered, automatic)?;
        let (offsets, index) = (backend.download(&groups.offsets)?, groups.columns.index_type());
        let levels = match index {
            IndexType::I32 => levels(system, &offsets, &backend.indices::<i32>(&groups.columns)?)?,
            IndexType::I64 => levels(system, &offsets, &backend.indices::<i64>(&groups.columns)?)?,
        };
        let levels = Levels::new(system, &levels);
        let defines = Defines::default().index(index).set("POS", groups.positions.type_name());
        let defines = defines.conj(dtype, system.op);
        let kernel = |file, entry| backend.kernel_of(dtype, file, entry, defines.clone());
        let by_level = |narrow| -> Result<Substitution> {
            let starts: Vec<_> = levels.starts().iter().map(|&start| start as i64).collect();
            Ok(Substitution::ByLevel {
                starts: backend.upload(&starts)?,
                launches: launches(levels.starts(), narrow),
                level: kernel(FILE, "trisolve_level")?,
                levels: kernel(FILE, "trisolve_levels")?,
            })
        };
        let substitution = match algorithm {
            TrisolveAlgorithm::MergedLevels => by_level(backend.inner.block)?,
            TrisolveAlgorithm::LevelPerLaunch => by_level(0)?,
            TrisolveAlgorithm::Waiting => Substitution::Waiting(kernel(WAITING, WAITING)?),
        };
        Ok(Self {
            choice,
            system,
            order: backend.upload_indices("a row", levels.rows(), index)?,
            substitution,
            zeros: kernel(FILE, "trisolve_zeros")?,
            zero: backend.zeros(1)?,
            groups,
        })
    }

    fn run(&self, backend: &Device, values: &RawBuffer, b: DensePlace<'_>, x: DensePlace<'_>) -> Result<()> {
        match &self.substitution {
            Substitution::ByLevel { starts, launches, level, levels } => {
                for launch in launches {
                    self.launch(backend, (launch, starts), (level, levels), values, (b, x))?;
                }
            }
            Substitution::Waiting(kernel) => {
                let items = self.groups.nrows() * b.cols;
                let states: Buffer<i32> = backend.zeros(1 + items)?;
                let launch = self.system(backend.launch(kernel).size(self.groups.nrows()), b.cols);
                self.operands(launch, values, b, x).buffer(&states).warps(items.div_ceil(LANES))?;
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
        (launch, starts): (&LevelLaunch, &Buffer<i64>),
        (level, levels): (&Kernel, &Kernel),
        values: &RawBuffer,
        (b, x): (DensePlace<'_>, DensePlace<'_>),
    ) -> Result<()> {
        match launch {
            LevelLaunch::Wide(rows) => {
                let launch = backend.launch(level).size(rows.start).size(rows.end);
                let launch = self.system(launch, b.cols);
                self.operands(launch, values, b, x).items(rows.len() * b.cols)
            }
            LevelLaunch::Narrow(range) => {
                let launch = backend.launch(levels).size(range.start).size(range.end);
                let launch = self.system(launch, b.cols).buffer(starts);
                self.operands(launch, values, b, x).groups(1, backend.inner.block)
            }
        }
    }

    /// The number of columns of B, and the triangle.
    fn system<'a>(&self, launch: Launch<'a>, columns: usize) -> Launch<'a> {
        let is_lower = self.system.solved_triangle() == Triangle::Lower;
        let is_unit = self.system.diagonal == Diagonal::Unit;
        launch.size(columns).value(i32::from(is_lower)).value(i32::from(is_unit))
    }

    /// The arguments that all kernels that solve have in common at their end.
    fn operands<'a>(
        &'a self,
        launch: Launch<'a>,
        values: &'a RawBuffer,
        b: DensePlace<'a>,
        x: DensePlace<'a>,
    ) -> Launch<'a> {
        self.entries(launch.buffer(&self.order), values).dense(b).dense(x).buffer(&self.zero)
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
        let starts = match &self.substitution {
            Substitution::ByLevel { starts, .. } => starts.bytes(),
            Substitution::Waiting(_) => 0,
        };
        self.groups.bytes() + self.order.bytes() + starts + self.zero.bytes()
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
    fn a_level_is_one_more_than_the_highest_of_the_rows_needed() {
        let (offsets, columns) = ([0, 1, 3, 4, 7], [0, 1, 2, 2, 0, 2, 3]);
        assert_eq!(levels(Triangular::lower(), &offsets, &columns).unwrap(), [0, 0, 0, 1]);
        assert_eq!(levels(Triangular::upper(), &offsets, &columns).unwrap(), [0, 1, 0, 0]);
        let error = levels(Triangular::lower(), &[0, 1, 2], &[0, 0]).unwrap_err();
        assert_eq!(error.to_string(), Triangular::missing_diagonal(1).to_string());
    }
}
