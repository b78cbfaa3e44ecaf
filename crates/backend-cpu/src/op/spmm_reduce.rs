//! `C ← ⊕ A·B` by blocks of rows: the entries of a row are read once for each tile of columns.

use super::SEQUENTIAL;
use super::compiled::{find, spmm_reduce_table};
use super::plan::CpuPlan;
use crate::Cpu;
use crate::primitive::rows::{lines_mut, rows_of_block, tiles_mut};
use crate::simd::{Isa, Vectorize};
use sparse_core::op::{Aggregation, SpmmReduceKernel};
use sparse_core::reference::{AggregationChoice, Reference};
use sparse_core::{
    Accumulator, Algorithm, AlgorithmSet, Csr, DenseView, DenseViewMut, Element, Host, Index, Order,
    PlanOptions, Result, Scalar, SparseFormat, algorithms, c64,
};
use std::ops::Range;

/// Columns whose results a thread has on its stack, where there is code for the instruction set.
const TILE: usize = 64;

/// Columns whose results a thread has on its stack where there are fewer than this, all of which are cleared for each
/// row: code for the instruction set takes 0.43 to 1.35 of the time with 8 columns, 0.24 to 0.94 with 16 (one thread of an EPYC, Zen 5).
const SMALL_TILE: usize = 16;

algorithms! {
    /// The algorithms of CSR.
    pub enum SpmmReduceAlgorithm {
        RowBlocks = Algorithm::new("row_blocks", "always: 64 columns of a row at a time");
        Sequential = SEQUENTIAL;
    }
}

/// The functions of one format, which are compiled in this crate.
pub(super) struct Functions<M: SparseFormat> {
    run: RunOf<M>,
}

/// As for [`SpmmReduceKernel::run_spmm_reduce`].
type RunOf<M> = unsafe fn(
    &Cpu,
    &mut CpuPlan<SpmmReduceAlgorithm, AggregationChoice>,
    (&M, DenseView<'_, <M as SparseFormat>::Scalar>),
    DenseViewMut<'_, <M as SparseFormat>::Scalar>,
    Option<DenseViewMut<'_, i64>>,
) -> Result<()>;

impl<T: Scalar, I: Index, O: Index> Functions<Csr<T, Host, I, O>> {
    pub(super) const ALL: Self = Self { run };
}

impl<T: Scalar, I: Index, O: Index> SpmmReduceKernel<Csr<T, Host, I, O>> for Cpu {
    type Plan = CpuPlan<SpmmReduceAlgorithm, AggregationChoice>;

    fn spmm_reduce_algorithms(&self) -> &'static [Algorithm] {
        SpmmReduceAlgorithm::table(&|_| true)
    }

    fn plan_spmm_reduce(
        &self,
        by: Aggregation,
        _: &Csr<T, Host, I, O>,
        _: usize,
        options: &PlanOptions,
    ) -> Result<Self::Plan> {
        let automatic = SpmmReduceAlgorithm::RowBlocks;
        let offered = SpmmReduceAlgorithm::table(&|_| true);
        let (algorithm, choice) =
            options.choose_among("spmm_reduce", offered, automatic, automatic.row().chosen)?;
        Ok(CpuPlan { algorithm, reference: AggregationChoice { choice, by } })
    }

    unsafe fn run_spmm_reduce(
        &self,
        plan: &mut Self::Plan,
        a: &Csr<T, Host, I, O>,
        b: DenseView<'_, T>,
        c: DenseViewMut<'_, T>,
        arg: Option<DenseViewMut<'_, i64>>,
    ) -> Result<()> {
        let table = spmm_reduce_table();
        let functions: &Functions<Csr<T, Host, I, O>> = find(table, "spmm_reduce", Csr::<T>::FORMAT)?;
        // SAFETY: the caller makes the same promises.
        unsafe { (functions.run)(self, plan, (a, b), c, arg) }
    }
}

/// # Safety
/// As for [`SpmmReduceKernel::run_spmm_reduce`].
unsafe fn run<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    plan: &mut CpuPlan<SpmmReduceAlgorithm, AggregationChoice>,
    (a, b): (&Csr<T, Host, I, O>, DenseView<'_, T>),
    c: DenseViewMut<'_, T>,
    arg: Option<DenseViewMut<'_, i64>>,
) -> Result<()> {
    match plan.algorithm {
        SpmmReduceAlgorithm::RowBlocks => row_blocks(cpu, plan.reference.by, (a, b), c, arg),
        SpmmReduceAlgorithm::Sequential => {
            // SAFETY: the caller makes the reference's promises of the plan and the operands.
            return unsafe { Reference.run_spmm_reduce(&mut plan.reference, a, b, c, arg) };
        }
    }
    Ok(())
}

fn row_blocks<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    by: Aggregation,
    (a, b): (&Csr<T, Host, I, O>, DenseView<'_, T>),
    c: DenseViewMut<'_, T>,
    arg: Option<DenseViewMut<'_, i64>>,
) {
    let (rows, columns) = c.shape();
    let block = rows_of_block(columns, c.order());
    let mut c = RowBlocks::new(c, block);
    let mut args = arg.map(|arg| RowBlocks::new(arg, block));
    let items = (0..rows).step_by(block).map(|first| (first, c.take(), args.as_mut().map(RowBlocks::take)));
    let items: Vec<_> = items.collect();
    cpu.for_each(a.nnz().saturating_mul(columns), items, |(first, c, args)| {
        let rows = first..rows.min(first + block);
        let results = BlockResults { by, a, b: &b, rows, columns, c, args };
        if columns < SMALL_TILE { results.write::<SMALL_TILE>() } else { cpu.simd().run(results) }
    });
}

/// The results of some rows, and the entries that they come from.
struct BlockResults<'a, 'b, T: Scalar, I: Index, O: Index> {
    by: Aggregation,
    a: &'a Csr<T, Host, I, O>,
    b: &'a DenseView<'b, T>,
    rows: Range<usize>,
    columns: usize,
    c: RowBlock<'a, T>,
    args: Option<RowBlock<'a, i64>>,
}

impl<T: Scalar, I: Index, O: Index> Vectorize for BlockResults<'_, '_, T, I, O> {
    type Out = ();

    #[inline(always)]
    fn run<S: Isa>(self) {
        self.write::<TILE>();
    }
}

impl<T: Scalar, I: Index, O: Index> BlockResults<'_, '_, T, I, O> {
    /// Writes the results of all rows, by tiles of `N` columns.
    #[inline(always)]
    fn write<const N: usize>(self) {
        let Self { by, a, b, rows, columns, mut c, mut args } = self;
        for (k, row) in rows.enumerate() {
            for start in (0..columns).step_by(N) {
                let mut tile = Tile::<_, N>::new(a.nnz(), columns.min(start + N) - start);
                tile.combine(by, a, row, b, start);
                c.write(k, start, tile.values().iter().map(|&value| T::from_acc(value)));
                if let Some(args) = &mut args {
                    args.write(k, start, tile.args().iter().copied());
                }
            }
        }
    }
}

/// The results of some columns of a row: values, and the entries that they come from.
struct Tile<Acc, const N: usize> {
    values: [Acc; N],
    args: [i64; N],
    columns: usize,
}

impl<Acc: Accumulator, const N: usize> Tile<Acc, N> {
    /// Zeros of no entry, for which `none` stands.
    #[inline(always)]
    fn new(none: usize, columns: usize) -> Self {
        Self { values: [Acc::ZERO; N], args: [none as i64; N], columns }
    }

    /// Combines the products of a row with the columns of B from `start` on.
    #[inline(always)]
    fn combine<T: Scalar<Acc = Acc>, I: Index, O: Index>(
        &mut self,
        by: Aggregation,
        a: &Csr<T, Host, I, O>,
        row: usize,
        b: &DenseView<'_, T>,
        start: usize,
    ) {
        let entries = a.pattern().range(row);
        let (first, count) = (entries.start, entries.len());
        for k in entries {
            let (value, at) = (a.values()[k].to_acc(), b.position(a.indices()[k].as_usize(), start));
            let factors = &b.data()[at..];
            match b.order() {
                Order::RowMajor => self.add(by, (k, k == first), value, factors.iter()),
                Order::ColMajor => {
                    self.add(by, (k, k == first), value, factors.iter().step_by(b.leading_dimension()));
                }
            }
        }
        if by == Aggregation::Mean && count > 0 {
            let count = Acc::from_c64(c64::new(count as f64, 0.0));
            self.values[..self.columns].iter_mut().for_each(|value| *value /= count);
        }
    }

    /// Combines the products of entry `k` with what there is; of the first entry of a row there is nothing.
    #[inline(always)]
    fn add<'a, T: Scalar<Acc = Acc>>(
        &mut self,
        by: Aggregation,
        (k, is_first): (usize, bool),
        value: Acc,
        factors: impl Iterator<Item = &'a T>,
    ) {
        let results = self.values[..self.columns].iter_mut().zip(&mut self.args);
        let results = results.zip(factors.map(|factor| value * factor.to_acc()));
        if by.has_argument() {
            for ((found, arg), next) in results {
                if is_first || by.prefers(next.re(), found.re()) {
                    (*found, *arg) = (next, k as i64);
                }
            }
        } else {
            results.for_each(|((sum, _), product)| *sum += product);
        }
    }

    #[inline(always)]
    fn values(&self) -> &[Acc] {
        &self.values[..self.columns]
    }

    #[inline(always)]
    fn args(&self) -> &[i64] {
        &self.args[..self.columns]
    }
}

/// A dense matrix in blocks of neighbouring rows.
struct RowBlocks<'a, T> {
    order: Order,
    blocks: std::vec::IntoIter<Vec<&'a mut [T]>>,
}

/// Some rows of a dense matrix: their rows or columns.
struct RowBlock<'a, T> {
    order: Order,
    lines: Vec<&'a mut [T]>,
}

impl<'a, T: Element> RowBlocks<'a, T> {
    fn new(dense: DenseViewMut<'a, T>, block: usize) -> Self {
        let (stride, order, (lines, line)) = (dense.leading_dimension(), dense.order(), dense.major_minor());
        let data = &mut dense.into_data()[..(lines - 1) * stride + line];
        let blocks = match order {
            Order::RowMajor => lines_mut(data, stride, line, block),
            Order::ColMajor => tiles_mut(data, stride, line, block),
        };
        Self { order, blocks: blocks.into_iter() }
    }

    /// The next block.
    fn take(&mut self) -> RowBlock<'a, T> {
        RowBlock { order: self.order, lines: self.blocks.next().unwrap_or_default() }
    }
}

impl<T> RowBlock<'_, T> {
    /// Writes elements of a row, which is counted from the first of the block, from the column `start` on.
    #[inline(always)]
    fn write(&mut self, row: usize, start: usize, elements: impl Iterator<Item = T>) {
        match self.order {
            Order::RowMajor => self.lines[row][start..].iter_mut().zip(elements).for_each(|(to, e)| *to = e),
            Order::ColMajor => {
                self.lines[start..].iter_mut().zip(elements).for_each(|(line, e)| line[row] = e);
            }
        }
    }
}
