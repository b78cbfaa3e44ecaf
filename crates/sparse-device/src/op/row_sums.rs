//! Row sums: a work-item for each row.

use super::raw::RawCompressed;
use crate::{Device, Kernel, ViewMut};
use sparse_core::op::RowSumsKernel;
use sparse_core::{Algorithm, Choice, Csr, Index, KernelPlan, PlanOptions, Result, Scalar};

const ROW_PER_THREAD: &[Algorithm] = &[Algorithm::new("row_per_thread", "always")];

/// The plan of row sums.
#[derive(Debug)]
pub struct RowSumsPlan {
    choice: Choice,
    kernel: Kernel,
}

impl KernelPlan for RowSumsPlan {
    fn choice(&self) -> &Choice {
        &self.choice
    }
}

impl<T: Scalar, I: Index, O: Index> RowSumsKernel<Csr<T, Device, I, O>> for Device {
    type Plan = RowSumsPlan;

    fn row_sums_algorithms(&self) -> &'static [Algorithm] {
        ROW_PER_THREAD
    }

    fn plan_row_sums(&self, a: &Csr<T, Device, I, O>, options: &PlanOptions) -> Result<RowSumsPlan> {
        let choice = options.choose("row_sums", ROW_PER_THREAD, "row_per_thread", "there is no other")?;
        let kernel = self.kernel_of(T::DTYPE, "row_sums", "row_sums", RawCompressed::from(a).defines())?;
        Ok(RowSumsPlan { choice, kernel })
    }

    unsafe fn row_sums(
        &self,
        plan: &mut RowSumsPlan,
        a: &Csr<T, Device, I, O>,
        sums: ViewMut<'_, T>,
    ) -> Result<()> {
        let a = RawCompressed::from(a);
        let launch = self.launch(&plan.kernel).size(a.rows).buffer(a.offsets).buffer(a.values);
        launch.view(sums).items(a.rows)
    }
}
