//! `y ← alpha·op(A)·x + beta·y`.

use crate::build::{Build, FormatOn};
use crate::call::Call;
use crate::case::Problem;
use crate::error_bound::sums;
use crate::guarded_operand::{Cell, Frame, GuardedOperand, POISON};
use crate::key::Key;
use crate::matrix_subject::{MatrixOperation, MatrixPlan, MatrixSubject};
use crate::setting::Setting;
use crate::subject::{Check, Expected};
use crate::suite::Suite;
use crate::triplets::Triplets;
use sparse_core::catalog::Operation;
use sparse_core::op::{Op, SpmvKernel, SpmvPlan, VectorKernel};
use sparse_core::{Algorithm, PlanOptions, Result, c64};

/// The check of SpMV.
#[derive(Debug)]
pub(crate) struct Spmv;

/// The factors of every product.
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

/// The operations on A: large real matrices do not need the conjugate.
pub(crate) fn ops(problem: &Problem) -> impl Iterator<Item = Op> {
    let few = problem.case.large && !problem.dtype.is_complex();
    Op::ALL.into_iter().take(if few { 2 } else { 3 })
}

/// (rows, columns) of op(A).
pub(crate) fn shape(matrix: &Triplets, op: Op) -> (usize, usize) {
    op.orient(matrix.rows, matrix.cols)
}

/// A call of a product, with NaN in operands that must not be read: y if beta is 0, x if alpha is 0.
pub(crate) fn product_call(problem: &Problem, (alpha, beta): (c64, c64), x: Frame, y: Frame) -> Call {
    let read = |factor: c64, value: c64| if factor == c64::ZERO { POISON } else { value };
    Call {
        label: format!("alpha={} beta={}", crate::array_dump::text(alpha), crate::array_dump::text(beta)),
        alpha,
        beta,
        x: GuardedOperand::input(x, |row, col| read(alpha, problem.x(row, col))),
        y: GuardedOperand::output(y, |row, col| read(beta, problem.y(row, col))),
    }
}

impl Spmv {
    fn call(&self, problem: &Problem, factors: (c64, c64), x: usize, y: usize) -> Call {
        product_call(problem, factors, Frame::vector(x), Frame::vector(y))
    }
}

impl Suite {
    /// SpMV in format `H`.
    pub fn spmv<B, H>(&mut self, backend: &B) -> &mut Self
    where
        B: SpmvKernel<FormatOn<B, H>> + VectorKernel<H::Scalar>,
        H: Build<Scalar: Cell>,
    {
        self.add(MatrixSubject::<B, H>::new(backend, Key::of::<H>(Operation::Spmv), &Spmv))
    }
}

impl Check for Spmv {
    fn is_of_all_formats(&self) -> bool {
        true
    }

    fn settings(&self, _: &Key, problem: &Problem) -> Vec<Setting> {
        ops(problem).map(Setting::Vector).collect()
    }

    fn calls(&self, setting: &Setting, problem: &Problem) -> Vec<Call> {
        let (rows, cols) = shape(&problem.matrix, op_of(setting));
        factors(problem).into_iter().map(|factors| self.call(problem, factors, cols, rows)).collect()
    }

    fn invalid_calls(&self, setting: &Setting, problem: &Problem) -> Vec<Call> {
        let (rows, cols) = shape(&problem.matrix, op_of(setting));
        let ones = (c64::ONE, c64::ONE);
        vec![self.call(problem, ones, cols + 1, rows), self.call(problem, ones, cols, rows + 1)]
    }

    fn expected(&self, setting: &Setting, call: &Call, problem: &Problem) -> Option<Expected> {
        let arithmetic = &problem.arithmetic;
        let sums = sums(&problem.matrix, op_of(setting), call.x.column(0), arithmetic);
        let y = sums.into_iter().zip(call.y.elements()).map(|(sum, y)| {
            sum.scaled(call.alpha, call.beta, y, arithmetic).bounded(problem.is_exact(), arithmetic)
        });
        Some(Expected { y: y.collect(), ..Expected::default() })
    }
}

/// The operation of a product's setting.
pub(crate) fn op_of(setting: &Setting) -> Op {
    match *setting {
        Setting::Vector(op) | Setting::Columns(op, _) => op,
        _ => Op::None,
    }
}

impl<B, H> MatrixOperation<B, H> for Spmv
where
    B: SpmvKernel<FormatOn<B, H>> + VectorKernel<H::Scalar>,
    H: Build<Scalar: Cell>,
{
    fn algorithms(&self, backend: &B, setting: &Setting) -> &'static [Algorithm] {
        backend.spmv_algorithms(op_of(setting))
    }

    fn plan(
        &self,
        backend: &B,
        a: &FormatOn<B, H>,
        setting: &Setting,
        options: &PlanOptions,
    ) -> Result<MatrixPlan<B, H>> {
        let mut plan = SpmvPlan::new(backend, a, op_of(setting), options)?;
        Ok(MatrixPlan {
            algorithm: plan.choice().algorithm,
            run: Box::new(move |a, call, y| {
                let (alpha, beta) = call.factors();
                call.on::<B, H::Scalar>(a.backend, y, &mut |x, y| {
                    plan.run(alpha, &a.device, x.vector(), beta, y.vector_mut()).map(|()| None)
                })
            }),
        })
    }
}
