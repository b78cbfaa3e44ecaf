//! Conjugate gradients whose iterations are enqueued several at a time.

use crate::cg::curvature;
use crate::krylov::{Iterate, Krylov, Recurrence, to_f64};
use crate::outcome::{Breakdown, Halt, Outcome, Solution, SolverOptions};
use crate::preconditioner::{Identity, Preconditioner};
use num_traits::{Float, One, Zero};
use sparse_core::backend::{Backend, Buf, Recording, SpaceOf, ViewMutOf, ViewOf};
use sparse_core::op::vector::nrm2;
use sparse_core::op::{GradientAdvance, GradientTurn, RealOf, SpmvKernel, VectorKernel, VectorPlan};
use sparse_core::{Accumulator, Result, Space, SparseFormat};

/// The most iterations between two checks of the residual, where the device waits for a check, which costs about as
/// much as two iterations of a small system; the iterations after convergence are wasted, half of these on average.
const LONGEST_RUN: usize = 32;

/// The most iterations between two checks, where the device goes on with as many others meanwhile: a check costs half
/// an iteration of a small system, and these others are wasted too.
const LONGEST_OVERLAPPED_RUN: usize = 16;

/// Orders below which a check that the device waits for costs more than 1 % of a long run. Measured on H100 and H200:
/// 12 to 15 µs for a check, and 1.3 ms for 32 iterations of the 5-point Laplacian of this order.
const SMALL: usize = 1 << 18;

/// Iterations that are recorded together. Measured on H200: a graph of 4 iterations, of 4 launches each, takes 138 µs
/// to make, as long as 6 iterations launched one by one, and its launches 1.02 times as long as those of 8
/// iterations.
const RECORDED: usize = 4;

/// Conjugate gradients for Hermitian positive definite A, with a Hermitian positive definite preconditioner K, whose
/// scalars stay in the memory of the backend: iterations are enqueued 1, 2, 4, … up to 32 at a time without waiting
/// for a device, and then the residual is checked. A system of fewer than 2¹⁸ unknowns, whose iterations take less
/// time than a check, is checked first after 4 iterations, and while a device that can do so runs up to 16 further
/// ones. A backend that [records](Backend::record) records 4 iterations in each solve, and repeats the recording.
///
/// ```text
/// q = A·p    α = ρ / (pᴴ·q)    x ← x + α·p    r ← r − α·q    z = K⁻¹·r    ρ' = rᴴ·z    p ← z + (ρ'/ρ)·p
/// ```
/// An iteration takes one product with A, and on a device three launches; apart from the product it moves 11 vectors
/// of the order of A. A preconditioner adds its application, a launch and two vectors. The workspace is four vectors.
/// After an iteration whose ρ or pᴴ·q is not a positive normal number, further ones change nothing. The method and
/// its source are those of [`Cg`](crate::Cg).
///
/// [`run`](Self::run) takes a fixed number of iterations, and [`solve_fixed`](Self::solve_fixed) computes b − A·x once
/// after them.
///
/// ```
/// use sparse_core::reference::Reference;
/// use sparse_core::Csr;
/// use sparse_solvers::{EnqueuedCg, Jacobi, SolverOptions};
/// use std::ops::ControlFlow;
///
/// let a = Csr::<f64>::new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![4.0, 1.0, 1.0, 3.0])?;
/// let jacobi = Jacobi::new(&Reference, &a)?; // or Identity
/// let mut solver = EnqueuedCg::new(&Reference, &a, jacobi, &SolverOptions::default())?;
/// let mut x = vec![0.0; 2];
/// let solution = solver.solve(&a, &[1.0, 2.0], &mut x, |_| ControlFlow::Continue(()))?;
/// assert!(solution.converged());
/// assert!((x[0] - 1.0 / 11.0).abs() < 1e-9 && (x[1] - 7.0 / 11.0).abs() < 1e-9);
/// # Ok::<(), sparse_core::Error>(())
/// ```
pub type EnqueuedCg<B, M, P = Identity> =
    Krylov<B, M, EnqueuedConjugateGradients<B, <M as SparseFormat>::Scalar, P>>;

/// The [`Recurrence`] of [`EnqueuedCg`].
#[derive(Debug)]
pub struct EnqueuedConjugateGradients<B: VectorKernel<T>, T: Accumulator, P> {
    state: State<B, T, P>,
    /// x minus x at the start, divided by the norm of the residual there.
    correction: Buf<B, T>,
    /// ρ and ‖r‖² after the iterations that were checked last, in the memory of the backend and of the host.
    checked: Buf<B, T>,
    numbers: [T; 2],
    /// Iterations of the next run.
    next_run: usize,
    /// Iterations that are enqueued and not checked.
    pending: usize,
    /// True if iterations are enqueued while others are checked.
    overlaps: bool,
    recorded: Recorded,
}

/// Iterations that a backend has recorded, if it can.
#[derive(Debug)]
enum Recorded {
    NotYet,
    Never,
    Here(Box<dyn Recording>),
}

impl Recorded {
    /// No recording; iterations may be recorded unless `preconditioner` forbids it.
    fn none<B: Backend, T: Accumulator>(preconditioner: &impl Preconditioner<B, T>) -> Self {
        if preconditioner.is_recordable() { Self::NotYet } else { Self::Never }
    }

    /// Enqueues iterations, [`RECORDED`] at a time where `backend` records them; `launch` enqueues a number of them one
    /// by one.
    fn run<B: Backend>(
        &mut self,
        backend: &B,
        mut iterations: usize,
        launch: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<()> {
        if iterations >= RECORDED && matches!(self, Self::NotYet) {
            *self = backend.record(&mut || launch(RECORDED))?.map_or(Self::Never, Self::Here);
        }
        if let Self::Here(recording) = self {
            while iterations >= RECORDED {
                recording.enqueue()?;
                iterations -= RECORDED;
            }
        }
        launch(iterations)
    }
}

impl<B: VectorKernel<T>, T: Accumulator, P> EnqueuedConjugateGradients<B, T, P> {
    /// The length of the next run, of at most `most` iterations.
    fn take_run(&mut self, most: usize) -> usize {
        let longest = if self.overlaps { LONGEST_OVERLAPPED_RUN } else { LONGEST_RUN };
        let run = self.next_run.min(most);
        self.next_run = (2 * self.next_run).min(longest);
        run
    }
}

impl<B, M, P> Recurrence<B, M> for EnqueuedConjugateGradients<B, M::Scalar, P>
where
    B: SpmvKernel<M> + VectorKernel<M::Scalar>,
    M: SparseFormat<Space = SpaceOf<B>>,
    M::Scalar: Accumulator,
    P: Preconditioner<B, M::Scalar>,
{
    type Preconditioner = P;
    const NAME: &'static str = "enqueued_cg";

    fn new(backend: &B, n: usize, preconditioner: P, _: &SolverOptions) -> Result<Self> {
        Ok(Self {
            state: State::new(backend, n, preconditioner)?,
            correction: backend.zeros(n)?,
            checked: backend.zeros(2)?,
            numbers: [M::Scalar::one(); 2],
            next_run: 1,
            pending: 0,
            overlaps: n < SMALL && backend.overlaps_downloads(),
            recorded: Recorded::Never,
        })
    }

    fn start(&mut self, at: &Iterate<'_, B, M>, r: &Buf<B, M::Scalar>) -> Result<()> {
        (self.numbers, self.pending) = ([M::Scalar::one(); 2], 0);
        self.next_run = if self.overlaps { RECORDED } else { 1 };
        self.recorded = Recorded::none(&self.state.preconditioner);
        let correction = SpaceOf::<B>::view_mut(&mut self.correction);
        self.state.vectors.scal(M::Scalar::zero().into(), correction)?;
        self.state.start(at.backend(), r)
    }

    fn step(
        &mut self,
        at: &mut Iterate<'_, B, M>,
        r: &mut Buf<B, M::Scalar>,
        most: usize,
    ) -> Result<usize, Halt> {
        let backend = at.backend();
        self.state.check(backend, self.numbers[0])?;
        let first = if self.pending == 0 { self.take_run(most) } else { 0 };
        let taken = self.pending + first;
        self.pending = if self.overlaps { self.take_run(most - taken) } else { 0 };
        let Self { state, correction, checked, numbers, pending, recorded, .. } = self;
        let mut run = |state: &mut State<B, M::Scalar, P>, iterations| {
            recorded.run(backend, iterations, &mut |iterations| {
                let correction = SpaceOf::<B>::view_mut(correction);
                state.run(backend, iterations, correction, r, |p, q| at.multiply(p, q))
            })
        };
        run(state, first)?;
        backend.copy::<M::Scalar>(SpaceOf::<B>::view(&state.numbers[0]), SpaceOf::<B>::view_mut(checked))?;
        let checked = SpaceOf::<B>::view(checked);
        backend.download_overlapped::<M::Scalar>(checked, numbers, &mut || run(state, *pending))?;
        Ok(taken)
    }

    /// The square root of ‖r‖²; if it is no positive normal number, r has stayed as it was.
    fn residual_norm(&self, at: &Iterate<'_, B, M>, r: &Buf<B, M::Scalar>) -> Result<RealOf<M::Scalar>> {
        match self.numbers[1].re() {
            squares if squares.is_normal() && squares > RealOf::<M::Scalar>::zero() => Ok(squares.sqrt()),
            _ => at.norm(SpaceOf::<B>::view(r)),
        }
    }

    fn finish(&mut self, at: &mut Iterate<'_, B, M>) -> Result<usize> {
        self.recorded = Recorded::Never;
        at.advance(M::Scalar::one(), SpaceOf::<B>::view(&self.correction))?;
        Ok(self.pending)
    }
}

/// The preconditioner, and the vectors and numbers of the recurrence, except x and r.
#[derive(Debug)]
struct State<B: VectorKernel<T>, T: Accumulator, P> {
    preconditioner: P,
    vectors: VectorPlan<B, T>,
    p: Buf<B, T>,
    q: Buf<B, T>,
    /// ρ and ‖r‖²; in the first between runs.
    numbers: [Buf<B, T>; 2],
}

impl<B: VectorKernel<T>, T: Accumulator, P: Preconditioner<B, T>> State<B, T, P> {
    fn new(backend: &B, n: usize, preconditioner: P) -> Result<Self> {
        Ok(Self {
            preconditioner,
            vectors: VectorPlan::new(backend, n)?,
            p: backend.zeros(n)?,
            q: backend.zeros(n)?,
            numbers: [backend.zeros(2)?, backend.zeros(2)?],
        })
    }

    /// `p = K⁻¹·r`, `ρ = rᴴ·p`.
    fn start(&mut self, backend: &B, r: &Buf<B, T>) -> Result<()> {
        let r = SpaceOf::<B>::view::<T>(r);
        backend.copy::<T>(self.preconditioner.apply(r)?, SpaceOf::<B>::view_mut(&mut self.p))?;
        let numbers = SpaceOf::<B>::view_mut::<T>(&mut self.numbers[0]);
        self.vectors.dot(r, SpaceOf::<B>::view(&self.p), SpaceOf::<B>::slice_mut(numbers, 0..1))
    }

    /// Runs `iterations` iterations from `x`; `multiply(p, q)` computes `q ← A·p`.
    fn run(
        &mut self,
        backend: &B,
        iterations: usize,
        mut x: ViewMutOf<'_, B, T>,
        r: &mut Buf<B, T>,
        mut multiply: impl FnMut(ViewOf<'_, B, T>, &mut Buf<B, T>) -> Result<()>,
    ) -> Result<()> {
        let Self { preconditioner, vectors, p, q, numbers: [numbers, next] } = self;
        let (mut numbers, mut next) = (numbers, next);
        for _ in 0..iterations {
            multiply(SpaceOf::<B>::view(p), q)?;
            vectors.gradient_advance(GradientAdvance {
                q: SpaceOf::<B>::view(q),
                p: SpaceOf::<B>::view(p),
                x: SpaceOf::<B>::reborrow::<T>(&mut x),
                r: SpaceOf::<B>::view_mut(r),
                numbers: SpaceOf::<B>::view(numbers),
            })?;
            let (is_identity, r) = (preconditioner.is_identity(), SpaceOf::<B>::view::<T>(r));
            let z = preconditioner.apply(r)?;
            vectors.gradient_turn(GradientTurn {
                r,
                z: (!is_identity).then_some(z),
                p: SpaceOf::<B>::view_mut(p),
                numbers: SpaceOf::<B>::view(numbers),
                next: SpaceOf::<B>::view_mut(next),
            })?;
            std::mem::swap(&mut numbers, &mut next);
        }
        if iterations.is_multiple_of(2) {
            return Ok(());
        }
        backend.copy::<T>(SpaceOf::<B>::view(numbers), SpaceOf::<B>::view_mut(next))
    }

    /// An error with the reason if an iteration after one that left this ρ changes nothing.
    fn check(&self, backend: &B, rho: T) -> Result<(), Halt> {
        let rho = rho.re();
        if !rho.is_finite() {
            return Err(Breakdown::NotFinite { quantity: "rᴴ·z" }.into());
        }
        if !rho.is_normal() {
            return Err(Breakdown::RhoUnderflow.into());
        }
        if rho > RealOf::<T>::zero() {
            return Ok(());
        }
        // The step left p and q as they were, and ρ negative; so does rᴴ·z < 0 after a step.
        curvature::<B, T>(backend, SpaceOf::<B>::view(&self.p), SpaceOf::<B>::view(&self.q))?;
        Err(match self.preconditioner.is_identity() {
            true => Breakdown::ZeroDivisor { quantity: "pᴴ·q" }.into(),
            false => Breakdown::IndefiniteMatrix.into(),
        })
    }
}

/// A fixed number of iterations, which can be recorded in a CUDA graph: they neither wait nor allocate. Residuals are
/// not scaled here, so that ‖b − A·x‖₂² has to be a number of the type.
impl<B, M, P> EnqueuedCg<B, M, P>
where
    B: SpmvKernel<M> + VectorKernel<M::Scalar>,
    M: SparseFormat<Space = SpaceOf<B>>,
    M::Scalar: Accumulator,
    P: Preconditioner<B, M::Scalar>,
{
    /// Begins at `x`: `r = b − A·x`, `p = K⁻¹·r`.
    ///
    /// `a` has the pattern that the solver was made for; its values may have changed.
    ///
    /// ```
    /// use sparse_core::reference::Reference;
    /// use sparse_solvers::{EnqueuedCg, Identity, SolverOptions};
    ///
    /// let a = sparse_generate::stencil_5::<f64>(4, 4)?;
    /// let mut x = vec![0.0; 16];
    /// let mut solver = EnqueuedCg::new(&Reference, &a, Identity, &SolverOptions::default())?;
    /// solver.start(&a, &[1.0; 16], &x)?;
    /// solver.run(&a, 8, &mut x)?;
    /// assert!(solver.residual_norm()? < 1e-9);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](sparse_core::Error::Shape), [`PlanMismatch`](sparse_core::Error::PlanMismatch) and
    /// [`WrongContext`](sparse_core::Error::WrongContext) for wrong operands; errors of the device's runtime.
    pub fn start(&mut self, a: &M, b: ViewOf<'_, B, M::Scalar>, x: ViewOf<'_, B, M::Scalar>) -> Result<()> {
        self.true_residual(a, b, x)?;
        self.recurrence.state.start(&self.backend, &self.r)
    }

    /// Takes `iterations` iterations from `x`, which is that of [`start`](Self::start) or of the last run. Odd numbers
    /// cost a copy of one number more.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub fn run(&mut self, a: &M, iterations: usize, x: ViewMutOf<'_, B, M::Scalar>) -> Result<()> {
        let Self { backend, plan, r, recurrence, .. } = self;
        let (one, zero) = (M::Scalar::one(), M::Scalar::zero());
        recurrence.state.run(backend, iterations, x, r, |p, q| {
            plan.run(one, a, p, zero, SpaceOf::<B>::view_mut::<M::Scalar>(q))
        })
    }

    /// ‖r‖₂ of the residual of the recurrence, after waiting for the iterations: an estimate, which may be too small.
    ///
    /// # Errors
    /// An error of the device's runtime.
    pub fn residual_norm(&self) -> Result<RealOf<M::Scalar>> {
        nrm2::<B, M::Scalar>(&self.backend, SpaceOf::<B>::view(&self.r))
    }

    /// Takes `iterations` iterations from the given `x`, and then computes b − A·x, once.
    ///
    /// ```
    /// use sparse_core::reference::Reference;
    /// use sparse_solvers::{EnqueuedCg, Identity, SolverOptions};
    ///
    /// let a = sparse_generate::stencil_5::<f64>(4, 4)?;
    /// let mut x = vec![0.0; 16];
    /// let mut solver = EnqueuedCg::new(&Reference, &a, Identity, &SolverOptions::default())?;
    /// let solution = solver.solve_fixed(&a, &[1.0; 16], &mut x, 20)?;
    /// assert!(solution.converged() && solution.iterations == 20);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub fn solve_fixed(
        &mut self,
        a: &M,
        b: ViewOf<'_, B, M::Scalar>,
        mut x: ViewMutOf<'_, B, M::Scalar>,
        iterations: usize,
    ) -> Result<Solution> {
        self.start(a, b, SpaceOf::<B>::as_shared::<M::Scalar>(&x))?;
        let backend = self.backend.clone();
        Recorded::none(&self.recurrence.state.preconditioner).run(
            &backend,
            iterations,
            &mut |iterations| self.run(a, iterations, SpaceOf::<B>::reborrow::<M::Scalar>(&mut x)),
        )?;
        let rho = self.backend.download(&self.recurrence.state.numbers[0])?[0];
        let ended = match self.recurrence.state.check(&self.backend, rho) {
            Ok(()) | Err(Halt::Restart) => Outcome::IterationLimit,
            Err(Halt::Outcome(outcome)) => outcome,
            Err(Halt::Error(error)) => return Err(error),
        };
        self.true_residual(a, b, SpaceOf::<B>::as_shared::<M::Scalar>(&x))?;
        let residual = to_f64(self.residual_norm()?);
        let norm_b = to_f64(nrm2::<B, M::Scalar>(&self.backend, b)?);
        let outcome = match residual <= self.tolerance * norm_b {
            _ if !residual.is_finite() => Breakdown::NotFinite { quantity: "‖b − A·x‖" }.into(),
            true => Outcome::Converged,
            false => ended,
        };
        let relative_residual = if residual == 0.0 { 0.0 } else { residual / norm_b };
        Ok(Solution {
            outcome,
            iterations,
            residual,
            relative_residual,
            normal_residual: None,
            estimates: None,
        })
    }

    /// `r ← b − A·x`.
    fn true_residual(
        &mut self,
        a: &M,
        b: ViewOf<'_, B, M::Scalar>,
        x: ViewOf<'_, B, M::Scalar>,
    ) -> Result<()> {
        let (one, zero) = (M::Scalar::one(), M::Scalar::zero());
        let vectors = &self.recurrence.state.vectors;
        vectors.axpby(one.into(), b, zero.into(), SpaceOf::<B>::view_mut(&mut self.r))?;
        self.plan.run(-one, a, x, one, SpaceOf::<B>::view_mut(&mut self.r))
    }
}
