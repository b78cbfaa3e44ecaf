//! Vector operations that leave their numbers in the backend's memory.

use super::{GradientAdvance, GradientStep, GradientTurn, VectorKernel};
use crate::backend::{Buf, ViewMutOf, ViewOf};
use crate::checks::{check_context, check_size};
use crate::error::Result;
use crate::op::CoefficientOf;
use crate::scalar::Scalar;
use crate::space::{ContextId, View, ViewMut};

/// Vector operations whose scalars are in the memory of the backend: a reduction writes a buffer of one element, and
/// [`Coefficient`](crate::op::Coefficient)s read such elements.
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
    /// [`WrongContext`](crate::Error::WrongContext) if an operand is in another context.
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
    /// [`WrongContext`](crate::Error::WrongContext) if an operand is in another context.
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
    /// [`WrongContext`](crate::Error::WrongContext) if an operand is in another context.
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
        // SAFETY: lengths and contexts were checked; the workspace, with any contents, was made for this length.
        unsafe { self.backend.gradient_turn(&mut self.workspace, turn) }
    }

    /// Both halves of an iteration without a preconditioner: `α = ρ / pᴴ·q, x ← x + α·p, r ← r − α·q, ρ' = ‖r‖²,
    /// p ← r + (ρ'/ρ)·p`, with the results of [`gradient_advance`](Self::gradient_advance) and
    /// [`gradient_turn`](Self::gradient_turn) up to rounding. A device takes at most three launches.
    ///
    /// ```
    /// use sparse_core::op::{GradientStep, VectorPlan};
    /// use sparse_core::reference::Reference;
    ///
    /// // One step for A = 2·I and b = (2, 4) from x = 0, so that r = p = b and q = 2·b; ρ = ‖r‖² = 20.
    /// let (q, numbers) = ([4.0, 8.0], [20.0, 20.0]);
    /// let (mut p, mut x, mut r, mut next) = ([2.0, 4.0], [0.0; 2], [2.0, 4.0], [0.0; 2]);
    /// let mut plan = VectorPlan::<_, f64>::new(&Reference, 2)?;
    /// plan.gradient_step(GradientStep {
    ///     q: &q,
    ///     p: &mut p,
    ///     x: &mut x,
    ///     r: &mut r,
    ///     numbers: &numbers,
    ///     next: &mut next,
    /// })?;
    /// assert_eq!((x, next), ([1.0, 2.0], [0.0; 2])); // it has arrived
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`gradient_advance`](Self::gradient_advance).
    pub fn gradient_step(&mut self, step: GradientStep<'_, B, T>) -> Result<()> {
        let op = "gradient_step";
        self.check(op, "q", self.len, (step.q.len(), step.q.context()))?;
        self.check(op, "p", self.len, (step.p.len(), step.p.context()))?;
        self.check(op, "x", self.len, (step.x.len(), step.x.context()))?;
        self.check(op, "r", self.len, (step.r.len(), step.r.context()))?;
        self.check(op, "the numbers", 2, (step.numbers.len(), step.numbers.context()))?;
        self.check(op, "the next numbers", 2, (step.next.len(), step.next.context()))?;
        // SAFETY: lengths and contexts were checked; the workspace was made for this length.
        unsafe { self.backend.gradient_step(&mut self.workspace, step) }
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
