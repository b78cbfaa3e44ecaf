//! Vector operations: `axpby`, `dot`, `nrm2`, `scal`.
//!
//! The free functions check lengths and contexts and call the backend's [`VectorKernel`].

use super::RealOf;
use super::bound::{check_context, check_size};
use crate::backend::{Backend, SpaceOf, ViewMutOf, ViewOf};
use crate::error::Result;
use crate::format::DenseViewMut;
use crate::scalar::Scalar;
use crate::space::{View, ViewMut};

/// Implemented by backends, called through the functions of this module. Vectors may be empty.
pub trait VectorKernel<T: Scalar>: Backend {
    /// `y ← alpha·x + beta·y`; `beta == 0` does not read `y`, `alpha == 0` does not read `x`.
    ///
    /// # Errors
    /// What the device's runtime reports, as for all methods.
    ///
    /// # Safety
    /// `x` and `y` have one length and live in this backend's context.
    unsafe fn axpby(
        &self,
        alpha: T::Acc,
        x: ViewOf<'_, Self, T>,
        beta: T::Acc,
        y: ViewMutOf<'_, Self, T>,
    ) -> Result<()>;

    /// `Σ conj(x_i)·y_i`.
    ///
    /// # Errors
    /// As [`axpby`](Self::axpby).
    ///
    /// # Safety
    /// As [`axpby`](Self::axpby).
    unsafe fn dot(&self, x: ViewOf<'_, Self, T>, y: ViewOf<'_, Self, T>) -> Result<T::Acc>;

    /// `sqrt(Σ |x_i|²)`, without overflow or underflow on the way.
    ///
    /// # Errors
    /// As [`axpby`](Self::axpby).
    ///
    /// # Safety
    /// `x` lives in this backend's context.
    unsafe fn nrm2(&self, x: ViewOf<'_, Self, T>) -> Result<RealOf<T>>;

    /// `x ← alpha·x`; `alpha == 0` does not read `x`.
    ///
    /// # Errors
    /// As [`axpby`](Self::axpby).
    ///
    /// # Safety
    /// `x` lives in this backend's context.
    unsafe fn scal(&self, alpha: T::Acc, x: ViewMutOf<'_, Self, T>) -> Result<()>;

    /// `C ← beta·C`, element by element; padding stays; `beta == 0` does not read C.
    ///
    /// # Errors
    /// As [`axpby`](Self::axpby).
    ///
    /// # Safety
    /// C lives in this backend's context.
    unsafe fn scale_dense(&self, beta: T::Acc, c: DenseViewMut<'_, T, SpaceOf<Self>>) -> Result<()>;
}

/// `y ← alpha·x + beta·y`; `beta == 0` does not read `y`, `alpha == 0` does not read `x`.
///
/// # Errors
/// [`Shape`](crate::Error::Shape) if the lengths differ, [`WrongContext`](crate::Error::WrongContext) if an operand
/// lives elsewhere.
pub fn axpby<B: VectorKernel<T>, T: Scalar>(
    backend: &B,
    alpha: T::Acc,
    x: ViewOf<'_, B, T>,
    beta: T::Acc,
    y: ViewMutOf<'_, B, T>,
) -> Result<()> {
    check_size("axpby", "the length of y", x.len(), y.len())?;
    check_context("axpby", "x", backend.context(), x.context())?;
    check_context("axpby", "y", backend.context(), y.context())?;
    // SAFETY: lengths and contexts were checked.
    unsafe { backend.axpby(alpha, x, beta, y) }
}

/// `Σ conj(x_i)·y_i`.
///
/// # Errors
/// As [`axpby`].
pub fn dot<B: VectorKernel<T>, T: Scalar>(
    backend: &B,
    x: ViewOf<'_, B, T>,
    y: ViewOf<'_, B, T>,
) -> Result<T::Acc> {
    check_size("dot", "the length of y", x.len(), y.len())?;
    check_context("dot", "x", backend.context(), x.context())?;
    check_context("dot", "y", backend.context(), y.context())?;
    // SAFETY: lengths and contexts were checked.
    unsafe { backend.dot(x, y) }
}

/// `sqrt(Σ |x_i|²)`, without overflow or underflow on the way.
///
/// # Errors
/// [`WrongContext`](crate::Error::WrongContext) if `x` lives elsewhere.
pub fn nrm2<B: VectorKernel<T>, T: Scalar>(backend: &B, x: ViewOf<'_, B, T>) -> Result<RealOf<T>> {
    check_context("nrm2", "x", backend.context(), x.context())?;
    // SAFETY: the context was checked.
    unsafe { backend.nrm2(x) }
}

/// `x ← alpha·x`; `alpha == 0` writes zeros and does not read `x`.
///
/// # Errors
/// [`WrongContext`](crate::Error::WrongContext) if `x` lives elsewhere.
pub fn scal<B: VectorKernel<T>, T: Scalar>(backend: &B, alpha: T::Acc, x: ViewMutOf<'_, B, T>) -> Result<()> {
    check_context("scal", "x", backend.context(), x.context())?;
    // SAFETY: the context was checked.
    unsafe { backend.scal(alpha, x) }
}
