//! `y ← alpha·op(A)·x + beta·y`, for every format.

use super::{Entries, Reference, algorithms, sequential};
use crate::error::Result;
use crate::op::{AccOf, Op, SpmvKernel};
use crate::plan::{Algorithm, Choice, KernelPlan, PlanOptions};
use crate::scalar::{Accumulator, Scalar};

/// The plan of a product: `op`, and a sum for each row of op(A).
#[derive(Debug)]
pub struct ProductPlan<Acc> {
    choice: Choice,
    op: Op,
    sums: Vec<Acc>,
}

impl<Acc: Accumulator> ProductPlan<Acc> {
    pub(super) fn new(a: &impl Entries, op: Op, choice: Choice) -> Self {
        let (rows, _) = op.shape(a);
        Self { choice, op, sums: vec![Acc::ZERO; rows] }
    }

    /// The rows of op(A)·x.
    pub(super) fn multiply<M: Entries>(&mut self, a: &M, x: &[M::Scalar]) -> &[Acc]
    where
        M::Scalar: Scalar<Acc = Acc>,
    {
        let op = self.op;
        self.sums.fill(Acc::ZERO);
        a.entries().for_each(|(i, j, value)| {
            let (row, col) = if op.transposes() { (j, i) } else { (i, j) };
            self.sums[row] += op.apply(value).to_acc() * x[col].to_acc();
        });
        &self.sums
    }
}

/// The end of every product: `y ← alpha·sum + beta·y`, rounded once; `beta == 0` does not read `y`.
pub(super) fn update<T: Scalar>(y: &mut T, alpha: T::Acc, sum: T::Acc, beta: T::Acc) {
    let product = alpha * sum;
    *y = T::from_acc(if beta.is_zero() { product } else { product + beta * y.to_acc() });
}

impl<Acc: Accumulator> KernelPlan for ProductPlan<Acc> {
    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn workspace_bytes(&self) -> usize {
        size_of_val(self.sums.as_slice())
    }
}

impl<M: Entries> SpmvKernel<M> for Reference {
    type Plan = ProductPlan<AccOf<M>>;

    fn spmv_algorithms(&self, _: Op) -> &'static [Algorithm] {
        algorithms()
    }

    fn plan_spmv(&self, a: &M, op: Op, options: &PlanOptions) -> Result<Self::Plan> {
        Ok(ProductPlan::new(a, op, sequential("spmv", options)?))
    }

    unsafe fn run_spmv(
        &self,
        plan: &mut Self::Plan,
        alpha: AccOf<M>,
        a: &M,
        x: &[M::Scalar],
        beta: AccOf<M>,
        y: &mut [M::Scalar],
    ) -> Result<()> {
        let sums = plan.multiply(a, x);
        for (y, &sum) in y.iter_mut().zip(sums) {
            update(y, alpha, sum, beta);
        }
        Ok(())
    }
}
