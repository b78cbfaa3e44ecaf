//! `C ← alpha·op(A)·B + beta·C`, with operands of either order, strided, of 0 to 40 columns.

use super::spmv::{Spmv, factors, op_of, ops, product_call, shape};
use crate::build::{Build, FormatOn};
use crate::call::Call;
use crate::case::Problem;
use crate::error_bound::sums;
use crate::guarded_operand::{Cell, Frame};
use crate::key::Key;
use crate::matrix_subject::{MatrixOperation, MatrixPlan, MatrixSubject};
use crate::setting::Setting;
use crate::subject::{Check, Expected};
use crate::suite::Suite;
use sparse_core::catalog::Operation;
use sparse_core::op::{Op, SpmmKernel, SpmmPlan, VectorKernel};
use sparse_core::{Algorithm, Order, PlanOptions, Result, c64};

/// The check of SpMM.
#[derive(Debug)]
pub(crate) struct Spmm;

/// More columns than a tile; run with few factors.
const MANY: usize = 40;

/// Orders of B and C, and the padding of their lines.
pub(super) const LAYOUTS: [(Order, Order, usize); 4] = [
    (Order::RowMajor, Order::RowMajor, 0),
    (Order::ColMajor, Order::ColMajor, 3),
    (Order::RowMajor, Order::ColMajor, 1),
    (Order::ColMajor, Order::RowMajor, 2),
];

fn columns_of(setting: &Setting) -> usize {
    if let Setting::Columns(_, columns) = *setting { columns } else { 0 }
}

/// The frames of B and C for a layout.
fn frames(setting: &Setting, problem: &Problem, (b, c, padding): (Order, Order, usize)) -> (Frame, Frame) {
    let (rows, inner) = shape(&problem.matrix, op_of(setting));
    let frame = |rows, order| Frame { rows, cols: columns_of(setting), padding, order };
    (frame(inner, b), frame(rows, c))
}

impl Suite {
    /// SpMM in format `H`.
    pub fn spmm<B, H>(&mut self, backend: &B) -> &mut Self
    where
        B: SpmmKernel<FormatOn<B, H>> + VectorKernel<H::Scalar>,
        H: Build<Scalar: Cell>,
    {
        self.add(MatrixSubject::<B, H>::new(backend, Key::of::<H>(Operation::Spmm), &Spmm))
    }
}

impl Check for Spmm {
    fn settings(&self, _: &Key, problem: &Problem) -> Vec<Setting> {
        let columns = |op| match op {
            _ if problem.case.large => &[3][..],
            Op::None => &[0, 1, 2, MANY],
            Op::Transpose => &[2, MANY],
            Op::ConjugateTranspose => &[2],
        };
        ops(problem)
            .flat_map(|op| columns(op).iter().map(move |&columns| Setting::Columns(op, columns)))
            .filter(|setting| problem.case.large || problem.has_few_elements(columns_of(setting)))
            .collect()
    }

    /// Every pair of factors, each with another layout, so that all layouts occur.
    fn calls(&self, setting: &Setting, problem: &Problem) -> Vec<Call> {
        let layouts = LAYOUTS.into_iter().cycle();
        let mut factors = factors(problem);
        if columns_of(setting) == MANY {
            factors.truncate(2);
        }
        let calls = factors.into_iter().zip(layouts).map(|(factors, layout)| {
            let (b, c) = frames(setting, problem, layout);
            let mut call = product_call(problem, factors, b, c);
            call.label += &format!(" B={:?} C={:?} padding={}", layout.0, layout.1, layout.2);
            call
        });
        calls.collect()
    }

    fn is_of_all_formats(&self) -> bool {
        true
    }

    /// Answers of many columns are too long for snapshots.
    fn scope(&self, key: &Key, setting: &Setting) -> Option<String> {
        (columns_of(setting) < MANY).then(|| Spmv.scope(key, setting)).flatten()
    }

    fn invalid_calls(&self, setting: &Setting, problem: &Problem) -> Vec<Call> {
        let (b, c) = frames(setting, problem, LAYOUTS[0]);
        let more_rows = |frame: Frame| Frame { rows: frame.rows + 1, ..frame };
        let more_columns = |frame: Frame| Frame { cols: frame.cols + 1, ..frame };
        [(more_rows(b), c), (b, more_rows(c)), (more_columns(b), c), (b, more_columns(c))]
            .map(|(b, c)| product_call(problem, (c64::ONE, c64::ONE), b, c))
            .into()
    }

    fn expected(&self, setting: &Setting, call: &Call, problem: &Problem) -> Option<Expected> {
        let (arithmetic, exact) = (&problem.arithmetic, problem.is_exact());
        let columns = (0..columns_of(setting)).flat_map(|col| {
            let sums = sums(&problem.matrix, op_of(setting), call.x.column(col), arithmetic);
            let elements = sums.into_iter().enumerate();
            elements.map(move |(row, sum)| {
                sum.scaled(call.alpha, call.beta, call.y.at(row, col), arithmetic).bounded(exact, arithmetic)
            })
        });
        Some(Expected { y: columns.collect(), ..Expected::default() })
    }
}

impl<B, H> MatrixOperation<B, H> for Spmm
where
    B: SpmmKernel<FormatOn<B, H>> + VectorKernel<H::Scalar>,
    H: Build<Scalar: Cell>,
{
    fn algorithms(&self, backend: &B, setting: &Setting) -> &'static [Algorithm] {
        backend.spmm_algorithms(op_of(setting))
    }

    fn plan(
        &self,
        backend: &B,
        a: &FormatOn<B, H>,
        setting: &Setting,
        options: &PlanOptions,
    ) -> Result<MatrixPlan<B, H>> {
        let mut plan = SpmmPlan::new(backend, a, op_of(setting), columns_of(setting), options)?;
        Ok(MatrixPlan {
            algorithm: plan.choice().algorithm,
            run: Box::new(move |a, call, y| {
                let (alpha, beta) = call.factors();
                call.on::<B, H::Scalar>(a.backend, y, &mut |b, c| {
                    plan.run(alpha, &a.device, b.dense()?, beta, c.dense_mut()?).map(|()| None)
                })
            }),
        })
    }
}
