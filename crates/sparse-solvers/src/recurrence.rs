//! The part of a Krylov method that is its own: the step from one iterate to the next.

use crate::norms::{divide, to_f64};
use crate::outcome::{Halt, SolverOptions};
use num_traits::{One, Zero};
#[cfg(doc)]
use sparse_core::Error;
use sparse_core::backend::{Buf, SpaceOf, ViewMutOf, ViewOf};
use sparse_core::op::vector::{axpby, dot, nrm2};
use sparse_core::op::{RealOf, SpmvKernel, SpmvPlan, VectorKernel};
use sparse_core::{Accumulator, Result, Space, SparseFormat};
use std::fmt::Debug;

/// A Krylov method: the step from one iterate to the next.
pub trait Recurrence<B, M>: Debug + Sized
where
    B: SpmvKernel<M> + VectorKernel<M::Scalar>,
    M: SparseFormat<Space = SpaceOf<B>, Scalar: Accumulator>,
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

    /// The preconditioner.
    fn preconditioner_mut(&mut self) -> &mut Self::Preconditioner;

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
    M: SparseFormat<Space = SpaceOf<B>, Scalar: Accumulator>,
{
    pub(crate) backend: &'a B,
    pub(crate) plan: &'a mut SpmvPlan<B, M>,
    pub(crate) a: &'a M,
    pub(crate) x: ViewMutOf<'a, B, M::Scalar>,
    pub(crate) scale: RealOf<M::Scalar>,
    pub(crate) norm: RealOf<M::Scalar>,
}

impl<'a, B, M> Iterate<'a, B, M>
where
    B: SpmvKernel<M> + VectorKernel<M::Scalar>,
    M: SparseFormat<Space = SpaceOf<B>, Scalar: Accumulator>,
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
    pub(crate) fn true_residual(
        &mut self,
        b: ViewOf<'_, B, M::Scalar>,
        r: &mut Buf<B, M::Scalar>,
    ) -> Result<f64> {
        let one = M::Scalar::one();
        self.backend.copy::<M::Scalar>(b, SpaceOf::<B>::view_mut(r))?;
        let x = SpaceOf::<B>::as_shared::<M::Scalar>(&self.x);
        self.plan.run(-one, self.a, x, one, SpaceOf::<B>::view_mut(r))?;
        self.scale = self.norm(SpaceOf::<B>::view(r))?;
        Ok(to_f64(self.scale))
    }

    /// Divides the true residual by its norm.
    pub(crate) fn normalize(&mut self, r: &mut Buf<B, M::Scalar>) -> Result<()> {
        self.norm = RealOf::<M::Scalar>::one();
        divide::<B, M::Scalar>(self.backend, r, self.scale)
    }
}
