//! Plans of operations whose algorithms need no workspace, and what plans of products have in common.

use sparse_core::op::Op;
use sparse_core::{AlgorithmSet, Choice, KernelPlan, PlanOptions, Result};
use std::fmt::{self, Debug, Formatter};

/// An algorithm, and the plan of the serial reference, which has the choice and the parameters of the operation.
#[derive(Debug)]
pub struct CpuPlan<A, P = Choice> {
    pub(super) algorithm: A,
    pub(super) reference: P,
}

impl<A: AlgorithmSet> CpuPlan<A> {
    /// The plan of the forced algorithm, or of `automatic` for this reason.
    ///
    /// # Errors
    /// Those of [`PlanOptions::choose_among`].
    pub(super) fn new(op: &str, options: &PlanOptions, automatic: A, reason: &str) -> Result<Self> {
        let (algorithm, reference) = options.choose_among(op, A::table(&|_| true), automatic, reason)?;
        Ok(Self { algorithm, reference })
    }
}

impl<A: Debug + Send, P: KernelPlan> KernelPlan for CpuPlan<A, P> {
    fn choice(&self) -> &Choice {
        self.reference.choice()
    }
}

/// Formats the plan of a product without its arrays.
pub(super) fn fmt_product(f: &mut Formatter<'_>, name: &str, plan: &impl KernelPlan, op: Op) -> fmt::Result {
    let mut fields = f.debug_struct(name);
    fields.field("choice", plan.choice()).field("op", &op);
    fields.field("workspace_bytes", &plan.workspace_bytes()).finish()
}
