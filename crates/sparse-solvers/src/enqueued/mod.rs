//! Conjugate gradients whose iterations are enqueued several at a time.

mod fixed_iterations;
mod recorded;
mod state;

use crate::krylov::Krylov;
use crate::outcome::{Halt, SolverOptions};
use crate::preconditioner::{Identity, Preconditioner};
use crate::recurrence::{Iterate, Recurrence};
use num_traits::{Float, One, Zero};
use recorded::{RECORDED, Recorded};
#[cfg(doc)]
use sparse_core::Backend;
use sparse_core::backend::{Buf, SpaceOf};
use sparse_core::op::{RealOf, SpmvKernel, VectorKernel};
use sparse_core::{Accumulator, Result, Space, SparseFormat};
use state::State;

/// The most iterations between two checks of the residual, where the device waits for a check, which costs about as
/// much as two iterations of a small system; the iterations after convergence are wasted, half of these on average.
const LONGEST_RUN: usize = 32;

/// The most iterations between two checks, where the device meanwhile runs the next ones: a check costs half an
/// iteration of a small system, and the iterations after convergence are wasted.
const LONGEST_OVERLAPPED_RUN: usize = 16;

/// Orders below which a check that the device waits for costs more than 1 % of a long run. Measured on H100 and H200:
/// 12 to 15 µs for a check, and 1.3 ms for 32 iterations of the 5-point Laplacian of this order.
const SMALL: usize = 1 << 18;

/// Conjugate gradients for Hermitian positive definite A, with a Hermitian positive definite preconditioner K, whose
/// scalars stay in the memory of the backend: iterations are enqueued 1, 2, 4, … up to 32 at a time without waiting
/// for a device, and then the residual is checked. A system of fewer than 2¹⁸ unknowns, whose iterations take less
/// time than a check, is checked first after 4 iterations, and while a device that can do so runs up to 16 further
/// ones. A backend that [records](Backend::record) records 4 iterations, and repeats the recording, also in later
/// solves with the same matrix.
///
/// ```text
/// q = A·p    α = ρ / (pᴴ·q)    x ← x + α·p    r ← r − α·q    z = K⁻¹·r    ρ' = rᴴ·z    p ← z + (ρ'/ρ)·p
/// ```
/// An iteration takes one product with A, and on a device three launches; apart from the product it moves 10 vectors
/// of the order of A with CUDA, 11 elsewhere. A preconditioner adds its application and a launch, and makes it 13. The
/// workspace is four vectors.
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
    /// ρ and ‖r‖² after the iterations that were checked last.
    numbers: [T; 2],
    /// Iterations of the next run.
    next_run: usize,
    /// Iterations that are enqueued and not checked.
    pending: usize,
    /// True if iterations are enqueued while others are checked.
    overlaps: bool,
    recorded: Recorded,
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
    M: SparseFormat<Space = SpaceOf<B>, Scalar: Accumulator>,
    P: Preconditioner<B, M::Scalar>,
{
    type Preconditioner = P;
    const NAME: &'static str = "enqueued_cg";

    fn new(backend: &B, n: usize, preconditioner: P, _: &SolverOptions) -> Result<Self> {
        let recorded = Recorded::none(&preconditioner);
        Ok(Self {
            state: State::new(backend, n, preconditioner)?,
            correction: backend.zeros(n)?,
            numbers: [M::Scalar::one(); 2],
            next_run: 1,
            pending: 0,
            overlaps: n < SMALL && backend.overlaps_downloads(),
            recorded,
        })
    }

    fn preconditioner_mut(&mut self) -> &mut P {
        &mut self.state.preconditioner
    }

    fn start(&mut self, at: &Iterate<'_, B, M>, r: &Buf<B, M::Scalar>) -> Result<()> {
        (self.numbers, self.pending) = ([M::Scalar::one(); 2], 0);
        self.next_run = if self.overlaps { RECORDED } else { 1 };
        self.recorded.begin(self.state.preconditioner.is_recordable());
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
        let Self { state, correction, numbers, pending, recorded, .. } = self;
        let mut run = |state: &mut State<B, M::Scalar, P>, iterations| {
            recorded.run(backend, iterations, &mut |iterations| {
                let correction = SpaceOf::<B>::view_mut(correction);
                state.run(backend, iterations, correction, r, |p, q| at.multiply(p, q))
            })
        };
        run(state, first)?;
        backend
            .download_overlapped(state, State::view_numbers, numbers, &mut |state| run(state, *pending))?;
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
        self.recorded.end();
        at.advance(M::Scalar::one(), SpaceOf::<B>::view(&self.correction))?;
        Ok(self.pending)
    }
}
