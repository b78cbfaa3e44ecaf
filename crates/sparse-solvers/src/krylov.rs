//! The common part of all methods: the iteration from one true residual to the next, and the stopping rule.

use crate::norms::to_f64;
use crate::outcome::{Breakdown, Halt, Iteration, Outcome, Solution, SolverOptions, check_tolerance};
use crate::progress::{Ended, Progress, Watch};
use crate::recurrence::{Iterate, Recurrence};
use num_traits::{Float, Zero};
use sparse_core::backend::{Buf, SpaceOf, ViewMutOf, ViewOf};
use sparse_core::error::check_square;
use sparse_core::op::vector::{nrm2, scal};
use sparse_core::op::{Op, RealOf, SpmvKernel, SpmvPlan, VectorKernel};
use sparse_core::space::{View, ViewMut};
use sparse_core::{Accumulator, Choice, Error, PlanOptions, Result, Space, SparseFormat};
use std::fmt::Debug;
use std::ops::ControlFlow;

/// A solver: a [`Recurrence`] under the stopping rule of this crate. [`Cg`](crate::Cg), [`BiCgStab`](crate::BiCgStab),
/// [`Gmres`](crate::Gmres) and [`Minres`](crate::Minres) are aliases of it.
#[derive(Debug)]
pub struct Krylov<B, M, R>
where
    B: SpmvKernel<M> + VectorKernel<M::Scalar>,
    M: SparseFormat<Space = SpaceOf<B>>,
{
    pub(crate) backend: B,
    pub(crate) plan: SpmvPlan<B, M>,
    order: usize,
    pub(crate) tolerance: f64,
    max_iterations: usize,
    pub(crate) r: Buf<B, M::Scalar>,
    pub(crate) recurrence: R,
}

impl<B, M, R> Krylov<B, M, R>
where
    B: SpmvKernel<M> + VectorKernel<M::Scalar>,
    M: SparseFormat<Space = SpaceOf<B>, Scalar: Accumulator>,
    R: Recurrence<B, M>,
{
    /// Plans the product with `a` and allocates all vectors.
    ///
    /// ```
    /// use sparse_core::reference::Reference;
    /// use sparse_solvers::{Cg, Identity, SolverOptions};
    ///
    /// let a = sparse_generate::stencil_5::<f64>(4, 4)?;
    /// let options = SolverOptions { tolerance: 1e-6, ..SolverOptions::default() };
    /// assert!(Cg::new(&Reference, &a, Identity, &options).is_ok());
    /// let wide = sparse_generate::uniform::<f64>(2, 3, 1, 0)?;
    /// let error = Cg::new(&Reference, &wide, Identity, &SolverOptions::default()).unwrap_err();
    /// assert_eq!(error.to_string(), "cg: a square matrix is needed, this one is 2 x 3");
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) if A is not square, [`Unsupported`](Error::Unsupported) if the tolerance is
    /// negative or not a number, and those of [`SpmvPlan::new`].
    pub fn new(
        backend: &B,
        a: &M,
        preconditioner: R::Preconditioner,
        options: &SolverOptions,
    ) -> Result<Self> {
        check_square(R::NAME, (a.nrows(), a.ncols()))?;
        check_tolerance("a tolerance", options.tolerance)?;
        let order = a.nrows();
        // x and r, each of which an iteration reads and writes beside the operands of the product.
        let vectors = order.saturating_mul(2 * size_of::<M::Scalar>());
        let plan = PlanOptions { bytes_between_runs: vectors, ..options.plan.clone() };
        Ok(Self {
            backend: backend.clone(),
            plan: SpmvPlan::new(backend, a, Op::None, &plan)?,
            order,
            tolerance: options.tolerance,
            max_iterations: options.max_iterations.unwrap_or(order.saturating_mul(10)),
            r: backend.zeros(order)?,
            recurrence: R::new(backend, order, preconditioner, options)?,
        })
    }

    /// Solves A·x = b from the given `x`; `callback` is called after each check of the residual and may stop.
    /// Iterations that a device has begun meanwhile are taken too, and counted.
    ///
    /// `a` has the pattern that the solver was made for; its values may have changed. If b = 0, x becomes 0. For every
    /// outcome, `x` is the last iterate; after a breakdown it may not be finite.
    ///
    /// ```
    /// use sparse_core::reference::Reference;
    /// use sparse_solvers::{Cg, Identity, SolverOptions, Outcome};
    /// use std::ops::ControlFlow;
    ///
    /// let a = sparse_generate::stencil_5::<f64>(10, 10)?;
    /// let (b, mut x) = (vec![1.0; 100], vec![0.0; 100]);
    /// let mut solver = Cg::new(&Reference, &a, Identity, &SolverOptions::default())?;
    /// let mut residuals = vec![];
    /// let solution = solver.solve(&a, &b, &mut x, |iteration| {
    ///     residuals.push(iteration.relative_residual);
    ///     if iteration.number == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    /// })?;
    /// assert_eq!((solution.outcome, residuals.len()), (Outcome::Stopped, 3));
    /// let solution = solver.solve(&a, &b, &mut x, |_| ControlFlow::Continue(()))?; // from there on
    /// assert!(solution.converged());
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](Error::Shape), [`PlanMismatch`](Error::PlanMismatch) and [`WrongContext`](Error::WrongContext)
    /// for wrong operands; errors of the device's runtime. Not to converge is an outcome, no error.
    pub fn solve(
        &mut self,
        a: &M,
        b: ViewOf<'_, B, M::Scalar>,
        x: ViewMutOf<'_, B, M::Scalar>,
        callback: impl FnMut(Iteration) -> ControlFlow<()>,
    ) -> Result<Solution> {
        self.check_lengths(b.len(), x.len())?;
        let norm_b = to_f64(nrm2::<B, M::Scalar>(&self.backend, b)?);
        if norm_b == 0.0 {
            scal::<B, M::Scalar>(&self.backend, M::Scalar::zero(), x)?;
            return Ok(Solution::at_once(Outcome::Converged, norm_b));
        }
        if !norm_b.is_finite() {
            return Ok(Solution::at_once(Breakdown::NotFinite { quantity: "‖b‖" }.into(), norm_b));
        }
        let mut watch = Watch { iterations: 0, limit: self.max_iterations, norm_b, callback };
        let (outcome, residual) = self.restart_until_solved(a, b, x, &mut watch)?;
        Ok(Solution {
            outcome,
            iterations: watch.iterations,
            residual,
            relative_residual: residual / norm_b,
            normal_residual: None,
            estimates: None,
        })
    }

    /// Iterates from one true residual to the next, until that says how the solve ends: returns the outcome and the
    /// residual's norm.
    fn restart_until_solved(
        &mut self,
        a: &M,
        b: ViewOf<'_, B, M::Scalar>,
        mut x: ViewMutOf<'_, B, M::Scalar>,
        watch: &mut Watch<impl FnMut(Iteration) -> ControlFlow<()>>,
    ) -> Result<(Outcome, f64)> {
        let Self { backend, plan, r, recurrence, .. } = self;
        let (x, zero) = (SpaceOf::<B>::reborrow::<M::Scalar>(&mut x), RealOf::<M::Scalar>::zero());
        let mut at = Iterate { backend, plan, a, x, scale: zero, norm: zero };
        let mut progress = Progress::towards(self.tolerance * watch.norm_b);
        let mut ended = Ended::Start;
        loop {
            let residual = at.true_residual(b, r)?;
            if let Some(outcome) = progress.outcome(residual, ended) {
                return Ok((outcome, residual));
            }
            tracing::debug!(method = R::NAME, iterations = watch.iterations, residual, "start");
            at.normalize(r)?;
            recurrence.start(&at, r)?;
            let claim = progress.target().max(residual * to_f64(RealOf::<M::Scalar>::epsilon()));
            ended = match iterate(recurrence, &mut at, r, claim, watch) {
                Ok(()) => Ended::Claim,
                Err(Halt::Restart) => Ended::Cycle(to_f64(at.norm) * to_f64(at.scale)),
                Err(Halt::Outcome(outcome)) => Ended::By(outcome),
                Err(Halt::Error(error)) => return Err(error),
            };
            watch.iterations += recurrence.finish(&mut at)?;
        }
    }

    /// The preconditioner, to update it for other values of A between two solves.
    ///
    /// ```
    /// use sparse_core::reference::Reference;
    /// use sparse_solvers::{Cg, Ic0, SolverOptions};
    /// use std::ops::ControlFlow;
    ///
    /// let mut a = sparse_generate::stencil_5::<f64>(4, 4)?;
    /// let mut solver = Cg::new(&Reference, &a, Ic0::new(&Reference, &a)?, &SolverOptions::default())?;
    /// for _step in 0..3 {
    ///     let mut x = [0.0; 16];
    ///     assert!(solver.solve(&a, &[1.0; 16], &mut x, |_| ControlFlow::Continue(()))?.converged());
    ///     a.scale(2.0); // the same pattern
    ///     solver.preconditioner_mut().update(&a)?;
    /// }
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn preconditioner_mut(&mut self) -> &mut R::Preconditioner {
        self.recurrence.preconditioner_mut()
    }

    /// The algorithm of the product, and the reason.
    ///
    /// ```
    /// use sparse_core::reference::Reference;
    /// use sparse_solvers::{Cg, Identity, SolverOptions};
    ///
    /// let a = sparse_generate::stencil_5::<f64>(4, 4)?;
    /// let solver = Cg::new(&Reference, &a, Identity, &SolverOptions::default())?;
    /// assert_eq!(solver.choice().algorithm, "sequential");
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn choice(&self) -> &Choice {
        self.plan.choice()
    }

    fn check_lengths(&self, b: usize, x: usize) -> Result<()> {
        for (name, found) in [("b", b), ("x", x)] {
            if found != self.order {
                let reason = format!("the length of {name} is {found} where {} is needed", self.order);
                return Err(Error::shape(R::NAME, reason));
            }
        }
        Ok(())
    }
}

/// Iterates until the recurrence claims a residual of at most `claim`, or something halts it.
fn iterate<B, M, R>(
    recurrence: &mut R,
    at: &mut Iterate<'_, B, M>,
    r: &mut Buf<B, M::Scalar>,
    claim: f64,
    watch: &mut Watch<impl FnMut(Iteration) -> ControlFlow<()>>,
) -> Result<(), Halt>
where
    B: SpmvKernel<M> + VectorKernel<M::Scalar>,
    M: SparseFormat<Space = SpaceOf<B>, Scalar: Accumulator>,
    R: Recurrence<B, M>,
{
    while watch.iterations < watch.limit {
        let taken = recurrence.step(at, r, watch.limit - watch.iterations)?;
        at.norm = recurrence.residual_norm(at, r)?;
        let claimed = to_f64(at.norm) * to_f64(at.scale);
        watch.see(taken, claimed)?;
        if claimed <= claim {
            return Ok(());
        }
    }
    Err(Outcome::IterationLimit.into())
}
