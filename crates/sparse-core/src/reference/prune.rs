//! Pruning: a filter over the entries.

use super::{Rebuild, Reference, algorithms, sequential};
use crate::error::Result;
use crate::op::{Keep, PruneKernel};
use crate::plan::{Algorithm, Choice, PlanOptions};

impl<M: Rebuild> PruneKernel<M> for Reference {
    type Plan = Choice;

    fn prune_algorithms(&self) -> &'static [Algorithm] {
        algorithms()
    }

    fn plan_prune(&self, _: &M, options: &PlanOptions) -> Result<Choice> {
        sequential("prune", options)
    }

    unsafe fn run_prune(&self, _: &mut Choice, a: &M, keep: Keep<M::Scalar>) -> Result<M> {
        a.rebuild(a.entries().filter(|&(_, _, value)| keep.keeps(value)).collect())
    }
}
