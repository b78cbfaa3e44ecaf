//! The trait of vector operations that backends implement.

use super::conjugate_gradient::{self, GradientAdvance, GradientStep, GradientTurn};
use crate::backend::{Backend, Buf, SpaceOf, ViewMutOf, ViewOf};
use crate::error::Result;
use crate::format::DenseViewMut;
use crate::op::{CoefficientOf, RealOf};
use crate::scalar::{Accumulator, Scalar};
use crate::space::Space;

/// Operations on dense vectors: implemented by backends, called through the functions of this module. Vectors may be
/// empty.
pub trait VectorKernel<T: Scalar>: Backend {
    /// `y ← alpha·x + beta·y`; `beta == 0` does not read `y`, `alpha == 0` does not read `x`.
    ///
    /// # Errors
    /// An error of the device's runtime, as for all methods.
    ///
    /// # Safety
    /// `x` and `y` have one length; they and the single elements of the coefficients are in this backend's context.
    unsafe fn axpby(
        &self,
        alpha: CoefficientOf<'_, Self, T>,
        x: ViewOf<'_, Self, T>,
        beta: CoefficientOf<'_, Self, T>,
        y: ViewMutOf<'_, Self, T>,
    ) -> Result<()>;

    /// `Σ conj(x_i)·y_i`.
    ///
    /// # Errors
    /// As for [`axpby`](Self::axpby).
    ///
    /// # Safety
    /// As for [`axpby`](Self::axpby).
    unsafe fn dot(&self, x: ViewOf<'_, Self, T>, y: ViewOf<'_, Self, T>) -> Result<T::Acc>;

    /// `sqrt(Σ |x_i|²)`, without overflow or underflow on the way.
    ///
    /// # Errors
    /// As for [`axpby`](Self::axpby).
    ///
    /// # Safety
    /// `x` is in this backend's context.
    unsafe fn nrm2(&self, x: ViewOf<'_, Self, T>) -> Result<RealOf<T>>;

    /// `x ← alpha·x`; `alpha == 0` does not read `x`.
    ///
    /// # Errors
    /// As for [`axpby`](Self::axpby).
    ///
    /// # Safety
    /// `x` and the single elements of `alpha` are in this backend's context.
    unsafe fn scal(&self, alpha: CoefficientOf<'_, Self, T>, x: ViewMutOf<'_, Self, T>) -> Result<()>;

    /// `C ← beta·C`, element by element; padding stays; `beta == 0` does not read C.
    ///
    /// # Errors
    /// As for [`axpby`](Self::axpby).
    ///
    /// # Safety
    /// C is in this backend's context.
    unsafe fn scale_dense(&self, beta: T::Acc, c: DenseViewMut<'_, T, SpaceOf<Self>>) -> Result<()>;

    /// Allocates the reduction workspace of a [`VectorPlan`](super::VectorPlan) of vectors of `len` elements, at least
    /// one number, and loads the kernels if there are any.
    ///
    /// # Errors
    /// As for [`axpby`](Self::axpby).
    fn plan_vectors(&self, len: usize) -> Result<Buf<Self, T::Acc>> {
        let _ = len;
        self.upload(&[T::Acc::ZERO])
    }

    /// Computes [`dot`](Self::dot) into `result`. The default goes through the host; a device neither waits nor
    /// allocates.
    ///
    /// # Errors
    /// As for [`axpby`](Self::axpby).
    ///
    /// # Safety
    /// As for [`dot`](Self::dot); `workspace` was made by [`plan_vectors`](Self::plan_vectors) for at least this
    /// length, and `result` is a single element in this backend's context.
    unsafe fn dot_into(
        &self,
        workspace: &mut Buf<Self, T::Acc>,
        x: ViewOf<'_, Self, T>,
        y: ViewOf<'_, Self, T>,
        result: ViewMutOf<'_, Self, T::Acc>,
    ) -> Result<()> {
        let _ = workspace;
        // SAFETY: the caller promises the same.
        let dot = unsafe { self.dot(x, y)? };
        self.copy(SpaceOf::<Self>::view(&self.upload(&[dot])?), result)
    }

    /// Computes [`nrm2`](Self::nrm2) into `result`, as [`dot_into`](Self::dot_into) does.
    ///
    /// # Errors
    /// As for [`axpby`](Self::axpby).
    ///
    /// # Safety
    /// As for [`dot_into`](Self::dot_into).
    unsafe fn nrm2_into(
        &self,
        workspace: &mut Buf<Self, T::Acc>,
        x: ViewOf<'_, Self, T>,
        result: ViewMutOf<'_, Self, T::Acc>,
    ) -> Result<()> {
        let _ = workspace;
        // SAFETY: the caller promises the same.
        let norm = T::Acc::from_real(unsafe { self.nrm2(x)? });
        self.copy(SpaceOf::<Self>::view(&self.upload(&[norm])?), result)
    }

    /// The first half of a conjugate gradient step: `α = ρ / pᴴ·q, x ← x + α·p, r ← r − α·q`. Unless the real parts of
    /// ρ and pᴴ·q are positive normal numbers, x and r stay. Leaves ‖r‖², or −|ρ| if they stayed, in the workspace, for
    /// [`gradient_turn`](Self::gradient_turn). The default goes through the host; a device neither waits nor allocates.
    ///
    /// # Errors
    /// As for [`axpby`](Self::axpby).
    ///
    /// # Safety
    /// As for [`dot_into`](Self::dot_into), for all vectors and both numbers.
    unsafe fn gradient_advance(
        &self,
        workspace: &mut Buf<Self, T::Acc>,
        advance: GradientAdvance<'_, Self, T>,
    ) -> Result<()> {
        // SAFETY: the caller promises the same.
        unsafe { conjugate_gradient::advance_on_host(self, workspace, advance) }
    }

    /// The second half, after [`gradient_advance`](Self::gradient_advance): `ρ' = rᴴ·z, p ← z + (ρ'/ρ)·p`, where z is
    /// K⁻¹·r, and r without a preconditioner. If x and r stayed, p stays, too, and ρ' = −|ρ|. The default goes through
    /// the host; a device neither waits nor allocates.
    ///
    /// # Errors
    /// As for [`axpby`](Self::axpby).
    ///
    /// # Safety
    /// As for [`gradient_advance`](Self::gradient_advance).
    unsafe fn gradient_turn(
        &self,
        workspace: &mut Buf<Self, T::Acc>,
        turn: GradientTurn<'_, Self, T>,
    ) -> Result<()> {
        // SAFETY: the caller promises the same.
        unsafe { conjugate_gradient::turn_on_host(self, workspace, turn) }
    }
    /// Both halves without a preconditioner, by default one after the other.
    ///
    /// # Errors
    /// As for [`axpby`](Self::axpby).
    ///
    /// # Safety
    /// As for [`gradient_advance`](Self::gradient_advance).
    unsafe fn gradient_step(
        &self,
        workspace: &mut Buf<Self, T::Acc>,
        step: GradientStep<'_, Self, T>,
    ) -> Result<()> {
        // SAFETY: the caller promises the same.
        unsafe { conjugate_gradient::step_by_halves(self, workspace, step) }
    }
}
