//! `C ← alpha·op(A)·B + beta·C`, for every format: column by column as SpMV.

use super::spmv::update;
use super::{Entries, ProductPlan, Reference, algorithms, sequential};
use crate::error::Result;
use crate::format::{DenseView, DenseViewMut};
use crate::op::{AccOf, Op, SpmmKernel};
use crate::plan::{Algorithm, PlanOptions};

impl<M: Entries> SpmmKernel<M> for Reference {
    type Plan = ProductPlan<AccOf<M>>;

    fn spmm_algorithms(&self, _: Op) -> &'static [Algorithm] {
        algorithms()
    }

    fn plan_spmm(&self, a: &M, op: Op, _: usize, options: &PlanOptions) -> Result<Self::Plan> {
        Ok(ProductPlan::new(a, op, sequential("spmm", options)?))
    }

    unsafe fn run_spmm(
        &self,
        plan: &mut Self::Plan,
        alpha: AccOf<M>,
        a: &M,
        b: DenseView<'_, M::Scalar>,
        beta: AccOf<M>,
        mut c: DenseViewMut<'_, M::Scalar>,
    ) -> Result<()> {
        for column in 0..c.ncols() {
            let x: Vec<_> = (0..b.nrows()).map(|row| b.at(row, column)).collect();
            let sums = plan.multiply(a, &x);
            for (row, &sum) in sums.iter().enumerate() {
                update(c.at_mut(row, column), alpha, sum, beta);
            }
        }
        Ok(())
    }
}
