//! Pruning: counts the entries to keep, then copies them.

use super::SEQUENTIAL;
use super::compiled::{find, prune_table};
use super::plan::CpuPlan;
use crate::Cpu;
use crate::parallel::{CHUNK, chunks};
use sparse_core::op::{Keep, PruneKernel, PrunePlan};
use sparse_core::reference::{Rebuild, Reference};
use sparse_core::{
    Algorithm, AlgorithmSet, Axis, Compressed, Coo, Host, Index, PlanOptions, Result, Scalar, SparseFormat,
    algorithms,
};

algorithms! {
    /// The algorithms of all formats.
    pub enum PruneAlgorithm {
        CountFill = Algorithm::new("count_fill", "always");
        Sequential = SEQUENTIAL;
    }
}

/// Rows whose entries are counted together.
const COUNTED_ROWS: usize = 1024;

/// A format that is pruned in parallel.
pub trait ParallelPrune: Rebuild + Sized {
    /// A copy with the entries that `keep` keeps, in their order.
    fn count_fill(&self, cpu: &Cpu, keep: Keep<Self::Scalar>) -> Result<Self>;
}

/// The functions of one format, which are compiled in this crate.
pub(super) struct Functions<M: ParallelPrune> {
    run: RunOf<M>,
}

/// As for [`PruneKernel::run_prune`].
type RunOf<M> =
    unsafe fn(&Cpu, &mut CpuPlan<PruneAlgorithm>, &M, Keep<<M as SparseFormat>::Scalar>) -> Result<M>;

impl<M: ParallelPrune> Functions<M> {
    pub(super) const ALL: Self = Self { run };
}

impl<M: ParallelPrune> PruneKernel<M> for Cpu {
    type Plan = CpuPlan<PruneAlgorithm>;

    fn prune_algorithms(&self) -> &'static [Algorithm] {
        PruneAlgorithm::table(&|_| true)
    }

    fn plan_prune(&self, _: &M, options: &PlanOptions) -> Result<Self::Plan> {
        let reason = "every entry is looked at twice and copied once";
        CpuPlan::new("prune", options, PruneAlgorithm::CountFill, reason)
    }

    unsafe fn run_prune(&self, plan: &mut Self::Plan, a: &M, keep: Keep<M::Scalar>) -> Result<M> {
        let functions: &Functions<M> = find(prune_table(), "prune", M::FORMAT)?;
        // SAFETY: the caller makes the same promises.
        unsafe { (functions.run)(self, plan, a, keep) }
    }
}

/// Products without zeros.
impl Cpu {
    /// `a` without the entries that are zero: itself where there are none, else a copy. NaN stays.
    ///
    /// ```
    /// use backend_cpu::Cpu;
    /// let a = sparse_core::Csr::<f64>::new(1, 3, vec![0, 3], vec![0, 1, 2], vec![1.0, 0.0, f64::NAN])?;
    /// assert_eq!(Cpu::new()?.without_zeros(a)?.indices(), &[0, 2]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Unsupported`](sparse_core::Error::Unsupported) for types that are not in the catalogue.
    pub fn without_zeros<A: Axis, T: Scalar, I: Index, O: Index>(
        &self,
        a: Compressed<A, T, Host, I, O>,
    ) -> Result<Compressed<A, T, Host, I, O>> {
        let values = a.values();
        // A sum has no early end, so that several values are compared at once.
        let zeros = self.map(values.len(), chunks(values.len(), CHUNK), |part| -> usize {
            values[part].iter().map(|&value| usize::from(value == T::ZERO)).sum()
        });
        if zeros.iter().all(|&count| count == 0) {
            return Ok(a);
        }
        PrunePlan::new(self, &a, &PlanOptions::default())?.run(&a, Keep::NonZero)
    }
}

/// # Safety
/// As for [`PruneKernel::run_prune`].
unsafe fn run<M: ParallelPrune>(
    cpu: &Cpu,
    plan: &mut CpuPlan<PruneAlgorithm>,
    a: &M,
    keep: Keep<M::Scalar>,
) -> Result<M> {
    match plan.algorithm {
        PruneAlgorithm::CountFill => a.count_fill(cpu, keep),
        PruneAlgorithm::Sequential => {
            // SAFETY: the caller makes the reference's promises of the plan and the operands.
            unsafe { Reference.run_prune(&mut plan.reference, a, keep) }
        }
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> ParallelPrune for Compressed<A, T, Host, I, O> {
    fn count_fill(&self, cpu: &Cpu, keep: Keep<T>) -> Result<Self> {
        let (pattern, values) = (self.pattern(), self.values());
        let mut lengths = vec![0; pattern.major()];
        cpu.for_chunks(&mut lengths, COUNTED_ROWS, |first, lengths| {
            for (row, length) in (first..).zip(lengths) {
                *length = values[pattern.range(row)].iter().filter(|&&value| keep.keeps(value)).count();
            }
        });
        let arrays = cpu.fill_rows::<T, I, O>(&lengths, |rows, indices, values| {
            let entries = pattern.range(rows.start).start..pattern.range(rows.end - 1).end;
            let entries = self.indices()[entries.clone()].iter().zip(&self.values()[entries]);
            let kept = entries.filter(|entry| keep.keeps(*entry.1));
            for ((index, value), entry) in indices.iter_mut().zip(values).zip(kept) {
                (*index, *value) = (*entry.0, *entry.1);
            }
        })?;
        // SAFETY: the offsets are the sums of the counts; the entries are some of those of `self`, in their order.
        Ok(unsafe {
            Compressed::new_unchecked(
                self.nrows(),
                self.ncols(),
                arrays.offsets,
                arrays.indices,
                arrays.values,
                self.order(),
            )
        })
    }
}

impl<T: Scalar, I: Index> ParallelPrune for Coo<T, Host, I> {
    fn count_fill(&self, cpu: &Cpu, keep: Keep<T>) -> Result<Self> {
        let kept = cpu.map(self.nnz(), chunks(self.nnz(), CHUNK), |range| -> Vec<usize> {
            range.filter(|&k| keep.keeps(self.values()[k])).collect()
        });
        let kept = kept.concat();
        let row_idx = kept.iter().map(|&k| self.row_idx()[k]).collect();
        let col_idx = kept.iter().map(|&k| self.col_idx()[k]).collect();
        let values = kept.iter().map(|&k| self.values()[k]).collect();
        // SAFETY: the entries are some of those of `self`, in their order.
        Ok(unsafe { Coo::new_unchecked(self.nrows(), self.ncols(), row_idx, col_idx, values, self.order()) })
    }
}
