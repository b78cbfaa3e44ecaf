//! Prefix sums: one pass in the requested order.

use super::{Reference, algorithms, sequential};
use crate::error::Result;
use crate::op::{ScanElement, ScanKernel, ScanKind, ScanOrder};
use crate::plan::{Algorithm, Choice, KernelPlan, PlanOptions};

/// The plan of a scan that needs no workspace: the pass over the array.
#[derive(Debug)]
pub struct ScanSteps {
    /// The algorithm, and why.
    pub choice: Choice,
    /// (rows, columns) of the array.
    pub shape: (usize, usize),
    /// The order of the pass.
    pub order: ScanOrder,
    /// Inclusive or exclusive.
    pub kind: ScanKind,
}

impl ScanSteps {
    /// The position of the element at `step` of the pass.
    fn position(&self, step: usize) -> usize {
        let (rows, cols) = self.shape;
        match self.order {
            ScanOrder::Flat | ScanOrder::RowMajor => step,
            ScanOrder::ColumnMajor => step % rows * cols + step / rows,
        }
    }
}

impl KernelPlan for ScanSteps {
    fn choice(&self) -> &Choice {
        &self.choice
    }
}

impl<T: ScanElement> ScanKernel<T> for Reference {
    type Plan = ScanSteps;

    fn scan_algorithms(&self, _: ScanOrder) -> &'static [Algorithm] {
        algorithms()
    }

    fn plan_scan(
        &self,
        shape: (usize, usize),
        order: ScanOrder,
        kind: ScanKind,
        options: &PlanOptions,
    ) -> Result<ScanSteps> {
        Ok(ScanSteps { choice: sequential("scan", options)?, shape, order, kind })
    }

    unsafe fn run_scan(&self, plan: &mut ScanSteps, input: &[T], output: &mut [T]) -> Result<()> {
        let mut sum = T::default();
        for at in (0..input.len()).map(|step| plan.position(step)) {
            let before = sum;
            sum = sum.wrapping_add(input[at]);
            output[at] = if plan.kind == ScanKind::Inclusive { sum } else { before };
        }
        Ok(())
    }
}
