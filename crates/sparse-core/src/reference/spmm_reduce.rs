//! `C ← ⊕ A·B`: the products of each element of C, one after the other.

use super::{Reference, algorithms, sequential};
use crate::c64;
use crate::error::Result;
use crate::format::{Csr, DenseView, DenseViewMut};
use crate::index::Index;
use crate::op::{Aggregation, SpmmReduceKernel};
use crate::plan::{Algorithm, Choice, KernelPlan, PlanOptions};
use crate::scalar::{Accumulator, Scalar};
use crate::space::Host;

/// The plan of an aggregation: the aggregation itself.
#[derive(Debug)]
pub struct AggregationChoice {
    /// The algorithm, and why.
    pub choice: Choice,
    /// The aggregation.
    pub by: Aggregation,
}

impl KernelPlan for AggregationChoice {
    fn choice(&self) -> &Choice {
        &self.choice
    }
}

impl<T: Scalar, I: Index, O: Index> SpmmReduceKernel<Csr<T, Host, I, O>> for Reference {
    type Plan = AggregationChoice;

    fn spmm_reduce_algorithms(&self) -> &'static [Algorithm] {
        algorithms()
    }

    fn plan_spmm_reduce(
        &self,
        by: Aggregation,
        _: &Csr<T, Host, I, O>,
        _: usize,
        options: &PlanOptions,
    ) -> Result<Self::Plan> {
        Ok(AggregationChoice { choice: sequential("spmm_reduce", options)?, by })
    }

    unsafe fn run_spmm_reduce(
        &self,
        plan: &mut Self::Plan,
        a: &Csr<T, Host, I, O>,
        b: DenseView<'_, T>,
        mut c: DenseViewMut<'_, T>,
        mut arg: Option<DenseViewMut<'_, i64>>,
    ) -> Result<()> {
        for row in 0..c.nrows() {
            let entries = a.pattern().range(row);
            for column in 0..c.ncols() {
                let products = entries.clone().map(|k| {
                    let (value, factor) = (a.values()[k], b.at(a.indices()[k].as_usize(), column));
                    (k, value.to_acc() * factor.to_acc())
                });
                let (at, combined) = combine(plan.by, products, a.nnz());
                *c.at_mut(row, column) = T::from_acc(combined);
                if let Some(arg) = &mut arg {
                    *arg.at_mut(row, column) = at as i64;
                }
            }
        }
        Ok(())
    }
}

/// The argument and the value of some products; `none` and 0 of none.
fn combine<A: Accumulator>(
    by: Aggregation,
    products: impl ExactSizeIterator<Item = (usize, A)>,
    none: usize,
) -> (usize, A) {
    let count = A::from_c64(c64::new(products.len().max(1) as f64, 0.0));
    match by {
        Aggregation::Sum => (none, products.fold(A::ZERO, |sum, (_, product)| sum + product)),
        Aggregation::Mean => (none, products.fold(A::ZERO, |sum, (_, product)| sum + product) / count),
        Aggregation::Min | Aggregation::Max => products
            .reduce(|found, next| if by.prefers(next.1.re(), found.1.re()) { next } else { found })
            .unwrap_or((none, A::ZERO)),
    }
}
