//! The softmax of rows of CSR and columns of CSC, over the entries; those of one coordinate count each.

use super::lines::Lines;
use crate::build::{Build, FormatOn};
use crate::call::Call;
use crate::case::Problem;
use crate::error_bound::Bounded;
use crate::guarded_operand::{Cell, Frame};
use crate::key::Key;
use crate::matrix_subject::{MatrixOperation, MatrixPlan, MatrixSubject};
use crate::scalar_properties::Arithmetic;
use crate::setting::Setting;
use crate::subject::{Check, Expected};
use crate::suite::Suite;
use crate::triplets::Triplets;
use sparse_core::catalog::Operation;
use sparse_core::op::{SoftmaxKernel, SoftmaxPlan, StoredLines};
use sparse_core::{Algorithm, DType, Error, PlanOptions, Result, SparseFormat, c64};

/// The check of the softmax of the rows, or of the columns.
#[derive(Debug)]
pub(crate) struct SoftmaxCheck(Lines);

impl Suite {
    /// The softmax of the lines of format `H`.
    pub fn softmax<B, H>(&mut self, backend: &B) -> &mut Self
    where
        B: SoftmaxKernel<FormatOn<B, H>>,
        H: Build<Scalar: Cell>,
        FormatOn<B, H>: StoredLines,
    {
        let operation = match Lines::of::<H>() {
            Lines::Rows => &SoftmaxCheck(Lines::Rows),
            Lines::Columns => &SoftmaxCheck(Lines::Columns),
        };
        self.add(MatrixSubject::<B, H>::new(backend, Key::of::<H>(Operation::Softmax), operation))
    }
}

impl SoftmaxCheck {
    /// The values of each line, in the order in which they are stored.
    fn lines(&self, matrix: &Triplets) -> Vec<Vec<f64>> {
        let (count, _) = self.0.orient(matrix.rows, matrix.cols);
        let mut lines = vec![vec![]; count];
        for &(i, j, value) in &matrix.entries {
            let (line, _) = self.0.orient(i, j);
            lines[line].push(value.re);
        }
        lines
    }
}

/// The softmax of a line. The rounding of `x − m` is that of a factor of the exponential, and a division or an
/// exponential may be off by some units in the last place.
fn softmax(line: &[f64], arithmetic: &Arithmetic) -> Vec<Bounded> {
    let Arithmetic { roundoff, storage_roundoff, tiny, .. } = *arithmetic;
    let pick = |found: f64, next: f64| if next.is_nan() || next > found { next } else { found };
    let largest = line.iter().rev().copied().fold(f64::NEG_INFINITY, pick);
    let sum: f64 = line.iter().rev().map(|x| (x - largest).exp()).sum();
    let weight = |x: f64| (x - largest).exp() / sum;
    let distance = |x: f64| if weight(x) > 0.0 { weight(x) * (x - largest).abs() } else { 0.0 };
    let of_sum = line.iter().map(|&x| distance(x)).sum::<f64>() + line.len() as f64 + 16.0;
    let bounded = |&x: &f64| {
        let value = weight(x);
        let error = 2.0 * roundoff * (distance(x) + value * of_sum);
        let bound = error + storage_roundoff * (value + error) + 4.0 * tiny;
        Bounded { value: c64::new(value, 0.0), bound }
    };
    line.iter().map(bounded).collect()
}

impl Check for SoftmaxCheck {
    /// Complex numbers have none. Large matrices run in one type.
    fn settings(&self, _: &Key, problem: &Problem) -> Vec<Setting> {
        let too_large = problem.case.large && problem.dtype != DType::F64;
        let entries = problem.matrix.entries.len();
        if problem.dtype.is_complex() || too_large { vec![] } else { vec![Setting::Entries(entries)] }
    }

    fn calls(&self, _: &Setting, problem: &Problem) -> Vec<Call> {
        let frame = Frame::vector(problem.matrix.entries.len());
        vec![Call::with_output(frame)]
    }

    fn invalid_calls(&self, _: &Setting, problem: &Problem) -> Vec<Call> {
        let frame = Frame::vector(problem.matrix.entries.len() + 1);
        vec![Call::with_output(frame)]
    }

    /// Exponentials differ by system, so that snapshots have none.
    fn scope(&self, _: &Key, _: &Setting) -> Option<String> {
        None
    }

    fn expected(&self, _: &Setting, _: &Call, problem: &Problem) -> Option<Expected> {
        let lines = self.lines(&problem.matrix);
        let y = lines.iter().flat_map(|line| softmax(line, &problem.arithmetic)).collect();
        Some(Expected { y, ..Expected::default() })
    }
}

impl<B, H> MatrixOperation<B, H> for SoftmaxCheck
where
    B: SoftmaxKernel<FormatOn<B, H>>,
    H: Build<Scalar: Cell>,
    FormatOn<B, H>: StoredLines,
{
    fn algorithms(&self, backend: &B, _: &Setting) -> &'static [Algorithm] {
        backend.softmax_algorithms()
    }

    fn plan(
        &self,
        backend: &B,
        a: &FormatOn<B, H>,
        setting: &Setting,
        options: &PlanOptions,
    ) -> Result<MatrixPlan<B, H>> {
        if *setting != Setting::Entries(a.nnz()) {
            return Err(Error::format(
                H::FORMAT,
                format_args!("A has {} entries, expected {setting:?}", a.nnz()),
            ));
        }
        let mut plan = SoftmaxPlan::new(backend, a, options)?;
        Ok(MatrixPlan {
            algorithm: plan.choice().algorithm,
            run: Box::new(move |a, call, y| {
                call.on::<B, H::Scalar>(a.backend, y, &mut |_, y| {
                    plan.run(&a.device, y.vector_mut()).map(|()| None)
                })
            }),
        })
    }
}
