//! Sums and element-wise products of CSR and CSC.
//!
//! A plan merges the indices of both operands once, to count. Its first run merges them again and writes indices and
//! values; a later run writes values alone, and all results share their pattern. A sum of a entries of A and b of B
//! that has c reads `2·(a + b)` indices and `a + b` values, and writes c of each; a later run reads every index once.

mod merge;
mod parts;

use super::SEQUENTIAL;
use super::compiled::{elementwise_table, find};
use crate::Cpu;
use crate::parallel::split_mut;
use crate::primitive::duplicates::without_duplicates;
use crate::primitive::fill::{starts, try_zeroed, zeroed};
use crate::primitive::lines::Lines;
use merge::{Fill, Operand};
use parts::{MergePart, Structure, cut};
use sparse_core::op::{AccOf, Elementwise, ElementwiseKernel};
use sparse_core::reference::{ElementwiseChoice, Reference};
use sparse_core::{
    Algorithm, AlgorithmSet, Axis, Choice, Compressed, CompressedPattern, Host, Index, IndexOrder,
    KernelPlan, PlanOptions, Result, Scalar, SparseFormat, algorithms,
};
use std::ops::Range;
use std::sync::Arc;

algorithms! {
    /// The algorithms of CSR and CSC.
    pub enum ElementwiseAlgorithm {
        RowMerge = Algorithm::new(
            "row_merge",
            "always: parts of equal size are merged, long rows in several; unsorted operands are sorted in every run",
        )
        .preprocessing("the entries of each part of C, and from the first run on the pattern of C");
        Sequential = SEQUENTIAL;
    }
}

/// The plan of a sum or an element-wise product.
#[derive(Debug)]
pub struct ElementwisePlan<I: Index, O: Index> {
    algorithm: ElementwiseAlgorithm,
    reference: ElementwiseChoice,
    parts: Vec<MergePart>,
    /// The entries of C of each part.
    entries: Vec<Range<usize>>,
    /// The pattern of C, once a run has made it.
    pattern: Option<Arc<CompressedPattern<Host, I, O>>>,
}

impl<I: Index, O: Index> KernelPlan for ElementwisePlan<I, O> {
    fn choice(&self) -> &Choice {
        self.reference.choice()
    }

    fn workspace_bytes(&self) -> usize {
        let pattern = self.pattern.as_ref().map_or(0, |pattern| {
            size_of_val(pattern.offsets().as_slice()) + size_of_val(pattern.indices().as_slice())
        });
        size_of_val(self.parts.as_slice()) + size_of_val(self.entries.as_slice()) + pattern
    }
}

/// The functions of one format, which are compiled in this crate.
pub(super) struct Functions<M: SparseFormat<Space = Host>>
where
    Cpu: ElementwiseKernel<M>,
{
    plan: fn(&Cpu, Elementwise, &M, &M, &PlanOptions) -> Result<PlanOf<M>>,
    run: RunOf<M>,
}

/// As for [`ElementwiseKernel::run_elementwise`].
type RunOf<M> = unsafe fn(&Cpu, &mut PlanOf<M>, (AccOf<M>, &M), (AccOf<M>, &M)) -> Result<M>;

type PlanOf<M> = <Cpu as ElementwiseKernel<M>>::Plan;

impl<A: Axis, T: Scalar, I: Index, O: Index> Functions<Compressed<A, T, Host, I, O>> {
    pub(super) const ALL: Self = Self { plan, run };

    fn find() -> Result<&'static Self> {
        find(elementwise_table(), "elementwise", A::FORMAT)
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> ElementwiseKernel<Compressed<A, T, Host, I, O>> for Cpu {
    type Plan = ElementwisePlan<I, O>;

    fn elementwise_algorithms(&self) -> &'static [Algorithm] {
        ElementwiseAlgorithm::table(&|_| true)
    }

    fn plan_elementwise(
        &self,
        op: Elementwise,
        a: &Compressed<A, T, Host, I, O>,
        b: &Compressed<A, T, Host, I, O>,
        options: &PlanOptions,
    ) -> Result<Self::Plan> {
        (Functions::find()?.plan)(self, op, a, b, options)
    }

    unsafe fn run_elementwise(
        &self,
        plan: &mut Self::Plan,
        alpha: T::Acc,
        a: &Compressed<A, T, Host, I, O>,
        beta: T::Acc,
        b: &Compressed<A, T, Host, I, O>,
    ) -> Result<Compressed<A, T, Host, I, O>> {
        // SAFETY: the caller makes the same promises.
        unsafe { (Functions::find()?.run)(self, plan, (alpha, a), (beta, b)) }
    }
}

fn plan<A: Axis, T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    op: Elementwise,
    a: &Compressed<A, T, Host, I, O>,
    b: &Compressed<A, T, Host, I, O>,
    options: &PlanOptions,
) -> Result<ElementwisePlan<I, O>> {
    let (automatic, offered) = (ElementwiseAlgorithm::RowMerge, ElementwiseAlgorithm::table(&|_| true));
    let reason = "every index is read twice, and in later runs once";
    let (algorithm, choice) = options.choose_among("elementwise", offered, automatic, reason)?;
    let (parts, entries) = match algorithm {
        ElementwiseAlgorithm::RowMerge => {
            let (a, b) = (without_duplicates(cpu, a)?, without_duplicates(cpu, b)?);
            count(cpu, op, Structure::of((*a).as_ref()), Structure::of((*b).as_ref()))?
        }
        ElementwiseAlgorithm::Sequential => (vec![], vec![]),
    };
    let reference = ElementwiseChoice { choice, op };
    Ok(ElementwisePlan { algorithm, reference, parts, entries, pattern: None })
}

/// # Safety
/// As for [`ElementwiseKernel::run_elementwise`].
unsafe fn run<A: Axis, T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    plan: &mut ElementwisePlan<I, O>,
    (alpha, a): (T::Acc, &Compressed<A, T, Host, I, O>),
    (beta, b): (T::Acc, &Compressed<A, T, Host, I, O>),
) -> Result<Compressed<A, T, Host, I, O>> {
    match plan.algorithm {
        ElementwiseAlgorithm::RowMerge => row_merge(cpu, plan, (alpha, a), (beta, b)),
        ElementwiseAlgorithm::Sequential => {
            // SAFETY: the caller makes the reference's promises of the plan and the operands.
            unsafe { Reference.run_elementwise(&mut plan.reference, alpha, a, beta, b) }
        }
    }
}

/// The parts of two patterns, and the entries of C of each.
///
/// # Errors
/// [`IndexOverflow`](sparse_core::Error::IndexOverflow) if the nnz of C does not fit `O`.
fn count<I: Index, O: Index>(
    cpu: &Cpu,
    op: Elementwise,
    a: Structure<'_, I, O>,
    b: Structure<'_, I, O>,
) -> Result<(Vec<MergePart>, Vec<Range<usize>>)> {
    let parts = cut(a, b);
    let elements = a.indices.len() + b.indices.len();
    let counts = cpu.map(elements, parts.iter().collect(), |part: &MergePart| match op {
        Elementwise::Add => count_part::<true, I, O>(part, a, b),
        Elementwise::Multiply => count_part::<false, I, O>(part, a, b),
    });
    O::try_new("nnz", counts.iter().sum())?;
    let entries = starts(&counts).into_iter().zip(&counts).map(|(start, count)| start..start + count);
    Ok((parts, entries.collect()))
}

/// The number of elements of C in a part.
fn count_part<const UNION: bool, I: Index, O: Index>(
    part: &MergePart,
    a: Structure<'_, I, O>,
    b: Structure<'_, I, O>,
) -> usize {
    let mut count = 0;
    part.each_row(a, b, |p, q| count += merge::count::<UNION, I>(&a.indices[p], &b.indices[q]));
    count
}

/// Merges all parts. The first run of a plan makes the pattern of C.
fn row_merge<A: Axis, T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    plan: &mut ElementwisePlan<I, O>,
    (alpha, a): (T::Acc, &Compressed<A, T, Host, I, O>),
    (beta, b): (T::Acc, &Compressed<A, T, Host, I, O>),
) -> Result<Compressed<A, T, Host, I, O>> {
    let (sorted_a, sorted_b) = (without_duplicates(cpu, a)?, without_duplicates(cpu, b)?);
    let (lines_a, lines_b) = (Lines::of((*sorted_a).as_ref()), Lines::of((*sorted_b).as_ref()));
    let nnz = plan.entries.last().map_or(0, |entries| entries.end);
    let mut values = try_zeroed(nnz)?;
    if let Some(pattern) = &plan.pattern {
        let new = plan.parts.iter().map(|_| None).collect();
        fill(cpu, plan, (alpha, lines_a), (beta, lines_b), new, &mut values);
        return Compressed::from_pattern(pattern.clone(), values);
    }
    let (mut offsets, mut indices) = (zeroed::<O>(lines_a.offsets.len()), try_zeroed::<I>(nnz)?);
    let rows: Vec<_> = plan.parts.iter().map(|part| part.rows.clone()).collect();
    let new = split_mut(&mut offsets[1..], &rows).into_iter().zip(split_mut(&mut indices, &plan.entries));
    let new = new.map(Some).collect();
    fill(cpu, plan, (alpha, lines_a), (beta, lines_b), new, &mut values);
    let order = IndexOrder::CANONICAL;
    // SAFETY: the parts are all entries in order, each as many as were counted; the offsets are where rows ended;
    // indices are those of the operands, merged in order and each written once.
    let c = unsafe { Compressed::new_unchecked(a.nrows(), a.ncols(), offsets, indices, values, order) };
    plan.pattern = Some(c.pattern().clone());
    Ok(c)
}

/// A factor and the matrix that it multiplies.
type ScaledLines<'a, T, I, O> = (<T as Scalar>::Acc, Lines<'a, T, I, O>);

/// The ends of rows and the indices that a part writes where the pattern of C is not known.
type NewPattern<'a, I, O> = Option<(&'a mut [O], &'a mut [I])>;

/// Writes the elements of all parts.
fn fill<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    plan: &ElementwisePlan<I, O>,
    a: ScaledLines<'_, T, I, O>,
    b: ScaledLines<'_, T, I, O>,
    new: Vec<NewPattern<'_, I, O>>,
    values: &mut [T],
) {
    let elements = a.1.indices.len() + b.1.indices.len();
    let places = plan.entries.iter().map(|entries| entries.start).zip(split_mut(values, &plan.entries));
    let items = plan.parts.iter().zip(new).zip(places).collect();
    cpu.for_each(elements, items, |((part, new), (start, values))| match plan.reference.op {
        Elementwise::Add => fill_part::<true, T, I, O>(part, a, b, new, start, values),
        Elementwise::Multiply => fill_part::<false, T, I, O>(part, a, b, new, start, values),
    });
}

/// Writes the elements of one part, the first of which is entry `start` of C.
fn fill_part<const UNION: bool, T: Scalar, I: Index, O: Index>(
    part: &MergePart,
    (alpha, a): ScaledLines<'_, T, I, O>,
    (beta, b): ScaledLines<'_, T, I, O>,
    new: NewPattern<'_, I, O>,
    start: usize,
    values: &mut [T],
) {
    let (offsets, indices) = new.unzip();
    let mut offsets = offsets.into_iter().flatten();
    let mut fill = Fill::<UNION, T, I> { indices, values, written: 0 };
    let operand_a = Operand { factor: alpha, indices: a.indices, values: a.values };
    let operand_b = Operand { factor: beta, indices: b.indices, values: b.values };
    let structure = |indices, offsets| Structure { offsets, indices };
    part.each_row(structure(a.indices, a.offsets), structure(b.indices, b.offsets), |p, q| {
        fill.merge((&operand_a, p), (&operand_b, q));
        // The row after the last has no end here.
        if let Some(offset) = offsets.next() {
            *offset = O::cast(start + fill.written);
        }
    });
}
