//! `alpha·A + beta·B` and `(alpha·A) ∘ (beta·B)`. B is made of A: some of its entries, negated or doubled, others in
//! the next column or row, others left out, so that elements are stored in A alone, in B alone, in both and in neither,
//! and some sums are zero.

use crate::array_dump::{ArrayDump, text};
use crate::build::{Build, FormatOn};
use crate::call::{Call, Outcome};
use crate::case::{Problem, scramble};
use crate::device_matrix::DeviceMatrix;
use crate::error_bound::{Bounded, Sum};
use crate::guarded_operand::{Frame, GuardedOperand};
use crate::key::Key;
use crate::matrix_subject::{MatrixOperation, MatrixPlan, MatrixSubject};
use crate::setting::Setting;
use crate::subject::{Check, Expected};
use crate::suite::Suite;
use crate::triplets::{Triplet, Triplets};
use sparse_core::catalog::Operation;
use sparse_core::op::{Elementwise, ElementwiseKernel, ElementwisePlan};
use sparse_core::reference::Rebuild;
use sparse_core::{Algorithm, Backend, DType, PlanOptions, Result, Scalar, c64};
use std::collections::BTreeMap;

/// The check of sums and element-wise products.
#[derive(Debug)]
pub(crate) struct ElementwiseCheck;

/// The factors of both operands.
const FACTORS: [(f64, f64); 3] = [(2.0, -1.0), (1.0, 1.0), (0.0, 1.0)];

/// (alpha, beta) for a problem: one pair for a large one, one with imaginary parts for a complex one.
fn factors(problem: &Problem) -> Vec<(c64, c64)> {
    let count = if problem.case.large { 1 } else { FACTORS.len() };
    let real = |&(alpha, beta): &(f64, f64)| (c64::new(alpha, 0.0), c64::new(beta, 0.0));
    let complex = problem.dtype.is_complex().then_some((c64::new(1.0, 2.0), c64::new(0.0, -1.0)));
    FACTORS[..count].iter().map(real).chain(complex).collect()
}

fn op_of(setting: &Setting) -> Elementwise {
    if let Setting::Elementwise(op) = *setting { op } else { Elementwise::Add }
}

/// The entry of B for an entry of A, if there is one.
type Move<'a> = dyn Fn(&Triplet) -> Option<Triplet> + 'a;

/// The operand B for an operand A, with duplicates where A has them. Of entries that come to one place those that
/// stayed there count, before those from the column and from the row before.
fn second(a: &Triplets) -> Triplets {
    let kind = |i: usize, j: usize| scramble(i + 17, j) % 8;
    let negated = |value: c64| c64::new(-value.re, if value.im == 0.0 { 0.0 } else { -value.im });
    let stayed = |&(i, j, value): &Triplet| match kind(i, j) {
        0 => Some((i, j, negated(value))),
        1 | 2 => Some((i, j, value + value)),
        _ => None,
    };
    let moved_right =
        |&(i, j, value): &Triplet| matches!(kind(i, j), 3 | 4).then(|| (i, (j + 1) % a.cols, value));
    let moved_down = |&(i, j, value): &Triplet| (kind(i, j) == 5).then(|| ((i + 1) % a.rows, j, value));
    let mut places: BTreeMap<(usize, usize), (usize, Vec<Triplet>)> = BTreeMap::new();
    let moves: [&Move<'_>; 3] = [&stayed, &moved_right, &moved_down];
    for (priority, moved) in moves.into_iter().enumerate() {
        for entry in a.entries.iter().filter_map(moved) {
            let (first, entries) = places.entry((entry.0, entry.1)).or_insert((priority, vec![]));
            if *first == priority {
                entries.push(entry);
            }
        }
    }
    Triplets::new(a.rows, a.cols, places.into_values().flat_map(|(_, entries)| entries).collect())
}

/// The elements that C stores, by row and column: the entries of A and of B at each place.
fn elements(op: Elementwise, a: &Triplets) -> BTreeMap<(usize, usize), [Vec<c64>; 2]> {
    let mut elements: BTreeMap<_, [Vec<c64>; 2]> = BTreeMap::new();
    for (operand, matrix) in [a, &second(a)].into_iter().enumerate() {
        for &(i, j, value) in &matrix.entries {
            elements.entry((i, j)).or_default()[operand].push(value);
        }
    }
    let in_both = |entries: &[Vec<c64>; 2]| entries.iter().all(|entries| !entries.is_empty());
    elements.retain(|_, entries| op == Elementwise::Add || in_both(entries));
    elements
}

/// The rows and columns of C.
fn pattern(shape: (usize, usize), places: &[(usize, usize)]) -> ArrayDump<'static> {
    let (rows, cols): (Vec<_>, Vec<_>) = places.iter().copied().unzip();
    let shape = [shape.0, shape.1, places.len()];
    ArrayDump::default()
        .integers("shape", &shape)
        .integers("row_idx", &rows)
        .integers("col_idx", &cols)
        .into_owned()
}

/// The value of an element, and its bound.
fn element(op: Elementwise, call: &Call, problem: &Problem, [a, b]: &[Vec<c64>; 2]) -> Bounded {
    let arithmetic = &problem.arithmetic;
    // A factor of 0 does not read its operand.
    let read = |factor: c64, values: &[c64]| -> Vec<c64> {
        values.iter().map(|&value| if factor == c64::ZERO { c64::ZERO } else { value }).collect()
    };
    let (read_a, read_b) = (read(call.alpha, a), read(call.beta, b));
    let pairs: Vec<(c64, c64)> = match op {
        Elementwise::Add => {
            let scaled = |factor, values: Vec<c64>| values.into_iter().map(move |value| (factor, value));
            scaled(call.alpha, read_a).chain(scaled(call.beta, read_b)).collect()
        }
        Elementwise::Multiply => {
            let product = |&a: &c64, &b: &c64| (scale(call.alpha, a), scale(call.beta, b));
            read_a.iter().flat_map(|a| read_b.iter().map(move |b| product(a, b))).collect()
        }
    };
    let is_whole = |value: &c64| value.re.fract() == 0.0 && value.im.fract() == 0.0;
    let exact = problem.is_exact() && pairs.iter().all(|(a, b)| is_whole(a) && is_whole(b));
    let magnitude: f64 = pairs.iter().map(|(a, b)| a.norm() * b.norm()).sum();
    let Bounded { value, bound } = Sum::of(pairs.into_iter(), arithmetic).bounded(exact, arithmetic);
    // Duplicates are added first, and their sums rounded to the stored type.
    let rounded = if a.len().max(b.len()) > 1 { 4.0 * arithmetic.storage_roundoff * magnitude } else { 0.0 };
    Bounded { value, bound: if bound == 0.0 { 0.0 } else { bound + rounded } }
}

/// `factor·value`; a factor of 1 leaves infinite complex numbers as they are.
fn scale(factor: c64, value: c64) -> c64 {
    if factor == c64::ONE || value == c64::ZERO { value } else { factor * value }
}

impl Suite {
    /// Sums and element-wise products in format `H`.
    pub fn elementwise<B: ElementwiseKernel<FormatOn<B, H>>, H: Build + Rebuild>(
        &mut self,
        backend: &B,
    ) -> &mut Self {
        let key = Key::of::<H>(Operation::Elementwise);
        self.add(MatrixSubject::<B, H>::new(backend, key, &ElementwiseCheck))
    }
}

impl Check for ElementwiseCheck {
    /// Large matrices run in one type.
    fn settings(&self, _: &Key, problem: &Problem) -> Vec<Setting> {
        if problem.case.large && problem.dtype != DType::F64 {
            return vec![];
        }
        Elementwise::ALL.map(Setting::Elementwise).into()
    }

    /// The output of a call is the values of C, by rows.
    fn calls(&self, setting: &Setting, problem: &Problem) -> Vec<Call> {
        let nnz = elements(op_of(setting), &problem.matrix).len();
        let call = |(alpha, beta)| Call {
            label: format!("alpha={} beta={}", text(alpha), text(beta)),
            alpha,
            beta,
            ..Call::with_output(Frame::vector(nnz))
        };
        factors(problem).into_iter().map(call).collect()
    }

    fn is_of_all_formats(&self) -> bool {
        true
    }

    fn expected(&self, setting: &Setting, call: &Call, problem: &Problem) -> Option<Expected> {
        let (op, matrix) = (op_of(setting), &problem.matrix);
        let elements = elements(op, matrix);
        let places: Vec<_> = elements.keys().copied().collect();
        Some(Expected {
            y: elements.values().map(|entries| element(op, call, problem, entries)).collect(),
            made: pattern((matrix.rows, matrix.cols), &places),
            marked_order: (true, true),
            canonical: true,
            ..Expected::default()
        })
    }
}

/// The matrix B for the matrix in a backend's memory: sorted if that is, else in reverse order.
fn second_of<B: Backend, H: Build + Rebuild>(a: &FormatOn<B, H>, backend: &B) -> Result<H> {
    let host = H::fetch(a, backend)?;
    let entries = host.entries().map(|(i, j, value)| (i, j, value.to_c64())).collect();
    let mut b = second(&Triplets::new(host.nrows(), host.ncols(), entries));
    if !host.marked_order().0 {
        b.entries.reverse();
    }
    H::build(&b)
}

/// The pattern of C by rows, its values in `y`, and the order that it is marked with, if it is in that order.
fn outcome<B: Backend, H: Build + Rebuild>(
    c: &FormatOn<B, H>,
    a: &DeviceMatrix<'_, B, H>,
    y: &mut GuardedOperand,
) -> Result<Outcome> {
    let host = H::fetch(c, a.backend)?;
    let mut entries: Vec<_> = host.entries().map(|(i, j, value)| (i, j, value.to_c64())).collect();
    let in_order = entries.is_sorted_by(|a, b| H::key(a.0, a.1) < H::key(b.0, b.1));
    let (sorted, unique) = host.marked_order();
    entries.sort_by_key(|&(i, j, _)| (i, j));
    if entries.len() == y.frame.rows {
        for (k, &(.., value)) in entries.iter().enumerate() {
            let position = y.frame.position(k, 0);
            y.cells[position] = value;
        }
    }
    let places: Vec<_> = entries.iter().map(|&(i, j, _)| (i, j)).collect();
    let made = pattern((host.nrows(), host.ncols()), &places);
    Ok(Outcome { made, marked_order: Some((sorted && in_order, unique && in_order)), ..Outcome::default() })
}

impl<B: ElementwiseKernel<FormatOn<B, H>>, H: Build + Rebuild> MatrixOperation<B, H> for ElementwiseCheck {
    fn algorithms(&self, backend: &B, _: &Setting) -> &'static [Algorithm] {
        backend.elementwise_algorithms()
    }

    fn plan(
        &self,
        backend: &B,
        a: &FormatOn<B, H>,
        setting: &Setting,
        options: &PlanOptions,
    ) -> Result<MatrixPlan<B, H>> {
        let b = second_of::<B, H>(a, backend)?.to_device(backend)?;
        let mut plan = ElementwisePlan::new(backend, op_of(setting), a, &b, options)?;
        Ok(MatrixPlan {
            algorithm: plan.choice().algorithm,
            run: Box::new(move |a, call, y| {
                let (alpha, beta) = call.factors();
                // The values of A may have changed since the plan was made, and those of B with them.
                let b = second_of::<B, H>(&a.device, a.backend)?.revalue(&b, a.backend)?;
                outcome(&plan.run(alpha, &a.device, beta, &b)?, a, y)
            }),
        })
    }
}
