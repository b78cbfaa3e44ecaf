//! Sums and element-wise products: both operands are read back, and the host merges them.

use super::available_algorithms::Needs;
use crate::Device;
use sparse_core::op::{Elementwise, ElementwiseKernel};
use sparse_core::reference::{ElementwiseChoice, Reference};
use sparse_core::{
    Algorithm, Axis, Compressed, Index, PlanOptions, Result, Scalar, SparseFormat, algorithms,
};

algorithms! {
    /// The algorithms of sums and element-wise products.
    enum ElementwiseAlgorithm needs Needs {
        ReadBack = Algorithm::new("read_back", "always: the host merges the entries, and C is uploaded"),
        Needs::Nothing;
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> ElementwiseKernel<Compressed<A, T, Device, I, O>> for Device {
    type Plan = ElementwiseChoice;

    fn elementwise_algorithms(&self) -> &'static [Algorithm] {
        self.offered::<ElementwiseAlgorithm>()
    }

    fn plan_elementwise(
        &self,
        op: Elementwise,
        _: &Compressed<A, T, Device, I, O>,
        _: &Compressed<A, T, Device, I, O>,
        options: &PlanOptions,
    ) -> Result<Self::Plan> {
        let (ElementwiseAlgorithm::ReadBack, choice) =
            self.choose_only("elementwise", options, ElementwiseAlgorithm::ReadBack)?;
        Ok(ElementwiseChoice { choice, op })
    }

    unsafe fn elementwise(
        &self,
        plan: &mut Self::Plan,
        alpha: T::Acc,
        a: &Compressed<A, T, Device, I, O>,
        beta: T::Acc,
        b: &Compressed<A, T, Device, I, O>,
    ) -> Result<Compressed<A, T, Device, I, O>> {
        let (a, b) = (a.to_host(self)?, b.to_host(self)?);
        // SAFETY: the reference's plan is bound to no pattern, and the copies are on the host.
        let c = unsafe { Reference.elementwise(plan, alpha, &a, beta, &b)? };
        c.to_device(self)
    }
}
