//! Reductions of the rows of CSR and the columns of CSC: a line is one slice of values, which one thread reads.
//!
//! Threads take lines of about equal entries together; variances and 2-norms read the values of a line twice.

use super::SEQUENTIAL;
use super::compiled::{find, reduce_table};
use super::plan::CpuPlan;
use crate::Cpu;
use crate::parallel::{CHUNK, rows_by_entries, split_mut};
use crate::primitive::duplicates::without_duplicates;
use sparse_core::op::{ReduceKernel, Reduction};
use sparse_core::reference::{ReduceChoice, Reference};
use sparse_core::{
    Algorithm, AlgorithmSet, Axis, Compressed, Host, Index, PlanOptions, Result, Scalar, SparseFormat,
    algorithms,
};
use std::borrow::Cow;

algorithms! {
    /// The algorithms of CSR and CSC.
    pub enum ReduceAlgorithm {
        LinePerThread = Algorithm::new(
            "line_per_thread",
            "always: lines with duplicates are sorted and added first, in every run",
        );
        Sequential = SEQUENTIAL;
    }
}

/// The functions of one format, which are compiled in this crate.
pub(super) struct Functions<M: SparseFormat> {
    run: RunOf<M>,
}

/// As for [`ReduceKernel::run_reduce`].
type RunOf<M> = unsafe fn(
    &Cpu,
    &mut CpuPlan<ReduceAlgorithm, ReduceChoice>,
    &M,
    &mut [<M as SparseFormat>::Scalar],
) -> Result<()>;

impl<A: Axis, T: Scalar, I: Index, O: Index> Functions<Compressed<A, T, Host, I, O>> {
    pub(super) const ALL: Self = Self { run };
}

impl<A: Axis, T: Scalar, I: Index, O: Index> ReduceKernel<Compressed<A, T, Host, I, O>> for Cpu {
    type Plan = CpuPlan<ReduceAlgorithm, ReduceChoice>;

    fn reduce_algorithms(&self) -> &'static [Algorithm] {
        ReduceAlgorithm::table(&|_| true)
    }

    fn plan_reduce(
        &self,
        by: Reduction,
        _: &Compressed<A, T, Host, I, O>,
        options: &PlanOptions,
    ) -> Result<Self::Plan> {
        let (automatic, offered) = (ReduceAlgorithm::LinePerThread, ReduceAlgorithm::table(&|_| true));
        let (algorithm, choice) =
            options.choose_among("reduce", offered, automatic, "every value is read once or twice")?;
        Ok(CpuPlan { algorithm, reference: ReduceChoice { choice, by } })
    }

    unsafe fn run_reduce(
        &self,
        plan: &mut Self::Plan,
        a: &Compressed<A, T, Host, I, O>,
        y: &mut [T],
    ) -> Result<()> {
        let functions: &Functions<Compressed<A, T, Host, I, O>> = find(reduce_table(), "reduce", A::FORMAT)?;
        // SAFETY: the caller makes the same promises.
        unsafe { (functions.run)(self, plan, a, y) }
    }
}

/// # Safety
/// As for [`ReduceKernel::run_reduce`].
unsafe fn run<A: Axis, T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    plan: &mut CpuPlan<ReduceAlgorithm, ReduceChoice>,
    a: &Compressed<A, T, Host, I, O>,
    y: &mut [T],
) -> Result<()> {
    match plan.algorithm {
        ReduceAlgorithm::LinePerThread => line_per_thread(cpu, plan.reference.by, a, y),
        ReduceAlgorithm::Sequential => {
            // SAFETY: the caller makes the reference's promises of the plan and the operands.
            unsafe { Reference.run_reduce(&mut plan.reference, a, y) }
        }
    }
}

fn line_per_thread<A: Axis, T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    by: Reduction,
    a: &Compressed<A, T, Host, I, O>,
    y: &mut [T],
) -> Result<()> {
    let a = if by.needs_unique() { without_duplicates(cpu, a)? } else { Cow::Borrowed(a) };
    let (pattern, values) = (a.pattern(), a.values());
    let parts = rows_by_entries(a.offsets(), CHUNK);
    let results = split_mut(y, &parts);
    let items: Vec<_> = parts.into_iter().zip(results).collect();
    cpu.for_each(pattern.major() + a.nnz(), items, |(lines, results)| {
        for (line, result) in lines.zip(results) {
            *result = by.of_line(&values[pattern.range(line)], pattern.minor());
        }
    });
    Ok(())
}
