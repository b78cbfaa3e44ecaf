//! Sparse to dense: blocks of rows, each zeroed and then filled by one thread.

use super::SEQUENTIAL;
use super::compiled::{find, to_dense_table};
use super::convert::coo_to_compressed;
use super::plan::CpuPlan;
use crate::Cpu;
use crate::primitive::duplicates::sum;
use crate::primitive::rows::{Rows, SellRows, lines_mut, rows_of_block, tiles_mut};
use sparse_core::op::{Duplicates, ToDenseKernel};
use sparse_core::reference::Reference;
use sparse_core::{
    Algorithm, AlgorithmSet, Choice, Coo, Csc, Csr, DenseViewMut, Ell, Host, HostCsr, Hyb, Index, Order,
    PlanOptions, Result, Scalar, Sell, SparseFormat, algorithms,
};

algorithms! {
    /// The algorithms of all formats.
    pub enum ToDenseAlgorithm {
        RowBlocks = Algorithm::new("row_blocks", "always");
        Sequential = SEQUENTIAL;
    }
}

/// Writes zeros and the entries of `a`, `block` rows at a time.
fn expand<T: Scalar>(cpu: &Cpu, a: &impl Rows<T>, unique: bool, dense: DenseViewMut<'_, T>) {
    let (rows, cols, stride, order) =
        (dense.nrows(), dense.ncols(), dense.leading_dimension(), dense.order());
    let (lines, line) = dense.major_minor();
    let data = &mut dense.into_data()[..(lines - 1) * stride + line];
    let block = rows_of_block(cols, order);
    let by_row = order == Order::RowMajor;
    let tiles =
        if by_row { lines_mut(data, stride, line, block) } else { tiles_mut(data, stride, line, block) };
    cpu.for_each(rows * cols, tiles.into_iter().enumerate().collect(), |(k, mut tile)| {
        tile.iter_mut().for_each(|part| part.fill(T::ZERO));
        let first = k * block;
        let mut store = |i: usize, j: usize, value| {
            let (line, at) = if by_row { (i - first, j) } else { (j, i - first) };
            tile[line][at] = value;
        };
        let block_rows = first..rows.min(first + block);
        if unique {
            a.visit(block_rows, store);
        } else {
            let mut entries = vec![];
            a.visit(block_rows, |i, j, value| entries.push((i, j, value)));
            visit_sums(entries, &mut store);
        }
    });
}

/// Visits every coordinate once, with the sum of its entries in their order. (Apart from their enumeration, so that it
/// is compiled once for all formats.)
fn visit_sums<T: Scalar>(mut entries: Vec<(usize, usize, T)>, visit: &mut dyn FnMut(usize, usize, T)) {
    entries.sort_by_key(|&(i, j, _)| (i, j));
    for same in entries.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        visit(same[0].0, same[0].1, sum(same.iter().map(|entry| entry.2)));
    }
}

/// A format that is expanded in parallel.
pub trait ParallelToDense: SparseFormat<Space = Host> {
    /// Writes zeros and the entries.
    fn row_blocks(&self, cpu: &Cpu, dense: DenseViewMut<'_, Self::Scalar>) -> Result<()>;
}

/// The functions of one format, which are compiled in this crate.
pub(super) struct Functions<M: ParallelToDense> {
    run: RunOf<M>,
}

/// As for [`ToDenseKernel::run_to_dense`].
type RunOf<M> = unsafe fn(
    &Cpu,
    &mut CpuPlan<ToDenseAlgorithm>,
    &M,
    DenseViewMut<'_, <M as SparseFormat>::Scalar>,
) -> Result<()>;

impl<M: ParallelToDense> Functions<M>
where
    Reference: ToDenseKernel<M, Plan = Choice>,
{
    pub(super) const ALL: Self = Self { run };
}

impl<M: ParallelToDense> ToDenseKernel<M> for Cpu
where
    Reference: ToDenseKernel<M, Plan = Choice>,
{
    type Plan = CpuPlan<ToDenseAlgorithm>;

    fn to_dense_algorithms(&self) -> &'static [Algorithm] {
        ToDenseAlgorithm::table(&|_| true)
    }

    fn plan_to_dense(&self, _: &M, options: &PlanOptions) -> Result<Self::Plan> {
        let reason = "every block of rows is zeroed and filled in one go";
        CpuPlan::new("to_dense", options, ToDenseAlgorithm::RowBlocks, reason)
    }

    unsafe fn run_to_dense(
        &self,
        plan: &mut Self::Plan,
        a: &M,
        dense: DenseViewMut<'_, M::Scalar>,
    ) -> Result<()> {
        let functions: &Functions<M> = find(to_dense_table(), "to_dense", M::FORMAT)?;
        // SAFETY: the caller makes the same promises.
        unsafe { (functions.run)(self, plan, a, dense) }
    }
}

/// # Safety
/// As for [`ToDenseKernel::run_to_dense`].
unsafe fn run<M: ParallelToDense>(
    cpu: &Cpu,
    plan: &mut CpuPlan<ToDenseAlgorithm>,
    a: &M,
    dense: DenseViewMut<'_, M::Scalar>,
) -> Result<()>
where
    Reference: ToDenseKernel<M, Plan = Choice>,
{
    match plan.algorithm {
        ToDenseAlgorithm::RowBlocks => a.row_blocks(cpu, dense),
        ToDenseAlgorithm::Sequential => {
            // SAFETY: the caller makes the reference's promises of the plan and the operands.
            unsafe { Reference.run_to_dense(&mut plan.reference, a, dense) }
        }
    }
}

macro_rules! by_rows {
    ([$($generics:tt)*], $matrix:ty, |$cpu:ident, $a:ident, $dense:ident| $run:expr) => {
        impl<T: Scalar, $($generics)*> ParallelToDense for $matrix {
            fn row_blocks(&self, $cpu: &Cpu, $dense: DenseViewMut<'_, T>) -> Result<()> {
                let $a = self;
                $run;
                Ok(())
            }
        }
    };
}

by_rows!([I: Index, O: Index], Csr<T, Host, I, O>, |cpu, a, dense| expand(cpu, a, a.order().unique, dense));
by_rows!([I: Index, O: Index], HostCsr<T, I, O>, |cpu, a, dense| expand(cpu, a, a.order().unique, dense));
by_rows!([I: Index, O: Index], Csc<T, Host, I, O>, |cpu, a, dense| {
    expand(cpu, a, a.order().unique, dense.transposed())
});
by_rows!([I: Index], Coo<T, Host, I>, |cpu, a, dense| {
    if a.order().major_sorted {
        expand(cpu, a, a.order().unique, dense);
    } else {
        let csr: Csr<T, Host, I, i64> = coo_to_compressed(cpu, a, Duplicates::Sum)?;
        expand(cpu, &csr, true, dense);
    }
});
by_rows!([I: Index], Ell<T, Host, I>, |cpu, a, dense| expand(cpu, a, a.order().unique, dense));
by_rows!([I: Index], Hyb<T, Host, I>, |cpu, a, dense| {
    let unique = a.ell().order().unique && a.coo().nnz() == 0;
    expand(cpu, a, unique, dense)
});
by_rows!([I: Index, O: Index], Sell<T, Host, I, O>, |cpu, a, dense| {
    expand(cpu, &SellRows::new(a), a.order().unique, dense)
});
