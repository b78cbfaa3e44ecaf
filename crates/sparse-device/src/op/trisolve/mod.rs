//! `op(A)·X = B` for triangular A.
//!
//! | module | where it is used | launches |
//! |---|---|---|
//! | [`waiting`] | the device promises that work-groups get on while others wait (CUDA) | one, whose rows wait for those that they need |
//! | [`by_level`] | elsewhere | one for each wide level, one for the narrow levels between two wide ones |
//!
//! The plan groups the entries of op(A) by rows on the device. It finds the levels on the device where rows can wait,
//! else on the host. A solve reads the column, the position and the value of each entry, 12 to 24 bytes in f64, and as
//! many elements of X. A row is summed in the order that [`TrisolvePlan`](sparse_core::op::TrisolvePlan) describes.
//!
//! Anderson, Saad: Solving sparse triangular linear systems on parallel computers. Int. J. High Speed Computing 1
//! (1989).
//! Liu, Li, Hogg, Duff, Vinter: A synchronization-free algorithm for parallel sparse triangular solves. Euro-Par 2016.

mod by_level;
mod waiting;

use super::available_algorithms::Needs;
use crate::buffer::RawBuffer;
use crate::defines::Defines;
use crate::launch::Launch;
use crate::operand::DenseOperand;
use crate::primitive::row_groups::RowGroups;
use crate::primitive::stored_values::StoredValues;
use crate::{Buffer, Device, Kernel};
use by_level::ByLevel;
use sparse_core::op::{Diagonal, Triangle, Triangular, TrisolveKernel};
use sparse_core::{
    Algorithm, AlgorithmSet, Axis, Backend, Choice, Compressed, DType, DenseView, DenseViewMut, Index,
    KernelPlan, PlanOptions, Result, Scalar, algorithms,
};
use std::fmt::Debug;
use waiting::{WAITING, Waiting};

/// The file of the kernels that solve level by level.
const FILE: &str = "trisolve";

algorithms! {
    /// The algorithms of CSR and CSC.
    enum TrisolveAlgorithm needs Needs {
        Waiting = Algorithm::new("waiting", "always: one launch, elements of X wait for those that they need")
            .preprocessing(
                "the entries by rows of op(A); in the order of levels, found and sorted on the device, where rows are more \
                 than the device works on at once and need those just before them",
            ),
        Needs::File(WAITING);

        MergedLevels = Algorithm::new(
            "merged_levels",
            "where rows cannot wait for others: a launch for each level with more rows than a work-group, one \
             work-group for those between",
        )
        .preprocessing(
            "the entries by rows of op(A), sorted on the device; levels of rows, found on the device where rows can wait, \
             else on the host",
        ),
        Needs::Nothing;

        LevelPerLaunch = Algorithm::new("level_per_launch", "never: for comparison, a launch for each level")
            .preprocessing("the same"),
        Needs::Nothing;
    }
}

/// The plan of a triangular solve.
#[derive(Debug)]
pub struct TrisolvePlan {
    choice: Choice,
    substitution: Box<dyn Substitution>,
    zeros: Kernel,
    /// 1 if a diagonal was zero.
    zero: Buffer<i32>,
}

/// The kernels that solve, with the entries in their order.
trait Substitution: Debug + Send + Sync {
    /// Solves, and returns true if a diagonal is zero: then `zero` is not, and X has any values.
    fn solve(&self, backend: &Device, operands: Operands<'_>, zero: &Buffer<i32>) -> Result<bool>;

    /// Solves for one column, whatever is on the diagonal, without waiting for the device.
    fn enqueue(&self, backend: &Device, operands: Operands<'_>, zero: &Buffer<i32>) -> Result<()>;

    /// The entries, as the kernels take them.
    fn entries<'a>(&'a self, launch: Launch<'a>, values: &'a RawBuffer) -> Launch<'a>;

    /// The first of the rows of these places in the order of the entries.
    fn first_row(&self, backend: &Device, places: &mut dyn Iterator<Item = usize>) -> Result<Option<usize>>;

    fn nrows(&self) -> usize;

    /// Bytes on the device.
    fn bytes(&self) -> usize;
}

/// The arrays of a solve: the values of A, B and X.
#[derive(Clone, Copy)]
struct Operands<'a> {
    values: &'a RawBuffer,
    b: DenseOperand<'a>,
    x: DenseOperand<'a>,
}

impl<'a> Operands<'a> {
    fn new<'b: 'a, 'x: 'a>(
        values: &'a RawBuffer,
        b: impl Into<DenseOperand<'b>>,
        x: impl Into<DenseOperand<'x>>,
    ) -> Self {
        Self { values, b: b.into(), x: x.into() }
    }
}

/// True if the rows of op(A) are solved from the first one on.
fn is_lower(system: Triangular) -> bool {
    system.solved_triangle() == Triangle::Lower
}

/// True if the diagonal is not read.
fn is_unit(system: Triangular) -> bool {
    system.diagonal == Diagonal::Unit
}

impl TrisolvePlan {
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
        let zeros = kernel(FILE, "trisolve_zeros")?;
        let by_level = |groups, narrow| ByLevel::new(backend, groups, system, narrow, kernel);
        let substitution: Box<dyn Substitution> = match algorithm {
            TrisolveAlgorithm::MergedLevels => Box::new(by_level(groups, backend.inner.block)?),
            TrisolveAlgorithm::LevelPerLaunch => Box::new(by_level(groups, 0)?),
            TrisolveAlgorithm::Waiting => Box::new(Waiting::new(backend, dtype, groups, system, kernel)?),
        };
        Ok(Self { choice, substitution, zeros, zero: backend.zeros(1)? })
    }

    fn run(&self, backend: &Device, operands: Operands<'_>) -> Result<()> {
        if self.substitution.solve(backend, operands, &self.zero)? {
            backend.clear(&self.zero)?;
            return Err(self.first_zero(backend, operands.values)?);
        }
        Ok(())
    }

    /// The error of the first row whose diagonal is zero.
    #[cold]
    fn first_zero(&self, backend: &Device, values: &RawBuffer) -> Result<sparse_core::Error> {
        let n = self.substitution.nrows();
        let zeros: Buffer<i32> = backend.allocate(n)?;
        let launch = self.substitution.entries(backend.launch(&self.zeros).size(n), values);
        launch.buffer(&zeros).items(n)?;
        let zeros = backend.download(&zeros)?;
        let first = self.substitution.first_row(backend, &mut (0..n).filter(|&at| zeros[at] != 0))?;
        // Memory of others may have changed since the solve.
        Ok(first.map_or_else(values_have_changed, Triangular::zero_diagonal))
    }
}

/// The error of a solve that found a zero on the diagonal, where no row has one any more.
#[cold]
fn values_have_changed() -> sparse_core::Error {
    sparse_core::Error::operands(
        "trisolve",
        "the values have changed during the solve, which found a zero on the diagonal",
    )
}

impl KernelPlan for TrisolvePlan {
    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn workspace_bytes(&self) -> usize {
        self.substitution.bytes() + self.zero.bytes()
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
    type Plan = TrisolvePlan;

    fn trisolve_algorithms(&self) -> &'static [Algorithm] {
        self.offered::<TrisolveAlgorithm>()
    }

    unsafe fn plan_trisolve(
        &self,
        a: &Compressed<A, T, Device, I, O>,
        system: Triangular,
        options: &PlanOptions,
    ) -> Result<TrisolvePlan> {
        TrisolvePlan::new(self, T::DTYPE, a.row_groups(self, system.op)?, system, options)
    }

    unsafe fn run_trisolve(
        &self,
        plan: &mut TrisolvePlan,
        a: &Compressed<A, T, Device, I, O>,
        b: DenseView<'_, T, Device>,
        x: DenseViewMut<'_, T, Device>,
    ) -> Result<()> {
        plan.run(self, Operands::new(a.values(), b, x))
    }

    unsafe fn enqueue_trisolve(
        &self,
        plan: &mut TrisolvePlan,
        a: &Compressed<A, T, Device, I, O>,
        b: DenseView<'_, T, Device>,
        x: DenseViewMut<'_, T, Device>,
    ) -> Result<()> {
        plan.substitution.enqueue(self, Operands::new(a.values(), b, x), &plan.zero)
    }
}
