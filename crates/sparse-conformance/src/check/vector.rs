//! `axpby`, `dot`, `nrm2` and `scal`, on vectors as long as the case's matrix has rows.

use super::spmv::{factors, product_call};
use super::{Check, Expected};
use crate::case::Problem;
use crate::memory::{Cell, Frame, Memory, Placed};
use crate::product::{Bounded, Sum};
use crate::subject::{Call, Key, Outcome, Setting, Subject, Trial};
use crate::suite::Suite;
use crate::triplets::Triplets;
use sparse_core::op::{VectorKernel, vector};
use sparse_core::{Algorithm, PlanOptions, Result, Scalar, c64};
use std::marker::PhantomData;

/// The check of a vector operation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum VectorOp {
    /// `y ← alpha·x + beta·y`.
    Axpby,
    /// `Σ conj(x_i)·y_i`.
    Dot,
    /// `sqrt(Σ |x_i|²)`.
    Nrm2,
    /// `y ← beta·y`.
    Scal,
}

impl VectorOp {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [Self::Axpby, Self::Dot, Self::Nrm2, Self::Scal];

    fn name(self) -> &'static str {
        match self {
            Self::Axpby => "axpby",
            Self::Dot => "dot",
            Self::Nrm2 => "nrm2",
            Self::Scal => "scal",
        }
    }

    fn as_check(self) -> &'static dyn Check {
        match self {
            Self::Axpby => &Self::Axpby,
            Self::Dot => &Self::Dot,
            Self::Nrm2 => &Self::Nrm2,
            Self::Scal => &Self::Scal,
        }
    }

    /// Whether the result is a number.
    fn reduces(self) -> bool {
        matches!(self, Self::Dot | Self::Nrm2)
    }
}

/// Vectors above this length are left to matrices.
const LONGEST: usize = 1 << 20;

impl Check for VectorOp {
    fn settings(&self, _: &Key, problem: &Problem) -> Vec<Setting> {
        if problem.matrix.rows > LONGEST { vec![] } else { vec![Setting::Plain] }
    }

    /// A reduction's "output" is its second operand.
    fn calls(&self, _: &Setting, problem: &Problem) -> Vec<Call> {
        let frame = Frame::vector(problem.matrix.rows);
        let factors = if self.reduces() { vec![(c64::ONE, c64::ONE)] } else { factors(problem) };
        factors.into_iter().map(|factors| product_call(problem, factors, frame, frame)).collect()
    }

    fn misfits(&self, _: &Setting, problem: &Problem) -> Vec<Call> {
        if matches!(self, Self::Nrm2 | Self::Scal) {
            return vec![];
        }
        let frame = |len| Frame::vector(problem.matrix.rows + len);
        vec![product_call(problem, (c64::ONE, c64::ONE), frame(1), frame(0))]
    }

    fn scope(&self, key: &Key, _: &Setting) -> Option<String> {
        Some(key.format.clone())
    }

    fn expected(&self, _: &Key, _: &Setting, call: &Call, problem: &Problem, _: &Suite) -> Result<Expected> {
        let (stored, exact) = (&problem.arithmetic, problem.is_exact());
        let accumulated = &stored.accumulated();
        let (x, y) = (call.x.elements(), call.y.elements());
        let y = match self {
            Self::Axpby => {
                let one = |x| Sum::of([(c64::ONE, x)].into_iter(), stored);
                x.zip(y)
                    .map(|(x, y)| one(x).scaled(call.alpha, call.beta, y, stored).bounded(exact, stored))
                    .collect()
            }
            Self::Scal => {
                y.map(|y| Sum::ZERO.scaled(c64::ZERO, call.beta, y, stored).bounded(exact, stored)).collect()
            }
            Self::Dot => {
                let pairs: Vec<_> = x.map(|x| x.conj()).zip(y).collect();
                vec![Sum::of(pairs.into_iter().rev(), accumulated).bounded(exact, accumulated)]
            }
            Self::Nrm2 => vec![norm(&x.collect::<Vec<_>>(), accumulated.roundoff)],
        };
        Ok(Expected { y, ..Expected::default() })
    }
}

/// The norm, scaled by the largest element, and `(n + 4)·u` of it.
fn norm(x: &[c64], roundoff: f64) -> Bounded {
    if let Some(extreme) = x.iter().find(|x| !Scalar::is_finite(**x)) {
        return Bounded { value: c64::new(extreme.re.abs(), 0.0), bound: 0.0 };
    }
    let largest = x.iter().flat_map(|x| [x.re.abs(), x.im.abs()]).fold(0.0, f64::max);
    let scale = if largest == 0.0 { 1.0 } else { largest };
    let squares: f64 = x.iter().rev().map(|x| (x / scale).norm_sqr()).sum();
    let norm = squares.sqrt() * scale;
    Bounded { value: c64::new(norm, 0.0), bound: (x.len() + 4) as f64 * roundoff * norm }
}

/// A vector operation of one backend.
#[derive(Debug)]
pub(crate) struct VectorSubject<B, T> {
    backend: B,
    key: Key,
    op: VectorOp,
    element: PhantomData<fn() -> T>,
}

impl<B, T: Scalar> VectorSubject<B, T> {
    pub(crate) fn new(backend: B, op: VectorOp) -> Self {
        let key = Key::new::<T>("vector", op.name(), T::DTYPE.to_string());
        Self { backend, key, op, element: PhantomData }
    }
}

/// There is no table: each operation is one algorithm.
const ALGORITHMS: &[Algorithm] = &[Algorithm::new("direct", "always")];

impl<B: VectorKernel<T>, T: Scalar + Cell> Subject for VectorSubject<B, T> {
    fn key(&self) -> &Key {
        &self.key
    }

    fn check(&self) -> &'static dyn Check {
        self.op.as_check()
    }

    fn algorithms(&self, _: &Setting) -> &'static [Algorithm] {
        ALGORITHMS
    }

    fn prepare(&self, _: &Triplets, _: &Setting, _: &PlanOptions) -> Result<Box<dyn Trial + '_>> {
        Ok(Box::new(VectorTrial { subject: self }))
    }
}

struct VectorTrial<'a, B, T> {
    subject: &'a VectorSubject<B, T>,
}

impl<B: VectorKernel<T>, T: Scalar + Cell> Trial for VectorTrial<'_, B, T> {
    fn run(&mut self, call: &Call, y: &mut Memory) -> Result<Outcome> {
        let backend = &self.subject.backend;
        let x = Placed::<B, T>::new(backend, &call.x)?;
        let mut output = Placed::<B, T>::new(backend, y)?;
        let (alpha, beta) = (Scalar::from_c64(call.alpha), Scalar::from_c64(call.beta));
        let run = match self.subject.op {
            VectorOp::Axpby => {
                vector::axpby(backend, alpha, x.vector(), beta, output.vector_mut()).map(|()| None)
            }
            VectorOp::Scal => vector::scal(backend, beta, output.vector_mut()).map(|()| None),
            VectorOp::Dot => vector::dot(backend, x.vector(), output.vector()).map(|dot| Some(dot.to_c64())),
            VectorOp::Nrm2 => vector::nrm2(backend, x.vector()).map(|norm| Some(norm.to_c64())),
        };
        *y = output.read(backend)?;
        let number = run?;
        Ok(Outcome { x: Some(x.read(backend)?), number, ..Outcome::default() })
    }
}
