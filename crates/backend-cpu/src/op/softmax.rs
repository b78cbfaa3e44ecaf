//! The softmax of the rows of CSR and the columns of CSC: threads take lines of about equal entries together.

use super::SEQUENTIAL;
use super::compiled::{find, softmax_table};
use super::plan::CpuPlan;
use crate::Cpu;
use crate::parallel::{CHUNK, rows_by_entries, split_mut};
use crate::primitive::fill::entry_ranges;
use sparse_core::op::SoftmaxKernel;
use sparse_core::op::softmax::softmax_of_line;
use sparse_core::reference::Reference;
use sparse_core::{
    Algorithm, AlgorithmSet, Axis, Compressed, Host, Index, PlanOptions, Result, Scalar, SparseFormat,
    algorithms,
};

algorithms! {
    /// The algorithms of CSR and CSC.
    pub enum SoftmaxAlgorithm {
        LinePerThread = Algorithm::new("line_per_thread", "always: a thread has whole lines");
        Sequential = SEQUENTIAL;
    }
}

/// The functions of one format, which are compiled in this crate.
pub(super) struct Functions<M: SparseFormat> {
    run: RunOf<M>,
}

/// As for [`SoftmaxKernel::run_softmax`].
type RunOf<M> =
    unsafe fn(&Cpu, &mut CpuPlan<SoftmaxAlgorithm>, &M, &mut [<M as SparseFormat>::Scalar]) -> Result<()>;

impl<A: Axis, T: Scalar, I: Index, O: Index> Functions<Compressed<A, T, Host, I, O>> {
    pub(super) const ALL: Self = Self { run };
}

impl<A: Axis, T: Scalar, I: Index, O: Index> SoftmaxKernel<Compressed<A, T, Host, I, O>> for Cpu {
    type Plan = CpuPlan<SoftmaxAlgorithm>;

    fn softmax_algorithms(&self) -> &'static [Algorithm] {
        SoftmaxAlgorithm::table(&|_| true)
    }

    fn plan_softmax(&self, _: &Compressed<A, T, Host, I, O>, options: &PlanOptions) -> Result<Self::Plan> {
        let automatic = SoftmaxAlgorithm::LinePerThread;
        CpuPlan::new("softmax", options, automatic, automatic.row().chosen)
    }

    unsafe fn run_softmax(
        &self,
        plan: &mut Self::Plan,
        a: &Compressed<A, T, Host, I, O>,
        y: &mut [T],
    ) -> Result<()> {
        let functions: &Functions<Compressed<A, T, Host, I, O>> =
            find(softmax_table(), "softmax", A::FORMAT)?;
        // SAFETY: the caller makes the same promises.
        unsafe { (functions.run)(self, plan, a, y) }
    }
}

/// # Safety
/// As for [`SoftmaxKernel::run_softmax`].
unsafe fn run<A: Axis, T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    plan: &mut CpuPlan<SoftmaxAlgorithm>,
    a: &Compressed<A, T, Host, I, O>,
    y: &mut [T],
) -> Result<()> {
    match plan.algorithm {
        SoftmaxAlgorithm::LinePerThread => line_per_thread(cpu, a, y),
        SoftmaxAlgorithm::Sequential => {
            // SAFETY: the caller makes the reference's promises of the plan and the operands.
            return unsafe { Reference.run_softmax(&mut plan.reference, a, y) };
        }
    }
    Ok(())
}

fn line_per_thread<A: Axis, T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    a: &Compressed<A, T, Host, I, O>,
    y: &mut [T],
) {
    let (pattern, values) = (a.pattern(), a.values());
    let parts = rows_by_entries(a.offsets(), CHUNK);
    let results = split_mut(y, &entry_ranges(a.offsets(), &parts));
    let items: Vec<_> = parts.into_iter().zip(results).collect();
    cpu.for_each(values.len(), items, |(lines, mut results)| {
        let mut terms = vec![];
        for line in lines {
            let line = &values[pattern.range(line)];
            let (y, rest) = results.split_at_mut(line.len());
            softmax_of_line(line, y, &mut terms);
            results = rest;
        }
    });
}
