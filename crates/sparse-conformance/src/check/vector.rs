//! `axpby`, `dot`, `nrm2` and `scal`, on vectors with an element for each row of the case's matrix; `scale_dense`, on
//! some such columns.

use super::spmv::{factors, product_call};
use crate::call::{Call, Outcome};
use crate::case::Problem;
use crate::error_bound::{Bounded, Sum};
use crate::guarded_operand::{Cell, DeviceOperand, Frame, GuardedOperand};
use crate::key::Key;
use crate::setting::Setting;
use crate::subject::{Check, Expected, Given, PlannedOperation, Subject};
use crate::suite::Suite;
use crate::triplets::Triplets;
use sparse_core::catalog::Operation;
use sparse_core::op::{Coefficient, VectorKernel, VectorPlan, vector};
use sparse_core::space::View;
use sparse_core::{Algorithm, Error, Order, PlanOptions, Result, Scalar, Space, SpaceOf, c64};
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
    /// `C ← beta·C`.
    ScaleDense,
}

impl VectorOp {
    /// All operations.
    pub(crate) const ALL: [Self; 5] = [Self::Axpby, Self::Dot, Self::Nrm2, Self::Scal, Self::ScaleDense];

    fn name(self) -> &'static str {
        match self {
            Self::Axpby => "axpby",
            Self::Dot => "dot",
            Self::Nrm2 => "nrm2",
            Self::Scal => "scal",
            Self::ScaleDense => "scale_dense",
        }
    }

    fn as_check(self) -> &'static dyn Check {
        match self {
            Self::Axpby => &Self::Axpby,
            Self::Dot => &Self::Dot,
            Self::Nrm2 => &Self::Nrm2,
            Self::Scal => &Self::Scal,
            Self::ScaleDense => &Self::ScaleDense,
        }
    }

    /// True if the result is a number.
    fn reduces(self) -> bool {
        matches!(self, Self::Dot | Self::Nrm2)
    }
}

/// The length up to which vectors are tested; longer ones are left to matrices.
pub(super) const LONGEST: usize = 1 << 20;

/// The order and the number of columns of dense operands.
const DENSE: [(Order, usize); 3] = [(Order::RowMajor, 0), (Order::RowMajor, 2), (Order::ColMajor, 3)];
const COLUMNS: usize = 3;

/// The frame of the operands.
fn frame(setting: &Setting, problem: &Problem) -> Frame {
    let rows = problem.matrix.rows;
    match *setting {
        Setting::Dense { order, padding, .. } => Frame { rows, cols: COLUMNS, padding, order },
        _ => Frame::vector(rows),
    }
}

impl Suite {
    /// Vector operations on `T`.
    pub fn vector<B: VectorKernel<T>, T: Scalar + Cell>(&mut self, backend: &B) -> &mut Self {
        for op in VectorOp::ALL {
            self.add(VectorSubject::<B, T>::new(backend.clone(), op));
        }
        self.gradient_step::<B, T>(backend)
    }
}

impl Check for VectorOp {
    fn settings(&self, _: &Key, problem: &Problem) -> Vec<Setting> {
        match self {
            _ if problem.matrix.rows > LONGEST => vec![],
            Self::ScaleDense => {
                DENSE.map(|(order, padding)| Setting::Dense { order, padding, tolerance: None }).into()
            }
            _ => vec![Setting::Plain],
        }
    }

    /// A reduction's "output" is its second operand.
    fn calls(&self, setting: &Setting, problem: &Problem) -> Vec<Call> {
        let frame = frame(setting, problem);
        let factors = if self.reduces() { vec![(c64::ONE, c64::ONE)] } else { factors(problem) };
        factors.into_iter().map(|factors| product_call(problem, factors, frame, frame)).collect()
    }

    fn invalid_calls(&self, _: &Setting, problem: &Problem) -> Vec<Call> {
        if matches!(self, Self::Nrm2 | Self::Scal | Self::ScaleDense) {
            return vec![];
        }
        let frame = |len| Frame::vector(problem.matrix.rows + len);
        vec![product_call(problem, (c64::ONE, c64::ONE), frame(1), frame(0))]
    }

    fn expected(&self, _: &Setting, call: &Call, problem: &Problem) -> Option<Expected> {
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
            Self::Scal | Self::ScaleDense => {
                y.map(|y| Sum::ZERO.scaled(c64::ZERO, call.beta, y, stored).bounded(exact, stored)).collect()
            }
            Self::Dot => {
                let pairs: Vec<_> = x.map(|x| x.conj()).zip(y).collect();
                vec![Sum::of(pairs.into_iter().rev(), accumulated).bounded(exact, accumulated)]
            }
            Self::Nrm2 => vec![norm(&x.collect::<Vec<_>>(), accumulated.roundoff)],
        };
        Some(Expected { y, ..Expected::default() })
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
        let key = Key::new::<T>(Operation::Vector, op.name(), T::DTYPE.to_string());
        Self { backend, key, op, element: PhantomData }
    }
}

/// The pseudo-algorithms: scalars on the host, or in the backend's memory.
const ALGORITHMS: &[Algorithm] = &[
    Algorithm::new("direct", "always"),
    Algorithm::new(DEVICE_SCALARS, "never: by a plan whose scalars stay in the backend's memory"),
];
const DEVICE_SCALARS: &str = "device_scalars";

impl<B: VectorKernel<T>, T: Scalar + Cell> Subject for VectorSubject<B, T> {
    fn key(&self) -> &Key {
        &self.key
    }

    fn check(&self) -> &'static dyn Check {
        self.op.as_check()
    }

    fn algorithms(&self, _: &Setting) -> &'static [Algorithm] {
        if self.op == VectorOp::ScaleDense { &ALGORITHMS[..1] } else { ALGORITHMS }
    }

    fn given<'a>(&'a self, _: &'a Triplets) -> Result<Box<dyn Given + 'a>> {
        Ok(Box::new(self))
    }
}

impl<B: VectorKernel<T>, T: Scalar + Cell> Given for VectorSubject<B, T> {
    fn prepare(&self, _: &Setting, options: &PlanOptions) -> Result<Box<dyn PlannedOperation + '_>> {
        let choice =
            options.choose("vector", ALGORITHMS, ALGORITHMS[0].name, "there is one way by default")?;
        Ok(Box::new(PlannedOnVectors { subject: self, algorithm: choice.algorithm }))
    }
}

struct PlannedOnVectors<'a, B, T> {
    subject: &'a VectorSubject<B, T>,
    algorithm: &'static str,
}

impl<B: VectorKernel<T>, T: Scalar + Cell> PlannedOperation for PlannedOnVectors<'_, B, T> {
    fn run(&mut self, call: &Call, y: &mut GuardedOperand) -> Result<Outcome> {
        let run = if self.algorithm == DEVICE_SCALARS { run_plan } else { run_function };
        call.on::<B, T>(&self.subject.backend, y, &mut |x, y| run(self.subject, call, x, y))
    }

    fn algorithm(&self) -> Option<&'static str> {
        Some(self.algorithm)
    }
}

/// Runs the function with scalars on the host.
fn run_function<B: VectorKernel<T>, T: Scalar + Cell>(
    subject: &VectorSubject<B, T>,
    call: &Call,
    x: &DeviceOperand<B, T>,
    y: &mut DeviceOperand<B, T>,
) -> Result<Option<c64>> {
    let (backend, (alpha, beta)) = (&subject.backend, call.factors());
    match subject.op {
        VectorOp::Axpby => vector::axpby(backend, alpha, x.vector(), beta, y.vector_mut()).map(|()| None),
        VectorOp::Scal => vector::scal(backend, beta, y.vector_mut()).map(|()| None),
        VectorOp::ScaleDense => {
            // SAFETY: C was uploaded to this backend.
            unsafe { backend.scale_dense(beta, y.dense_mut()?) }.map(|()| None)
        }
        VectorOp::Dot => vector::dot(backend, x.vector(), y.vector()).map(|dot| Some(dot.to_c64())),
        VectorOp::Nrm2 => vector::nrm2(backend, x.vector()).map(|norm| Some(norm.to_c64())),
    }
}

/// Runs a plan: a factor f is −1 · −4·f / 4, of which only the first is on the host.
fn run_plan<B: VectorKernel<T>, T: Scalar + Cell>(
    subject: &VectorSubject<B, T>,
    call: &Call,
    x: &DeviceOperand<B, T>,
    y: &mut DeviceOperand<B, T>,
) -> Result<Option<c64>> {
    let backend = &subject.backend;
    let (alpha, beta): (T::Acc, T::Acc) = call.factors();
    let number = |re: f64| T::Acc::from_c64(c64::new(re, 0.0));
    let on_device = |value: T::Acc| backend.upload(&[value]);
    let (alpha, beta) = (on_device(number(-4.0) * alpha)?, on_device(number(-4.0) * beta)?);
    let (four, mut result) = (on_device(number(4.0))?, on_device(T::Acc::ZERO)?);
    let factor = |part| {
        let element = SpaceOf::<B>::view::<T::Acc>;
        Coefficient::from(number(-1.0)).times(element(part)).over(element(&four))
    };
    let mut plan = VectorPlan::<B, T>::new(backend, y.vector().len())?;
    let into = SpaceOf::<B>::view_mut::<T::Acc>;
    match subject.op {
        VectorOp::Axpby => plan.axpby(factor(&alpha), x.vector(), factor(&beta), y.vector_mut())?,
        VectorOp::Scal => plan.scal(factor(&beta), y.vector_mut())?,
        VectorOp::ScaleDense => return Err(Error::unsupported("scale_dense", "plans do not have it")),
        VectorOp::Dot => plan.dot(x.vector(), y.vector(), into(&mut result))?,
        VectorOp::Nrm2 => plan.nrm2(x.vector(), into(&mut result))?,
    }
    let number = || Ok(backend.download(&result)?[0].to_c64());
    subject.op.reduces().then(number).transpose()
}
