//! The method of minimal residuals for Hermitian matrices.

use crate::cg::not_negative;
use crate::krylov::Krylov;
use crate::norms::to_f64;
use crate::outcome::{Breakdown, Halt, SolverOptions};
use crate::preconditioner::{Identity, Preconditioner};
use crate::recurrence::{Iterate, Recurrence};
use num_traits::{Float, One, Zero};
use sparse_core::backend::{Backend, Buf, SpaceOf, ViewOf};
use sparse_core::op::{RealOf, SpmvKernel, VectorKernel};
use sparse_core::{Accumulator, Result, Scalar, Space, SparseFormat};
use std::mem::swap;

/// A·r counts as zero below this multiple of ε·‖A‖·‖r‖, with the precision ε of the type. Systems of condition 10¹²
/// still converge at a much larger A·r.
const NEGLIGIBLE: f64 = 10.0;

/// MINRES for Hermitian A, definite or not, with a Hermitian positive definite preconditioner K.
///
/// ```text
/// β = √(rᴴ·K⁻¹·r)    v = K⁻¹·r / β    α = vᴴ·A·v    r″ = A·v − (α/β)·r − (β/β')·r'       (Lanczos)
/// w″ = (v − ε·w' − δ·w) / γ           x ← x + φ·w″    with the rotation that keeps ‖b − A·x‖ smallest
/// ```
/// An iteration takes one product with A, one application of K⁻¹, one or two `dot`, one or two `nrm2` and seven
/// `axpby`; apart from the product it moves 24 vectors of the order of A. The workspace is seven vectors. Without
/// a preconditioner the residual never grows.
///
/// If A is singular and b has no solution, and rounding does not hide it, the outcome is
/// [`Breakdown::SingularMatrix`], with an x that minimizes ‖b − A·x‖. A complex A that is not Hermitian is
/// [`Breakdown::NotHermitian`]; a real A that is not symmetric goes unnoticed, unless convergence suffers.
///
/// C. C. Paige and M. A. Saunders, Solution of sparse indefinite systems of linear equations, SIAM J. Numer. Anal. 12
/// (1975), 617–629.
///
/// ```
/// use sparse_core::{Csr, reference::Reference};
/// use sparse_solvers::{Identity, Minres, SolverOptions};
/// use std::ops::ControlFlow;
///
/// // Its eigenvalues are 1 and −1: CG breaks down.
/// let a = Csr::<f64>::new(2, 2, vec![0, 1, 2], vec![1, 0], vec![1.0, 1.0])?;
/// let mut x = [0.0; 2];
/// let mut solver = Minres::new(&Reference, &a, Identity, &SolverOptions::default())?;
/// let solution = solver.solve(&a, &[5.0, 2.0], &mut x, |_| ControlFlow::Continue(()))?;
/// assert!(solution.converged() && (x[0] - 2.0).abs() < 1e-9 && (x[1] - 5.0).abs() < 1e-9);
/// # Ok::<(), sparse_core::Error>(())
/// ```
pub type Minres<B, M, P = Identity> = Krylov<B, M, MinimalResiduals<B, <M as SparseFormat>::Scalar, P>>;

/// The [`Recurrence`] of [`Minres`].
#[derive(Debug)]
pub struct MinimalResiduals<B: Backend, T: Accumulator, P> {
    preconditioner: P,
    v: Buf<B, T>,
    /// β·K·v of this iteration, of the last, and A·v.
    lanczos: [Buf<B, T>; 3],
    /// The directions of the last iteration, and of the one before; the third becomes the next.
    directions: [Buf<B, T>; 3],
    rotated: Rotated,
}

impl<B, M, P> Recurrence<B, M> for MinimalResiduals<B, M::Scalar, P>
where
    B: SpmvKernel<M> + VectorKernel<M::Scalar>,
    M: SparseFormat<Space = SpaceOf<B>, Scalar: Accumulator>,
    P: Preconditioner<B, M::Scalar>,
{
    type Preconditioner = P;
    const NAME: &'static str = "minres";

    fn new(backend: &B, n: usize, preconditioner: P, _: &SolverOptions) -> Result<Self> {
        let zeros = || backend.zeros(n);
        Ok(Self {
            preconditioner,
            v: zeros()?,
            lanczos: [zeros()?, zeros()?, zeros()?],
            directions: [zeros()?, zeros()?, zeros()?],
            rotated: Rotated::default(),
        })
    }

    fn preconditioner_mut(&mut self) -> &mut P {
        &mut self.preconditioner
    }

    fn start(&mut self, at: &Iterate<'_, B, M>, r: &Buf<B, M::Scalar>) -> Result<()> {
        self.rotated = Rotated::default();
        at.axpby(M::Scalar::one(), SpaceOf::<B>::view(r), M::Scalar::zero(), &mut self.lanczos[0])
    }

    fn step(
        &mut self,
        at: &mut Iterate<'_, B, M>,
        r: &mut Buf<B, M::Scalar>,
        _: usize,
    ) -> Result<usize, Halt> {
        let negligible = NEGLIGIBLE * to_f64(RealOf::<M::Scalar>::epsilon());
        if self.rotated.is_new {
            let beta = normalize(at, &mut self.preconditioner, &self.lanczos[0], &mut self.v)?;
            self.rotated.start(beta)?;
        }
        let (before, beta) = (self.rotated.beta_before, self.rotated.beta);
        let alpha = self.extend(at, beta, before)?;
        let [last, previous, next] = &mut self.directions;
        swap(&mut self.v, next);
        let next_beta = normalize(at, &mut self.preconditioner, &self.lanczos[0], &mut self.v)?;
        let step = self.rotated.rotate(alpha, next_beta, negligible)?;

        add(at, -step.epsilon / step.gamma, previous, 1.0 / step.gamma, next)?;
        add(at, -step.delta / step.gamma, last, 1.0, next)?;
        at.advance(from_f64(step.phi), SpaceOf::<B>::view(next))?;
        swap(last, previous);
        swap(last, next);
        add(at, -step.lanczos_part, &self.lanczos[0], step.residual_part, r)?;
        Ok(1)
    }
}

impl<B: Backend, T: Accumulator, P> MinimalResiduals<B, T, P> {
    /// The next vector of Lanczos' process, first in `lanczos`; returns α.
    fn extend<M>(&mut self, at: &mut Iterate<'_, B, M>, beta: f64, before: f64) -> Result<f64, Halt>
    where
        B: SpmvKernel<M> + VectorKernel<T>,
        M: SparseFormat<Space = SpaceOf<B>, Scalar = T>,
    {
        let [r, previous, next] = &mut self.lanczos;
        let v = SpaceOf::<B>::view(&self.v);
        at.multiply(v, next)?;
        if before > 0.0 {
            add(at, -beta / before, previous, 1.0, next)?;
        }
        let alpha = real_product(at, v, SpaceOf::<B>::view(next))?;
        add(at, -alpha / beta, r, 1.0, next)?;
        swap(r, previous);
        swap(r, next);
        Ok(alpha)
    }
}

/// `v ← K⁻¹·r / β`; returns β = √(rᴴ·K⁻¹·r). If 1/β overflows, v is not finite, which its caller reports.
fn normalize<B, M, P>(
    at: &Iterate<'_, B, M>,
    preconditioner: &mut P,
    r: &Buf<B, M::Scalar>,
    v: &mut Buf<B, M::Scalar>,
) -> Result<f64, Halt>
where
    B: SpmvKernel<M> + VectorKernel<M::Scalar>,
    M: SparseFormat<Space = SpaceOf<B>, Scalar: Accumulator>,
    P: Preconditioner<B, M::Scalar>,
{
    let (r, is_identity) = (SpaceOf::<B>::view(r), preconditioner.is_identity());
    let solved = preconditioner.apply(r)?;
    let beta = match is_identity {
        true => to_f64(at.norm(r)?),
        false => to_f64(not_negative::<B, M::Scalar>(at.backend(), "rᴴ·K⁻¹·r", r, solved)?).sqrt(),
    };
    at.axpby(from_f64(1.0 / beta), solved, M::Scalar::zero(), v)?;
    Ok(beta)
}

/// `vᴴ·image`, which is real for the `image` of a Hermitian matrix.
fn real_product<B, M>(
    at: &Iterate<'_, B, M>,
    v: ViewOf<'_, B, M::Scalar>,
    image: ViewOf<'_, B, M::Scalar>,
) -> Result<f64, Halt>
where
    B: SpmvKernel<M> + VectorKernel<M::Scalar>,
    M: SparseFormat<Space = SpaceOf<B>, Scalar: Accumulator>,
{
    let alpha = at.dot(v, image)?.to_c64();
    let rounding = to_f64(RealOf::<M::Scalar>::epsilon()).sqrt();
    if alpha.im.abs() > rounding * alpha.re.abs()
        && alpha.im.abs() > rounding * to_f64(at.norm(v)?) * to_f64(at.norm(image)?)
    {
        return Err(Breakdown::NotHermitian.into());
    }
    Ok(alpha.re)
}

fn from_f64<T: Scalar>(value: f64) -> T {
    T::from_c64(value.into())
}

/// `y ← alpha·x + beta·y` with factors of double precision.
fn add<B, M>(
    at: &Iterate<'_, B, M>,
    alpha: f64,
    x: &Buf<B, M::Scalar>,
    beta: f64,
    y: &mut Buf<B, M::Scalar>,
) -> Result<()>
where
    B: SpmvKernel<M> + VectorKernel<M::Scalar>,
    M: SparseFormat<Space = SpaceOf<B>, Scalar: Accumulator>,
{
    at.axpby(from_f64(alpha), SpaceOf::<B>::view(x), from_f64(beta), y)
}

/// The tridiagonal matrix of Lanczos' process, rotated into a triangle as it grows.
#[derive(Debug)]
struct Rotated {
    is_new: bool,
    beta_before: f64,
    beta: f64,
    cos: f64,
    sin: f64,
    delta_bar: f64,
    epsilon: f64,
    /// The norm of the residual that K weighs.
    phi_bar: f64,
    /// The largest element so far, an estimate of ‖A‖.
    largest: f64,
}

/// The coefficients of an iteration.
#[derive(Debug)]
struct Step {
    epsilon: f64,
    delta: f64,
    gamma: f64,
    phi: f64,
    /// r ← `residual_part`·r − `lanczos_part`·β·K·v.
    residual_part: f64,
    lanczos_part: f64,
}

impl Default for Rotated {
    fn default() -> Self {
        Self {
            is_new: true,
            beta_before: 0.0,
            beta: 0.0,
            cos: -1.0,
            sin: 0.0,
            delta_bar: 0.0,
            epsilon: 0.0,
            phi_bar: 0.0,
            largest: 0.0,
        }
    }
}

impl Rotated {
    fn start(&mut self, beta: f64) -> Result<(), Breakdown> {
        if beta == 0.0 {
            return Err(Breakdown::ZeroDivisor { quantity: "rᴴ·K⁻¹·r" });
        }
        (self.is_new, self.beta, self.phi_bar) = (false, beta, beta);
        Ok(())
    }

    /// Takes α and the next β of Lanczos' process.
    ///
    /// # Errors
    /// [`Breakdown::SingularMatrix`] if ‖A·r‖ ≤ `negligible`·‖A‖·‖r‖, so that x is a least-squares solution.
    fn rotate(&mut self, alpha: f64, beta: f64, negligible: f64) -> Result<Step, Breakdown> {
        if !alpha.is_finite() || !beta.is_finite() {
            return Err(Breakdown::NotFinite { quantity: "A·v" });
        }
        self.largest = self.largest.max(alpha.abs()).max(beta);
        let step_epsilon = self.epsilon;
        let delta = self.cos * self.delta_bar + self.sin * alpha;
        let gamma_bar = self.sin * self.delta_bar - self.cos * alpha;
        self.epsilon = self.sin * beta;
        self.delta_bar = -self.cos * beta;
        let gamma = gamma_bar.hypot(beta);
        if gamma_bar.hypot(self.delta_bar) <= negligible * self.largest || gamma == 0.0 {
            return Err(Breakdown::SingularMatrix);
        }
        (self.cos, self.sin) = (gamma_bar / gamma, beta / gamma);
        let before = self.phi_bar;
        let phi = self.cos * before;
        self.phi_bar = self.sin * before;
        (self.beta_before, self.beta) = (self.beta, beta);
        Ok(Step {
            epsilon: step_epsilon,
            delta,
            gamma,
            phi,
            residual_part: self.sin * self.sin,
            // −φ̄·c / β with φ̄ = s·φ̄' and s = β / γ.
            lanczos_part: before * self.cos / gamma,
        })
    }
}
