//! Dense to compressed rows: count, scan, fill, with one read-back of the members' sizes between.

use super::scan::Scan;
use crate::launch::{Launch, steps};
use crate::program::Defines;
use crate::{Buffer, Device, Driver};
use sparse_core::error::checked_product;
use sparse_core::op::{CompressedArrays, DenseToCsrKernel, Keep, RealOf};
use sparse_core::{
    Algorithm, Backend, Choice, DenseBatchView, Index, KernelPlan, PlanOptions, Result, Scalar,
};
use std::sync::Arc;

const BY_WARP: &str = "row_per_warp";
const ALGORITHMS: &[Algorithm] = &[
    Algorithm::new("row_per_thread", "the device is a CPU, or neighbours in memory stand in one column"),
    Algorithm::new(BY_WARP, "otherwise: a work-group of 32 a row, which writes in parallel"),
];

/// The plan of a compression: kernels, and room for a count for each row.
#[derive(Debug)]
pub struct CompressionPlan<D: Driver, T: Scalar> {
    choice: Choice,
    keep: Keep<T>,
    count: Arc<D::Kernel>,
    fill: Arc<D::Kernel>,
    members: Arc<D::Kernel>,
    offsets: Arc<D::Kernel>,
    starts: Buffer<D, i64>,
    member_ptr: Buffer<D, i64>,
    scan: Scan<D, i64>,
}

impl<D: Driver, T: Scalar> KernelPlan for CompressionPlan<D, T> {
    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn workspace_bytes(&self) -> usize {
        (self.starts.len + self.member_ptr.len) * size_of::<i64>()
    }
}

/// A threshold as kernels take it: whether there is one, and which.
pub(super) fn threshold<T: Scalar>(keep: Keep<T>) -> (i32, RealOf<T>) {
    match keep {
        Keep::NonZero => (0, RealOf::<T>::ZERO),
        Keep::Above(tolerance) => (1, tolerance),
    }
}

impl<D: Driver, T: Scalar> CompressionPlan<D, T> {
    /// Sets the arguments that counting and filling share.
    fn source<'a, 'v: 'a>(
        &self,
        launch: Launch<'a, D>,
        a: DenseBatchView<'v, T, Device<D>>,
    ) -> Launch<'a, D> {
        let (row_step, col_step) = steps(a.order(), a.leading_dimension());
        let (has_threshold, tolerance) = threshold(self.keep);
        let launch = launch.size(a.count() * a.rows()).size(a.rows()).size(a.cols()).view(a.data());
        launch.size(a.stride()).size(row_step).size(col_step).value(has_threshold).value(tolerance)
    }

    /// Runs over rows.
    fn over(&self, rows: usize, launch: Launch<'_, D>) -> Result<()> {
        match self.choice.algorithm {
            BY_WARP => launch.warps(rows),
            _ => launch.items(rows),
        }
    }
}

impl<D: Driver, T: Scalar, I: Index, O: Index> DenseToCsrKernel<T, I, O> for Device<D> {
    type Plan = CompressionPlan<D, T>;

    fn dense_to_csr_algorithms(&self) -> &'static [Algorithm] {
        ALGORITHMS
    }

    fn plan_dense_to_csr(
        &self,
        a: &DenseBatchView<'_, T, Self>,
        keep: Keep<T>,
        options: &PlanOptions,
    ) -> Result<CompressionPlan<D, T>> {
        let (_, col_step) = steps(a.order(), a.leading_dimension());
        let (automatic, reason) = match (self.driver().is_cpu(), col_step) {
            (true, _) => ("row_per_thread", "the device is a CPU"),
            (false, 1) => (BY_WARP, "neighbours in memory stand in one row"),
            (false, _) => ("row_per_thread", "neighbours in memory stand in one column"),
        };
        let choice = options.choose("dense_to_csr", ALGORITHMS, automatic, reason)?;
        let (count, fill) = match choice.algorithm {
            BY_WARP => ("dense_to_csr_count_row_per_warp", "dense_to_csr_fill_row_per_warp"),
            _ => ("dense_to_csr_count_row_per_thread", "dense_to_csr_fill_row_per_thread"),
        };
        let defines = Defines::default().index::<I>().offset::<O>();
        let kernel = |entry| self.kernel_of::<T>("dense_to_csr", entry, defines.clone());
        let counts = checked_product("count x rows", a.count(), a.rows())? + 1;
        Ok(CompressionPlan {
            choice,
            keep,
            count: kernel(count)?,
            fill: kernel(fill)?,
            members: kernel("dense_to_csr_members")?,
            offsets: kernel("dense_to_csr_offsets")?,
            starts: self.allocate(counts)?,
            member_ptr: self.allocate(a.count() + 1)?,
            scan: Scan::series(self, counts)?,
        })
    }

    unsafe fn dense_to_csr(
        &self,
        plan: &mut CompressionPlan<D, T>,
        a: DenseBatchView<'_, T, Self>,
    ) -> Result<CompressedArrays<Self, T, I, O>> {
        let rows = a.count() * a.rows();
        let count = plan.source(self.launch(&plan.count), a).buffer(&plan.starts);
        plan.over(rows + 1, count)?;
        plan.scan.starts(self, &mut plan.starts)?;
        let launch = self.launch(&plan.members).size(a.count()).size(a.rows()).buffer(&plan.starts);
        launch.buffer(&plan.member_ptr).items(a.count() + 1)?;
        let member_ptr: Vec<_> = self.download(&plan.member_ptr)?.into_iter().map(|at| at as usize).collect();
        for ends in member_ptr.windows(2) {
            O::try_new("nnz", ends[1] - ends[0])?;
        }
        let nnz = member_ptr[a.count()];
        let offsets = self.allocate(checked_product("count x offsets", a.count(), a.rows() + 1)?)?;
        let (indices, values) = (self.allocate(nnz)?, self.allocate(nnz)?);
        let launch = self.launch(&plan.offsets).size(a.count()).size(a.rows()).buffer(&plan.starts);
        launch.buffer(&offsets).items(offsets.len)?;
        let fill =
            plan.source(self.launch(&plan.fill), a).buffer(&plan.starts).buffer(&indices).buffer(&values);
        plan.over(rows, fill)?;
        Ok(CompressedArrays { member_ptr, offsets, indices, values })
    }
}
