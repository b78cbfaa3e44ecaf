//! The generalized method of minimal residuals.

mod projected;

use crate::krylov::Krylov;
use crate::norms::{divide, to_f64};
use crate::outcome::{Breakdown, Halt, SolverOptions};
use crate::preconditioner::{Identity, Preconditioner};
use crate::recurrence::{Iterate, Recurrence};
use num_traits::{Float, One, Zero};
use projected::Projected;
use sparse_core::backend::{Backend, Buf, SpaceOf};
use sparse_core::op::{RealOf, SpmvKernel, VectorKernel};
use sparse_core::{Accumulator, Error, Result, Scalar, Space, SparseFormat, c64};

/// A vector that loses this part of its norm to a basis is made orthogonal to it again (Daniel, Gragg, Kaufman and
/// Stewart 1976: 1/√2).
const CANCELLATION: f64 = 0.707;

/// GMRES for square A, restarted every [`SolverOptions::restart`] iterations, and preconditioned from the right by K.
///
/// ```text
/// A·K⁻¹·V = V'·H by Arnoldi's process, V'ᴴ·V' = I    x ← x + K⁻¹·V·y with the y that minimizes ‖V'ᴴ·r − H·y‖₂
/// ```
/// Among all x of the Krylov space the residual is smallest: with `restart` = n, n iterations solve a regular system
/// up to rounding. The j-th iteration of a cycle takes one product with A, one application of K⁻¹, j `dot` and j
/// `axpby` by modified Gram-Schmidt, and as many again where they cancel; apart from the product it moves 5·j vectors
/// of the order of A. The workspace is `restart` + 1 vectors, each allocated by the first iteration that needs it.
/// Givens' rotations keep the norm of the residual known.
///
/// If a cycle does not lower the residual, the outcome is [`Breakdown::StalledCycle`]; if A is singular and b not in
/// its Krylov space, [`Breakdown::SingularMatrix`].
///
/// Y. Saad and M. H. Schultz, GMRES: a generalized minimal residual algorithm for solving nonsymmetric linear systems,
/// SIAM J. Sci. Stat. Comput. 7 (1986), 856–869.
///
/// ```
/// use sparse_core::{Csr, reference::Reference};
/// use sparse_solvers::{Gmres, Identity, SolverOptions};
/// use std::ops::ControlFlow;
///
/// // A rotation, on which BiCGSTAB breaks down.
/// let a = Csr::<f64>::new(2, 2, vec![0, 1, 2], vec![1, 0], vec![1.0, -1.0])?;
/// let mut x = [0.0; 2];
/// let mut solver = Gmres::new(&Reference, &a, Identity, &SolverOptions { restart: 30, ..SolverOptions::default() })?;
/// let solution = solver.solve(&a, &[5.0, 2.0], &mut x, |_| ControlFlow::Continue(()))?;
/// assert!(solution.converged() && solution.iterations == 2);
/// assert!((x[0] + 2.0).abs() < 1e-9 && (x[1] - 5.0).abs() < 1e-9);
/// # Ok::<(), sparse_core::Error>(())
/// ```
pub type Gmres<B, M, P = Identity> =
    Krylov<B, M, GeneralizedMinimalResiduals<B, <M as SparseFormat>::Scalar, P>>;

/// The [`Recurrence`] of [`Gmres`].
#[derive(Debug)]
pub struct GeneralizedMinimalResiduals<B: Backend, T: Accumulator, P> {
    preconditioner: P,
    /// The columns of V', as many as were needed so far.
    basis: Vec<Buf<B, T>>,
    order: usize,
    restart: usize,
    projected: Projected,
}

impl<B, M, P> Recurrence<B, M> for GeneralizedMinimalResiduals<B, M::Scalar, P>
where
    B: SpmvKernel<M> + VectorKernel<M::Scalar>,
    M: SparseFormat<Space = SpaceOf<B>, Scalar: Accumulator>,
    P: Preconditioner<B, M::Scalar>,
{
    type Preconditioner = P;
    const NAME: &'static str = "gmres";

    fn new(backend: &B, n: usize, preconditioner: P, options: &SolverOptions) -> Result<Self> {
        if options.restart == 0 {
            return Err(Error::unsupported("gmres with restart = 0", "it must be at least 1"));
        }
        let projected = Projected::new(to_f64(RealOf::<M::Scalar>::epsilon()));
        let basis = vec![backend.zeros(n)?];
        Ok(Self { preconditioner, basis, order: n, restart: options.restart, projected })
    }

    fn preconditioner_mut(&mut self) -> &mut P {
        &mut self.preconditioner
    }

    fn start(&mut self, at: &Iterate<'_, B, M>, r: &Buf<B, M::Scalar>) -> Result<()> {
        self.projected.start();
        at.axpby(M::Scalar::one(), SpaceOf::<B>::view(r), M::Scalar::zero(), &mut self.basis[0])
    }

    fn step(
        &mut self,
        at: &mut Iterate<'_, B, M>,
        _: &mut Buf<B, M::Scalar>,
        _: usize,
    ) -> Result<usize, Halt> {
        let done = self.projected.columns();
        if done == self.restart {
            return Err(Halt::Restart);
        }
        if self.basis.len() == done + 1 {
            self.basis.push(at.backend().zeros(self.order)?);
        }
        let (basis, rest) = self.basis.split_at_mut(done + 1);
        let z = self.preconditioner.apply(SpaceOf::<B>::view(&basis[done]))?;
        at.multiply(z, &mut rest[0])?;
        orthonormalize(at, basis, &mut rest[0], &mut self.projected)?;
        Ok(1)
    }

    fn residual_norm(&self, _: &Iterate<'_, B, M>, _: &Buf<B, M::Scalar>) -> Result<RealOf<M::Scalar>> {
        Ok(M::Scalar::from_c64(self.projected.residual().into()).re())
    }

    fn finish(&mut self, at: &mut Iterate<'_, B, M>) -> Result<usize> {
        let y = self.projected.solve();
        // No other column is needed any more; this one was never part of V.
        let (basis, rest) = self.basis.split_at_mut(y.len());
        let Some(sum) = rest.first_mut().filter(|_| !y.is_empty()) else { return Ok(0) };
        for (j, (column, y)) in basis.iter().zip(y).enumerate() {
            let beta = if j == 0 { M::Scalar::zero() } else { M::Scalar::one() };
            at.axpby(M::Scalar::from_c64(y), SpaceOf::<B>::view(column), beta, sum)?;
        }
        at.advance(M::Scalar::one(), self.preconditioner.apply(SpaceOf::<B>::view(sum))?)?;
        Ok(0)
    }
}

/// Makes `w` orthogonal to `basis` and of norm 1, and adds its parts to `projected` as the next column of H.
fn orthonormalize<B, M>(
    at: &Iterate<'_, B, M>,
    basis: &[Buf<B, M::Scalar>],
    w: &mut Buf<B, M::Scalar>,
    projected: &mut Projected,
) -> Result<(), Halt>
where
    B: SpmvKernel<M> + VectorKernel<M::Scalar>,
    M: SparseFormat<Space = SpaceOf<B>, Scalar: Accumulator>,
{
    let size = to_f64(at.norm(SpaceOf::<B>::view(w))?);
    let mut column = projected.next_column();
    let mut norm = subtract_parts(at, basis, w, &mut column)?;
    if norm <= CANCELLATION * size {
        let before = std::mem::replace(&mut norm, subtract_parts(at, basis, w, &mut column)?);
        if norm <= CANCELLATION * before {
            norm = 0.0; // what is left of w is rounding
        }
    }
    if !norm.is_finite() {
        return Err(Breakdown::NotFinite { quantity: "A·K⁻¹·v" }.into());
    }
    let norm = projected.push(column, norm, size)?;
    if norm > 0.0 {
        divide::<B, M::Scalar>(at.backend(), w, M::Scalar::from_c64(norm.into()).re())?;
    }
    Ok(())
}

/// Subtracts from `w` its part along each vector of `basis`, and adds the parts to `column`; returns ‖w‖ then.
fn subtract_parts<B, M>(
    at: &Iterate<'_, B, M>,
    basis: &[Buf<B, M::Scalar>],
    w: &mut Buf<B, M::Scalar>,
    column: &mut [c64],
) -> Result<f64>
where
    B: SpmvKernel<M> + VectorKernel<M::Scalar>,
    M: SparseFormat<Space = SpaceOf<B>, Scalar: Accumulator>,
{
    for (v, element) in basis.iter().zip(column) {
        let v = SpaceOf::<B>::view(v);
        let part = at.dot(v, SpaceOf::<B>::view(w))?;
        at.axpby(-part, v, M::Scalar::one(), w)?;
        *element += part.to_c64();
    }
    Ok(to_f64(at.norm(SpaceOf::<B>::view(w))?))
}
