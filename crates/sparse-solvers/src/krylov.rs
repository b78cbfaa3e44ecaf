//! The common part of all methods: the system, the iterate, and the iteration from one true residual to the next.

use crate::outcome::{Breakdown, Halt, Iteration, Outcome, Solution, SolverOptions};
use crate::preconditioner::check_square;
use crate::progress::{Ended, Progress};
use num_traits::{Float, One, Zero};
use sparse_core::backend::{Buf, SpaceOf, ViewMutOf, ViewOf};
use sparse_core::op::vector::{axpby, dot, nrm2, scal};
use sparse_core::op::{Op, RealOf, SpmvKernel, SpmvPlan, VectorKernel};
use sparse_core::space::{View, ViewMut};
use sparse_core::{Accumulator, Choice, Error, Result, Scalar, Space, SparseFormat};
use std::fmt::Debug;
use std::ops::ControlFlow;

/// A Krylov method: the step from one iterate to the next.
pub trait Recurrence<B, M>: Debug + Sized
where
    B: SpmvKernel<M> + VectorKernel<M::Scalar>,
    M: SparseFormat<Space = SpaceOf<B>>,
    M::Scalar: Accumulator,
{
    /// The type of the preconditioner.
    type Preconditioner;
    /// The method's name in errors.
    const NAME: &'static str;

    /// Allocates the vectors of the method for a matrix of order `n`.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Unsupported`](Error::Unsupported) for an option out of its range, or an
    /// error of the device's runtime.
    fn new(
        backend: &B,
        n: usize,
        preconditioner: Self::Preconditioner,
        options: &SolverOptions,
    ) -> Result<Self>;

    /// Starts the recurrence: `r` is the true residual, divided by its norm.
    ///
    /// # Errors
    /// An error of the device's runtime.
    fn start(&mut self, at: &Iterate<'_, B, M>, r: &Buf<B, M::Scalar>) -> Result<()>;

    /// Takes from 1 to `most` iterations, after which the residual is checked: advances x and updates `r`, which is not
    /// zero, unless [`finish`](Self::finish) and [`residual_norm`](Self::residual_norm) make up for it. Returns their
    /// number.
    ///
    /// # Errors
    /// [`Halt::Outcome`] if that cannot be done, [`Halt::Restart`] if it has to start again first, [`Halt::Error`] with
    /// an error of the device's runtime.
    fn step(
        &mut self,
        at: &mut Iterate<'_, B, M>,
        r: &mut Buf<B, M::Scalar>,
        most: usize,
    ) -> Result<usize, Halt>;

    /// ‖r‖₂ of the residual of the recurrence after the last step; by default that of `r`.
    ///
    /// # Errors
    /// An error of the device's runtime.
    fn residual_norm(&self, at: &Iterate<'_, B, M>, r: &Buf<B, M::Scalar>) -> Result<RealOf<M::Scalar>> {
        at.norm(SpaceOf::<B>::view(r))
    }

    /// Brings x up to date with the iterations, if that was postponed. Returns the number of iterations that were
    /// taken beyond those of the last step.
    ///
    /// # Errors
    /// An error of the device's runtime.
    fn finish(&mut self, at: &mut Iterate<'_, B, M>) -> Result<usize> {
        let _ = at;
        Ok(0)
    }
}

/// The state of a solver and its operands.
///
/// Residuals and directions are divided by the norm of the true residual at the last start, so that no inner product
/// leaves the range of numbers only because b is large or small.
#[derive(Debug)]
pub struct Iterate<'a, B, M>
where
    B: SpmvKernel<M> + VectorKernel<M::Scalar>,
    M: SparseFormat<Space = SpaceOf<B>>,
    M::Scalar: Accumulator,
{
    backend: &'a B,
    plan: &'a mut SpmvPlan<B, M>,
    a: &'a M,
    x: ViewMutOf<'a, B, M::Scalar>,
    scale: RealOf<M::Scalar>,
    norm: RealOf<M::Scalar>,
}

impl<'a, B, M> Iterate<'a, B, M>
where
    B: SpmvKernel<M> + VectorKernel<M::Scalar>,
    M: SparseFormat<Space = SpaceOf<B>>,
    M::Scalar: Accumulator,
{
    /// The backend that computes.
    pub fn backend(&self) -> &'a B {
        self.backend
    }

    /// ‖r‖₂ of the residual of the recurrence, after the last step.
    pub fn residual_norm(&self) -> RealOf<M::Scalar> {
        self.norm
    }

    /// `image ← A·direction`.
    ///
    /// # Errors
    /// An error of the device's runtime, as for all methods.
    pub fn multiply(
        &mut self,
        direction: ViewOf<'_, B, M::Scalar>,
        image: &mut Buf<B, M::Scalar>,
    ) -> Result<()> {
        let (one, zero) = (M::Scalar::one(), M::Scalar::zero());
        self.plan.run(one, self.a, direction, zero, SpaceOf::<B>::view_mut(image))
    }

    /// Moves x by `alpha·direction`.
    ///
    /// # Errors
    /// As for [`multiply`](Self::multiply).
    pub fn advance(&mut self, alpha: M::Scalar, direction: ViewOf<'_, B, M::Scalar>) -> Result<()> {
        let alpha = alpha * M::Scalar::from_real(self.scale);
        let x = SpaceOf::<B>::reborrow::<M::Scalar>(&mut self.x);
        axpby::<B, M::Scalar>(self.backend, alpha, direction, M::Scalar::one(), x)
    }

    /// `y ← alpha·x + beta·y`; `beta == 0` does not read `y`.
    ///
    /// # Errors
    /// As for [`multiply`](Self::multiply).
    pub fn axpby(
        &self,
        alpha: M::Scalar,
        x: ViewOf<'_, B, M::Scalar>,
        beta: M::Scalar,
        y: &mut Buf<B, M::Scalar>,
    ) -> Result<()> {
        axpby::<B, M::Scalar>(self.backend, alpha, x, beta, SpaceOf::<B>::view_mut(y))
    }

    /// `xᴴ·y`.
    ///
    /// # Errors
    /// As for [`multiply`](Self::multiply).
    pub fn dot(&self, x: ViewOf<'_, B, M::Scalar>, y: ViewOf<'_, B, M::Scalar>) -> Result<M::Scalar> {
        dot::<B, M::Scalar>(self.backend, x, y)
    }

    /// ‖x‖₂.
    ///
    /// # Errors
    /// As for [`multiply`](Self::multiply).
    pub fn norm(&self, x: ViewOf<'_, B, M::Scalar>) -> Result<RealOf<M::Scalar>> {
        nrm2::<B, M::Scalar>(self.backend, x)
    }

    /// `r ← b − A·x`; returns its norm.
    fn true_residual(&mut self, b: ViewOf<'_, B, M::Scalar>, r: &mut Buf<B, M::Scalar>) -> Result<f64> {
        let one = M::Scalar::one();
        self.backend.copy::<M::Scalar>(b, SpaceOf::<B>::view_mut(r))?;
        let x = SpaceOf::<B>::as_shared::<M::Scalar>(&self.x);
        self.plan.run(-one, self.a, x, one, SpaceOf::<B>::view_mut(r))?;
        self.scale = self.norm(SpaceOf::<B>::view(r))?;
        Ok(to_f64(self.scale))
    }

    /// Divides the true residual by its norm.
    fn normalize(&mut self, r: &mut Buf<B, M::Scalar>) -> Result<()> {
        self.norm = RealOf::<M::Scalar>::one();
        divide::<B, M::Scalar>(self.backend, r, self.scale)
    }
}

/// Divides `x` by `norm`, a positive number; by its square root twice, where 1 / `norm` is too large for the type.
pub(crate) fn divide<B: VectorKernel<T>, T: Accumulator>(
    backend: &B,
    x: &mut Buf<B, T>,
    norm: RealOf<T>,
) -> Result<()> {
    let (factor, times) = match norm.recip() {
        factor if Float::is_finite(factor) => (factor, 1),
        _ => (norm.sqrt().recip(), 2),
    };
    (0..times).try_for_each(|_| scal::<B, T>(backend, T::from_real(factor), SpaceOf::<B>::view_mut(x)))
}

pub(crate) fn to_f64(real: impl Scalar) -> f64 {
    real.to_c64().re
}

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
    M: SparseFormat<Space = SpaceOf<B>>,
    M::Scalar: Accumulator,
    R: Recurrence<B, M>,
{
    /// Plans the product with `a` and allocates all vectors.
    ///
    /// ```
    /// use sparse_core::reference::Reference;
    /// use sparse_solvers::{Cg, Identity, SolverOptions};
    ///
    /// let a = sparse_generate::stencil_5::<f64>(4, 4)?;
    /// assert!(Cg::new(&Reference, &a, Identity, &SolverOptions { tolerance: 1e-6, ..SolverOptions::default() }).is_ok());
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
        check_square(R::NAME, a)?;
        check_tolerance("a tolerance", options.tolerance)?;
        let order = a.nrows();
        Ok(Self {
            backend: backend.clone(),
            plan: SpmvPlan::new(backend, a, Op::None, &options.plan)?,
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

/// An error if `value` is negative or not a number.
pub(crate) fn check_tolerance(option: &str, value: f64) -> Result<()> {
    if value >= 0.0 {
        return Ok(());
    }
    Err(Error::unsupported(format_args!("{option} of {value}"), "it must be at least 0"))
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
    M: SparseFormat<Space = SpaceOf<B>>,
    M::Scalar: Accumulator,
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

/// Counts the iterations and passes them to the callback.
pub(crate) struct Watch<F> {
    pub(crate) iterations: usize,
    pub(crate) limit: usize,
    pub(crate) norm_b: f64,
    pub(crate) callback: F,
}

impl<F: FnMut(Iteration) -> ControlFlow<()>> Watch<F> {
    pub(crate) fn see(&mut self, taken: usize, claimed: f64) -> Result<(), Outcome> {
        self.iterations += taken;
        let iteration = Iteration { number: self.iterations, relative_residual: claimed / self.norm_b };
        if (self.callback)(iteration).is_break() {
            return Err(Outcome::Stopped);
        }
        if !claimed.is_finite() {
            return Err(Breakdown::NotFinite { quantity: "‖r‖" }.into());
        }
        Ok(())
    }
}
