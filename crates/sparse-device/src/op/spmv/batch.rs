//! Batches: the block-diagonal matrix of the members, in one launch.

use super::plan::{Grouped, GroupedAlgorithm};
use crate::primitive::raw::VectorOperands;
use crate::primitive::stored_values::StoredValues;
use crate::{Device, View, ViewMut};
use sparse_core::op::{Op, SpmvKernel};
use sparse_core::{Algorithm, Axis, BatchCompressed, Choice, Index, KernelPlan, PlanOptions, Result, Scalar};

/// The plan of a batch of products.
#[derive(Debug)]
pub struct BatchPlan {
    choice: Choice,
    grouped: Box<Grouped>,
}

impl KernelPlan for BatchPlan {
    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn workspace_bytes(&self) -> usize {
        self.grouped.bytes()
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> SpmvKernel<BatchCompressed<A, T, Device, I, O>> for Device {
    type Plan = BatchPlan;

    fn spmv_algorithms(&self, _: Op) -> &'static [Algorithm] {
        self.offered::<GroupedAlgorithm>()
    }

    fn plan_spmv(
        &self,
        a: &BatchCompressed<A, T, Device, I, O>,
        op: Op,
        options: &PlanOptions,
    ) -> Result<BatchPlan> {
        let (GroupedAlgorithm::GroupedRows, mut choice) =
            self.choose_only("spmv", options, GroupedAlgorithm::GroupedRows)?;
        let grouped = Grouped::new(self, a, op, options, &mut choice)?;
        Ok(BatchPlan { choice, grouped })
    }

    unsafe fn run_spmv(
        &self,
        plan: &mut BatchPlan,
        alpha: T::Acc,
        a: &BatchCompressed<A, T, Device, I, O>,
        x: View<'_, T>,
        beta: T::Acc,
        y: ViewMut<'_, T>,
    ) -> Result<()> {
        plan.grouped.run(self, StoredValues::values(a), VectorOperands::new(alpha, x, beta, y))
    }
}
