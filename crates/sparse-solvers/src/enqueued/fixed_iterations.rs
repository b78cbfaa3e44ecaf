//! A fixed number of iterations.

use super::EnqueuedCg;
use super::recorded::Recorded;
use crate::norms::to_f64;
use crate::outcome::{Breakdown, Halt, Outcome, Solution};
use crate::preconditioner::Preconditioner;
use num_traits::{One, Zero};
use sparse_core::backend::{SpaceOf, ViewMutOf, ViewOf};
use sparse_core::op::vector::nrm2;
use sparse_core::op::{RealOf, SpmvKernel, VectorKernel};
use sparse_core::{Accumulator, Result, Space, SparseFormat};
use std::mem;

/// A fixed number of iterations, which can be recorded in a CUDA graph: they neither wait nor allocate. Residuals are
/// not scaled here, so that ‖b − A·x‖₂² has to be a number of the type.
impl<B, M, P> EnqueuedCg<B, M, P>
where
    B: SpmvKernel<M> + VectorKernel<M::Scalar>,
    M: SparseFormat<Space = SpaceOf<B>, Scalar: Accumulator>,
    P: Preconditioner<B, M::Scalar>,
{
    /// Begins at `x`: `r = b − A·x`, `p = K⁻¹·r`.
    ///
    /// `a` has the pattern that the solver was made for; its values may have changed.
    ///
    /// ```
    /// use sparse_core::reference::Reference;
    /// use sparse_solvers::{EnqueuedCg, Identity, SolverOptions};
    ///
    /// let a = sparse_generate::stencil_5::<f64>(4, 4)?;
    /// let mut x = vec![0.0; 16];
    /// let mut solver = EnqueuedCg::new(&Reference, &a, Identity, &SolverOptions::default())?;
    /// solver.start(&a, &[1.0; 16], &x)?;
    /// solver.run(&a, 8, &mut x)?;
    /// assert!(solver.residual_norm()? < 1e-9);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](sparse_core::Error::Shape), [`PlanMismatch`](sparse_core::Error::PlanMismatch) and
    /// [`WrongContext`](sparse_core::Error::WrongContext) for wrong operands; errors of the device's runtime.
    pub fn start(&mut self, a: &M, b: ViewOf<'_, B, M::Scalar>, x: ViewOf<'_, B, M::Scalar>) -> Result<()> {
        self.true_residual(a, b, x)?;
        self.recurrence.state.start(&self.backend, &self.r)
    }

    /// Takes `iterations` iterations from `x`, which is that of [`start`](Self::start) or of the last run. Odd numbers
    /// cost a copy of one number more.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub fn run(&mut self, a: &M, iterations: usize, x: ViewMutOf<'_, B, M::Scalar>) -> Result<()> {
        let Self { backend, plan, r, recurrence, .. } = self;
        let (one, zero) = (M::Scalar::one(), M::Scalar::zero());
        recurrence.state.run(backend, iterations, x, r, |p, q| {
            plan.run(one, a, p, zero, SpaceOf::<B>::view_mut::<M::Scalar>(q))
        })
    }

    /// ‖r‖₂ of the residual of the recurrence, after waiting for the iterations: an estimate, which may be too small.
    ///
    /// # Errors
    /// An error of the device's runtime.
    pub fn residual_norm(&self) -> Result<RealOf<M::Scalar>> {
        nrm2::<B, M::Scalar>(&self.backend, SpaceOf::<B>::view(&self.r))
    }

    /// Takes `iterations` iterations from the given `x`, and then computes b − A·x, once.
    ///
    /// ```
    /// use sparse_core::reference::Reference;
    /// use sparse_solvers::{EnqueuedCg, Identity, SolverOptions};
    ///
    /// let a = sparse_generate::stencil_5::<f64>(4, 4)?;
    /// let mut x = vec![0.0; 16];
    /// let mut solver = EnqueuedCg::new(&Reference, &a, Identity, &SolverOptions::default())?;
    /// let solution = solver.solve_fixed(&a, &[1.0; 16], &mut x, 20)?;
    /// assert!(solution.converged() && solution.iterations == 20);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub fn solve_fixed(
        &mut self,
        a: &M,
        b: ViewOf<'_, B, M::Scalar>,
        mut x: ViewMutOf<'_, B, M::Scalar>,
        iterations: usize,
    ) -> Result<Solution> {
        self.start(a, b, SpaceOf::<B>::as_shared::<M::Scalar>(&x))?;
        let backend = self.backend.clone();
        let mut recorded = mem::replace(&mut self.recurrence.recorded, Recorded::Unsupported);
        recorded.begin(self.recurrence.state.preconditioner.is_recordable());
        let launched = recorded.run(&backend, iterations, &mut |iterations| {
            self.run(a, iterations, SpaceOf::<B>::reborrow::<M::Scalar>(&mut x))
        });
        recorded.end();
        self.recurrence.recorded = recorded;
        launched?;
        let ended = self.ended()?;
        self.true_residual(a, b, SpaceOf::<B>::as_shared::<M::Scalar>(&x))?;
        let residual = to_f64(self.residual_norm()?);
        let norm_b = to_f64(nrm2::<B, M::Scalar>(&self.backend, b)?);
        let outcome = match residual <= self.tolerance * norm_b {
            _ if !residual.is_finite() => Breakdown::NotFinite { quantity: "‖b − A·x‖" }.into(),
            true => Outcome::Converged,
            false => ended,
        };
        let relative_residual = if residual == 0.0 { 0.0 } else { residual / norm_b };
        Ok(Solution {
            outcome,
            iterations,
            residual,
            relative_residual,
            normal_residual: None,
            estimates: None,
        })
    }

    /// The outcome of the iterations that were taken, before the residual is known.
    fn ended(&self) -> Result<Outcome> {
        let rho = self.backend.download(&self.recurrence.state.numbers[0])?[0];
        match self.recurrence.state.check(&self.backend, rho) {
            Ok(()) | Err(Halt::Restart) => Ok(Outcome::IterationLimit),
            Err(Halt::Outcome(outcome)) => Ok(outcome),
            Err(Halt::Error(error)) => Err(error),
        }
    }

    /// `r ← b − A·x`.
    fn true_residual(
        &mut self,
        a: &M,
        b: ViewOf<'_, B, M::Scalar>,
        x: ViewOf<'_, B, M::Scalar>,
    ) -> Result<()> {
        let (one, zero) = (M::Scalar::one(), M::Scalar::zero());
        let vectors = &self.recurrence.state.vectors;
        vectors.axpby(one.into(), b, zero.into(), SpaceOf::<B>::view_mut(&mut self.r))?;
        self.plan.run(-one, a, x, one, SpaceOf::<B>::view_mut(&mut self.r))
    }
}
