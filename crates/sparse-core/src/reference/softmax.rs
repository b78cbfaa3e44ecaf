//! The softmax of lines, each of which is one slice of values.

use super::{Reference, algorithms, sequential};
use crate::error::Result;
use crate::format::{Axis, Compressed};
use crate::index::Index;
use crate::op::SoftmaxKernel;
use crate::op::softmax::softmax_of_line;
use crate::plan::{Algorithm, Choice, PlanOptions};
use crate::scalar::Scalar;
use crate::space::Host;

impl<A: Axis, T: Scalar, I: Index, O: Index> SoftmaxKernel<Compressed<A, T, Host, I, O>> for Reference {
    type Plan = Choice;

    fn softmax_algorithms(&self) -> &'static [Algorithm] {
        algorithms()
    }

    fn plan_softmax(&self, _: &Compressed<A, T, Host, I, O>, options: &PlanOptions) -> Result<Choice> {
        sequential("softmax", options)
    }

    unsafe fn run_softmax(
        &self,
        _: &mut Choice,
        a: &Compressed<A, T, Host, I, O>,
        y: &mut [T],
    ) -> Result<()> {
        let mut terms = vec![];
        for line in 0..a.pattern().major() {
            let entries = a.pattern().range(line);
            softmax_of_line(&a.values()[entries.clone()], &mut y[entries], &mut terms);
        }
        Ok(())
    }
}
