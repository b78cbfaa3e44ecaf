//! Vector operations: `axpby`, `dot`, `nrm2`, `scal`.
//!
//! The free functions take and return numbers of the host, and wait for a device; a [`VectorPlan`] leaves them in the
//! backend's memory. Both check lengths and contexts and call the backend's [`VectorKernel`].

use super::checks::{check_context, check_size};
use super::{Coefficient, CoefficientOf, RealOf};
use crate::backend::{Backend, Buf, SpaceOf, ViewMutOf, ViewOf};
use crate::error::Result;
use crate::format::DenseViewMut;
use crate::scalar::{Accumulator, Scalar, c64};
use crate::space::{ContextId, Host, Space, View, ViewMut};
use num_traits::{Float, Zero};

/// Operations on dense vectors: implemented by backends, called through the functions of this module. Vectors may be
/// empty.
pub trait VectorKernel<T: Scalar>: Backend {
    /// `y ← alpha·x + beta·y`; `beta == 0` does not read `y`, `alpha == 0` does not read `x`.
    ///
    /// # Errors
    /// An error of the device's runtime, as for all methods.
    ///
    /// # Safety
    /// `x` and `y` have one length; they and the single elements of the coefficients live in this backend's context.
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
    /// `x` lives in this backend's context.
    unsafe fn nrm2(&self, x: ViewOf<'_, Self, T>) -> Result<RealOf<T>>;

    /// `x ← alpha·x`; `alpha == 0` does not read `x`.
    ///
    /// # Errors
    /// As for [`axpby`](Self::axpby).
    ///
    /// # Safety
    /// `x` and the single elements of `alpha` live in this backend's context.
    unsafe fn scal(&self, alpha: CoefficientOf<'_, Self, T>, x: ViewMutOf<'_, Self, T>) -> Result<()>;

    /// `C ← beta·C`, element by element; padding stays; `beta == 0` does not read C.
    ///
    /// # Errors
    /// As for [`axpby`](Self::axpby).
    ///
    /// # Safety
    /// C lives in this backend's context.
    unsafe fn scale_dense(&self, beta: T::Acc, c: DenseViewMut<'_, T, SpaceOf<Self>>) -> Result<()>;

    /// Allocates the reduction workspace of a [`VectorPlan`] of vectors of `len` elements, at least one number, and
    /// loads the kernels if there are any.
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
        let GradientAdvance { q, p, mut x, mut r, numbers } = advance;
        let one = T::Acc::from_c64(c64::ONE);
        let rho = first_number::<Self, T>(self, numbers)?;
        // SAFETY: the caller promises the same of the operands.
        let squares = unsafe {
            let curvature = self.dot(p, q)?;
            if is_positive_normal(rho) && is_positive_normal(curvature) {
                let alpha = quotient(rho, curvature);
                self.axpby(alpha.into(), p, one.into(), SpaceOf::<Self>::reborrow(&mut x))?;
                self.axpby((-alpha).into(), q, one.into(), SpaceOf::<Self>::reborrow(&mut r))?;
                let residual = SpaceOf::<Self>::as_shared(&r);
                self.dot(residual, residual)?
            } else {
                // Not a negation: no step at ρ = 0 leaves 0, not −0.
                T::Acc::from_real(RealOf::<T>::zero() - Accumulator::abs(rho.re()))
            }
        };
        let left = SpaceOf::<Self>::slice_mut(SpaceOf::<Self>::view_mut(workspace), 0..1);
        self.copy(SpaceOf::<Self>::view(&self.upload(&[squares])?), left)
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
        let GradientTurn { r, z, p, numbers, next } = turn;
        let rho = first_number::<Self, T>(self, numbers)?;
        let left = SpaceOf::<Self>::slice(SpaceOf::<Self>::view(workspace), 0..1);
        let squares = first_number::<Self, T>(self, left)?;
        let is_not_negative = |number: T::Acc| number.re() >= RealOf::<T>::zero();
        let next_rho = match z {
            // SAFETY: the caller promises the same of the operands.
            Some(z) if is_not_negative(squares) => unsafe { self.dot(r, z)? },
            _ => squares,
        };
        if is_positive_normal(rho) && is_not_negative(next_rho) {
            let one = T::Acc::from_c64(c64::ONE);
            // SAFETY: as above.
            unsafe { self.axpby(one.into(), z.unwrap_or(r), quotient(next_rho, rho).into(), p)? };
        }
        self.copy(SpaceOf::<Self>::view(&self.upload(&[next_rho, squares])?), next)
    }
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

/// Vector operations whose scalars are in the memory of the backend: a reduction writes a buffer of one element, and
/// [`Coefficient`]s read such elements.
///
/// On a device no operation waits for the host or allocates, so that a whole iteration of a solver can be enqueued at
/// once, or recorded in a CUDA graph. A reduction gives the same bits on every run. `α = ρ / pᴴ·q, x ← x + α·p`:
///
/// ```
/// use sparse_core::op::{Coefficient, vector::VectorPlan};
/// use sparse_core::reference::Reference;
///
/// let (p, q, rho) = ([3.0, 1.0], [2.0, 2.0], [4.0]);
/// let (mut x, mut curvature) = ([1.0, 1.0], [0.0]);
/// let mut plan = VectorPlan::<_, f64>::new(&Reference, 2)?;
/// plan.dot(&p, &q, &mut curvature)?;
/// plan.axpby(Coefficient::from(1.0).times(&rho[..]).over(&curvature[..]), &p, 1.0.into(), &mut x)?;
/// assert_eq!(x, [2.5, 1.5]);
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug)]
pub struct VectorPlan<B: VectorKernel<T>, T: Scalar> {
    backend: B,
    len: usize,
    workspace: Buf<B, T::Acc>,
}

impl<B: VectorKernel<T>, T: Scalar> VectorPlan<B, T> {
    /// A plan for vectors of `len` elements.
    ///
    /// # Errors
    /// Those of [`VectorKernel::plan_vectors`].
    pub fn new(backend: &B, len: usize) -> Result<Self> {
        Ok(Self { backend: backend.clone(), len, workspace: backend.plan_vectors(len)? })
    }

    /// `y ← alpha·x + beta·y`; `y` is not read if `beta` is zero, nor `x` if `alpha` is.
    ///
    /// ```
    /// use sparse_core::{op::VectorPlan, reference::Reference};
    ///
    /// let plan = VectorPlan::<_, f64>::new(&Reference, 2)?;
    /// let mut y = [1.0, 1.0];
    /// plan.axpby(2.0.into(), &[10.0, 20.0], 1.0.into(), &mut y)?;
    /// assert_eq!(y, [21.0, 41.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](crate::Error::Shape) if a vector has another length than the plan, or a coefficient not one element;
    /// [`WrongContext`](crate::Error::WrongContext) if an operand lives elsewhere.
    pub fn axpby(
        &self,
        alpha: CoefficientOf<'_, B, T>,
        x: ViewOf<'_, B, T>,
        beta: CoefficientOf<'_, B, T>,
        y: ViewMutOf<'_, B, T>,
    ) -> Result<()> {
        self.check("axpby", "x", self.len, (x.len(), x.context()))?;
        self.check("axpby", "y", self.len, (y.len(), y.context()))?;
        alpha.check("axpby", &self.backend)?;
        beta.check("axpby", &self.backend)?;
        // SAFETY: lengths and contexts were checked.
        unsafe { self.backend.axpby(alpha, x, beta, y) }
    }

    /// `x ← alpha·x`; `x` is not read if `alpha` is zero.
    ///
    /// ```
    /// use sparse_core::{op::{Coefficient, VectorPlan}, reference::Reference};
    ///
    /// let plan = VectorPlan::<_, f64>::new(&Reference, 2)?;
    /// let (mut x, norm) = ([3.0, 4.0], [2.0]);
    /// plan.scal(Coefficient::from(1.0).over(&norm[..]), &mut x)?;
    /// assert_eq!(x, [1.5, 2.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`axpby`](Self::axpby).
    pub fn scal(&self, alpha: CoefficientOf<'_, B, T>, x: ViewMutOf<'_, B, T>) -> Result<()> {
        self.check("scal", "x", self.len, (x.len(), x.context()))?;
        alpha.check("scal", &self.backend)?;
        // SAFETY: lengths and contexts were checked.
        unsafe { self.backend.scal(alpha, x) }
    }

    /// `Σ conj(x_i)·y_i` into `result`.
    ///
    /// ```
    /// use sparse_core::{op::VectorPlan, reference::Reference};
    ///
    /// let mut plan = VectorPlan::<_, f64>::new(&Reference, 2)?;
    /// let mut result = [0.0];
    /// plan.dot(&[1.0, 2.0], &[3.0, 4.0], &mut result)?;
    /// assert_eq!(result, [11.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](crate::Error::Shape) if a vector has another length than the plan, or `result` not one element;
    /// [`WrongContext`](crate::Error::WrongContext) if an operand lives elsewhere.
    pub fn dot(
        &mut self,
        x: ViewOf<'_, B, T>,
        y: ViewOf<'_, B, T>,
        result: ViewMutOf<'_, B, T::Acc>,
    ) -> Result<()> {
        self.check("dot", "x", self.len, (x.len(), x.context()))?;
        self.check("dot", "y", self.len, (y.len(), y.context()))?;
        self.check("dot", "the result", 1, (result.len(), result.context()))?;
        // SAFETY: lengths and contexts were checked; the workspace was made for this length.
        unsafe { self.backend.dot_into(&mut self.workspace, x, y, result) }
    }

    /// `sqrt(Σ |x_i|²)` into `result`, without overflow or underflow on the way.
    ///
    /// ```
    /// use sparse_core::{op::VectorPlan, reference::Reference};
    ///
    /// let mut plan = VectorPlan::<_, f64>::new(&Reference, 2)?;
    /// let mut result = [0.0];
    /// plan.nrm2(&[3.0, 4.0], &mut result)?;
    /// assert_eq!(result, [5.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`dot`](Self::dot).
    pub fn nrm2(&mut self, x: ViewOf<'_, B, T>, result: ViewMutOf<'_, B, T::Acc>) -> Result<()> {
        self.check("nrm2", "x", self.len, (x.len(), x.context()))?;
        self.check("nrm2", "the result", 1, (result.len(), result.context()))?;
        // SAFETY: lengths and contexts were checked; the workspace was made for this length.
        unsafe { self.backend.nrm2_into(&mut self.workspace, x, result) }
    }

    /// `α = ρ / pᴴ·q, x ← x + α·p, r ← r − α·q`: the first half of an iteration of conjugate gradients, between its
    /// product with A and its preconditioner. Unless the real parts of ρ and pᴴ·q are positive normal numbers, x and r
    /// stay, so that an iteration that has converged, or cannot go on, stays where it is. A device takes two launches.
    ///
    /// ```
    /// use sparse_core::op::{GradientAdvance, GradientTurn, VectorPlan};
    /// use sparse_core::reference::Reference;
    ///
    /// // One step for A = 2·I, K = I and b = (2, 4) from x = 0, so that r = p = b and q = 2·b; ρ = rᴴ·r = 20.
    /// let (q, numbers) = ([4.0, 8.0], [20.0, 20.0]);
    /// let (mut p, mut x, mut r, mut next) = ([2.0, 4.0], [0.0; 2], [2.0, 4.0], [0.0; 2]);
    /// let mut plan = VectorPlan::<_, f64>::new(&Reference, 2)?;
    /// plan.gradient_advance(GradientAdvance { q: &q, p: &p, x: &mut x, r: &mut r, numbers: &numbers })?;
    /// plan.gradient_turn(GradientTurn { r: &r, z: None, p: &mut p, numbers: &numbers, next: &mut next })?;
    /// assert_eq!((x, next), ([1.0, 2.0], [0.0; 2])); // it has arrived
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](crate::Error::Shape) if a vector has another length than the plan, or the numbers are not two;
    /// [`WrongContext`](crate::Error::WrongContext) if an operand lives elsewhere.
    pub fn gradient_advance(&mut self, advance: GradientAdvance<'_, B, T>) -> Result<()> {
        let op = "gradient_advance";
        self.check(op, "q", self.len, (advance.q.len(), advance.q.context()))?;
        self.check(op, "p", self.len, (advance.p.len(), advance.p.context()))?;
        self.check(op, "x", self.len, (advance.x.len(), advance.x.context()))?;
        self.check(op, "r", self.len, (advance.r.len(), advance.r.context()))?;
        self.check(op, "the numbers", 2, (advance.numbers.len(), advance.numbers.context()))?;
        // SAFETY: lengths and contexts were checked; the workspace was made for this length.
        unsafe { self.backend.gradient_advance(&mut self.workspace, advance) }
    }

    /// `ρ' = rᴴ·z, p ← z + (ρ'/ρ)·p`: the second half, right after [`gradient_advance`](Self::gradient_advance) of
    /// this plan. z is K⁻¹·r for a preconditioner K, and r if none is given. If x and r stayed, p stays, too, and ρ'
    /// and ‖r‖² become −|ρ|. A device takes one launch, with z two.
    ///
    /// # Errors
    /// As for [`gradient_advance`](Self::gradient_advance).
    pub fn gradient_turn(&mut self, turn: GradientTurn<'_, B, T>) -> Result<()> {
        let op = "gradient_turn";
        self.check(op, "r", self.len, (turn.r.len(), turn.r.context()))?;
        if let Some(z) = turn.z {
            self.check(op, "z", self.len, (z.len(), z.context()))?;
        }
        self.check(op, "p", self.len, (turn.p.len(), turn.p.context()))?;
        self.check(op, "the numbers", 2, (turn.numbers.len(), turn.numbers.context()))?;
        self.check(op, "the next numbers", 2, (turn.next.len(), turn.next.context()))?;
        // SAFETY: lengths and contexts were checked; the workspace was made for this length, whatever sums are in it.
        unsafe { self.backend.gradient_turn(&mut self.workspace, turn) }
    }

    /// An error unless an operand has `len` elements in the backend's context.
    fn check(
        &self,
        op: &'static str,
        operand: &'static str,
        len: usize,
        (found, context): (usize, ContextId),
    ) -> Result<()> {
        check_size(op, &format!("the length of {operand}"), len, found)?;
        check_context(op, operand, self.backend.context(), context)
    }
}

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
/// [`WrongContext`](crate::Error::WrongContext) if `x` lives elsewhere.
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
/// [`WrongContext`](crate::Error::WrongContext) if `x` lives elsewhere.
pub fn scal<B: VectorKernel<T>, T: Scalar>(backend: &B, alpha: T::Acc, x: ViewMutOf<'_, B, T>) -> Result<()> {
    check_context("scal", "x", backend.context(), x.context())?;
    // SAFETY: the context was checked.
    unsafe { backend.scal(Coefficient::from(alpha), x) }
}
