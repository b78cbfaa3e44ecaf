//! The two halves of a step of conjugate gradients: their operands, and how a backend without kernels for them computes
//! them, by other vector operations and the host.

use super::VectorKernel;
use crate::backend::{Backend, Buf, SpaceOf, ViewMutOf, ViewOf};
use crate::error::Result;
use crate::op::{Coefficient, RealOf};
use crate::scalar::{Accumulator, Scalar, c64};
use crate::space::{Host, Space};
use num_traits::{Float, Zero};

/// The operands of the first half of a conjugate gradient step, after `q = A·p`.
#[derive(Debug)]
pub struct GradientAdvance<'a, B: Backend, T: Scalar> {
    /// A·p.
    pub q: ViewOf<'a, B, T>,
    /// The direction of this step.
    pub p: ViewOf<'a, B, T>,
    /// The iterate.
    pub x: ViewMutOf<'a, B, T>,
    /// The residual.
    pub r: ViewMutOf<'a, B, T>,
    /// ρ = rᴴ·z before the step, and ‖r‖², which is not read.
    pub numbers: ViewOf<'a, B, T::Acc>,
}

/// The operands of the second half of a conjugate gradient step, which makes the direction of the next.
#[derive(Debug)]
pub struct GradientTurn<'a, B: Backend, T: Scalar> {
    /// The residual after the first half.
    pub r: ViewOf<'a, B, T>,
    /// K⁻¹·r for the preconditioner K; none if K is the identity.
    pub z: Option<ViewOf<'a, B, T>>,
    /// The direction, replaced by that of the next step.
    pub p: ViewMutOf<'a, B, T>,
    /// The numbers of the first half.
    pub numbers: ViewOf<'a, B, T::Acc>,
    /// ρ' = rᴴ·z and ‖r‖² after the step. Both are −|ρ| if no step was taken.
    pub next: ViewMutOf<'a, B, T::Acc>,
}

/// The operands of a conjugate gradient step without a preconditioner, after `q = A·p`.
#[derive(Debug)]
pub struct GradientStep<'a, B: Backend, T: Scalar> {
    /// A·p.
    pub q: ViewOf<'a, B, T>,
    /// The direction, replaced by that of the next step.
    pub p: ViewMutOf<'a, B, T>,
    /// The iterate.
    pub x: ViewMutOf<'a, B, T>,
    /// The residual.
    pub r: ViewMutOf<'a, B, T>,
    /// ρ = ‖r‖² before the step, twice; the second is not read.
    pub numbers: ViewOf<'a, B, T::Acc>,
    /// ‖r‖² after the step, twice. Both are −|ρ| if no step was taken.
    pub next: ViewMutOf<'a, B, T::Acc>,
}

/// The default of [`VectorKernel::gradient_step`].
///
/// # Safety
/// As for that method.
pub(super) unsafe fn step_by_halves<B: VectorKernel<T>, T: Scalar>(
    backend: &B,
    workspace: &mut Buf<B, T::Acc>,
    step: GradientStep<'_, B, T>,
) -> Result<()> {
    let GradientStep { q, mut p, x, mut r, numbers, next } = step;
    // SAFETY: the caller promises the same of the operands.
    unsafe {
        let p = SpaceOf::<B>::as_shared::<T>(&p);
        advance::<B, T>(backend, workspace, q, p, x, SpaceOf::<B>::reborrow::<T>(&mut r), numbers)?;
    }
    let (r, p) = (SpaceOf::<B>::as_shared::<T>(&r), SpaceOf::<B>::reborrow::<T>(&mut p));
    // SAFETY: as above.
    unsafe { turn::<B, T>(backend, workspace, r, None, p, numbers, next) }
}

/// The default of [`VectorKernel::gradient_advance`].
///
/// # Safety
/// As for that method.
pub(super) unsafe fn advance_on_host<B: VectorKernel<T>, T: Scalar>(
    backend: &B,
    workspace: &mut Buf<B, T::Acc>,
    operands: GradientAdvance<'_, B, T>,
) -> Result<()> {
    let GradientAdvance { q, p, x, r, numbers } = operands;
    // SAFETY: the caller promises the same.
    unsafe { advance::<B, T>(backend, workspace, q, p, x, r, numbers) }
}

/// The first half, whose operands are those of [`GradientAdvance`], each with a lifetime of its own: a whole step
/// reborrows some of them.
///
/// # Safety
/// As for [`VectorKernel::gradient_advance`].
unsafe fn advance<B: VectorKernel<T>, T: Scalar>(
    backend: &B,
    workspace: &mut Buf<B, T::Acc>,
    q: ViewOf<'_, B, T>,
    p: ViewOf<'_, B, T>,
    mut x: ViewMutOf<'_, B, T>,
    mut r: ViewMutOf<'_, B, T>,
    numbers: ViewOf<'_, B, T::Acc>,
) -> Result<()> {
    let one = T::Acc::from_c64(c64::ONE);
    let rho = first_number::<B, T>(backend, numbers)?;
    // SAFETY: the caller promises the same of the operands.
    let squares = unsafe {
        let curvature = backend.dot(p, q)?;
        if is_positive_normal(rho) && is_positive_normal(curvature) {
            let alpha = quotient(rho, curvature);
            backend.axpby(alpha.into(), p, one.into(), SpaceOf::<B>::reborrow(&mut x))?;
            backend.axpby((-alpha).into(), q, one.into(), SpaceOf::<B>::reborrow(&mut r))?;
            let residual = SpaceOf::<B>::as_shared(&r);
            backend.dot(residual, residual)?
        } else {
            // Not a negation: no step at ρ = 0 leaves 0, not −0.
            T::Acc::from_real(RealOf::<T>::zero() - Accumulator::abs(rho.re()))
        }
    };
    let left = SpaceOf::<B>::slice_mut(SpaceOf::<B>::view_mut(workspace), 0..1);
    backend.copy(SpaceOf::<B>::view(&backend.upload(&[squares])?), left)
}

/// The default of [`VectorKernel::gradient_turn`].
///
/// # Safety
/// As for that method.
pub(super) unsafe fn turn_on_host<B: VectorKernel<T>, T: Scalar>(
    backend: &B,
    workspace: &mut Buf<B, T::Acc>,
    operands: GradientTurn<'_, B, T>,
) -> Result<()> {
    let GradientTurn { r, z, p, numbers, next } = operands;
    // SAFETY: the caller promises the same.
    unsafe { turn::<B, T>(backend, workspace, r, z, p, numbers, next) }
}

/// The second half, whose operands are those of [`GradientTurn`].
///
/// # Safety
/// As for [`VectorKernel::gradient_turn`].
unsafe fn turn<'a, B: VectorKernel<T>, T: Scalar>(
    backend: &B,
    workspace: &mut Buf<B, T::Acc>,
    r: ViewOf<'a, B, T>,
    z: Option<ViewOf<'a, B, T>>,
    p: ViewMutOf<'_, B, T>,
    numbers: ViewOf<'_, B, T::Acc>,
    next: ViewMutOf<'_, B, T::Acc>,
) -> Result<()> {
    let rho = first_number::<B, T>(backend, numbers)?;
    let left = SpaceOf::<B>::slice(SpaceOf::<B>::view(workspace), 0..1);
    let squares = first_number::<B, T>(backend, left)?;
    let is_not_negative = |number: T::Acc| number.re() >= RealOf::<T>::zero();
    let next_rho = match z {
        // SAFETY: the caller promises the same of the operands.
        Some(z) if is_not_negative(squares) => unsafe { backend.dot(r, z)? },
        _ => squares,
    };
    if is_positive_normal(rho) && is_not_negative(next_rho) {
        let one = T::Acc::from_c64(c64::ONE);
        // SAFETY: as above.
        unsafe { backend.axpby(one.into(), z.unwrap_or(r), quotient(next_rho, rho).into(), p)? };
    }
    backend.copy(SpaceOf::<B>::view(&backend.upload(&[next_rho, squares])?), next)
}

/// The first number of a view, on the host.
fn first_number<B: Backend, T: Scalar>(backend: &B, numbers: ViewOf<'_, B, T::Acc>) -> Result<T::Acc> {
    let mut first = [T::Acc::ZERO];
    backend.download_into(SpaceOf::<B>::slice(numbers, 0..1), &mut first)?;
    Ok(first[0])
}

/// True if the real part is positive, and neither subnormal nor infinite nor NaN.
fn is_positive_normal<A: Accumulator>(number: A) -> bool {
    number.re().is_normal() && number.re() > A::Real::zero()
}

fn quotient<A: Accumulator>(numerator: A, denominator: A) -> A {
    Coefficient::<Host, A>::from(numerator).over(&[denominator]).value()
}
