//! `gradient_step`: x, r, p, ρ and ‖r‖² of conjugate gradients after a step with A·p, on vectors with an element for
//! each row of the case's matrix. A is diagonal, with 1, 2 and 4 in turn, so that A·p is exact, and so is K⁻¹·r of a
//! preconditioner K with 1 and 2 in turn on its diagonal.

use super::vector::LONGEST;
use crate::array_dump::text;
use crate::call::{Call, Outcome};
use crate::case::Problem;
use crate::error_bound::{Bounded, Sum};
use crate::guarded_operand::{Cell, DeviceOperand, Frame, GuardedOperand, POISON};
use crate::key::Key;
use crate::scalar_properties::{Arithmetic, round};
use crate::setting::Setting;
use crate::subject::{Check, Expected, Given, PlannedOperation, Subject};
use crate::suite::Suite;
use crate::triplets::Triplets;
use sparse_core::backend::{Buf, ViewMutOf, ViewOf};
use sparse_core::catalog::Operation;
use sparse_core::op::{GradientAdvance, GradientStep, GradientTurn, VectorKernel, VectorPlan};
use sparse_core::{Algorithm, Backend, PlanOptions, Result, Scalar, Space, SpaceOf, c64};
use std::marker::PhantomData;
use std::ops::Range;

/// The result to compare after a step: the vectors, which are the call's output, or a number; without a preconditioner
/// and with K.
const VECTORS: Setting = Setting::Result("x, r, p");
const RHO: Setting = Setting::Result("rho");
const VECTORS_WITH_K: Setting = Setting::Result("x, r, p with K");
const RHO_WITH_K: Setting = Setting::Result("rho with K");
const SQUARES_WITH_K: Setting = Setting::Result("the square of the norm with K");
const SETTINGS: [Setting; 5] = [VECTORS, RHO, VECTORS_WITH_K, RHO_WITH_K, SQUARES_WITH_K];

fn is_preconditioned(setting: Setting) -> bool {
    ![VECTORS, RHO].contains(&setting)
}

/// An element of K⁻¹'s diagonal.
fn inverse(row: usize) -> f64 {
    1.0 / f64::from(1 << (row % 2))
}

/// The check of a step.
#[derive(Debug)]
pub(crate) struct GradientCheck;

/// The vectors before a step, times `factor`: the direction is the problem's output, and the residual the same
/// backwards, so that both are zero or none is.
fn call(problem: &Problem, factor: c64, excess: usize) -> Call {
    let rows = problem.matrix.rows;
    let scaled = |value: c64| round(problem.dtype, factor * value).unwrap_or(value);
    let p = |row| scaled(problem.y(row, 0));
    Call {
        label: format!("factor={}", text(factor)),
        alpha: factor,
        beta: c64::ONE,
        x: GuardedOperand::input(Frame::vector(rows + excess), |row, _| p(row) * f64::from(1 << (row % 3))),
        y: GuardedOperand::output(Frame::vectors(rows, 3), |row, col| match col {
            0 => problem.x(row, 0),
            1 => p(rows - 1 - row),
            _ => p(row),
        }),
    }
}

impl Check for GradientCheck {
    fn settings(&self, _: &Key, problem: &Problem) -> Vec<Setting> {
        if problem.matrix.rows > LONGEST { vec![] } else { SETTINGS.to_vec() }
    }

    /// The second call is of a converged iteration.
    fn calls(&self, _: &Setting, problem: &Problem) -> Vec<Call> {
        let turned = problem.dtype.is_complex().then_some(c64::new(1.0, 2.0));
        [c64::ONE, c64::ZERO].into_iter().chain(turned).map(|factor| call(problem, factor, 0)).collect()
    }

    fn invalid_calls(&self, _: &Setting, problem: &Problem) -> Vec<Call> {
        vec![call(problem, c64::ONE, 1)]
    }

    fn expected(&self, setting: &Setting, call: &Call, problem: &Problem) -> Option<Expected> {
        let exact = problem.is_exact() || call.alpha == c64::ZERO;
        let step = Step { stored: &problem.arithmetic, exact };
        let exactly = |value| Bounded { value, bound: 0.0 };
        let column = |col| call.y.column(col);
        let given = |col| (0..problem.matrix.rows).map(column(col)).map(exactly).collect::<Vec<_>>();
        let (x, r, p, q) = (given(0), given(1), given(2), call.x.elements().map(exactly).collect::<Vec<_>>());
        let preconditioned = |r: &[Bounded]| match is_preconditioned(*setting) {
            true => r.iter().enumerate().map(|(row, r)| scaled(r, inverse(row))).collect(),
            false => r.to_vec(),
        };
        let rho = step.dot(&r, &preconditioned(&r));
        let alpha = step.quotient(rho, step.dot(&p, &q));
        let r = step.sums(&r, Bounded { value: -alpha.value, ..alpha }, &q);
        let z = preconditioned(&r);
        let next_rho = step.dot(&r, &z);
        let y = match *setting {
            RHO | RHO_WITH_K => vec![next_rho],
            SQUARES_WITH_K => vec![step.dot(&r, &r)],
            _ => {
                let (x, p) = (step.sums(&x, alpha, &p), step.sums(&z, step.quotient(next_rho, rho), &p));
                [x, r, p].concat()
            }
        };
        Some(Expected { y, ..Expected::default() })
    }
}

/// Arithmetic with bounded numbers: each result has the componentwise bound of its own rounding, and the propagated
/// bounds of its operands.
struct Step<'a> {
    stored: &'a Arithmetic,
    /// True if all numbers before the step are integers, or it has converged.
    exact: bool,
}

impl Step<'_> {
    /// `Σ conj(x_i)·y_i`, in the accumulator.
    fn dot(&self, x: &[Bounded], y: &[Bounded]) -> Bounded {
        let accumulated = &self.stored.accumulated();
        let exact = self.exact && x.iter().chain(y).all(|x| x.bound == 0.0);
        let pairs = x.iter().zip(y).rev();
        let sum = Sum::of(pairs.clone().map(|(x, y)| (x.value.conj(), y.value)), accumulated);
        let inherited = pairs.map(|(x, y)| product_bound(x, y));
        widened(sum.bounded(exact, accumulated), inherited.sum())
    }

    /// `a / b`, with 0 / 0 = 0. OpenCL allows 32 roundings for a quotient of complex numbers.
    fn quotient(&self, a: Bounded, b: Bounded) -> Bounded {
        if (a, b) == (Bounded::ZERO, Bounded::ZERO) {
            return Bounded::ZERO;
        }
        let value = a.value / b.value;
        let least = b.value.norm() - b.bound;
        if least <= 0.0 {
            return Bounded { value, bound: f64::INFINITY };
        }
        let inherited = (a.bound + value.norm() * b.bound) / least;
        Bounded { value, bound: inherited + 32.0 * self.stored.roundoff * (value.norm() + inherited) }
    }

    /// `y_i + factor·x_i`, as they are stored.
    fn sums(&self, y: &[Bounded], factor: Bounded, x: &[Bounded]) -> Vec<Bounded> {
        let sum = |(y, x): (&Bounded, &Bounded)| {
            let exact = self.exact && factor.bound == 0.0 && y.bound == 0.0;
            let product = Sum::of([(factor.value, x.value)].into_iter(), self.stored);
            let sum = product.scaled(c64::ONE, c64::ONE, y.value, self.stored);
            widened(sum.bounded(exact, self.stored), y.bound + product_bound(&factor, x))
        };
        y.iter().zip(x).map(sum).collect()
    }
}

/// The product with a power of two, which is exact.
fn scaled(x: &Bounded, factor: f64) -> Bounded {
    Bounded { value: x.value * factor, bound: x.bound * factor }
}

/// The bound of a product by those of its operands.
fn product_bound(x: &Bounded, y: &Bounded) -> f64 {
    x.value.norm() * y.bound + x.bound * (y.value.norm() + y.bound)
}

/// The result with the inherited bound of its operands added, rounded as the rest.
fn widened(result: Bounded, inherited: f64) -> Bounded {
    Bounded { bound: result.bound + 1.01 * inherited, ..result }
}

/// The steps of one backend.
#[derive(Debug)]
struct GradientSubject<B, T> {
    backend: B,
    key: Key,
    element: PhantomData<fn() -> T>,
}

impl<B, T: Scalar> GradientSubject<B, T> {
    fn new(backend: B) -> Self {
        let key = Key::new::<T>(Operation::Vector, "gradient_step", T::DTYPE.to_string());
        Self { backend, key, element: PhantomData }
    }
}

impl Suite {
    /// Steps of conjugate gradients on `T`.
    pub(super) fn gradient_step<B: VectorKernel<T>, T: Scalar + Cell>(&mut self, backend: &B) -> &mut Self {
        self.add(GradientSubject::<B, T>::new(backend.clone()))
    }
}

/// The whole step at once; or both halves, between which a preconditioner is applied.
const DIRECT: Algorithm = Algorithm::new("direct", "without a preconditioner");
const HALVES: Algorithm = Algorithm::new("halves", "with a preconditioner");

impl<B: VectorKernel<T>, T: Scalar + Cell> Subject for GradientSubject<B, T> {
    fn key(&self) -> &Key {
        &self.key
    }

    fn check(&self) -> &'static dyn Check {
        &GradientCheck
    }

    fn algorithms(&self, setting: &Setting) -> &'static [Algorithm] {
        if is_preconditioned(*setting) { &[HALVES] } else { &[DIRECT, HALVES] }
    }

    fn given<'a>(&'a self, _: &'a Triplets) -> Result<Box<dyn Given + 'a>> {
        Ok(Box::new(self))
    }
}

impl<B: VectorKernel<T>, T: Scalar + Cell> Given for GradientSubject<B, T> {
    fn prepare(&self, setting: &Setting, options: &PlanOptions) -> Result<Box<dyn PlannedOperation + '_>> {
        let algorithms = self.algorithms(setting);
        let reason = "it takes the fewest launches";
        let choice = options.choose("gradient_step", algorithms, algorithms[0].name, reason)?;
        let at_once = choice.algorithm == DIRECT.name;
        Ok(Box::new(PlannedGradientStep { subject: self, setting: *setting, at_once }))
    }
}

/// The two numbers in the middle of a buffer.
fn middle<B: Backend, T: Scalar>(buffer: &Buf<B, T::Acc>) -> ViewOf<'_, B, T::Acc> {
    SpaceOf::<B>::slice(SpaceOf::<B>::view(buffer), 1..3)
}

/// A view of these elements of a buffer.
fn part<B: Backend, T: Scalar>(buffer: &mut Buf<B, T::Acc>, range: Range<usize>) -> ViewMutOf<'_, B, T::Acc> {
    SpaceOf::<B>::slice_mut(SpaceOf::<B>::view_mut(buffer), range)
}

struct PlannedGradientStep<'a, B, T> {
    subject: &'a GradientSubject<B, T>,
    setting: Setting,
    at_once: bool,
}

impl<B: VectorKernel<T>, T: Scalar + Cell> PlannedGradientStep<'_, B, T> {
    /// K⁻¹·r, if the setting has a preconditioner.
    fn preconditioned(&self, r: &DeviceOperand<B, T>) -> Result<Option<DeviceOperand<B, T>>> {
        if !is_preconditioned(self.setting) {
            return Ok(None);
        }
        let r = r.read(&self.subject.backend)?;
        let z = GuardedOperand::input(r.frame, |row, col| r.at(row, col) * inverse(row));
        DeviceOperand::new(&self.subject.backend, &z).map(Some)
    }

    /// The step: by one call, or by its two halves with the preconditioner between them.
    fn step(
        &self,
        plan: &mut VectorPlan<B, T>,
        q: &DeviceOperand<B, T>,
        [x, r, p]: &mut [DeviceOperand<B, T>; 3],
        numbers: &Buf<B, T::Acc>,
        next: &mut Buf<B, T::Acc>,
    ) -> Result<()> {
        if self.at_once {
            return plan.gradient_step(GradientStep {
                q: q.vector(),
                p: p.vector_mut(),
                x: x.vector_mut(),
                r: r.vector_mut(),
                numbers: middle::<B, T>(numbers),
                next: part::<B, T>(next, 1..3),
            });
        }
        plan.gradient_advance(GradientAdvance {
            q: q.vector(),
            p: p.vector(),
            x: x.vector_mut(),
            r: r.vector_mut(),
            numbers: middle::<B, T>(numbers),
        })?;
        let z = self.preconditioned(r)?;
        plan.gradient_turn(GradientTurn {
            r: r.vector(),
            z: z.as_ref().map(DeviceOperand::vector),
            p: p.vector_mut(),
            numbers: middle::<B, T>(numbers),
            next: part::<B, T>(next, 1..3),
        })
    }
}

impl<B: VectorKernel<T>, T: Scalar + Cell> PlannedOperation for PlannedGradientStep<'_, B, T> {
    /// Sets ρ to that of the residual, as a solver does. NaN is around it, and around the next numbers.
    fn run(&mut self, call: &Call, y: &mut GuardedOperand) -> Result<Outcome> {
        let backend = &self.subject.backend;
        let q = DeviceOperand::<B, T>::new(backend, &call.x)?;
        let operand = |col| DeviceOperand::<B, T>::new(backend, &y.vector(col));
        let mut vectors = [operand(0)?, operand(1)?, operand(2)?];
        let poison = || backend.upload(&[T::Acc::from_c64(POISON); 4]);
        let (mut numbers, mut next) = (poison()?, poison()?);
        let mut plan = VectorPlan::<B, T>::new(backend, y.frame.rows)?;
        let r = &vectors[1];
        let z = self.preconditioned(r)?;
        let z = z.as_ref().map_or(r.vector(), DeviceOperand::vector);
        plan.dot(r.vector(), z, part::<B, T>(&mut numbers, 1..2))?;
        let stepped = self.step(&mut plan, &q, &mut vectors, &numbers, &mut next);
        for (col, vector) in vectors.iter().enumerate() {
            y.set_vector(col, &vector.read(backend)?);
        }
        stepped?;
        let next = backend.download(&next)?;
        let number = match self.setting {
            RHO | RHO_WITH_K => Some(next[1].to_c64()),
            SQUARES_WITH_K => Some(next[2].to_c64()),
            _ => None,
        };
        Ok(Outcome { number, input_changed: q.is_changed(backend)?, ..Outcome::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::cases;
    use sparse_core::DType::{Bf16, C32, C64, F16, F32, F64};

    #[test]
    fn steps_of_long_vectors_are_bounded_in_every_type() {
        let case = cases().into_iter().find(|case| case.name == "r2_long_vectors").unwrap();
        let matrix = case.matrix().unwrap();
        for (dtype, part) in [(F16, 0.1), (Bf16, 0.1), (F32, 0.1), (C32, 0.1), (F64, 1e-9), (C64, 1e-9)] {
            let problem = Problem::new(&case, &matrix, dtype, false).unwrap();
            for (setting, call) in SETTINGS.map(|setting| (setting, call(&problem, c64::ONE, 0))) {
                let expected = GradientCheck.expected(&setting, &call, &problem).unwrap();
                let loose = expected.y.iter().find(|y| y.bound > part * (1.0 + y.value.norm()));
                assert_eq!(loose, None, "{dtype} {setting}");
            }
        }
    }
}
