//! `C ← A·B`: first the pattern of C, which is the plan, then its values.
//!
//! Rows of C are found and summed one by one, in parts of equal numbers of products, each by the method that is best
//! for its products and for the window of columns that they lie in:
//!
//! | method | columns | values | work |
//! |---|---|---|---|
//! | sort | the columns of all products are sorted | each product finds its column among those of the row | p log p |
//! | hash | a table removes repetitions, the rest is sorted | the table has the sums | p + n log n |
//! | dense | a flag for each column of the window | a sum for each column of the window | p + window / 64 |
//!
//! for p products and n entries of a row. Products are added in the order of the left factor's entries by all of them.
//! With a mask, whose pattern is that of C, each product or each column of the mask is searched for among the others,
//! whichever are fewer.
//!
//! A product of one call has more methods for rows of few products (`once`), with AVX-512 a sorting network for up to 64
//! of them (`expand_sort_avx512`).
//!
//! Rows that repeat the row before, shifted by one column, as in stencils and bands, are copied instead of found.
//!
//! Gustavson: Two fast algorithms for sparse matrices: multiplication and permuted transposition. ACM TOMS 1978.
//! Nagasaka, Matsuoka, Azad, Buluç: High-performance sparse matrix-matrix products on Intel KNL and multicore
//! architectures. ICPP Workshops 2018.

mod column_set;
#[cfg(target_arch = "x86_64")]
mod column_set_x86;
mod diagonal;
#[cfg(target_arch = "x86_64")]
mod expand_sort_avx512;
mod factors;
mod growing;
mod hash;
mod masked;
mod near_rows;
mod numeric;
pub(super) mod once;
mod pool;
#[cfg(target_arch = "x86_64")]
mod product_vectors_avx512;
mod ranked;
#[cfg(target_arch = "x86_64")]
mod ranked_avx512;
mod row_product;
mod selection;
#[cfg(target_arch = "x86_64")]
mod short_rows_avx512;
mod slots;
#[cfg(target_arch = "x86_64")]
mod sorted_keys_avx512;
mod symbolic;
mod thresholds;

use super::SEQUENTIAL;
use super::compiled::{find, spgemm_table};
use crate::Cpu;
use crate::parallel::split_mut;
use crate::primitive::fill::{entry_ranges, zeroed};
use factors::{Factors, Parts};
use numeric::{Operands, SumRows, Workspace};
use pool::Pool;
use sparse_core::format::estimate::Sizes;
use sparse_core::op::{SpgemmBound, SpgemmKernel, mask_pattern, row_factors};
use sparse_core::reference::{Reference, SpgemmPattern};
use sparse_core::{
    Algorithm, AlgorithmSet, Axis, Choice, Compressed, CompressedPattern, Host, Index, KernelPlan, PatternId,
    PlanOptions, Result, Scalar, algorithms,
};
use std::fmt::{self, Debug, Formatter};
use std::ops::Range;
use std::sync::Arc;

algorithms! {
    /// The algorithms of CSR and CSC.
    enum SpgemmAlgorithm {
        ByRow = Algorithm::new("by_row", "always: each row by one of the next three")
            .preprocessing("the pattern of C");
        Dense = Algorithm::new("dense", "by by_row, where the columns of a row lie close together, or it is long")
            .preprocessing("the pattern of C");
        Sort = Algorithm::new("sort", "by by_row, for products of far columns")
            .preprocessing("the pattern of C");
        Hash = Algorithm::new("hash", "by by_row, for very many products of far columns")
            .preprocessing("the pattern of C");
        Sequential = SEQUENTIAL;
    }
}

/// The method of one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowMethod {
    Sort,
    Hash,
    Dense,
}

impl SpgemmAlgorithm {
    /// The method of all rows; `None` where each has its own.
    fn method(self) -> Option<RowMethod> {
        match self {
            Self::ByRow | Self::Sequential => None,
            Self::Dense => Some(RowMethod::Dense),
            Self::Sort => Some(RowMethod::Sort),
            Self::Hash => Some(RowMethod::Hash),
        }
    }
}

/// The plan of SpGEMM for two patterns: the pattern of C, and the workspaces of threads.
pub struct SpgemmPlan<T: Scalar, I: Index, O: Index> {
    functions: &'static Functions<T, I, O>,
    choice: Choice,
    kernel: Kernel<T, I, O>,
}

enum Kernel<T: Scalar, I: Index, O: Index> {
    Sequential(SpgemmPattern<I, O>),
    Rows(RowProducts<T, I, O>),
}

impl<T: Scalar, I: Index, O: Index> Debug for SpgemmPlan<T, I, O> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("SpgemmPlan");
        fields.field("choice", &self.choice).field("workspace_bytes", &self.workspace_bytes()).finish()
    }
}

impl<T: Scalar, I: Index, O: Index> KernelPlan for SpgemmPlan<T, I, O> {
    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn workspace_bytes(&self) -> usize {
        match &self.kernel {
            Kernel::Sequential(plan) => plan.workspace_bytes(),
            Kernel::Rows(rows) => rows.bytes(),
        }
    }
}

/// The pattern of C in parts, and how its values are found.
struct RowProducts<T: Scalar, I: Index, O: Index> {
    pattern: Arc<CompressedPattern<Host, I, O>>,
    parts: Vec<Range<usize>>,
    products: usize,
    method: Option<RowMethod>,
    /// True if the pattern is that of a mask, which lacks columns of products.
    is_masked: bool,
    workspaces: Pool<Workspace<T::Acc, I>>,
}

impl<T: Scalar, I: Index, O: Index> RowProducts<T, I, O> {
    fn new(
        cpu: &Cpu,
        factors: Factors<'_, I, O>,
        mask: Option<&Arc<CompressedPattern<Host, I, O>>>,
        method: Option<RowMethod>,
    ) -> Result<Self> {
        let parts = factors.parts(cpu);
        let pattern = match mask {
            Some(mask) => mask.clone(),
            None => Arc::new(symbolic::pattern(cpu, factors, &parts, method)?),
        };
        let (is_masked, Parts { rows: parts, all, .. }) = (mask.is_some(), parts);
        Ok(Self { pattern, parts, products: all.products, method, is_masked, workspaces: Pool::default() })
    }

    fn run(&self, cpu: &Cpu, operands: Operands<'_, T, I, O>, values: &mut [T]) {
        let entries = entry_ranges(self.pattern.offsets(), &self.parts);
        let outputs = self.parts.iter().cloned().zip(split_mut(values, &entries)).collect();
        cpu.for_each(self.products, outputs, |(rows, values): (Range<usize>, &mut [T])| {
            self.workspaces.lend(|workspace| {
                let (pattern, method) = (&*self.pattern, self.method);
                if self.is_masked {
                    masked::sum_rows(operands, pattern, rows, values, workspace);
                } else {
                    let offsets = &pattern.offsets()[rows.start..=rows.end];
                    let columns = &pattern.indices()[offsets[0].as_usize()..][..values.len()];
                    cpu.simd().run(SumRows { operands, rows, offsets, columns, values, method, workspace });
                }
            });
        });
    }

    fn bytes(&self) -> usize {
        size_of_val(&self.pattern.offsets()[..])
            + size_of_val(&self.pattern.indices()[..])
            + size_of_val(&self.parts[..])
            + self.workspaces.bytes(Workspace::bytes)
    }
}

/// A, B and the mask of C, if there is one.
type MaskedFactors<'a, A, T, I, O> = (
    &'a Compressed<A, T, Host, I, O>,
    &'a Compressed<A, T, Host, I, O>,
    Option<&'a Compressed<A, T, Host, I, O>>,
);

impl<A: Axis, T: Scalar, I: Index, O: Index> SpgemmKernel<Compressed<A, T, Host, I, O>> for Cpu {
    type Plan = SpgemmPlan<T, I, O>;

    fn spgemm_algorithms(&self) -> &'static [Algorithm] {
        algorithms()
    }

    unsafe fn spgemm_bound(
        &self,
        a: &Compressed<A, T, Host, I, O>,
        b: &Compressed<A, T, Host, I, O>,
    ) -> Result<SpgemmBound> {
        bound_of(self, a, b)
    }

    unsafe fn plan_spgemm(
        &self,
        a: &Compressed<A, T, Host, I, O>,
        b: &Compressed<A, T, Host, I, O>,
        mask: Option<&Compressed<A, T, Host, I, O>>,
        options: &PlanOptions,
    ) -> Result<Self::Plan> {
        let functions = find(spgemm_table(), "spgemm", A::FORMAT)?;
        // SAFETY: the caller makes the same promises.
        unsafe { SpgemmPlan::new(self, functions, (a, b, mask), options) }
    }

    fn spgemm_pattern(&self, plan: &Self::Plan) -> (PatternId, usize) {
        plan.pattern::<A>()
    }

    fn spgemm_output(&self, plan: &Self::Plan) -> Result<Compressed<A, T, Host, I, O>> {
        plan.output()
    }

    unsafe fn run_spgemm(
        &self,
        plan: &mut Self::Plan,
        a: &Compressed<A, T, Host, I, O>,
        b: &Compressed<A, T, Host, I, O>,
        c: &mut Compressed<A, T, Host, I, O>,
    ) -> Result<()> {
        // SAFETY: the caller makes the same promises.
        unsafe { plan.run(self, a, b, c) }
    }

    unsafe fn spgemm_in_one_pass(
        &self,
        a: &Compressed<A, T, Host, I, O>,
        b: &Compressed<A, T, Host, I, O>,
    ) -> Option<Result<Compressed<A, T, Host, I, O>>> {
        let (left, right) = row_factors::<A, _>(a, b);
        let factors = Factors::new((&**left.pattern()).into(), (&**right.pattern()).into());
        Some(once::product(self, Operands { factors, left: left.values(), right: right.values() }))
    }
}

/// The functions for one triple of types, which are compiled in this crate.
pub(super) struct Functions<T: Scalar, I: Index, O: Index> {
    plan: PlanOf<T, I, O>,
    run: RunOf<T, I, O>,
}

/// As [`RowProducts::new`].
type PlanOf<T, I, O> = fn(
    &Cpu,
    Factors<'_, I, O>,
    Option<&Arc<CompressedPattern<Host, I, O>>>,
    Option<RowMethod>,
) -> Result<RowProducts<T, I, O>>;

/// As [`RowProducts::run`].
type RunOf<T, I, O> = fn(&RowProducts<T, I, O>, &Cpu, Operands<'_, T, I, O>, &mut [T]);

impl<T: Scalar, I: Index, O: Index> Functions<T, I, O> {
    pub(super) const ALL: Self = Self { plan: RowProducts::new, run: RowProducts::run };
}

/// The algorithms, by which `op/compiled.rs` implements [`SpgemmKernel`].
pub(super) fn algorithms() -> &'static [Algorithm] {
    SpgemmAlgorithm::table(&|_| true)
}

/// The products of A·B, and the bound of its entries.
pub(super) fn bound_of<A: Axis, T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    a: &Compressed<A, T, Host, I, O>,
    b: &Compressed<A, T, Host, I, O>,
) -> Result<SpgemmBound> {
    let (left, right) = row_factors::<A, _>(a, b);
    let all = Factors::new((&**left.pattern()).into(), (&**right.pattern()).into()).parts(cpu).all;
    Ok(SpgemmBound::of_totals(all.rows, all.products as u64, all.entries as u64, Sizes::of::<T, I, O>()))
}

impl<T: Scalar, I: Index, O: Index> SpgemmPlan<T, I, O> {
    /// Finds the pattern of C, or takes that of the mask.
    ///
    /// # Safety
    /// As for [`SpgemmKernel::plan_spgemm`].
    pub(super) unsafe fn new<A: Axis>(
        cpu: &Cpu,
        functions: &'static Functions<T, I, O>,
        (a, b, mask): MaskedFactors<'_, A, T, I, O>,
        options: &PlanOptions,
    ) -> Result<Self> {
        let reason = "rows differ in their products and in the window of their columns";
        let (algorithm, choice) =
            options.choose_among("spgemm", algorithms(), SpgemmAlgorithm::ByRow, reason)?;
        let (left, right) = row_factors::<A, _>(a, b);
        let factors = Factors::new((&**left.pattern()).into(), (&**right.pattern()).into());
        let kernel = match algorithm {
            SpgemmAlgorithm::Sequential => {
                let options = PlanOptions { algorithm: None, ..options.clone() };
                // SAFETY: the caller makes the reference's promises of the operands.
                Kernel::Sequential(unsafe { Reference.plan_spgemm(a, b, mask, &options)? })
            }
            _ => {
                let mask = mask.map(mask_pattern).transpose()?;
                Kernel::Rows((functions.plan)(cpu, factors, mask, algorithm.method())?)
            }
        };
        Ok(Self { functions, choice, kernel })
    }

    /// The pattern of C, and the number of its entries.
    pub(super) fn pattern<A: Axis>(&self) -> (PatternId, usize) {
        match &self.kernel {
            Kernel::Sequential(plan) => {
                SpgemmKernel::<Compressed<A, T, Host, I, O>>::spgemm_pattern(&Reference, plan)
            }
            Kernel::Rows(rows) => (rows.pattern.id(), rows.pattern.indices().len()),
        }
    }

    /// C with values of zero.
    pub(super) fn output<A: Axis>(&self) -> Result<Compressed<A, T, Host, I, O>> {
        match &self.kernel {
            Kernel::Sequential(plan) => Reference.spgemm_output(plan),
            Kernel::Rows(rows) => {
                Compressed::from_pattern(rows.pattern.clone(), zeroed(rows.pattern.indices().len()))
            }
        }
    }

    /// Computes the values of C.
    ///
    /// # Safety
    /// As for [`SpgemmKernel::run_spgemm`].
    pub(super) unsafe fn run<A: Axis>(
        &mut self,
        cpu: &Cpu,
        a: &Compressed<A, T, Host, I, O>,
        b: &Compressed<A, T, Host, I, O>,
        c: &mut Compressed<A, T, Host, I, O>,
    ) -> Result<()> {
        let (left, right) = row_factors::<A, _>(a, b);
        match &mut self.kernel {
            // SAFETY: the caller promises the same for this plan, which contains the reference's own.
            Kernel::Sequential(plan) => return unsafe { Reference.run_spgemm(plan, a, b, c) },
            Kernel::Rows(rows) => {
                let factors = Factors::new((&**left.pattern()).into(), (&**right.pattern()).into());
                let operands = Operands { factors, left: left.values(), right: right.values() };
                (self.functions.run)(rows, cpu, operands, c.values_mut());
            }
        }
        Ok(())
    }
}
