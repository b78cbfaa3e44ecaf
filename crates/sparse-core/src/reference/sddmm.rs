//! `C ← alpha·P ∘ (U·Vᵀ) + beta·C`: a scalar product for each entry.

use super::spmv::update;
use super::{Entries, Reference, algorithms, sequential};
use crate::error::Result;
use crate::format::{DenseView, EntryValues};
use crate::op::{AccOf, Sampling, SddmmKernel};
use crate::plan::{Algorithm, Choice, KernelPlan, PlanOptions};
use crate::scalar::Scalar;

/// The plan of a sampled product: its sampling.
#[derive(Debug)]
pub struct SddmmChoice {
    /// The algorithm, and why.
    pub choice: Choice,
    /// The factor of an entry: its value, or 1.
    pub sampling: Sampling,
}

impl KernelPlan for SddmmChoice {
    fn choice(&self) -> &Choice {
        &self.choice
    }
}

impl<M: Entries + EntryValues> SddmmKernel<M> for Reference {
    type Plan = SddmmChoice;

    fn sddmm_algorithms(&self) -> &'static [Algorithm] {
        algorithms()
    }

    fn plan_sddmm(&self, _: &M, sampling: Sampling, _: usize, options: &PlanOptions) -> Result<Self::Plan> {
        Ok(SddmmChoice { choice: sequential("sddmm", options)?, sampling })
    }

    unsafe fn run_sddmm(
        &self,
        plan: &mut Self::Plan,
        alpha: AccOf<M>,
        p: &M,
        u: DenseView<'_, M::Scalar>,
        v: DenseView<'_, M::Scalar>,
        beta: AccOf<M>,
        c: &mut [M::Scalar],
    ) -> Result<()> {
        for ((i, j, value), c) in p.entries().zip(c) {
            let products = (0..u.ncols()).map(|t| u.at(i, t).to_acc() * v.at(j, t).to_acc());
            let sum = products.fold(AccOf::<M>::ZERO, |sum, product| sum + product);
            update(c, alpha, plan.sampling.scaled(value, sum), beta);
        }
        Ok(())
    }
}
