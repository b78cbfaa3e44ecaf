//! `C ← alpha·P ∘ (U·Vᵀ) + beta·C`: chunks of entries of equal work, whatever the lengths of rows.
//!
//! A chunk finds its rows once. Each row of U is copied to a buffer of the accumulator's type, and every entry is a
//! scalar product of that buffer with a row of V. V by columns is first copied by rows where entries are at least as
//! many as rows of V; else each entry gathers its row. Memory traffic per entry: one index, two values (one without
//! P's), and a row of V, which comes from the cache where V fits it; U once.

use super::SEQUENTIAL;
use super::compiled::{find, sddmm_table};
use crate::Cpu;
use crate::parallel::{CHUNK, chunks, partition_point, split_mut};
use crate::primitive::update::Update;
use crate::simd::{Isa, Vectorize, fetch};
use sparse_core::op::{AccOf, Sampling, SddmmKernel};
use sparse_core::reference::{self, Reference, SddmmChoice};
use sparse_core::{
    Accumulator, Algorithm, AlgorithmSet, Axis, BatchCompressed, Choice, Compressed, Coo, DenseView,
    EntryValues, Host, HostCsr, Index, KernelPlan, Order, PlanOptions, Result, Scalar, algorithms,
};
use std::ops::Range;

algorithms! {
    /// The algorithms of all formats.
    pub enum SddmmAlgorithm {
        EntryChunks = Algorithm::new("entry_chunks", "always: chunks of entries, rows cut where they are long")
            .preprocessing("in a run a copy of V by rows, where it is stored by columns");
        Sequential = SEQUENTIAL;
    }
}

/// Multiplications of one chunk, on average.
const CHUNK_WORK: usize = 8 * CHUNK;

/// The most entries of one chunk.
const MOST_ENTRIES: usize = CHUNK;

/// Partial sums of a scalar product, so that the compiler may use vectors.
const LANES: usize = 16;

/// Bytes of rows of V between the one that is read and the one that is prefetched.
const AHEAD_BYTES: usize = 8 * 1024;

/// The most entries between these.
const MOST_AHEAD: usize = 32;

/// Entries of a row whose scalar products are computed at once: each part of the row of U is loaded once for them.
const AT_ONCE: usize = 4;

/// The plan of a sampled product.
#[derive(Debug)]
pub struct SddmmPlan<T> {
    algorithm: SddmmAlgorithm,
    reference: SddmmChoice,
    /// V by rows, from the first run that needs it on.
    packed: Vec<T>,
}

impl<T: Scalar> SddmmPlan<T> {
    pub(super) fn new(sampling: Sampling, options: &PlanOptions) -> Result<Self> {
        let (automatic, reason) = (SddmmAlgorithm::EntryChunks, "chunks of entries have equal work");
        let (algorithm, choice) = options.choose_among("sddmm", algorithms(), automatic, reason)?;
        Ok(Self { algorithm, reference: SddmmChoice { choice, sampling }, packed: vec![] })
    }
}

impl<T: Scalar> KernelPlan for SddmmPlan<T> {
    fn choice(&self) -> &Choice {
        self.reference.choice()
    }

    fn workspace_bytes(&self) -> usize {
        size_of_val(self.packed.as_slice())
    }
}

/// The algorithms of every format.
pub(super) fn algorithms() -> &'static [Algorithm] {
    SddmmAlgorithm::table(&|_| true)
}

/// The rows of entries, as a format stores them.
pub trait EntryRows: Sync {
    /// The entries of a range, row by row.
    fn runs(&self, entries: Range<usize>) -> Vec<Run>;
}

/// Neighbouring entries of one row.
#[derive(Debug, PartialEq, Eq)]
pub struct Run {
    row: usize,
    entries: Range<usize>,
    /// The column that the indices of the entries count from: 0, but for members of a batch.
    first_column: usize,
}

/// The offsets of compressed rows.
struct Offsets<'a, O>(&'a [O]);

impl<O: Index> EntryRows for Offsets<'_, O> {
    fn runs(&self, entries: Range<usize>) -> Vec<Run> {
        let end_of = |row: usize| self.0[row + 1].as_usize();
        let (mut runs, mut row, mut entry) = (vec![], 0, entries.start);
        while entry < entries.end {
            if end_of(row) <= entry {
                row = partition_point(row..self.0.len() - 1, |row| end_of(row) <= entry);
            }
            let end = end_of(row).min(entries.end);
            runs.push(Run { row, entries: entry..end, first_column: 0 });
            entry = end;
        }
        runs
    }
}

/// The row of each entry.
struct RowIndices<'a, I>(&'a [I]);

impl<I: Index> EntryRows for RowIndices<'_, I> {
    fn runs(&self, entries: Range<usize>) -> Vec<Run> {
        let (mut runs, mut entry) = (vec![], entries.start);
        for same in self.0[entries].chunk_by(|a, b| a == b) {
            let entries = entry..entry + same.len();
            runs.push(Run { row: same[0].as_usize(), entries, first_column: 0 });
            entry += same.len();
        }
        runs
    }
}

/// The members of a batch, whose rows and columns come behind those of the members before.
struct MemberRows<'a, A: Axis, T: Scalar, I: Index, O: Index>(&'a BatchCompressed<A, T, Host, I, O>);

impl<A: Axis, T: Scalar, I: Index, O: Index> EntryRows for MemberRows<'_, A, T, I, O> {
    fn runs(&self, entries: Range<usize>) -> Vec<Run> {
        let (rows, cols) = self.0.member_shape();
        let (major, minor) = A::swap(rows, cols);
        let ends = &self.0.member_ptr()[1..];
        let mut runs = vec![];
        let first = partition_point(0..ends.len(), |member| ends[member] <= entries.start);
        for member in first..ends.len() {
            let range = self.0.member_range(member);
            if range.start >= entries.end {
                break;
            }
            let own = entries.start.max(range.start)..entries.end.min(range.end);
            let own = own.start - range.start..own.end - range.start;
            runs.extend(Offsets(self.0.member(member).offsets).runs(own).into_iter().map(|run| Run {
                row: member * major + run.row,
                entries: range.start + run.entries.start..range.start + run.entries.end,
                first_column: member * minor,
            }));
        }
        runs
    }
}

/// A format of the host with its entries in an array.
pub trait SddmmFormat: EntryValues<Space = Host> + reference::Entries {
    /// The type of row and column indices.
    type Index: Index;
    /// True if `entry_rows` are columns, so that U and V change places.
    const IS_TRANSPOSED: bool = false;

    /// The rows of the entries.
    fn entry_rows(&self) -> Box<dyn EntryRows + '_>;

    /// The columns and the values of the entries.
    fn entry_arrays(&self) -> (&[Self::Index], &[Self::Scalar]);
}

impl<A: Axis, T: Scalar, I: Index, O: Index> SddmmFormat for Compressed<A, T, Host, I, O> {
    type Index = I;
    const IS_TRANSPOSED: bool = !A::IS_ROW;

    fn entry_rows(&self) -> Box<dyn EntryRows + '_> {
        Box::new(Offsets(self.offsets()))
    }

    fn entry_arrays(&self) -> (&[I], &[T]) {
        (self.indices(), self.values())
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> SddmmFormat for BatchCompressed<A, T, Host, I, O> {
    type Index = I;
    const IS_TRANSPOSED: bool = !A::IS_ROW;

    fn entry_rows(&self) -> Box<dyn EntryRows + '_> {
        Box::new(MemberRows(self))
    }

    fn entry_arrays(&self) -> (&[I], &[T]) {
        (self.indices(), self.values())
    }
}

impl<T: Scalar, I: Index, O: Index> SddmmFormat for HostCsr<T, I, O> {
    type Index = I;

    fn entry_rows(&self) -> Box<dyn EntryRows + '_> {
        Box::new(Offsets(self.offsets()))
    }

    fn entry_arrays(&self) -> (&[I], &[T]) {
        (self.indices(), self.values())
    }
}

impl<T: Scalar, I: Index> SddmmFormat for Coo<T, Host, I> {
    type Index = I;

    fn entry_rows(&self) -> Box<dyn EntryRows + '_> {
        Box::new(RowIndices(self.row_idx()))
    }

    fn entry_arrays(&self) -> (&[I], &[T]) {
        (self.col_idx(), self.values())
    }
}

impl<M: SddmmFormat> SddmmKernel<M> for Cpu {
    type Plan = SddmmPlan<M::Scalar>;

    fn sddmm_algorithms(&self) -> &'static [Algorithm] {
        algorithms()
    }

    fn plan_sddmm(&self, _: &M, sampling: Sampling, _: usize, options: &PlanOptions) -> Result<Self::Plan> {
        SddmmPlan::new(sampling, options)
    }

    unsafe fn run_sddmm(
        &self,
        plan: &mut Self::Plan,
        alpha: AccOf<M>,
        p: &M,
        u: DenseView<'_, M::Scalar>,
        v: DenseView<'_, M::Scalar>,
        beta: AccOf<M>,
        c: &mut [M::Scalar],
    ) -> Result<()> {
        let functions = find(sddmm_table(), "sddmm", M::FORMAT)?;
        // SAFETY: the caller makes the same promises.
        unsafe { plan.run(self, functions, (alpha, p), (u, v), (beta, c)) }
    }
}

/// The functions for values `T` and indices `I`, which are compiled in this crate.
pub(super) struct Functions<T: Scalar, I> {
    pub(super) run: RunOf<T, I>,
}

/// A product with U, V and C.
type RunOf<T, I> = fn(&Cpu, &mut Vec<T>, Product<'_, T, I>, (Operand<'_, T>, Operand<'_, T>), &mut [T]);

/// A dense operand: element (i, t) is at `i·row_step + t·col_step` of its data.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operand<'a, T> {
    data: &'a [T],
    rows: usize,
    cols: usize,
    row_step: usize,
    col_step: usize,
}

impl<'a, T: Scalar> From<DenseView<'a, T>> for Operand<'a, T> {
    fn from(view: DenseView<'a, T>) -> Self {
        let (row_step, col_step) = match view.order() {
            Order::RowMajor => (view.leading_dimension(), 1),
            Order::ColMajor => (1, view.leading_dimension()),
        };
        Self { data: view.data(), rows: view.nrows(), cols: view.ncols(), row_step, col_step }
    }
}

impl<'a, T: Scalar> Operand<'a, T> {
    #[inline(always)]
    fn at(&self, row: usize, col: usize) -> T {
        self.data[row * self.row_step + col * self.col_step]
    }

    /// True if the elements of a row are neighbours.
    fn has_rows(&self) -> bool {
        self.col_step == 1 || self.cols == 1
    }

    /// The elements of a row that are neighbours.
    #[inline(always)]
    fn row(&self, row: usize) -> &'a [T] {
        let start = row * self.row_step;
        &self.data[start..start + self.cols]
    }
}

impl<T: Scalar, I: Index> Functions<T, I> {
    pub(super) const ALL: Self = Self { run };
}

/// Entries, and what becomes of their scalar products.
pub(super) struct Product<'a, T: Scalar, I> {
    rows: &'a dyn EntryRows,
    columns: &'a [I],
    values: &'a [T],
    sampling: Sampling,
    update: Update<T::Acc>,
}

impl<T: Scalar> SddmmPlan<T> {
    /// Runs the plan by these functions.
    ///
    /// # Safety
    /// As for [`SddmmKernel::run_sddmm`].
    pub(super) unsafe fn run<M: SddmmFormat<Scalar = T>>(
        &mut self,
        cpu: &Cpu,
        functions: &Functions<T, M::Index>,
        (alpha, p): (AccOf<M>, &M),
        (u, v): (DenseView<'_, T>, DenseView<'_, T>),
        (beta, c): (AccOf<M>, &mut [T]),
    ) -> Result<()> {
        match self.algorithm {
            SddmmAlgorithm::EntryChunks => {
                let (rows, (columns, values)) = (p.entry_rows(), p.entry_arrays());
                let (sampling, update) = (self.reference.sampling, Update { alpha, beta });
                let product = Product { rows: &*rows, columns, values, sampling, update };
                let (u, v) = (u.into(), v.into());
                let operands = if M::IS_TRANSPOSED { (v, u) } else { (u, v) };
                (functions.run)(cpu, &mut self.packed, product, operands, c);
                Ok(())
            }
            SddmmAlgorithm::Sequential => {
                // SAFETY: the caller makes the reference's promises of the plan and the operands.
                unsafe { Reference.run_sddmm(&mut self.reference, alpha, p, u, v, beta, c) }
            }
        }
    }
}

fn run<T: Scalar, I: Index>(
    cpu: &Cpu,
    packed: &mut Vec<T>,
    product: Product<'_, T, I>,
    (u, v): (Operand<'_, T>, Operand<'_, T>),
    c: &mut [T],
) {
    let (entries, inner) = (c.len(), u.cols);
    let is_packed = !v.has_rows() && entries >= v.rows;
    let v = if is_packed { packed_rows(cpu, packed, v) } else { v };
    let ranges = chunks(entries, (CHUNK_WORK / inner).clamp(1, MOST_ENTRIES));
    let parts = split_mut(c, &ranges).into_iter().zip(ranges).collect();
    cpu.for_each(entries.saturating_mul(inner), parts, |(c, entries): (&mut [T], Range<usize>)| {
        let runs = product.rows.runs(entries.clone());
        cpu.simd().run(Chunk { product: &product, runs, first: entries.start, u, v, c });
    });
}

/// A copy of V by rows.
fn packed_rows<'a, T: Scalar>(cpu: &Cpu, packed: &'a mut Vec<T>, v: Operand<'a, T>) -> Operand<'a, T> {
    let (rows, inner) = (v.rows, v.cols);
    packed.resize(rows * inner, T::ZERO);
    let block = (CHUNK / inner).max(1);
    let blocks = packed.chunks_mut(block * inner).enumerate().collect();
    cpu.for_each(rows * inner, blocks, |(k, block_rows): (usize, &mut [T])| {
        for (row, elements) in block_rows.chunks_mut(inner).enumerate() {
            copy_row(&v, k * block + row, elements, |v| v);
        }
    });
    Operand { data: packed, row_step: inner, col_step: 1, ..v }
}

/// Copies a row, each element by `converted`.
#[inline(always)]
fn copy_row<T: Scalar, U>(v: &Operand<'_, T>, row: usize, to: &mut [U], converted: impl Fn(T) -> U) {
    if v.has_rows() {
        to.iter_mut().zip(v.row(row)).for_each(|(to, &element)| *to = converted(element));
    } else {
        to.iter_mut().enumerate().for_each(|(t, to)| *to = converted(v.at(row, t)));
    }
}

/// A chunk of entries and its part of C.
struct Chunk<'a, T: Scalar, I> {
    product: &'a Product<'a, T, I>,
    runs: Vec<Run>,
    first: usize,
    u: Operand<'a, T>,
    v: Operand<'a, T>,
    c: &'a mut [T],
}

impl<T: Scalar, I: Index> Vectorize for Chunk<'_, T, I> {
    type Out = ();

    #[inline(always)]
    fn run<S: Isa>(self) {
        let Self { product, runs, first, u, v, c } = self;
        let &Product { columns, values, sampling, update, .. } = product;
        let mut u_row = vec![T::Acc::ZERO; u.cols];
        let mut write = |entry: usize, sum| {
            update.write(&mut c[entry - first], sampling.scaled(values[entry], sum));
        };
        for Run { row, entries, first_column } in runs {
            copy_row(&u, row, &mut u_row, T::to_acc);
            let column = |entry: usize| first_column + columns[entry].as_usize();
            if v.has_rows() {
                multiply_rows(&u_row, &v, entries, columns.len(), column, &mut write);
            } else {
                let mut v_row = vec![T::ZERO; v.cols];
                for entry in entries {
                    copy_row(&v, column(entry), &mut v_row, |v| v);
                    write(entry, dot(&u_row, [&v_row])[0]);
                }
            }
        }
    }
}

/// Calls `write` with each entry of a row of P, of `nnz`, and its scalar product; rows of V are neighbours in memory.
#[inline(always)]
fn multiply_rows<T: Scalar>(
    u: &[T::Acc],
    v: &Operand<'_, T>,
    mut entries: Range<usize>,
    nnz: usize,
    column: impl Fn(usize) -> usize,
    mut write: impl FnMut(usize, T::Acc),
) {
    let ahead = (AHEAD_BYTES / size_of_val(u)).clamp(AT_ONCE, MOST_AHEAD);
    let fetch_ahead = |entry: usize| {
        if entry + ahead < nnz {
            fetch(v.data, column(entry + ahead) * v.row_step, v.cols);
        }
    };
    while entries.len() >= AT_ONCE {
        let first = entries.start;
        (first..first + AT_ONCE).for_each(fetch_ahead);
        let sums = dot(u, std::array::from_fn::<_, AT_ONCE, _>(|at| v.row(column(first + at))));
        (first..).zip(sums).for_each(|(entry, sum)| write(entry, sum));
        entries.start += AT_ONCE;
    }
    for entry in entries {
        fetch_ahead(entry);
        write(entry, dot(u, [v.row(column(entry))])[0]);
    }
}

/// `Σ u_t·v_t` for several v: [`LANES`] sums at a time, added in a fixed order.
#[inline(always)]
fn dot<T: Scalar, const N: usize>(u: &[T::Acc], v: [&[T]; N]) -> [T::Acc; N] {
    let (u_lanes, u_last) = u.as_chunks::<LANES>();
    let v = v.map(|v| v[..u.len()].as_chunks::<LANES>());
    let last = v.map(|(_, v_last)| {
        let mut last = T::Acc::ZERO;
        for (&u, v) in u_last.iter().zip(v_last) {
            last += u * v.to_acc();
        }
        last
    });
    if u_lanes.is_empty() {
        return last;
    }
    let mut sums = [[T::Acc::ZERO; LANES]; N];
    for (chunk, u) in u_lanes.iter().enumerate() {
        for (sums, (v_lanes, _)) in sums.iter_mut().zip(&v) {
            for ((sum, &u), v) in sums.iter_mut().zip(u).zip(&v_lanes[chunk]) {
                *sum += u * v.to_acc();
            }
        }
    }
    std::array::from_fn(|at| sum_of_lanes(sums[at]) + last[at])
}

/// The sum of all lanes, by halves.
#[inline(always)]
fn sum_of_lanes<Acc: Accumulator>(mut sums: [Acc; LANES]) -> Acc {
    let mut lanes = LANES / 2;
    while lanes > 0 {
        let (low, high) = sums.split_at_mut(lanes);
        low.iter_mut().zip(high).for_each(|(low, high)| *low += *high);
        lanes /= 2;
    }
    sums[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(rows: &dyn EntryRows, entries: Range<usize>) -> Vec<(usize, Range<usize>)> {
        rows.runs(entries).into_iter().map(|run| (run.row, run.entries)).collect()
    }

    #[test]
    fn runs_begin_within_rows_and_skip_empty_ones() {
        let offsets = Offsets(&[0, 0, 5, 5, 5, 6, 9, 9]);
        assert_eq!(runs(&offsets, 3..7), [(1, 3..5), (4, 5..6), (5, 6..7)]);
        assert_eq!(runs(&offsets, 0..5), [(1, 0..5)]);
        assert_eq!(runs(&offsets, 8..9), [(5, 8..9)]);
    }

    #[test]
    fn coordinates_in_any_order_have_runs_of_equal_rows() {
        let rows = RowIndices(&[4, 4, 0, 4]);
        assert_eq!(runs(&rows, 1..4), [(4, 1..2), (0, 2..3), (4, 3..4)]);
    }

    #[test]
    fn runs_of_members_begin_within_them_and_skip_empty_ones() {
        // Members of 2 x 3 with 2, 0 and 3 entries.
        let offsets = vec![0, 1, 2, 0, 0, 0, 0, 3, 3];
        let indices = vec![0, 2, 0, 1, 2];
        let members =
            sparse_core::BatchCsr::<f64>::new((2, 3), vec![0, 2, 2, 5], offsets, indices, vec![1.0; 5])
                .unwrap();
        assert_eq!(runs(&MemberRows(&members), 1..4), [(1, 1..2), (4, 2..4)]);
        let columns: Vec<_> = MemberRows(&members).runs(0..5).iter().map(|run| run.first_column).collect();
        assert_eq!(columns, [0, 0, 6]);
    }

    #[test]
    fn scalar_products_have_every_element_once() {
        for len in [1, 15, 16, 17, 65] {
            let u: Vec<f64> = (1..=len).map(f64::from).collect();
            let expected = u.iter().map(|u| u * u).sum::<f64>();
            assert_eq!(dot(&u, [&u[..]; 2]), [expected; 2], "{len}");
        }
    }
}
