//! Pruning: a copy without the entries that are zero or small; the only operation that removes entries.

use super::Keep;
use super::bound_pattern::BoundPattern;
use crate::backend::{Backend, SpaceOf};
use crate::error::Result;
use crate::format::SparseFormat;
use crate::plan::{Algorithm, Choice, KernelPlan, PlanOptions};

/// Removal of small entries: implemented by backends, called through [`PrunePlan`].
pub trait PruneKernel<M: SparseFormat<Space = SpaceOf<Self>>>: Backend {
    /// A plan for one pattern, with its workspace.
    type Plan: KernelPlan;

    /// The algorithms for this format, the default first.
    fn prune_algorithms(&self) -> &'static [Algorithm];

    /// Chooses an algorithm and allocates what it needs.
    ///
    /// # Errors
    /// [`Unsupported`](crate::Error::Unsupported) if the forced algorithm does not exist.
    fn plan_prune(&self, a: &M, options: &PlanOptions) -> Result<Self::Plan>;

    /// A copy of `a` with the entries that `keep` keeps, in their order.
    ///
    /// # Errors
    /// An error of the device's runtime.
    ///
    /// # Safety
    /// `plan` was made by this backend for the pattern of `a`, which is in its context.
    unsafe fn run_prune(&self, plan: &mut Self::Plan, a: &M, keep: Keep<M::Scalar>) -> Result<M>;
}

/// A plan that removes small entries from matrices of one pattern.
#[derive(Debug)]
pub struct PrunePlan<B: PruneKernel<M>, M: SparseFormat<Space = SpaceOf<B>>> {
    backend: B,
    bound: BoundPattern,
    kernel: B::Plan,
}

impl<B: PruneKernel<M>, M: SparseFormat<Space = SpaceOf<B>>> PrunePlan<B, M> {
    /// A plan for the pattern of `a`.
    ///
    /// # Errors
    /// [`WrongContext`](crate::Error::WrongContext) if `a` is in another context; else those of
    /// [`PruneKernel::plan_prune`].
    pub fn new(backend: &B, a: &M, options: &PlanOptions) -> Result<Self> {
        let bound = BoundPattern::new("prune", backend.context(), a.context(), a.pattern_id())?;
        let kernel = backend.plan_prune(a, options)?;
        Ok(Self { backend: backend.clone(), bound, kernel })
    }

    /// A copy of `a` with the entries that `keep` keeps, in their order.
    ///
    /// ```
    /// use sparse_core::op::{Keep, PrunePlan};
    /// use sparse_core::{Csr, PlanOptions, SparseFormat, reference::Reference};
    ///
    /// let a = Csr::<f64>::new(1, 3, vec![0, 3], vec![0, 1, 2], vec![1.0, 0.0, 1e-9])?;
    /// let mut plan = PrunePlan::new(&Reference, &a, &PlanOptions::default())?;
    /// let left = [Keep::NonZero, Keep::Above(1e-6)].map(|keep| plan.run(&a, keep).map(|a| a.nnz()));
    /// assert!(matches!(left, [Ok(2), Ok(1)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`PlanMismatch`](crate::Error::PlanMismatch) for another pattern.
    pub fn run(&mut self, a: &M, keep: Keep<M::Scalar>) -> Result<M> {
        self.bound.check(a.pattern_id())?;
        // SAFETY: the plan was made for this pattern, and `BoundPattern::new` checked its context.
        unsafe { self.backend.run_prune(&mut self.kernel, a, keep) }
    }

    /// The algorithm that runs, and the reason.
    pub fn choice(&self) -> &Choice {
        self.kernel.choice()
    }
}
