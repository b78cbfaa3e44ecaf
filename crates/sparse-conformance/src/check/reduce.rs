//! Reductions of rows of CSR and columns of CSC. Entries of one coordinate count as their sum; an element that is not
//! stored is zero.

use super::lines::Lines;
use crate::build::{Build, FormatOn};
use crate::call::Call;
use crate::case::Problem;
use crate::error_bound::{Bounded, Sum};
use crate::guarded_operand::{Cell, Frame};
use crate::key::Key;
use crate::matrix_subject::{MatrixOperation, MatrixPlan, MatrixSubject};
use crate::scalar_properties::Arithmetic;
use crate::setting::Setting;
use crate::subject::{Check, Expected};
use crate::suite::Suite;
use crate::triplets::Triplets;
use sparse_core::catalog::Operation;
use sparse_core::op::{ReduceKernel, ReducePlan, Reduction, StoredLines};
use sparse_core::{Algorithm, DType, Error, PlanOptions, Result, Scalar, c64};
use std::collections::BTreeMap;

/// The check of reductions of the rows, or of the columns.
#[derive(Debug)]
pub(crate) struct ReduceCheck(Lines);

impl Suite {
    /// Reductions of the lines of format `H`.
    pub fn reduce<B, H>(&mut self, backend: &B) -> &mut Self
    where
        B: ReduceKernel<FormatOn<B, H>>,
        H: Build<Scalar: Cell>,
        FormatOn<B, H>: StoredLines,
    {
        let operation = match Lines::of::<H>() {
            Lines::Rows => &ReduceCheck(Lines::Rows),
            Lines::Columns => &ReduceCheck(Lines::Columns),
        };
        self.add(MatrixSubject::<B, H>::new(backend, Key::of::<H>(Operation::Reduce), operation))
    }
}

impl ReduceCheck {
    /// (number of lines, elements of each)
    fn lines(&self, matrix: &Triplets) -> (usize, usize) {
        self.0.orient(matrix.rows, matrix.cols)
    }

    /// The entries of each element that is stored, by lines.
    fn elements(&self, matrix: &Triplets) -> Vec<Vec<Vec<c64>>> {
        let mut lines = vec![BTreeMap::<usize, Vec<c64>>::new(); self.lines(matrix).0];
        for &(i, j, value) in &matrix.entries {
            let (line, at) = self.0.orient(i, j);
            lines[line].entry(at).or_default().push(value);
        }
        lines.into_iter().map(|line| line.into_values().collect()).collect()
    }
}

/// A line of a matrix.
struct Line<'a> {
    /// The entries of each element that is stored.
    elements: &'a [Vec<c64>],
    extent: f64,
    arithmetic: &'a Arithmetic,
}

impl Line<'_> {
    fn reduced(&self, by: Reduction) -> Bounded {
        match by {
            Reduction::Sum => self.sum(self.arithmetic),
            Reduction::Mean => self.mean(),
            Reduction::Variance => self.variance(),
            Reduction::Min => self.extreme(f64::INFINITY, |a, b| a < b, |v| v.re),
            Reduction::Max => self.extreme(f64::NEG_INFINITY, |a, b| a > b, |v| v.re),
            Reduction::Norm1 => self.norm1(),
            Reduction::Norm2 => self.norm2(),
            Reduction::NormInfinity => self.extreme(0.0, |a, b| a > b, |v| v.norm()),
        }
    }

    /// The elements, each the sum of its entries, rounded to the stored type where there are several.
    fn values(&self) -> impl DoubleEndedIterator<Item = Bounded> + '_ {
        self.elements.iter().map(|entries| match entries.as_slice() {
            [value] => Bounded { value: *value, bound: 0.0 },
            several => sum(several.iter(), self.arithmetic),
        })
    }

    /// The largest error of an element.
    fn largest_error(&self) -> f64 {
        self.values().map(|v| v.bound).fold(0.0, f64::max)
    }

    /// The sum of the errors of the elements.
    fn sum_of_errors(&self) -> f64 {
        self.values().map(|v| v.bound).sum()
    }

    /// The relative error of a sum of the elements, and of some operations with each.
    fn gamma(&self) -> f64 {
        let steps = (self.elements.len() + 12) as f64 * self.arithmetic.roundoff;
        2.0 * steps / (1.0 - steps)
    }

    /// `value` with the error `inner` before it is rounded to the stored type; anything where partial results, which
    /// are not larger than `bulk`, may overflow.
    fn bounded(&self, value: f64, inner: f64, bulk: f64) -> Bounded {
        let Arithmetic { largest, largest_in_accumulator, storage_roundoff, tiny, .. } = *self.arithmetic;
        let is_finite = self.elements.iter().flatten().all(|v| Scalar::is_finite(*v));
        let overflows = value.abs() > largest / 4.0 || bulk > largest_in_accumulator / 4.0;
        let bound = match () {
            () if !is_finite => 0.0,
            () if overflows || !inner.is_finite() => f64::INFINITY,
            () => inner + storage_roundoff * (value.abs() + inner) + (self.elements.len() + 4) as f64 * tiny,
        };
        Bounded { value: c64::new(value, 0.0), bound }
    }

    fn sum(&self, arithmetic: &Arithmetic) -> Bounded {
        sum(self.elements.iter().flatten(), arithmetic)
    }

    fn mean(&self) -> Bounded {
        let Bounded { value, bound } = self.sum(&self.arithmetic.accumulated());
        let mean = value / self.extent;
        let error = bound / self.extent + 4.0 * self.arithmetic.roundoff * mean.norm();
        let bound = self.bounded(mean.norm(), error, value.norm()).bound;
        Bounded { value: mean, bound }
    }

    /// The variance. If the mean has the error d, the sum of the squared distances of n elements has the error n·d².
    fn variance(&self) -> Bounded {
        let mean = self.mean();
        let zeros = self.extent - self.elements.len() as f64;
        let squares: f64 = self.values().rev().map(|v| (v.value - mean.value).norm_sqr()).sum();
        let squares = squares + zeros * mean.value.norm_sqr();
        let value = squares / self.extent;
        let error = self.largest_error();
        let inner = 2.0 * (self.gamma() * value + mean.bound.powi(2) + (2.0 * value.sqrt() + error) * error);
        let bulk: f64 = self.values().map(|v| v.value.norm_sqr()).sum();
        self.bounded(value, inner, bulk.max(squares).max(bulk.sqrt() * self.extent))
    }

    /// The element that `better` prefers; NaN if one is.
    fn extreme(&self, start: f64, better: fn(f64, f64) -> bool, of: fn(c64) -> f64) -> Bounded {
        let start = if (self.elements.len() as f64) < self.extent { 0.0 } else { start };
        let pick = |found: f64, next: f64| if next.is_nan() || better(next, found) { next } else { found };
        let value = self.values().rev().map(|v| of(v.value)).fold(start, pick);
        let magnitude_error = if self.arithmetic.complex { self.gamma() * value.abs() } else { 0.0 };
        let inner = self.largest_error() + magnitude_error;
        if inner == 0.0 {
            Bounded { value: c64::new(value, 0.0), bound: 0.0 }
        } else {
            self.bounded(value, inner, 0.0)
        }
    }

    fn norm1(&self) -> Bounded {
        let value: f64 = self.values().rev().map(|v| v.value.norm()).sum();
        self.bounded(value, self.gamma() * value + self.sum_of_errors(), value)
    }

    /// Each element is divided by the largest, so that no square overflows.
    fn norm2(&self) -> Bounded {
        let scale = self.extreme(0.0, |a, b| a > b, |v| v.norm()).value.re;
        let squares: f64 = self.values().rev().map(|v| (v.value / scale).norm_sqr()).sum();
        let value = if scale == 0.0 || !scale.is_finite() { scale } else { squares.sqrt() * scale };
        self.bounded(value, self.gamma() * value + self.sum_of_errors(), value)
    }
}

/// The sum of some entries; exact where all are integers that the types hold.
fn sum<'a>(entries: impl DoubleEndedIterator<Item = &'a c64> + Clone, arithmetic: &Arithmetic) -> Bounded {
    let integers = entries.clone().all(|v| v.re.fract() == 0.0 && v.im.fract() == 0.0);
    Sum::of(entries.rev().map(|&v| (c64::ONE, v)), arithmetic).bounded(integers, arithmetic)
}

impl Check for ReduceCheck {
    /// Large matrices run in one type.
    fn settings(&self, _: &Key, problem: &Problem) -> Vec<Setting> {
        if problem.case.large && problem.dtype != DType::F64 {
            return vec![];
        }
        let lines = self.lines(&problem.matrix);
        let has = |by: &Reduction| by.check(problem.dtype, lines).is_ok();
        Reduction::ALL.into_iter().filter(has).map(Setting::Reduce).collect()
    }

    fn calls(&self, _: &Setting, problem: &Problem) -> Vec<Call> {
        let frame = Frame::vector(self.lines(&problem.matrix).0);
        vec![Call::with_output(frame)]
    }

    fn invalid_calls(&self, _: &Setting, problem: &Problem) -> Vec<Call> {
        let frame = Frame::vector(self.lines(&problem.matrix).0 + 1);
        vec![Call::with_output(frame)]
    }

    fn scope(&self, _: &Key, _: &Setting) -> Option<String> {
        None
    }

    fn expected(&self, setting: &Setting, _: &Call, problem: &Problem) -> Option<Expected> {
        let Setting::Reduce(by) = *setting else { return None };
        let (arithmetic, extent) = (&problem.arithmetic, self.lines(&problem.matrix).1 as f64);
        let lines = self.elements(&problem.matrix);
        let line = |elements: &Vec<Vec<c64>>| Line { elements, extent, arithmetic }.reduced(by);
        Some(Expected { y: lines.iter().map(line).collect(), ..Expected::default() })
    }
}

impl<B, H> MatrixOperation<B, H> for ReduceCheck
where
    B: ReduceKernel<FormatOn<B, H>>,
    H: Build<Scalar: Cell>,
    FormatOn<B, H>: StoredLines,
{
    fn algorithms(&self, backend: &B, _: &Setting) -> &'static [Algorithm] {
        backend.reduce_algorithms()
    }

    fn plan(
        &self,
        backend: &B,
        a: &FormatOn<B, H>,
        setting: &Setting,
        options: &PlanOptions,
    ) -> Result<MatrixPlan<B, H>> {
        let Setting::Reduce(by) = *setting else {
            return Err(Error::unsupported("reduce", "the setting is of another operation"));
        };
        let mut plan = ReducePlan::new(backend, by, a, options)?;
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
