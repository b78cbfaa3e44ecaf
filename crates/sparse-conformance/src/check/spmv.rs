//! `y ← alpha·op(A)·x + beta·y`.

use super::{Check, Expected};
use crate::build::{Build, On};
use crate::case::Problem;
use crate::held::{Held, HeldMatrix};
use crate::memory::{Cell, Frame, Memory, POISON, Placed};
use crate::product::sums;
use crate::subject::{Call, Key, Outcome, Setting, Subject, Trial};
use crate::suite::Suite;
use crate::triplets::Triplets;
use sparse_core::op::{Op, SpmvKernel, SpmvPlan, VectorKernel};
use sparse_core::{Algorithm, PlanOptions, Result, Scalar, c64};
use std::marker::PhantomData;

/// The check of SpMV.
#[derive(Debug)]
pub(crate) struct Spmv;

/// The factors that every product is checked with.
const FACTORS: [(f64, f64); 6] = [(1.0, 0.0), (1.0, 1.0), (2.0, -1.0), (0.0, 1.0), (0.0, 0.0), (-1.0, 0.5)];

/// (alpha, beta) for a problem: two pairs for a large one, one with imaginary parts for a complex one.
pub(crate) fn factors(problem: &Problem) -> Vec<(c64, c64)> {
    let real = |(alpha, beta)| (c64::new(alpha, 0.0), c64::new(beta, 0.0));
    if problem.case.large {
        return vec![real(FACTORS[0]), real(FACTORS[2])];
    }
    let mut factors: Vec<_> = FACTORS.into_iter().map(real).collect();
    if problem.dtype.is_complex() {
        factors.push((c64::new(1.0, 2.0), c64::new(0.0, -1.0)));
    }
    factors
}

/// The kinds of op(A): large real matrices have no need of the conjugate.
pub(crate) fn ops(problem: &Problem) -> impl Iterator<Item = Op> {
    let few = problem.case.large && !problem.dtype.is_complex();
    Op::ALL.into_iter().take(if few { 2 } else { 3 })
}

/// (rows, columns) of op(A).
pub(crate) fn shape(matrix: &Triplets, op: Op) -> (usize, usize) {
    if op.transposes() { (matrix.cols, matrix.rows) } else { (matrix.rows, matrix.cols) }
}

/// A call of a product: NaN where it must not be read (rules B1 and B2).
pub(crate) fn product_call(problem: &Problem, (alpha, beta): (c64, c64), x: Frame, y: Frame) -> Call {
    let read = |factor: c64, value: c64| if factor == c64::ZERO { POISON } else { value };
    Call {
        label: format!("alpha={} beta={}", crate::portrait::text(alpha), crate::portrait::text(beta)),
        alpha,
        beta,
        x: Memory::input(x, |row, col| read(alpha, problem.x(row, col))),
        y: Memory::output(y, |row, col| read(beta, problem.y(row, col))),
    }
}

impl Spmv {
    fn call(&self, problem: &Problem, factors: (c64, c64), x: usize, y: usize) -> Call {
        product_call(problem, factors, Frame::vector(x), Frame::vector(y))
    }
}

impl Check for Spmv {
    fn settings(&self, _: &Key, problem: &Problem) -> Vec<Setting> {
        ops(problem).map(Setting::Vector).collect()
    }

    fn calls(&self, setting: &Setting, problem: &Problem) -> Vec<Call> {
        let (rows, cols) = shape(&problem.matrix, op_of(setting));
        factors(problem).into_iter().map(|factors| self.call(problem, factors, cols, rows)).collect()
    }

    fn misfits(&self, setting: &Setting, problem: &Problem) -> Vec<Call> {
        let (rows, cols) = shape(&problem.matrix, op_of(setting));
        let ones = (c64::ONE, c64::ONE);
        vec![self.call(problem, ones, cols + 1, rows), self.call(problem, ones, cols, rows + 1)]
    }

    fn expected(
        &self,
        _: &Key,
        setting: &Setting,
        call: &Call,
        problem: &Problem,
        _: &Suite,
    ) -> Result<Expected> {
        let arithmetic = &problem.arithmetic;
        let sums = sums(&problem.matrix, op_of(setting), call.x.column(0), arithmetic);
        let y = sums.into_iter().zip(call.y.elements()).map(|(sum, y)| {
            sum.scaled(call.alpha, call.beta, y, arithmetic).bounded(problem.is_exact(), arithmetic)
        });
        Ok(Expected { y: y.collect(), ..Expected::default() })
    }
}

/// op of a setting of a product.
pub(crate) fn op_of(setting: &Setting) -> Op {
    match *setting {
        Setting::Vector(op) | Setting::Columns(op, _) => op,
        _ => Op::None,
    }
}

/// SpMV of one backend in one format.
#[derive(Debug)]
pub(crate) struct SpmvSubject<B, H> {
    backend: B,
    key: Key,
    format: PhantomData<fn() -> H>,
}

impl<B, H: Build> SpmvSubject<B, H> {
    pub(crate) fn new(backend: B) -> Self {
        Self { backend, key: Key::of::<H>("spmv"), format: PhantomData }
    }
}

struct SpmvTrial<B, H>
where
    B: SpmvKernel<On<B, H>>,
    H: Build,
{
    a: Held<B, H>,
    plan: SpmvPlan<B, On<B, H>>,
}

impl<B, H> Subject for SpmvSubject<B, H>
where
    B: SpmvKernel<On<B, H>> + VectorKernel<H::Scalar>,
    H: Build<Scalar: Cell>,
{
    fn key(&self) -> &Key {
        &self.key
    }

    fn check(&self) -> &'static dyn Check {
        &Spmv
    }

    fn algorithms(&self, setting: &Setting) -> &'static [Algorithm] {
        self.backend.spmv_algorithms(op_of(setting))
    }

    fn prepare(
        &self,
        matrix: &Triplets,
        setting: &Setting,
        options: &PlanOptions,
    ) -> Result<Box<dyn Trial + '_>> {
        let a = Held::<B, H>::new(&self.backend, matrix)?;
        let plan = SpmvPlan::new(&self.backend, &a.device, op_of(setting), options)?;
        Ok(Box::new(SpmvTrial { a, plan }))
    }
}

impl<B, H> Trial for SpmvTrial<B, H>
where
    B: SpmvKernel<On<B, H>> + VectorKernel<H::Scalar>,
    H: Build<Scalar: Cell>,
{
    fn run(&mut self, call: &Call, y: &mut Memory) -> Result<Outcome> {
        let (a, plan) = (&self.a, &mut self.plan);
        let x = Placed::<B, H::Scalar>::new(&a.backend, &call.x)?;
        let mut output = Placed::new(&a.backend, y)?;
        let (alpha, beta) = (Scalar::from_c64(call.alpha), Scalar::from_c64(call.beta));
        let run = plan.run(alpha, &a.device, x.vector(), beta, output.vector_mut());
        *y = output.read(&a.backend)?;
        run?;
        Ok(Outcome { x: Some(x.read(&a.backend)?), ..Outcome::default() })
    }

    fn matrix(&mut self) -> Option<&mut dyn HeldMatrix> {
        Some(&mut self.a)
    }
}
