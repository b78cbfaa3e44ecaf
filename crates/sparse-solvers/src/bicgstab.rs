//! The stabilized method of bi-conjugate gradients.

use crate::krylov::Krylov;
use crate::outcome::{Breakdown, Halt, SolverOptions};
use crate::preconditioner::{Identity, Preconditioner};
use crate::recurrence::{Iterate, Recurrence};
use num_traits::{Float, One, Zero};
use sparse_core::backend::{Backend, Buf, SpaceOf};
use sparse_core::op::{RealOf, SpmvKernel, VectorKernel, quotient};
use sparse_core::{Accumulator, Result, Space, SparseFormat};

/// Stabilized bi-conjugate gradients for square A, preconditioned from the right by K; r̂ is the residual at the
/// start.
///
/// ```text
/// ρ = r̂ᴴ·r    p ← r + (ρ/ρ')·(α/ω)·(p − ω·v)
/// y = K⁻¹·p    v = A·y    α = ρ / (r̂ᴴ·v)            x ← x + α·y    r ← r − α·v
/// z = K⁻¹·r    t = A·z    ω = (tᴴ·r) / ‖t‖²         x ← x + ω·z    r ← r − ω·t
/// ```
/// An iteration takes two products with A, two applications of K⁻¹, three `dot`, two `nrm2` and six `axpby`; apart from
/// the products it moves 26 vectors of the order of A. The workspace is five vectors.
///
/// The method breaks down where ρ, r̂ᴴ·v or tᴴ·r vanishes; for real skew-symmetric A that is at once. If the true
/// residual has halved since the last start, the solver restarts with another r̂; else the outcome is
/// [`Outcome::Breakdown`](crate::Outcome::Breakdown).
///
/// H. A. van der Vorst, Bi-CGSTAB: a fast and smoothly converging variant of Bi-CG for the solution of
/// nonsymmetric linear systems, SIAM J. Sci. Stat. Comput. 13 (1992), 631–644.
///
/// ```
/// use sparse_core::{Csr, reference::Reference};
/// use sparse_solvers::{BiCgStab, Identity, SolverOptions};
/// use std::ops::ControlFlow;
///
/// let a = Csr::<f64>::new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![4.0, 1.0, -1.0, 3.0])?; // not symmetric
/// let mut x = [0.0; 2];
/// let mut solver = BiCgStab::new(&Reference, &a, Identity, &SolverOptions::default())?;
/// let solution = solver.solve(&a, &[5.0, 2.0], &mut x, |_| ControlFlow::Continue(()))?;
/// assert!(solution.converged() && (x[0] - 1.0).abs() < 1e-9 && (x[1] - 1.0).abs() < 1e-9);
/// # Ok::<(), sparse_core::Error>(())
/// ```
pub type BiCgStab<B, M, P = Identity> =
    Krylov<B, M, StabilizedBiConjugateGradients<B, <M as SparseFormat>::Scalar, P>>;

/// The [`Recurrence`] of [`BiCgStab`].
#[derive(Debug)]
pub struct StabilizedBiConjugateGradients<B: Backend, T: Accumulator, P> {
    preconditioner: P,
    shadow: Buf<B, T>,
    p: Buf<B, T>,
    v: Buf<B, T>,
    t: Buf<B, T>,
    before: Option<Coefficients<T>>,
}

/// ρ, α and ω of an iteration.
#[derive(Debug, Clone, Copy)]
struct Coefficients<T> {
    rho: T,
    alpha: T,
    omega: T,
}

impl<B, M, P> Recurrence<B, M> for StabilizedBiConjugateGradients<B, M::Scalar, P>
where
    B: SpmvKernel<M> + VectorKernel<M::Scalar>,
    M: SparseFormat<Space = SpaceOf<B>, Scalar: Accumulator>,
    P: Preconditioner<B, M::Scalar>,
{
    type Preconditioner = P;
    const NAME: &'static str = "bicgstab";

    fn new(backend: &B, n: usize, preconditioner: P, _: &SolverOptions) -> Result<Self> {
        Ok(Self {
            preconditioner,
            shadow: backend.zeros(n)?,
            p: backend.zeros(n)?,
            v: backend.zeros(n)?,
            t: backend.zeros(n)?,
            before: None,
        })
    }

    fn preconditioner_mut(&mut self) -> &mut P {
        &mut self.preconditioner
    }

    fn start(&mut self, at: &Iterate<'_, B, M>, r: &Buf<B, M::Scalar>) -> Result<()> {
        self.before = None;
        at.axpby(M::Scalar::one(), SpaceOf::<B>::view(r), M::Scalar::zero(), &mut self.shadow)
    }

    fn step(
        &mut self,
        at: &mut Iterate<'_, B, M>,
        r: &mut Buf<B, M::Scalar>,
        _: usize,
    ) -> Result<usize, Halt> {
        let one = M::Scalar::one();
        let shadow = SpaceOf::<B>::view(&self.shadow);
        let rho = at.dot(shadow, SpaceOf::<B>::view(r))?;
        if rho.abs() <= RealOf::<M::Scalar>::epsilon() * at.residual_norm() {
            return Err(Breakdown::RhoUnderflow.into());
        }
        let rho = divisor("ρ", rho)?;
        let beta = match self.before {
            None => M::Scalar::zero(),
            Some(before) => {
                at.axpby(-before.omega, SpaceOf::<B>::view(&self.v), one, &mut self.p)?;
                quotient(rho, before.rho) * quotient(before.alpha, before.omega)
            }
        };
        at.axpby(one, SpaceOf::<B>::view(r), beta, &mut self.p)?;

        let y = self.preconditioner.apply(SpaceOf::<B>::view(&self.p))?;
        at.multiply(y, &mut self.v)?;
        let v = SpaceOf::<B>::view(&self.v);
        let alpha = quotient(rho, divisor("r̂ᴴ·v", at.dot(shadow, v)?)?);
        at.advance(alpha, y)?;
        at.axpby(-alpha, v, one, r)?;

        let s = SpaceOf::<B>::view(r);
        let z = self.preconditioner.apply(s)?;
        at.multiply(z, &mut self.t)?;
        let t = SpaceOf::<B>::view(&self.t);
        let norm = divisor("‖t‖", M::Scalar::from_real(at.norm(t)?))?;
        let omega = quotient(quotient(divisor("tᴴ·r", at.dot(t, s)?)?, norm), norm);
        at.advance(omega, z)?;
        at.axpby(-omega, t, one, r)?;
        self.before = Some(Coefficients { rho, alpha, omega });
        Ok(1)
    }
}

/// `value`, unless it is too small to divide by.
fn divisor<T: Accumulator>(quantity: &'static str, value: T) -> Result<T, Halt> {
    if !value.is_finite() {
        return Err(Breakdown::NotFinite { quantity }.into());
    }
    if value.abs() < T::Real::min_positive_value() {
        return Err(Breakdown::ZeroDivisor { quantity }.into());
    }
    Ok(value)
}
