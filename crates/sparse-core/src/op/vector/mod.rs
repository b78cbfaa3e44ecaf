//! Vector operations: `axpby`, `dot`, `nrm2`, `scal`.
//!
//! The free functions take and return numbers of the host, and wait for a device; a [`VectorPlan`] leaves them in the
//! backend's memory. Both check lengths and contexts and call the backend's [`VectorKernel`].

mod conjugate_gradient;
mod kernel;
mod plan;

pub use conjugate_gradient::{GradientAdvance, GradientStep, GradientTurn};
pub use kernel::VectorKernel;
pub use plan::VectorPlan;

use super::{Coefficient, RealOf};
use crate::backend::{ViewMutOf, ViewOf};
use crate::checks::{check_context, check_size};
use crate::error::Result;
use crate::scalar::Scalar;
use crate::space::{View, ViewMut};

/// `y ← alpha·x + beta·y`; `beta == 0` does not read `y`, `alpha == 0` does not read `x`.
///
/// ```
/// use sparse_core::{op::vector::axpby, reference::Reference};
///
/// let mut y = [1.0, 1.0];
/// axpby::<_, f64>(&Reference, 2.0, &[10.0, 20.0], 1.0, &mut y)?;
/// assert_eq!(y, [21.0, 41.0]);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`Shape`](crate::Error::Shape) if the lengths differ, [`WrongContext`](crate::Error::WrongContext) if an operand is
/// in another context.
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
    unsafe { backend.axpby(Coefficient::from(alpha), x, Coefficient::from(beta), y) }
}

/// `Σ conj(x_i)·y_i`.
///
/// ```
/// use sparse_core::{c64, op::vector::dot, reference::Reference};
///
/// let x = [c64::new(0.0, 1.0)];
/// assert_eq!(dot::<_, c64>(&Reference, &x, &x)?, c64::new(1.0, 0.0)); // x is conjugated
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// As for [`axpby`].
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
/// ```
/// use sparse_core::{op::vector::nrm2, reference::Reference};
///
/// let norm = nrm2::<_, f64>(&Reference, &[3e200, 4e200])?; // the squares would overflow
/// assert!((norm / 5e200 - 1.0).abs() < 1e-15);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`WrongContext`](crate::Error::WrongContext) if `x` is in another context.
pub fn nrm2<B: VectorKernel<T>, T: Scalar>(backend: &B, x: ViewOf<'_, B, T>) -> Result<RealOf<T>> {
    check_context("nrm2", "x", backend.context(), x.context())?;
    // SAFETY: the context was checked.
    unsafe { backend.nrm2(x) }
}

/// `x ← alpha·x`; `alpha == 0` writes zeros and does not read `x`.
///
/// ```
/// use sparse_core::{op::vector::scal, reference::Reference};
///
/// let mut x = [1.0, f64::NAN];
/// scal::<_, f64>(&Reference, 0.0, &mut x)?;
/// assert_eq!(x, [0.0, 0.0]);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`WrongContext`](crate::Error::WrongContext) if `x` is in another context.
pub fn scal<B: VectorKernel<T>, T: Scalar>(backend: &B, alpha: T::Acc, x: ViewMutOf<'_, B, T>) -> Result<()> {
    check_context("scal", "x", backend.context(), x.context())?;
    // SAFETY: the context was checked.
    unsafe { backend.scal(Coefficient::from(alpha), x) }
}
