//! The method of conjugate gradients.

use crate::krylov::Krylov;
use crate::outcome::{Breakdown, Halt, SolverOptions};
use crate::preconditioner::{Identity, Preconditioner};
use crate::recurrence::{Iterate, Recurrence};
use num_traits::{Float, One, Zero};
use sparse_core::backend::{Backend, Buf, SpaceOf, ViewOf};
use sparse_core::op::vector::{dot, nrm2};
use sparse_core::op::{RealOf, SpmvKernel, VectorKernel};
use sparse_core::{Accumulator, Result, Space, SparseFormat};

/// Conjugate gradients for Hermitian positive definite A, with a Hermitian positive definite preconditioner K.
///
/// ```text
/// z = K⁻¹·r    ρ = rᴴ·z    p ← z + (ρ/ρ')·p    q = A·p    α = ρ / (pᴴ·q)    x ← x + α·p    r ← r − α·q
/// ```
/// An iteration takes one product with A, one application of K⁻¹, two `dot`, one `nrm2` and three `axpby`; apart from
/// the products it moves 14 vectors of the order of A; without a preconditioner, one `dot` and two vectors less. The
/// workspace is three vectors.
///
/// [`IndefiniteMatrix`](Breakdown::IndefiniteMatrix) is certain for an exact A, and a matter of rounding if A is
/// singular to working precision. A real A that is not symmetric goes unnoticed, unless convergence suffers.
///
/// M. R. Hestenes and E. Stiefel, Methods of conjugate gradients for solving linear systems, J. Res. Natl. Bur.
/// Stand. 49 (1952), 409–436.
///
/// ```
/// use sparse_core::reference::Reference;
/// use sparse_solvers::{Cg, Jacobi, SolverOptions, inverse_diagonal};
/// use std::ops::ControlFlow;
///
/// let a = sparse_generate::stencil_5::<f64>(10, 10)?;
/// let jacobi = Jacobi::new(&Reference, &a)?;
/// let mut x = vec![0.0; 100];
/// let mut solver = Cg::new(&Reference, &a, jacobi, &SolverOptions::default())?;
/// assert!(solver.solve(&a, &[1.0; 100], &mut x, |_| ControlFlow::Continue(()))?.converged());
/// # Ok::<(), sparse_core::Error>(())
/// ```
pub type Cg<B, M, P = Identity> = Krylov<B, M, ConjugateGradients<B, <M as SparseFormat>::Scalar, P>>;

/// The [`Recurrence`] of [`Cg`].
#[derive(Debug)]
pub struct ConjugateGradients<B: Backend, T: Accumulator, P> {
    preconditioner: P,
    p: Buf<B, T>,
    q: Buf<B, T>,
    /// ρ of the last iteration.
    rho: Option<T::Real>,
}

impl<B, M, P> Recurrence<B, M> for ConjugateGradients<B, M::Scalar, P>
where
    B: SpmvKernel<M> + VectorKernel<M::Scalar>,
    M: SparseFormat<Space = SpaceOf<B>, Scalar: Accumulator>,
    P: Preconditioner<B, M::Scalar>,
{
    type Preconditioner = P;
    const NAME: &'static str = "cg";

    fn new(backend: &B, n: usize, preconditioner: P, _: &SolverOptions) -> Result<Self> {
        Ok(Self { preconditioner, p: backend.zeros(n)?, q: backend.zeros(n)?, rho: None })
    }

    fn preconditioner_mut(&mut self) -> &mut P {
        &mut self.preconditioner
    }

    fn start(&mut self, _: &Iterate<'_, B, M>, _: &Buf<B, M::Scalar>) -> Result<()> {
        self.rho = None;
        Ok(())
    }

    fn step(
        &mut self,
        at: &mut Iterate<'_, B, M>,
        r: &mut Buf<B, M::Scalar>,
        _: usize,
    ) -> Result<usize, Halt> {
        let (is_identity, norm) = (self.preconditioner.is_identity(), at.residual_norm());
        let z = self.preconditioner.apply(SpaceOf::<B>::view(r))?;
        let rho = match is_identity {
            true => norm * norm,
            false => not_negative::<B, _>(at.backend(), "rᴴ·z", SpaceOf::<B>::view(r), z)?,
        };
        if rho < RealOf::<M::Scalar>::min_positive_value() {
            return Err(Breakdown::RhoUnderflow.into());
        }
        let beta = self.rho.map_or(RealOf::<M::Scalar>::zero(), |before| rho / before);
        self.rho = Some(rho);
        let (one, beta) = (M::Scalar::one(), M::Scalar::from_real(beta));
        at.axpby(one, z, beta, &mut self.p)?;

        let p = SpaceOf::<B>::view(&self.p);
        at.multiply(p, &mut self.q)?;
        let q = SpaceOf::<B>::view(&self.q);
        let alpha = M::Scalar::from_real(rho / curvature::<B, _>(at.backend(), p, q)?);
        at.advance(alpha, p)?;
        at.axpby(-alpha, q, one, r)?;
        Ok(1)
    }
}

/// `pᴴ·q` for `q = A·p`, checked to be a divisor.
pub(crate) fn curvature<B: VectorKernel<T>, T: Accumulator>(
    backend: &B,
    p: ViewOf<'_, B, T>,
    q: ViewOf<'_, B, T>,
) -> Result<RealOf<T>, Halt> {
    let quantity = "pᴴ·q";
    let curvature = not_negative::<B, T>(backend, quantity, p, q)?;
    if curvature == RealOf::<T>::zero() {
        return Err(Breakdown::IndefiniteMatrix.into());
    }
    if curvature < RealOf::<T>::min_positive_value() {
        return Err(Breakdown::ZeroDivisor { quantity }.into());
    }
    Ok(curvature)
}

/// `uᴴ·v`, which is not negative if v is u times a Hermitian positive semidefinite matrix.
pub(crate) fn not_negative<B: VectorKernel<T>, T: Accumulator>(
    backend: &B,
    quantity: &'static str,
    u: ViewOf<'_, B, T>,
    v: ViewOf<'_, B, T>,
) -> Result<RealOf<T>, Halt> {
    let product = dot::<B, T>(backend, u, v)?;
    if !product.is_finite() {
        return Err(Breakdown::NotFinite { quantity }.into());
    }
    let real = product.re();
    let imaginary = (product - T::from_real(real)).abs();
    let rounding = RealOf::<T>::epsilon().sqrt();
    if real < RealOf::<T>::zero() {
        return Err(Breakdown::IndefiniteMatrix.into());
    }
    if imaginary <= rounding * real
        || imaginary <= rounding * nrm2::<B, T>(backend, u)? * nrm2::<B, T>(backend, v)?
    {
        return Ok(real);
    }
    Err(Breakdown::IndefiniteMatrix.into())
}
