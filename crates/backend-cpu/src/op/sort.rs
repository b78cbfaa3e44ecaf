//! Sorting: each row of a compressed matrix by itself, COO as a whole.

use super::SEQUENTIAL;
use super::compiled::{find, sort_table};
use super::plan::CpuPlan;
use crate::Cpu;
use crate::primitive::row_sort::sort_rows;
use rayon::prelude::*;
use sparse_core::op::SortKernel;
use sparse_core::reference::Reference;
use sparse_core::{
    Algorithm, AlgorithmSet, Axis, Compressed, Coo, Host, Index, IndexOrder, PlanOptions, Result, Scalar,
    SparseFormat, algorithms,
};
use std::fmt::Debug;

algorithms! {
    /// The algorithms of CSR and CSC.
    pub enum CompressedSortAlgorithm {
        RowSort = Algorithm::new(
            "row_sort",
            "always: stable, by ranks in short rows, by insertion in nearly sorted ones, else by merging",
        );
        Sequential = SEQUENTIAL;
    }
}

algorithms! {
    /// The algorithms of COO.
    pub enum CooSortAlgorithm {
        MergeSort = Algorithm::new("merge_sort", "always: stable, in parallel");
        Sequential = SEQUENTIAL;
    }
}

/// A format that is sorted in parallel.
pub trait ParallelSort: SparseFormat<Space = Host> + Sized {
    /// The algorithms.
    type Algorithm: AlgorithmSet + Debug + Send;

    /// The one that plans choose by themselves.
    const AUTOMATIC: Self::Algorithm;

    /// A sorted copy.
    ///
    /// # Safety
    /// As for [`SortKernel::run_sort`].
    unsafe fn run(cpu: &Cpu, plan: &mut CpuPlan<Self::Algorithm>, a: &Self) -> Result<Self>;
}

/// The functions of one format, which are compiled in this crate.
pub(super) struct Functions<M: ParallelSort> {
    run: unsafe fn(&Cpu, &mut CpuPlan<M::Algorithm>, &M) -> Result<M>,
}

impl<M: ParallelSort> Functions<M> {
    pub(super) const ALL: Self = Self { run: M::run };
}

impl<M: ParallelSort> SortKernel<M> for Cpu {
    type Plan = CpuPlan<M::Algorithm>;

    fn sort_algorithms(&self) -> &'static [Algorithm] {
        M::Algorithm::table(&|_| true)
    }

    fn plan_sort(&self, _: &M, options: &PlanOptions) -> Result<Self::Plan> {
        CpuPlan::new("sort", options, M::AUTOMATIC, M::AUTOMATIC.row().chosen)
    }

    unsafe fn run_sort(&self, plan: &mut Self::Plan, a: &M) -> Result<M> {
        let functions: &Functions<M> = find(sort_table(), "sort", M::FORMAT)?;
        // SAFETY: the caller makes the same promises.
        unsafe { (functions.run)(self, plan, a) }
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> ParallelSort for Compressed<A, T, Host, I, O> {
    type Algorithm = CompressedSortAlgorithm;

    const AUTOMATIC: Self::Algorithm = CompressedSortAlgorithm::RowSort;

    unsafe fn run(cpu: &Cpu, plan: &mut CpuPlan<Self::Algorithm>, a: &Self) -> Result<Self> {
        match plan.algorithm {
            CompressedSortAlgorithm::RowSort => Ok(sort_rows(cpu, a)),
            CompressedSortAlgorithm::Sequential => {
                // SAFETY: the caller makes the reference's promises of the plan and the operands.
                unsafe { Reference.run_sort(&mut plan.reference, a) }
            }
        }
    }
}

impl<T: Scalar, I: Index> ParallelSort for Coo<T, Host, I> {
    type Algorithm = CooSortAlgorithm;

    const AUTOMATIC: Self::Algorithm = CooSortAlgorithm::MergeSort;

    unsafe fn run(cpu: &Cpu, plan: &mut CpuPlan<Self::Algorithm>, a: &Self) -> Result<Self> {
        match plan.algorithm {
            CooSortAlgorithm::MergeSort => Ok(merge_sort(cpu, a)),
            CooSortAlgorithm::Sequential => {
                // SAFETY: the caller makes the reference's promises of the plan and the operands.
                unsafe { Reference.run_sort(&mut plan.reference, a) }
            }
        }
    }
}

/// Sorts all entries by row, then column.
fn merge_sort<T: Scalar, I: Index>(cpu: &Cpu, a: &Coo<T, Host, I>) -> Coo<T, Host, I> {
    let entries = sorted(cpu, a.row_idx(), a.col_idx());
    let row_idx = entries.iter().map(|entry| entry.0).collect();
    let col_idx = entries.iter().map(|entry| entry.1).collect();
    let values = entries.iter().map(|entry| a.values()[entry.2]).collect();
    let order = IndexOrder { major_sorted: true, sorted: true, unique: a.order().unique };
    // SAFETY: the coordinates are those of `a`, now in order.
    unsafe { Coo::new_unchecked(a.nrows(), a.ncols(), row_idx, col_idx, values, order) }
}

/// Rows, columns and positions of entries sorted by the first two. Values are left out, so that sorting is compiled
/// once for all of their types.
fn sorted<I: Index>(cpu: &Cpu, rows: &[I], cols: &[I]) -> Vec<(I, I, usize)> {
    let coordinates = rows.iter().zip(cols).enumerate();
    let mut entries: Vec<_> = coordinates.map(|(position, (&row, &col))| (row, col, position)).collect();
    let place = |&(row, col, _): &(I, I, usize)| (row, col);
    match cpu.threads_for(rows.len()) {
        Some(threads) => threads.install(|| entries.par_sort_by_key(place)),
        None => entries.sort_by_key(place),
    }
    entries
}
