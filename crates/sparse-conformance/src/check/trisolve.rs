//! `op(A)·X = B` for triangular A: a case's entries, followed by a dominant diagonal, so that solutions do not grow.
//! Both triangles are stored; the other one must be ignored.

use super::spmm::LAYOUTS;
use crate::build::{Build, FormatOn};
use crate::call::{Call, Outcome};
use crate::case::{Case, Operands, Problem};
use crate::device_matrix::{PlannedMatrix, ValueSet};
use crate::equations::Equations;
use crate::guarded_operand::{Cell, Frame, GuardedOperand};
use crate::key::Key;
use crate::setting::Setting;
use crate::subject::{Check, Expected, Given, PlannedOperation, Subject};
use crate::suite::Suite;
use crate::triplets::Triplets;
use sparse_core::catalog::Operation;
use sparse_core::op::{Diagonal, Op, Triangular, TrisolveKernel, TrisolvePlan};
use sparse_core::{Algorithm, Backend, Order, PlanOptions, Result, c64};
use std::marker::PhantomData;

/// The check of triangular solves.
#[derive(Debug)]
pub(crate) struct Trisolve;

/// The systems, each with a number of right-hand sides; the first two for large matrices.
const SYSTEMS: [(Triangular, usize); 5] = [
    (Triangular::lower(), 1),
    (Triangular::upper(), 3),
    (Triangular::lower().with_op(Op::Transpose), 2),
    (Triangular::upper().with_op(Op::ConjugateTranspose), 1),
    (Triangular::upper().unit_diagonal(), 2),
];

fn system_of(setting: &Setting) -> (Triangular, usize) {
    if let Setting::Triangular(system, columns) = *setting { (system, columns) } else { SYSTEMS[0] }
}

/// A power of two that is at least twice each of the sums of magnitudes in a row or a column.
fn dominant(sums: impl Iterator<Item = f64>) -> f64 {
    let largest = sums.fold(0.5, f64::max);
    2_f64.powi(1 + largest.log2().ceil() as i32)
}

/// A of a setting: the entries of a case in a square matrix, followed by a diagonal that is larger than each of their
/// rows and columns. For a unit diagonal the entries are made small in its place.
fn square(matrix: &Triplets, system: Triangular) -> Triplets {
    let n = matrix.rows.max(matrix.cols);
    let mut sums = vec![(0.0, 0.0); n];
    for &(i, j, value) in &matrix.entries {
        sums[i].0 += value.l1_norm();
        sums[j].1 += value.l1_norm();
    }
    let mut entries = matrix.entries.clone();
    match system.diagonal {
        Diagonal::Stored => entries.extend(
            sums.iter()
                .enumerate()
                .map(|(i, &(row, column))| (i, i, c64::new(dominant([row, column].into_iter()), 0.0))),
        ),
        Diagonal::Unit => {
            let scale = dominant(sums.iter().flat_map(|&(row, column)| [row, column])).recip();
            entries.iter_mut().for_each(|entry| entry.2 *= scale);
        }
    }
    Triplets::new(n, n, entries)
}

/// The triangle of op(A) with its diagonal: the entries that a solve may read.
fn triangle(a: &Triplets, system: Triangular) -> Triplets {
    let op = system.op;
    let turned = a.entries.iter().map(
        |&(i, j, value)| {
            if op.transposes() { (j, i, op.apply(value)) } else { (i, j, value) }
        },
    );
    let (is_unit, triangle) = (system.diagonal == Diagonal::Unit, system.solved_triangle());
    let mut entries: Vec<_> =
        turned.filter(|&(i, j, _)| triangle.has(i, j) || (i == j && !is_unit)).collect();
    entries.extend((0..a.rows).filter(|_| is_unit).map(|i| (i, i, c64::ONE)));
    Triplets { entries, ..*a }
}

/// A call whose B and X have these frames.
fn call(problem: &Problem, b: Frame, x: Frame) -> Call {
    let b = GuardedOperand::input(b, |row, col| problem.x(row, col));
    Call { x: b, ..Call::with_output(x) }
}

/// The frames of B and X for a layout; vectors have none but their own.
fn frames(setting: &Setting, problem: &Problem, (b, x, padding): (Order, Order, usize)) -> (Frame, Frame) {
    let (rows, cols) = (problem.matrix.rows.max(problem.matrix.cols), system_of(setting).1);
    let frame = |order| match cols {
        1 => Frame::vector(rows),
        cols => Frame { rows, cols, padding, order },
    };
    (frame(b), frame(x))
}

impl Suite {
    /// Triangular solves in format `H`.
    pub fn trisolve<B, H>(&mut self, backend: &B) -> &mut Self
    where
        B: TrisolveKernel<FormatOn<B, H>>,
        H: Build<Scalar: Cell>,
    {
        let key = Key::of::<H>(Operation::Trisolve);
        self.add(TrisolveSubject::<B, H> { backend: backend.clone(), key, format: PhantomData })
    }
}

impl Check for Trisolve {
    /// Special values have no residual.
    fn takes(&self, case: &Case) -> bool {
        !matches!(case.operands, Operands::Special(_))
    }

    /// None where the diagonal does not fit the type.
    fn settings(&self, _: &Key, problem: &Problem) -> Vec<Setting> {
        let arithmetic = &problem.arithmetic;
        let fits = |system| {
            let diagonal = square(&problem.matrix, system).entries.into_iter().map(|entry| entry.2.norm());
            diagonal.fold(0.0, f64::max) <= arithmetic.largest / 16.0
        };
        let systems = if problem.case.large { &SYSTEMS[..2] } else { &SYSTEMS };
        let fitting = systems.iter().filter(|(system, _)| fits(*system));
        fitting.map(|&(system, columns)| Setting::Triangular(system, columns)).collect()
    }

    /// Every pair of orders of B and X; vectors once.
    fn calls(&self, setting: &Setting, problem: &Problem) -> Vec<Call> {
        let layouts = if system_of(setting).1 == 1 { &LAYOUTS[..1] } else { &LAYOUTS };
        let calls = layouts.iter().map(|&layout| {
            let (b, x) = frames(setting, problem, layout);
            let label = format!("B={:?} X={:?} padding={}", layout.0, layout.1, layout.2);
            Call { label, ..call(problem, b, x) }
        });
        calls.collect()
    }

    fn invalid_calls(&self, setting: &Setting, problem: &Problem) -> Vec<Call> {
        let (b, x) = frames(setting, problem, LAYOUTS[0]);
        let longer = |frame: Frame| Frame { rows: frame.rows + 1, ..frame };
        vec![call(problem, longer(b), x), call(problem, b, longer(x))]
    }

    fn is_of_all_formats(&self) -> bool {
        true
    }

    /// Quotients depend on the type.
    fn scope(&self, _: &Key, _: &Setting) -> Option<String> {
        None
    }

    fn expected(&self, setting: &Setting, call: &Call, problem: &Problem) -> Option<Expected> {
        let (system, _) = system_of(setting);
        let a = square(&problem.matrix, system).rounded(problem.dtype)?;
        let equations = Equations::new(&triangle(&a, system), &call.x, &problem.arithmetic);
        Some(Expected { equations: Some(equations), ..Expected::default() })
    }
}

/// Triangular solves of one backend in one format.
struct TrisolveSubject<B, H> {
    backend: B,
    key: Key,
    format: PhantomData<fn() -> H>,
}

impl<B, H> Subject for TrisolveSubject<B, H>
where
    B: TrisolveKernel<FormatOn<B, H>>,
    H: Build<Scalar: Cell>,
{
    fn key(&self) -> &Key {
        &self.key
    }

    fn check(&self) -> &'static dyn Check {
        &Trisolve
    }

    fn algorithms(&self, _: &Setting) -> &'static [Algorithm] {
        self.backend.trisolve_algorithms()
    }

    fn given<'a>(&'a self, matrix: &'a Triplets) -> Result<Box<dyn Given + 'a>> {
        Ok(Box::new(GivenEntries { subject: self, matrix }))
    }
}

/// A subject with the entries of a case.
struct GivenEntries<'a, B, H> {
    subject: &'a TrisolveSubject<B, H>,
    matrix: &'a Triplets,
}

impl<B, H> Given for GivenEntries<'_, B, H>
where
    B: TrisolveKernel<FormatOn<B, H>>,
    H: Build<Scalar: Cell>,
{
    fn prepare(&self, setting: &Setting, options: &PlanOptions) -> Result<Box<dyn PlannedOperation + '_>> {
        let (backend, (system, _)) = (&self.subject.backend, system_of(setting));
        let build = |matrix: &Triplets| H::build(&square(matrix, system));
        let hosts = [build(self.matrix)?, build(&self.matrix.with_other_values())?];
        let device = hosts[0].to_device(backend)?;
        let plan = TrisolvePlan::new(backend, &device, system, options)?;
        Ok(Box::new(Solve { a: SquareMatrix { backend, hosts, values: ValueSet::First, device }, plan }))
    }
}

/// A on the host with both sets of its values, and in a backend's memory with one.
struct SquareMatrix<'a, B: Backend, H: Build> {
    backend: &'a B,
    hosts: [H; 2],
    values: ValueSet,
    device: FormatOn<B, H>,
}

impl<B: Backend, H: Build> SquareMatrix<'_, B, H> {
    fn host(&self) -> &H {
        &self.hosts[self.values as usize]
    }
}

impl<B: Backend, H: Build> PlannedMatrix for SquareMatrix<'_, B, H> {
    fn set_values(&mut self, values: ValueSet) -> Result<()> {
        self.values = values;
        self.device = self.host().revalue(&self.device, self.backend)?;
        Ok(())
    }

    fn renew_pattern(&mut self) -> Result<()> {
        self.device = self.host().to_device(self.backend)?;
        Ok(())
    }

    fn difference(&mut self) -> Result<Option<String>> {
        Ok(H::fetch(&self.device, self.backend)?.dump().difference(&self.host().dump()))
    }
}

/// A plan with its matrix.
struct Solve<'a, B: TrisolveKernel<FormatOn<B, H>>, H: Build> {
    a: SquareMatrix<'a, B, H>,
    plan: TrisolvePlan<B, FormatOn<B, H>>,
}

impl<B, H> PlannedOperation for Solve<'_, B, H>
where
    B: TrisolveKernel<FormatOn<B, H>>,
    H: Build<Scalar: Cell>,
{
    fn run(&mut self, call: &Call, y: &mut GuardedOperand) -> Result<Outcome> {
        let (is_vector, Self { a, plan }) = (call.x.frame.cols == 1, self);
        call.on::<B, H::Scalar>(a.backend, y, &mut |b, x| {
            match is_vector {
                true => plan.run(&a.device, b.vector(), x.vector_mut())?,
                false => plan.run_many(&a.device, b.dense()?, x.dense_mut()?)?,
            }
            Ok(None)
        })
    }

    fn algorithm(&self) -> Option<&'static str> {
        Some(self.plan.choice().algorithm)
    }

    fn matrix(&mut self) -> Option<&mut dyn PlannedMatrix> {
        Some(&mut self.a)
    }
}
