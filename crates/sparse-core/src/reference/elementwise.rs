//! Sums and element-wise products: the entries of both operands in one ordered map.

use super::entries::{merge, sorted};
use super::{Entry, Rebuild, Reference, algorithms, sequential};
use crate::error::Result;
use crate::op::{AccOf, Duplicates, Elementwise, ElementwiseKernel};
use crate::plan::{Algorithm, Choice, KernelPlan, PlanOptions};
use std::collections::BTreeMap;

/// The plan of an operation on elements: the operation itself.
#[derive(Debug)]
pub struct ElementwiseChoice {
    /// The algorithm, and why.
    pub choice: Choice,
    /// The operation.
    pub op: Elementwise,
}

impl KernelPlan for ElementwiseChoice {
    fn choice(&self) -> &Choice {
        &self.choice
    }
}

/// Row, column, and the values that A and B have there.
type Element<T> = (usize, usize, [Option<T>; 2]);

impl<M: Rebuild> ElementwiseKernel<M> for Reference {
    type Plan = ElementwiseChoice;

    fn elementwise_algorithms(&self) -> &'static [Algorithm] {
        algorithms()
    }

    fn plan_elementwise(&self, op: Elementwise, _: &M, _: &M, options: &PlanOptions) -> Result<Self::Plan> {
        Ok(ElementwiseChoice { choice: sequential("elementwise", options)?, op })
    }

    unsafe fn run_elementwise(
        &self,
        plan: &mut Self::Plan,
        alpha: AccOf<M>,
        a: &M,
        beta: AccOf<M>,
        b: &M,
    ) -> Result<M> {
        let mut elements: BTreeMap<_, Element<M::Scalar>> = BTreeMap::new();
        for (operand, entries) in [without_duplicates(a)?, without_duplicates(b)?].into_iter().enumerate() {
            for (i, j, value) in entries {
                elements.entry(M::key(i, j)).or_insert((i, j, [None; 2])).2[operand] = Some(value);
            }
        }
        let elements = elements.into_values().filter_map(|(i, j, [a, b])| {
            let element = plan.op.combine::<M::Scalar>((alpha, a), (beta, b))?;
            Some((i, j, element))
        });
        a.rebuild(elements.collect())
    }
}

/// The entries, those of one coordinate added.
fn without_duplicates<M: Rebuild>(a: &M) -> Result<Vec<Entry<M::Scalar>>> {
    merge(sorted(a.entries(), &M::key), Duplicates::Sum)
}
