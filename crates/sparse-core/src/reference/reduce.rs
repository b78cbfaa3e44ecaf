//! Reductions of lines: entries of one coordinate are added, then every line is one slice of values.

use super::entries::{merge, sorted};
use super::{Entries, Rebuild, Reference, algorithms, sequential};
use crate::error::Result;
use crate::format::{Axis, Compressed};
use crate::index::Index;
use crate::op::{Duplicates, ReduceKernel, Reduction};
use crate::plan::{Algorithm, Choice, KernelPlan, PlanOptions};
use crate::scalar::Scalar;
use crate::space::Host;

/// The plan of a reduction: the reduction itself.
#[derive(Debug)]
pub struct ReduceChoice {
    /// The algorithm, and why.
    pub choice: Choice,
    /// The reduction.
    pub by: Reduction,
}

impl KernelPlan for ReduceChoice {
    fn choice(&self) -> &Choice {
        &self.choice
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> ReduceKernel<Compressed<A, T, Host, I, O>> for Reference {
    type Plan = ReduceChoice;

    fn reduce_algorithms(&self) -> &'static [Algorithm] {
        algorithms()
    }

    fn plan_reduce(
        &self,
        by: Reduction,
        _: &Compressed<A, T, Host, I, O>,
        options: &PlanOptions,
    ) -> Result<ReduceChoice> {
        Ok(ReduceChoice { choice: sequential("reduce", options)?, by })
    }

    unsafe fn run_reduce(
        &self,
        plan: &mut ReduceChoice,
        a: &Compressed<A, T, Host, I, O>,
        y: &mut [T],
    ) -> Result<()> {
        let key = <Compressed<A, T, Host, I, O> as Rebuild>::key;
        let duplicates = if plan.by.needs_unique() { Duplicates::Sum } else { Duplicates::Keep };
        let mut lines = vec![vec![]; y.len()];
        for (i, j, value) in merge(sorted(a.entries(), &key), duplicates)? {
            lines[key(i, j).0].push(value);
        }
        for (y, stored) in y.iter_mut().zip(lines) {
            *y = plan.by.of_line(&stored, a.pattern().minor());
        }
        Ok(())
    }
}
