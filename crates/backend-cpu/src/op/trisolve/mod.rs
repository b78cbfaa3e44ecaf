//! `op(A)·X = B` for triangular A: rows one after the other, or level by level.
//!
//! Rows of the triangle that stand side by side in A are solved there, one after the other: a solve reads 8 to 16 bytes
//! an entry. Of others, as of a triangle of CSC, the plan copies columns and has the places of values, so that a solve
//! reads 12 to 24. Levels the plan brings to an order in which each row comes after those that it needs, with the
//! position of the row that each entry multiplies and the place of its value. Rows of one level need no other row of
//! it, so that vectors have a row in each lane, and threads share a wide level. A row is summed in one order by both
//! algorithms, which so have the same bits.
//!
//! Anderson, Saad: Solving sparse triangular linear systems on parallel computers. Int. J. High Speed Computing 1
//! (1989).

mod levels;
mod rows;
mod schedule;
mod substitution;
mod thresholds;

use super::SEQUENTIAL;
use super::compiled::{find, trisolve_table};
use crate::Cpu;
use levels::LevelSchedule;
use rows::TriangleRows;
use schedule::{Entries, parallel_entries};
use sparse_core::op::{Levels, Triangular, TrisolveKernel};
use sparse_core::reference::{Reference, TrisolveChoice};
use sparse_core::{
    Algorithm, AlgorithmSet, Axis, Choice, Compressed, DenseView, DenseViewMut, Host, Index, KernelPlan,
    PlanOptions, Result, Scalar, algorithms,
};
use std::fmt::{self, Debug, Formatter};
use substitution::Substitution;
use thresholds::TrisolveThresholds;

algorithms! {
    /// The algorithms of CSR and CSC.
    enum TrisolveAlgorithm {
        RowByRow = Algorithm::new("row_by_row", "for a few calls, on one thread, or where levels are narrow")
            .preprocessing("the rows of the triangle, unless they are stored row by row in the order of columns");
        ByLevel = Algorithm::new("by_level", "if at least half of the entries lie in levels that are worth threads")
            .preprocessing("levels of rows, and the rows of the triangle in their order");
        Sequential = SEQUENTIAL;
    }
}

/// The algorithms, by which `op/compiled.rs` implements [`TrisolveKernel`].
pub(super) fn algorithms() -> &'static [Algorithm] {
    TrisolveAlgorithm::table(&|_| true)
}

/// The plan of a triangular solve: the rows in an order of substitution, and for levels X in that order.
pub struct TrisolvePlan<T: Scalar, I: Index, O: Index> {
    functions: &'static Functions<T, I, O>,
    kernel: Kernel<T, I, O>,
}

enum Kernel<T: Scalar, I: Index, O: Index> {
    Sequential(TrisolveChoice),
    Rows { choice: Choice, system: Triangular, order: SolveOrder<I, O>, solved: Vec<T::Acc> },
}

/// The order of substitution.
enum SolveOrder<I, O> {
    Rows(TriangleRows<I, O>),
    Levels(LevelSchedule<I, O>),
}

impl<I: Index, O: Index> SolveOrder<I, O> {
    fn bytes(&self) -> usize {
        match self {
            Self::Rows(rows) => rows.bytes(),
            Self::Levels(schedule) => schedule.bytes(),
        }
    }
}

impl<T: Scalar, I: Index, O: Index> Debug for TrisolvePlan<T, I, O> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("TrisolvePlan");
        fields.field("choice", self.choice()).field("workspace_bytes", &self.workspace_bytes()).finish()
    }
}

impl<T: Scalar, I: Index, O: Index> KernelPlan for TrisolvePlan<T, I, O> {
    fn choice(&self) -> &Choice {
        match &self.kernel {
            Kernel::Sequential(plan) => plan.choice(),
            Kernel::Rows { choice, .. } => choice,
        }
    }

    fn workspace_bytes(&self) -> usize {
        match &self.kernel {
            Kernel::Sequential(_) => 0,
            Kernel::Rows { order, solved, .. } => order.bytes() + size_of_val(&solved[..]),
        }
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> TrisolveKernel<Compressed<A, T, Host, I, O>> for Cpu {
    type Plan = TrisolvePlan<T, I, O>;

    fn trisolve_algorithms(&self) -> &'static [Algorithm] {
        algorithms()
    }

    unsafe fn plan_trisolve(
        &self,
        a: &Compressed<A, T, Host, I, O>,
        system: Triangular,
        options: &PlanOptions,
    ) -> Result<Self::Plan> {
        let functions = find(trisolve_table(), "trisolve", A::FORMAT)?;
        // SAFETY: the caller makes the same promises.
        unsafe { TrisolvePlan::new(self, functions, a, system, options) }
    }

    unsafe fn run_trisolve(
        &self,
        plan: &mut Self::Plan,
        a: &Compressed<A, T, Host, I, O>,
        b: DenseView<'_, T>,
        x: DenseViewMut<'_, T>,
    ) -> Result<()> {
        // SAFETY: the caller makes the same promises.
        unsafe { plan.run(self, a, b, x) }
    }
}

/// The functions for one triple of types, which are compiled in this crate.
pub(super) struct Functions<T: Scalar, I: Index, O: Index> {
    plan: PlanOf<I, O>,
    run: RunOf<T, I, O>,
}

/// As [`order_of`].
type PlanOf<I, O> = fn(&Cpu, &Entries<'_, I, O>, &PlanOptions) -> Result<(Choice, SolveOrder<I, O>)>;

/// As [`solve`].
type RunOf<T, I, O> = fn(
    &Cpu,
    &SolveOrder<I, O>,
    &[I],
    &Substitution<'_, '_, T>,
    &mut Vec<<T as Scalar>::Acc>,
    DenseViewMut<'_, T>,
) -> Result<()>;

impl<T: Scalar, I: Index, O: Index> Functions<T, I, O> {
    pub(super) const ALL: Self = Self { plan: order_of, run: solve };
}

/// Chooses an algorithm and brings the rows to its order.
fn order_of<I: Index, O: Index>(
    cpu: &Cpu,
    entries: &Entries<'_, I, O>,
    options: &PlanOptions,
) -> Result<(Choice, SolveOrder<I, O>)> {
    let lengths = entries.row_lengths()?;
    let is_forced = options.algorithm.is_some();
    let stored = TriangleRows::stored(entries);
    let TrisolveThresholds { threads_by_stored_row, threads_by_row, cached_entries, calls, .. } =
        TrisolveThresholds::CPU;
    let is_large = lengths.iter().sum::<usize>() > cached_entries;
    let threads = match stored.is_some() && is_large {
        true => threads_by_stored_row,
        false => threads_by_row,
    };
    let may_look = options.expected_calls >= calls && cpu.threads() >= threads;
    let levels = (is_forced || may_look).then(|| entries.levels());
    let (automatic, reason) = match &levels {
        None => {
            let calls = options.expected_calls;
            (TrisolveAlgorithm::RowByRow, format!("threads: {}, expected calls: {calls}", cpu.threads()))
        }
        Some(levels) => choose(levels, &lengths),
    };
    let (algorithm, choice) = options.choose_among("trisolve", algorithms(), automatic, reason)?;
    let order = match levels {
        Some(levels) if algorithm == TrisolveAlgorithm::ByLevel => {
            SolveOrder::Levels(LevelSchedule::new(entries, &lengths, &levels))
        }
        _ => SolveOrder::Rows(stored.unwrap_or_else(|| TriangleRows::copied(entries, &lengths))),
    };
    Ok((choice, order))
}

/// The algorithm for rows of these numbers of entries in levels, and the reason.
fn choose(levels: &Levels, lengths: &[usize]) -> (TrisolveAlgorithm, String) {
    let entries: usize = lengths.iter().sum();
    let parallel = parallel_entries(levels, lengths);
    let average = entries / levels.count().max(1);
    let share = 100 * parallel / entries.max(1);
    let reason =
        format!("{} levels have {average} entries on average, {share} % in wide ones", levels.count());
    let pays_off = entries > 0 && 2 * parallel >= entries;
    (if pays_off { TrisolveAlgorithm::ByLevel } else { TrisolveAlgorithm::RowByRow }, reason)
}

/// Solves for all columns of B.
fn solve<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    order: &SolveOrder<I, O>,
    indices: &[I],
    operands: &Substitution<'_, '_, T>,
    solved: &mut Vec<T::Acc>,
    x: DenseViewMut<'_, T>,
) -> Result<()> {
    match order {
        SolveOrder::Rows(rows) => operands.by_row(cpu, rows, indices, x),
        SolveOrder::Levels(schedule) => operands.by_level(cpu, schedule, solved, x),
    }
}

impl<T: Scalar, I: Index, O: Index> TrisolvePlan<T, I, O> {
    /// Chooses an algorithm and an order of substitution.
    ///
    /// # Safety
    /// As for [`TrisolveKernel::plan_trisolve`].
    pub(super) unsafe fn new<A: Axis>(
        cpu: &Cpu,
        functions: &'static Functions<T, I, O>,
        a: &Compressed<A, T, Host, I, O>,
        system: Triangular,
        options: &PlanOptions,
    ) -> Result<Self> {
        let has_rows = A::IS_ROW != system.op.transposes();
        if options.algorithm.as_deref() == Some(SEQUENTIAL.name) {
            // SAFETY: the caller makes the reference's promises of the matrix.
            let plan = unsafe { Reference.plan_trisolve(a, system, options)? };
            return Ok(Self { functions, kernel: Kernel::Sequential(plan) });
        }
        let entries = Entries { pattern: a.pattern(), has_rows, system };
        let (choice, order) = (functions.plan)(cpu, &entries, options)?;
        Ok(Self { functions, kernel: Kernel::Rows { choice, system, order, solved: vec![] } })
    }

    /// Solves for all columns of B.
    ///
    /// # Safety
    /// As for [`TrisolveKernel::run_trisolve`].
    pub(super) unsafe fn run<A: Axis>(
        &mut self,
        cpu: &Cpu,
        a: &Compressed<A, T, Host, I, O>,
        b: DenseView<'_, T>,
        x: DenseViewMut<'_, T>,
    ) -> Result<()> {
        match &mut self.kernel {
            // SAFETY: the caller promises the same for this plan, which contains the reference's own.
            Kernel::Sequential(plan) => unsafe { Reference.run_trisolve(plan, a, b, x) },
            Kernel::Rows { system, order, solved, .. } => {
                let operands = Substitution { system: *system, values: a.values(), b };
                (self.functions.run)(cpu, order, a.pattern().indices(), &operands, solved, x)
            }
        }
    }
}
