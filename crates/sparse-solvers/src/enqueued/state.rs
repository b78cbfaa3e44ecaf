//! The state of the recurrence, and its iterations.

use crate::cg::curvature;
use crate::outcome::{Breakdown, Halt};
use crate::preconditioner::Preconditioner;
use num_traits::{Float, Zero};
use sparse_core::backend::{Buf, SpaceOf, ViewMutOf, ViewOf};
use sparse_core::op::{GradientAdvance, GradientStep, GradientTurn, RealOf, VectorKernel, VectorPlan};
use sparse_core::{Accumulator, Result, Space};

/// The preconditioner, and the vectors and numbers of the recurrence, except x and r.
#[derive(Debug)]
pub(super) struct State<B: VectorKernel<T>, T: Accumulator, P> {
    pub(super) preconditioner: P,
    pub(super) vectors: VectorPlan<B, T>,
    p: Buf<B, T>,
    q: Buf<B, T>,
    /// ρ and ‖r‖²; in the first between runs.
    pub(super) numbers: [Buf<B, T>; 2],
}

impl<B: VectorKernel<T>, T: Accumulator, P: Preconditioner<B, T>> State<B, T, P> {
    pub(super) fn new(backend: &B, n: usize, preconditioner: P) -> Result<Self> {
        Ok(Self {
            preconditioner,
            vectors: VectorPlan::new(backend, n)?,
            p: backend.zeros(n)?,
            q: backend.zeros(n)?,
            numbers: [backend.zeros(2)?, backend.zeros(2)?],
        })
    }

    /// ρ and ‖r‖² between runs.
    pub(super) fn view_numbers(&self) -> ViewOf<'_, B, T> {
        SpaceOf::<B>::view(&self.numbers[0])
    }

    /// `p = K⁻¹·r`, `ρ = rᴴ·p`.
    pub(super) fn start(&mut self, backend: &B, r: &Buf<B, T>) -> Result<()> {
        let r = SpaceOf::<B>::view::<T>(r);
        backend.copy::<T>(self.preconditioner.apply(r)?, SpaceOf::<B>::view_mut(&mut self.p))?;
        let numbers = SpaceOf::<B>::view_mut::<T>(&mut self.numbers[0]);
        self.vectors.dot(r, SpaceOf::<B>::view(&self.p), SpaceOf::<B>::slice_mut(numbers, 0..1))
    }

    /// Runs `iterations` iterations from `x`; `multiply(p, q)` computes `q ← A·p`.
    pub(super) fn run(
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
            if preconditioner.is_identity() {
                vectors.gradient_step(GradientStep {
                    q: SpaceOf::<B>::view(q),
                    p: SpaceOf::<B>::view_mut(p),
                    x: SpaceOf::<B>::reborrow::<T>(&mut x),
                    r: SpaceOf::<B>::view_mut(r),
                    numbers: SpaceOf::<B>::view(numbers),
                    next: SpaceOf::<B>::view_mut(next),
                })?;
            } else {
                vectors.gradient_advance(GradientAdvance {
                    q: SpaceOf::<B>::view(q),
                    p: SpaceOf::<B>::view(p),
                    x: SpaceOf::<B>::reborrow::<T>(&mut x),
                    r: SpaceOf::<B>::view_mut(r),
                    numbers: SpaceOf::<B>::view(numbers),
                })?;
                let r = SpaceOf::<B>::view::<T>(r);
                vectors.gradient_turn(GradientTurn {
                    r,
                    z: Some(preconditioner.apply(r)?),
                    p: SpaceOf::<B>::view_mut(p),
                    numbers: SpaceOf::<B>::view(numbers),
                    next: SpaceOf::<B>::view_mut(next),
                })?;
            }
            std::mem::swap(&mut numbers, &mut next);
        }
        if iterations.is_multiple_of(2) {
            return Ok(());
        }
        backend.copy::<T>(SpaceOf::<B>::view(numbers), SpaceOf::<B>::view_mut(next))
    }

    /// An error with the reason if an iteration after one that left this ρ changes nothing.
    pub(super) fn check(&self, backend: &B, rho: T) -> Result<(), Halt> {
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
