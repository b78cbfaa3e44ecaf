//! `C ← ⊕ A·B`: a thread for each element of C, neighbours of which read the same entries of A.

use super::available_algorithms::Needs;
use crate::operand::DenseOperand;
use crate::primitive::raw::RawCompressed;
use crate::{Device, Kernel};
use sparse_core::op::{Aggregation, SpmmReduceKernel};
use sparse_core::{
    Algorithm, Choice, Csr, DenseView, DenseViewMut, Index, KernelPlan, PlanOptions, Result, Scalar,
    algorithms,
};

algorithms! {
    /// The algorithms of CSR.
    enum SpmmReduceAlgorithm needs Needs {
        ElementPerThread = Algorithm::new("element_per_thread", "always: neighbouring columns of a row read its entries together"),
        Needs::Nothing;
    }
}

/// The plan of an aggregation.
#[derive(Debug)]
pub struct SpmmReducePlan {
    choice: Choice,
    by: Aggregation,
    kernel: Kernel,
}

impl KernelPlan for SpmmReducePlan {
    fn choice(&self) -> &Choice {
        &self.choice
    }
}

impl<T: Scalar, I: Index, O: Index> SpmmReduceKernel<Csr<T, Device, I, O>> for Device {
    type Plan = SpmmReducePlan;

    fn spmm_reduce_algorithms(&self) -> &'static [Algorithm] {
        self.offered::<SpmmReduceAlgorithm>()
    }

    fn plan_spmm_reduce(
        &self,
        by: Aggregation,
        a: &Csr<T, Device, I, O>,
        _: usize,
        options: &PlanOptions,
    ) -> Result<Self::Plan> {
        let automatic = (SpmmReduceAlgorithm::ElementPerThread, "there is one");
        let (SpmmReduceAlgorithm::ElementPerThread, choice) =
            self.choose("spmm_reduce", options, self.offered::<SpmmReduceAlgorithm>(), automatic)?;
        let a: RawCompressed<'_> = a.into();
        let entry = "csr_spmm_reduce_element_per_thread";
        let kernel = self.kernel_of(T::DTYPE, "csr_spmm_reduce", entry, a.defines())?;
        Ok(SpmmReducePlan { choice, by, kernel })
    }

    unsafe fn run_spmm_reduce(
        &self,
        plan: &mut Self::Plan,
        a: &Csr<T, Device, I, O>,
        b: DenseView<'_, T, Device>,
        c: DenseViewMut<'_, T, Device>,
        arg: Option<DenseViewMut<'_, i64, Device>>,
    ) -> Result<()> {
        let a: RawCompressed<'_> = a.into();
        let (b, c): (DenseOperand<'_>, DenseOperand<'_>) = (b.into(), c.into());
        let launch = self.launch(&plan.kernel).size(c.rows).size(c.cols).size(a.indices.len);
        let launch = launch.value(code(plan.by)).buffer(a.offsets).buffer(a.indices).buffer(a.values);
        launch.dense(b).dense(c).dense_or_null(arg.map(Into::into)).items(c.rows.saturating_mul(c.cols))
    }
}

/// The number of an aggregation in the kernels.
fn code(by: Aggregation) -> i32 {
    match by {
        Aggregation::Sum => 0,
        Aggregation::Mean => 1,
        Aggregation::Min => 2,
        Aggregation::Max => 3,
    }
}
