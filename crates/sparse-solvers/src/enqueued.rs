//! Conjugate gradients that the host does not wait for.

use crate::preconditioner::check_square;
use num_traits::{Float, One, Zero};
use sparse_core::backend::{Buf, SpaceOf, ViewMutOf, ViewOf};
use sparse_core::op::{GradientStep, Op, RealOf, SpmvKernel, SpmvPlan, VectorKernel, VectorPlan};
use sparse_core::{Accumulator, Choice, Matrix, PlanOptions, Result, Space};

/// Iterations of conjugate gradients for Hermitian positive definite A, whose scalars stay in the memory of the backend:
/// on a device they are enqueued, as many as asked for, and nothing is waited for or allocated; so they can be recorded
/// in a CUDA graph. [`Cg`](crate::Cg) is for everything else: it knows when to stop, and looks at the true residual.
///
/// ```text
/// q = A·p    α = ρ / (pᴴ·q)    x ← x + α·p    r ← r − α·q    ρ' = rᴴ·r    p ← r + (ρ'/ρ)·p
/// ```
/// An iteration takes one product with A, and on a device three launches; apart from the product it moves 11 vectors of
/// the order of A. Once the residual is zero, further iterations change nothing. Residuals are not scaled, so that
/// ‖b − A·x‖₂² has to be a number of the type. The method and its source are those of [`Cg`](crate::Cg).
///
/// ```
/// use sparse_core::reference::Reference;
/// use sparse_core::{Csr, PlanOptions};
/// use sparse_solvers::EnqueuedCg;
///
/// let a = Csr::<f64>::new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![4.0, 1.0, 1.0, 3.0])?;
/// let mut solver = EnqueuedCg::new(&Reference, &a, &PlanOptions::default())?;
/// let mut x = vec![0.0; 2];
/// solver.start(&a, &[1.0, 2.0], &x)?;
/// solver.run(&a, 2, &mut x)?;
/// assert!((x[0] - 1.0 / 11.0).abs() < 1e-9 && (x[1] - 7.0 / 11.0).abs() < 1e-9);
/// assert!(solver.residual_norm()? < 1e-9);
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug)]
pub struct EnqueuedCg<B, M>
where
    B: SpmvKernel<M> + VectorKernel<M::Scalar>,
    M: Matrix<Space = SpaceOf<B>>,
    M::Scalar: Accumulator,
{
    backend: B,
    product: SpmvPlan<B, M>,
    vectors: VectorPlan<B, M::Scalar>,
    r: Buf<B, M::Scalar>,
    p: Buf<B, M::Scalar>,
    q: Buf<B, M::Scalar>,
    /// ρ, between runs in the first.
    rho: [Buf<B, M::Scalar>; 2],
}

impl<B, M> EnqueuedCg<B, M>
where
    B: SpmvKernel<M> + VectorKernel<M::Scalar>,
    M: Matrix<Space = SpaceOf<B>>,
    M::Scalar: Accumulator,
{
    /// Plans the product with `a` and allocates all vectors.
    ///
    /// # Errors
    /// [`Shape`](sparse_core::Error::Shape) if A is not square, and those of [`SpmvPlan::new`].
    pub fn new(backend: &B, a: &M, options: &PlanOptions) -> Result<Self> {
        check_square("enqueued_cg", a)?;
        let n = a.rows();
        Ok(Self {
            backend: backend.clone(),
            product: SpmvPlan::new(backend, a, Op::None, options)?,
            vectors: VectorPlan::new(backend, n)?,
            r: backend.zeros(n)?,
            p: backend.zeros(n)?,
            q: backend.zeros(n)?,
            rho: [backend.zeros(1)?, backend.zeros(1)?],
        })
    }

    /// Begins at `x`: `r = b − A·x`, `p = r`.
    ///
    /// `a` has the pattern that the solver was made for; its values may have changed.
    ///
    /// # Errors
    /// [`Shape`](sparse_core::Error::Shape), [`PlanMismatch`](sparse_core::Error::PlanMismatch) and
    /// [`WrongContext`](sparse_core::Error::WrongContext) for wrong operands, and what the device's runtime reports.
    pub fn start(&mut self, a: &M, b: ViewOf<'_, B, M::Scalar>, x: ViewOf<'_, B, M::Scalar>) -> Result<()> {
        let (one, zero) = (M::Scalar::one(), M::Scalar::zero());
        let (view, view_mut) = (SpaceOf::<B>::view::<M::Scalar>, SpaceOf::<B>::view_mut::<M::Scalar>);
        self.vectors.axpby(one.into(), b, zero.into(), view_mut(&mut self.r))?;
        self.product.run(-one, a, x, one, view_mut(&mut self.r))?;
        self.backend.copy(view(&self.r), view_mut(&mut self.p))?;
        self.vectors.dot(view(&self.r), view(&self.r), view_mut(&mut self.rho[0]))
    }

    /// Takes so many iterations from `x`, which is that of [`start`](Self::start) or of the run before. Odd numbers cost
    /// a copy of one number more.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn run(&mut self, a: &M, iterations: usize, mut x: ViewMutOf<'_, B, M::Scalar>) -> Result<()> {
        let [rho, next_rho] = &mut self.rho;
        let (mut rho, mut next_rho) = (rho, next_rho);
        for _ in 0..iterations {
            let (one, zero, p) = (M::Scalar::one(), M::Scalar::zero(), SpaceOf::<B>::view(&self.p));
            self.product.run(one, a, p, zero, SpaceOf::<B>::view_mut(&mut self.q))?;
            self.vectors.gradient_step(GradientStep {
                q: SpaceOf::<B>::view(&self.q),
                p: SpaceOf::<B>::view_mut(&mut self.p),
                x: SpaceOf::<B>::reborrow::<M::Scalar>(&mut x),
                r: SpaceOf::<B>::view_mut(&mut self.r),
                rho: SpaceOf::<B>::view(rho),
                next_rho: SpaceOf::<B>::view_mut(next_rho),
            })?;
            std::mem::swap(&mut rho, &mut next_rho);
        }
        if iterations.is_multiple_of(2) {
            return Ok(());
        }
        self.backend.copy(SpaceOf::<B>::view(rho), SpaceOf::<B>::view_mut(next_rho))
    }

    /// ‖r‖₂ of the residual of the recurrence, after waiting for the iterations.
    ///
    /// # Errors
    /// What the device's runtime reports.
    pub fn residual_norm(&self) -> Result<RealOf<M::Scalar>> {
        Ok(self.backend.download(&self.rho[0])?[0].re().sqrt())
    }

    /// Which algorithm multiplies, and why.
    pub fn choice(&self) -> &Choice {
        self.product.choice()
    }
}
