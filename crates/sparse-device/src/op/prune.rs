//! Pruning: flags, their prefix sums, and a compaction of the entries that stay.

use super::available_algorithms::Needs;
use crate::buffer::RawBuffer;
use crate::defines::Defines;
use crate::index_type::IndexType;
use crate::primitive::prefix_sum::PrefixSum;
use crate::primitive::tolerance::Tolerance;
use crate::{Buffer, Device, Kernel};
use sparse_core::op::{Keep, PruneKernel};
use sparse_core::{
    Algorithm, Axis, Choice, Compressed, Coo, DType, Index, KernelPlan, PlanOptions, Result, Scalar,
    algorithms,
};

algorithms! {
    /// The algorithms of pruning.
    enum PruneAlgorithm needs Needs {
        CountFill = Algorithm::new("count_fill", "always").preprocessing("a position for each entry"),
        Needs::Nothing;
    }
}

/// The plan of a pruning.
#[derive(Debug)]
pub struct PruningPlan {
    choice: Choice,
    flags: Kernel,
    offsets: Kernel,
    starts: Buffer<i64>,
    sum: PrefixSum<i64>,
}

impl KernelPlan for PruningPlan {
    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn workspace_bytes(&self) -> usize {
        self.starts.len * size_of::<i64>()
    }
}

impl PruningPlan {
    fn new(
        backend: &Device,
        dtype: DType,
        offset: IndexType,
        nnz: usize,
        options: &PlanOptions,
    ) -> Result<Self> {
        let (PruneAlgorithm::CountFill, choice) =
            backend.choose_only("prune", options, PruneAlgorithm::CountFill)?;
        let defines = Defines::default().index(offset).offset(offset);
        Ok(Self {
            choice,
            flags: backend.kernel_of(dtype, "prune", "prune_flags", defines.clone())?,
            offsets: backend.kernel_of(dtype, "prune", "prune_offsets", defines)?,
            starts: backend.allocate(nnz + 1)?,
            sum: PrefixSum::series(backend, nnz + 1)?,
        })
    }

    /// Computes the positions of the entries that stay, and returns their number.
    fn find(&self, backend: &Device, values: &RawBuffer, tolerance: Tolerance) -> Result<usize> {
        let launch = backend.launch(&self.flags).size(values.len).buffer(values).tolerance(tolerance);
        launch.buffer(&self.starts).items(values.len + 1)?;
        self.sum.starts_and_sum(backend, &self.starts)
    }

    /// The offsets of the entries that stay.
    fn offsets(&self, backend: &Device, all: &RawBuffer) -> Result<RawBuffer> {
        let offsets = backend.allocate_raw(all.len, all.element_bytes)?;
        let launch = backend.launch(&self.offsets).size(all.len).buffer(all);
        launch.buffer(&self.starts).buffer(&offsets).items(all.len)?;
        Ok(offsets)
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> PruneKernel<Compressed<A, T, Device, I, O>> for Device {
    type Plan = PruningPlan;

    fn prune_algorithms(&self) -> &'static [Algorithm] {
        self.offered::<PruneAlgorithm>()
    }

    fn plan_prune(&self, a: &Compressed<A, T, Device, I, O>, options: &PlanOptions) -> Result<PruningPlan> {
        PruningPlan::new(self, T::DTYPE, IndexType::of::<O>(), a.nnz(), options)
    }

    unsafe fn run_prune(
        &self,
        plan: &mut PruningPlan,
        a: &Compressed<A, T, Device, I, O>,
        keep: Keep<T>,
    ) -> Result<Compressed<A, T, Device, I, O>> {
        let nnz = plan.find(self, a.values(), Tolerance::new(keep))?;
        let indices = self.compact(&plan.starts, a.indices(), nnz)?.of();
        let values = self.compact(&plan.starts, a.values(), nnz)?.of();
        let offsets = plan.offsets(self, a.offsets())?.of();
        // SAFETY: the offsets count the entries that stay, whose indices and order are those of `a`.
        Ok(unsafe { Compressed::new_unchecked(a.nrows(), a.ncols(), offsets, indices, values, a.order()) })
    }
}

impl<T: Scalar, I: Index> PruneKernel<Coo<T, Device, I>> for Device {
    type Plan = PruningPlan;

    fn prune_algorithms(&self) -> &'static [Algorithm] {
        self.offered::<PruneAlgorithm>()
    }

    fn plan_prune(&self, a: &Coo<T, Device, I>, options: &PlanOptions) -> Result<PruningPlan> {
        PruningPlan::new(self, T::DTYPE, IndexType::of::<I>(), a.nnz(), options)
    }

    unsafe fn run_prune(
        &self,
        plan: &mut PruningPlan,
        a: &Coo<T, Device, I>,
        keep: Keep<T>,
    ) -> Result<Coo<T, Device, I>> {
        let nnz = plan.find(self, a.values(), Tolerance::new(keep))?;
        let row_idx = self.compact(&plan.starts, a.row_idx(), nnz)?.of();
        let col_idx = self.compact(&plan.starts, a.col_idx(), nnz)?.of();
        let values = self.compact(&plan.starts, a.values(), nnz)?.of();
        // SAFETY: the arrays have the entries of `a` that stay, in their order.
        Ok(unsafe { Coo::new_unchecked(a.nrows(), a.ncols(), row_idx, col_idx, values, a.order()) })
    }
}
