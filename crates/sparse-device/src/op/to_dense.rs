//! Every format to dense: zeros, then the sum of the entries of each coordinate that occurs.

use super::grouped::Sums;
use super::numbered::Numbered;
use crate::{Device, Driver};
use sparse_core::op::{ToDenseKernel, VectorKernel};
use sparse_core::reference::Entries;
use sparse_core::{Algorithm, Choice, DenseViewMut, KernelPlan, PlanOptions, Result, Scalar};

const COORDINATE_SUMS: &[Algorithm] = &[Algorithm::new("coordinate_sums", "always")
    .preprocessing("the entries by coordinates, sorted on the host")];

/// The plan of an expansion.
#[derive(Debug)]
pub struct ExpansionPlan<D: Driver> {
    choice: Choice,
    sums: Sums<D>,
}

impl<D: Driver> KernelPlan for ExpansionPlan<D> {
    fn choice(&self) -> &Choice {
        &self.choice
    }
}

impl<D: Driver, M: Numbered<D>> ToDenseKernel<M> for Device<D> {
    type Plan = ExpansionPlan<D>;

    fn to_dense_algorithms(&self) -> &'static [Algorithm] {
        COORDINATE_SUMS
    }

    fn plan_to_dense(&self, a: &M, options: &PlanOptions) -> Result<ExpansionPlan<D>> {
        let choice = options.choose("to_dense", COORDINATE_SUMS, "coordinate_sums", "there is no other")?;
        let numbered = a.numbered(self)?;
        let mut entries: Vec<_> = numbered.entries().collect();
        entries.sort_by_key(|&(i, j, _)| (i, j));
        Ok(ExpansionPlan { choice, sums: Sums::new::<M::Scalar>(self, &entries)? })
    }

    unsafe fn to_dense(
        &self,
        plan: &mut ExpansionPlan<D>,
        a: &M,
        mut dense: DenseViewMut<'_, M::Scalar, Self>,
    ) -> Result<()> {
        let zero = <M::Scalar as Scalar>::Acc::ZERO;
        // SAFETY: the caller promises that the output lives in this context.
        unsafe { self.scale_dense(zero, dense.reborrow())? };
        plan.sums.run(self, a.values(), dense)
    }
}
