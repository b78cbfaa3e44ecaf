//! Batches: the block-diagonal matrix of the members, in one launch.

use super::Grouped;
use crate::op::grouped::GROUPED_ROWS;
use crate::{Device, Driver, View, ViewMut};
use sparse_core::op::{Op, SpmvKernel};
use sparse_core::{Algorithm, Axis, BatchCompressed, Choice, Index, KernelPlan, PlanOptions, Result, Scalar};

const ALGORITHMS: &[Algorithm] = &[GROUPED_ROWS];

/// The plan of a batch of products.
#[derive(Debug)]
pub struct BatchPlan<D: Driver, I> {
    choice: Choice,
    grouped: Grouped<D, I>,
}

impl<D: Driver, I: Index> KernelPlan for BatchPlan<D, I> {
    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn workspace_bytes(&self) -> usize {
        self.grouped.groups.bytes()
    }
}

impl<D: Driver, A: Axis, T: Scalar, I: Index, O: Index> SpmvKernel<BatchCompressed<A, T, Device<D>, I, O>>
    for Device<D>
{
    type Plan = BatchPlan<D, I>;

    fn spmv_algorithms(&self, _: Op) -> &'static [Algorithm] {
        ALGORITHMS
    }

    fn plan_spmv(
        &self,
        a: &BatchCompressed<A, T, Device<D>, I, O>,
        op: Op,
        options: &PlanOptions,
    ) -> Result<BatchPlan<D, I>> {
        let choice = options.choose("spmv", ALGORITHMS, GROUPED_ROWS.name, "there is no other")?;
        Ok(BatchPlan { choice, grouped: Grouped::new(self, a, op)? })
    }

    unsafe fn spmv(
        &self,
        plan: &mut BatchPlan<D, I>,
        alpha: T::Acc,
        a: &BatchCompressed<A, T, Device<D>, I, O>,
        x: View<'_, D, T>,
        beta: T::Acc,
        y: ViewMut<'_, D, T>,
    ) -> Result<()> {
        plan.grouped.run(self, alpha, a, x, beta, y)
    }
}
