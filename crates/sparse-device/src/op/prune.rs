//! Pruning: flags, their prefix sums, and the entries that stay moved together.

use super::dense_to_csr::threshold;
use super::scan::Scan;
use crate::program::Defines;
use crate::{Buffer, Device, Kernel};
use sparse_core::op::{Keep, PruneKernel};
use sparse_core::{
    Algorithm, Axis, Choice, Compressed, Coo, Index, KernelPlan, Matrix, PlanOptions, Result, Scalar,
};

const COUNT_FILL: &[Algorithm] =
    &[Algorithm::new("count_fill", "always").preprocessing("room for a place for each entry")];

/// The plan of a pruning.
#[derive(Debug)]
pub struct PruningPlan {
    choice: Choice,
    flags: Kernel,
    offsets: Kernel,
    starts: Buffer<i64>,
    scan: Scan<i64>,
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
    fn new<T: Scalar, O: Index>(backend: &Device, nnz: usize, options: &PlanOptions) -> Result<Self> {
        let choice = options.choose("prune", COUNT_FILL, "count_fill", "there is no other")?;
        let defines = Defines::default().index::<O>().offset::<O>();
        Ok(Self {
            choice,
            flags: backend.kernel_of::<T>("prune", "prune_flags", defines.clone())?,
            offsets: backend.kernel_of::<T>("prune", "prune_offsets", defines)?,
            starts: backend.allocate(nnz + 1)?,
            scan: Scan::series(backend, nnz + 1)?,
        })
    }

    /// Finds the places of the entries that stay, and how many do.
    fn find<T: Scalar>(&mut self, backend: &Device, values: &Buffer<T>, keep: Keep<T>) -> Result<usize> {
        let (has_threshold, tolerance) = threshold(keep);
        let launch = backend.launch(&self.flags).size(values.len).buffer(values).value(has_threshold);
        launch.value(tolerance).buffer(&self.starts).items(values.len + 1)?;
        self.scan.starts_and_sum(backend, &self.starts)
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> PruneKernel<Compressed<A, T, Device, I, O>> for Device {
    type Plan = PruningPlan;

    fn prune_algorithms(&self) -> &'static [Algorithm] {
        COUNT_FILL
    }

    fn plan_prune(&self, a: &Compressed<A, T, Device, I, O>, options: &PlanOptions) -> Result<PruningPlan> {
        PruningPlan::new::<T, O>(self, a.nnz(), options)
    }

    unsafe fn prune(
        &self,
        plan: &mut PruningPlan,
        a: &Compressed<A, T, Device, I, O>,
        keep: Keep<T>,
    ) -> Result<Compressed<A, T, Device, I, O>> {
        let kept = plan.find(self, a.values(), keep)?;
        let indices = self.compact(&plan.starts, a.indices(), kept)?;
        let values = self.compact(&plan.starts, a.values(), kept)?;
        let offsets: Buffer<O> = self.allocate(a.offsets().len)?;
        let launch = self.launch(&plan.offsets).size(offsets.len).buffer(a.offsets());
        launch.buffer(&plan.starts).buffer(&offsets).items(offsets.len)?;
        // SAFETY: the offsets count the entries that stay, whose indices and order are those of `a`.
        Ok(unsafe { Compressed::new_unchecked(a.rows(), a.cols(), offsets, indices, values, a.order()) })
    }
}

impl<T: Scalar, I: Index> PruneKernel<Coo<T, Device, I>> for Device {
    type Plan = PruningPlan;

    fn prune_algorithms(&self) -> &'static [Algorithm] {
        COUNT_FILL
    }

    fn plan_prune(&self, a: &Coo<T, Device, I>, options: &PlanOptions) -> Result<PruningPlan> {
        PruningPlan::new::<T, I>(self, a.nnz(), options)
    }

    unsafe fn prune(
        &self,
        plan: &mut PruningPlan,
        a: &Coo<T, Device, I>,
        keep: Keep<T>,
    ) -> Result<Coo<T, Device, I>> {
        let kept = plan.find(self, a.values(), keep)?;
        let row_idx = self.compact(&plan.starts, a.row_idx(), kept)?;
        let col_idx = self.compact(&plan.starts, a.col_idx(), kept)?;
        let values = self.compact(&plan.starts, a.values(), kept)?;
        // SAFETY: the arrays hold the entries of `a` that stay, in their order.
        Ok(unsafe { Coo::new_unchecked(a.rows(), a.cols(), row_idx, col_idx, values, a.order()) })
    }
}
