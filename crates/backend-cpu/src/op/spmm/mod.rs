//! `C ← alpha·op(A)·B + beta·C`.
//!
//! Compressed formats are read as they are in their stored direction; for all else the plan has the entries row by row
//! with the positions of their values ([`RowPattern`]).
//!
//! | module | contents |
//! |---|---|
//! | `partition`, `part`, `product` | how rows are divided into tasks, and what a task sums |
//! | `rows`, `groups` | the rows of op(A), and those with the columns of the row before, shifted |
//! | `block`, `registers…`, `row_blocks`, `vectors_…` | a row times a block of B's columns, in registers |
//! | `ahead`, `slices`, `nontemporal_stores` | how B is fetched or copied, and how a large C is written |
//! | `once`, `short_rows`, `across` | products without a plan: A·B, A·B for short rows, Aᵀ·B |
//! | `thresholds` | the numbers that steer all of this |

#![cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "kernels in registers are written for x86 alone")
)]

pub(super) mod across;
#[cfg(target_arch = "x86_64")]
mod ahead;
mod block;
mod groups;
#[cfg(target_arch = "x86_64")]
mod nontemporal_stores;
mod once;
mod part;
mod partition;
mod product;
#[cfg(target_arch = "x86_64")]
mod registers;
#[cfg(target_arch = "x86_64")]
mod registers_avx2;
#[cfg(target_arch = "x86_64")]
mod registers_avx512;
#[cfg(target_arch = "x86_64")]
mod row_blocks;
pub(super) mod rows;
mod short_rows;
mod slices;
mod thresholds;
#[cfg(target_arch = "x86_64")]
mod vectors_avx2;
#[cfg(target_arch = "x86_64")]
mod vectors_avx512;

use super::SEQUENTIAL;
use super::compiled::{find, spmm_table};
use super::plan::fmt_product;
use crate::Cpu;
use crate::primitive::entries::RowPattern;
use crate::primitive::update::Update;
use block::WIDE;
use partition::{Operands, SpmmPartition};
use rows::{GatheredRows, Rows, SpmmFormat};
use sparse_core::op::{AccOf, Op, SpmmKernel};
use sparse_core::reference::Reference;
use sparse_core::{
    Algorithm, AlgorithmSet, Choice, DenseView, DenseViewMut, KernelPlan, PlanOptions, Result, SparseFormat,
    algorithms,
};
use thresholds::SpmmThresholds;

algorithms! {
    /// The algorithms of all formats.
    enum SpmmAlgorithm {
        RowPerThread = Algorithm::new("row_per_thread", "no row is longer than a segment");

        RowSplit = Algorithm::new("row_split", "a row is longer than a segment")
            .preprocessing("segments of long rows, and their partial sums");

        TransposedPattern = Algorithm::new("transposed_pattern", "for op(A) across the stored direction")
            .preprocessing("op(A)'s pattern by rows, with the positions of the values");

        Sequential = SEQUENTIAL;
    }
}

impl SpmmAlgorithm {
    /// True if it computes products with op(A), the entries of whose rows are contiguous in memory or not.
    fn fits(self, has_stored_rows: bool) -> bool {
        match self {
            Self::RowPerThread | Self::RowSplit => has_stored_rows,
            Self::TransposedPattern => !has_stored_rows,
            Self::Sequential => true,
        }
    }

    /// True if long rows are cut into segments.
    fn splits_rows(self) -> bool {
        match self {
            Self::RowPerThread | Self::Sequential => false,
            Self::RowSplit | Self::TransposedPattern => true,
        }
    }
}

/// The plan of SpMM for one pattern.
pub struct SpmmPlan<M: SpmmFormat>
where
    Reference: SpmmKernel<M>,
{
    pub(super) functions: &'static Functions<M>,
    choice: Choice,
    op: Op,
    kernel: Kernel<M>,
}

enum Kernel<M: SpmmFormat>
where
    Reference: SpmmKernel<M>,
{
    Sequential(<Reference as SpmmKernel<M>>::Plan),
    /// The pattern is empty where rows of op(A) are stored.
    Rows(RowPattern<M::Column>, SpmmPartition<M::Scalar>),
}

impl<M: SpmmFormat> std::fmt::Debug for SpmmPlan<M>
where
    Reference: SpmmKernel<M>,
{
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        fmt_product(f, "SpmmPlan", self, self.op)
    }
}

impl<M: SpmmFormat> KernelPlan for SpmmPlan<M>
where
    Reference: SpmmKernel<M>,
{
    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn workspace_bytes(&self) -> usize {
        match &self.kernel {
            Kernel::Sequential(plan) => plan.workspace_bytes(),
            Kernel::Rows(pattern, work) => pattern.bytes() + work.bytes(),
        }
    }
}

/// Chooses the algorithm for these rows and a matrix B of this shape, and partitions the work.
fn plan_work<R: Rows>(
    cpu: &Cpu,
    rows: &R,
    has_stored_rows: bool,
    options: &PlanOptions,
    b: (usize, usize),
) -> Result<(Choice, SpmmPartition<R::Scalar>)> {
    let longest = (0..rows.len()).map(|row| rows.entries(row).len()).max().unwrap_or(0);
    let segment = SpmmThresholds::CPU.segment;
    let reason = format!("the longest row has {longest} entries, a segment {segment}");
    let (preferred, reason) = match has_stored_rows {
        false => {
            let reason = "the entries of a row of op(A) are not contiguous";
            (SpmmAlgorithm::TransposedPattern, reason.to_string())
        }
        true if longest > segment => (SpmmAlgorithm::RowSplit, reason),
        true => (SpmmAlgorithm::RowPerThread, reason),
    };
    let offered = algorithms(has_stored_rows);
    let (algorithm, mut choice) = options.choose_among("spmm", offered, preferred, reason)?;
    let work = SpmmPartition::new(cpu, rows, algorithm.splits_rows(), b, options.expected_calls)?;
    if work.is_sliced() {
        choice.reason += &format!("; B in slices of {WIDE} columns, which stay in the cache");
    }
    Ok((choice, work))
}

impl<M: SpmmFormat> SpmmKernel<M> for Cpu
where
    Reference: SpmmKernel<M>,
{
    type Plan = SpmmPlan<M>;

    fn spmm_algorithms(&self, op: Op) -> &'static [Algorithm] {
        algorithms(has_stored_rows::<M>(op))
    }

    fn plan_spmm(&self, a: &M, op: Op, columns: usize, options: &PlanOptions) -> Result<Self::Plan> {
        let functions: &Functions<M> = find(spmm_table(), "spmm", M::FORMAT)?;
        (functions.plan)(self, a, op, columns, options)
    }

    unsafe fn run_spmm(
        &self,
        plan: &mut Self::Plan,
        alpha: AccOf<M>,
        a: &M,
        b: DenseView<'_, M::Scalar>,
        beta: AccOf<M>,
        c: DenseViewMut<'_, M::Scalar>,
    ) -> Result<()> {
        // SAFETY: the caller makes the same promises.
        unsafe { (plan.functions.run)(self, plan, alpha, a, b, beta, c) }
    }
}

/// The functions of one format, which are compiled in this crate.
pub(super) struct Functions<M: SpmmFormat>
where
    Reference: SpmmKernel<M>,
{
    pub(super) plan: fn(&Cpu, &M, Op, usize, &PlanOptions) -> Result<SpmmPlan<M>>,
    pub(super) run: RunOf<M>,
}

/// As for [`SpmmKernel::run_spmm`].
type RunOf<M> = unsafe fn(
    &Cpu,
    &mut SpmmPlan<M>,
    AccOf<M>,
    &M,
    DenseView<'_, <M as SparseFormat>::Scalar>,
    AccOf<M>,
    DenseViewMut<'_, <M as SparseFormat>::Scalar>,
) -> Result<()>;

impl<M: SpmmFormat> Functions<M>
where
    Reference: SpmmKernel<M>,
{
    pub(super) const ALL: Self = Self { plan: SpmmPlan::new, run: SpmmPlan::run };
}

/// The algorithms for op(A), the entries of whose rows are contiguous in memory or not.
pub(super) fn algorithms(has_stored_rows: bool) -> &'static [Algorithm] {
    SpmmAlgorithm::table(&|algorithm| algorithm.fits(has_stored_rows))
}

/// True if the format stores the entries of each row of op(A) contiguously.
pub(super) fn has_stored_rows<M: SpmmFormat>(op: Op) -> bool {
    op.transposes() != M::BY_ROWS
}

impl<M: SpmmFormat> SpmmPlan<M>
where
    Reference: SpmmKernel<M>,
{
    fn new(cpu: &Cpu, a: &M, op: Op, columns: usize, options: &PlanOptions) -> Result<Self> {
        let (is_stored, functions) = (has_stored_rows::<M>(op), const { &Functions::ALL });
        if options.algorithm.as_deref().and_then(SpmmAlgorithm::named) == Some(SpmmAlgorithm::Sequential) {
            let sequential = SpmmAlgorithm::Sequential;
            let (_, choice) = options.choose_among("spmm", algorithms(is_stored), sequential, "")?;
            let options = PlanOptions { algorithm: None, ..options.clone() };
            let kernel = Kernel::Sequential(Reference.plan_spmm(a, op, columns, &options)?);
            return Ok(Self { functions, choice, op, kernel });
        }
        let b = (op.shape(a).1, columns);
        let (pattern, (choice, work)) = match a.stored_rows(op) {
            Some(lines) => (RowPattern::empty(), plan_work(cpu, &lines, is_stored, options, b)?),
            None => {
                let pattern = RowPattern::block_diagonal(a, op)?;
                let shared = plan_work(
                    cpu,
                    &GatheredRows { pattern: &pattern, values: a.value_arrays() },
                    is_stored,
                    options,
                    b,
                )?;
                (pattern, shared)
            }
        };
        Ok(Self { functions, choice, op, kernel: Kernel::Rows(pattern, work) })
    }

    /// # Safety
    /// As for [`SpmmKernel::run_spmm`].
    unsafe fn run(
        cpu: &Cpu,
        plan: &mut Self,
        alpha: AccOf<M>,
        a: &M,
        b: DenseView<'_, M::Scalar>,
        beta: AccOf<M>,
        c: DenseViewMut<'_, M::Scalar>,
    ) -> Result<()> {
        let op = plan.op;
        let update = Update { alpha, beta };
        match &mut plan.kernel {
            // SAFETY: the caller promises the same for this plan, which contains the reference's own.
            Kernel::Sequential(plan) => return unsafe { Reference.run_spmm(plan, alpha, a, b, beta, c) },
            Kernel::Rows(pattern, work) => {
                let operands = Operands { b, c, update, op };
                match a.stored_rows(op) {
                    Some(lines) => work.run(cpu, lines, operands),
                    None => work.run(cpu, GatheredRows { pattern, values: a.value_arrays() }, operands),
                }
            }
        }
        Ok(())
    }
}
