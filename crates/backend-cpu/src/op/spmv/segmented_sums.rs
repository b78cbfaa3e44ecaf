//! Algorithm `segmented_sums`: the products of short rows are summed by a segmented scan, which adds to each the ones
//! 1, 2, 4, … entries before it in the same row, so that no branch depends on the end of a row. Runs of rows of one
//! length are summed four at a time, and longer rows one by one. The plan has a bit for each entry of short rows or
//! these runs, so that a product reads no offsets.
//!
//! After Blelloch, Heroux, Zagha: Segmented operations for sparse matrix computation on vector multiprocessors.
//! CMU-CS-93-173, 1993.

use super::Product;
use super::long_row::{Columns, sum_by_loads};
use super::members::Members;
use super::part_rows::{EqualRows, LongRow, PartRows};
use super::thresholds::SpmvThresholds;
#[cfg(target_arch = "x86_64")]
use super::{equal_rows_x86, segmented_sums_x86};
use crate::Cpu;
use crate::primitive::dot::dot;
use crate::primitive::lines::Lines;
use crate::primitive::partition::{Carry, Part, Partition, cut_merge_path};
#[cfg(target_arch = "x86_64")]
use crate::simd::is;
use crate::simd::{Isa, LINE, Simd, Vectorize};
#[cfg(target_arch = "x86_64")]
use bytemuck::{cast_slice, cast_slice_mut};
use sparse_core::op::Op;
use sparse_core::{Accumulator, DType, Index, Scalar};

/// The longest rows that a scan sums, for an instruction set.
///
/// Where longer rows have vectors of loads, fewer are scanned. One thread of an EPYC (Zen 5), AVX-512, time with up to
/// 16 over up to 32: rows of 18 to 27 entries 1.0 to 1.06 (`f32`) and 0.8 to 0.9 (`f64`), clauses and ratings, whose
/// longer rows are among shorter ones, 0.75 and 0.7 to 0.8.
pub(super) fn scanned(simd: Simd) -> usize {
    if simd == Simd::Avx512 && Simd::has_fast_gathers() { 32 } else { 16 }
}

/// Entries and rows of a task, whose parts are summed one after the other in the same memory.
const TASK_SIZE: usize = 32 << 10;

/// Elements behind the sums of a part that vectors overwrite.
const PADDING: usize = 16;

/// Entries and rows of a part.
const PART_SIZE: usize = 8 << 10;

/// Parts whose first entries are sampled, and how many of these.
const SAMPLES: usize = 16;
const SAMPLE_SIZE: usize = 512;

/// Equal parts of the entries and rows, with the rows of each.
pub struct Segmented<Acc> {
    partition: Partition<Acc>,
    parts: Vec<PartRows>,
    /// The most sums of a part, with the padding.
    most_sums: usize,
    prefetch: Prefetch,
}

/// The data that a product prefetches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prefetch {
    Nothing,
    /// Columns and values.
    Entries,
    /// Elements of x, too; never where gathers are fast.
    EntriesAndX,
}

/// The buffers of a task.
struct Workspace<Acc> {
    /// The sums of rows with entries.
    filled: Vec<Acc>,
    /// The sums of all rows.
    sums: Vec<Acc>,
}

impl<Acc: Accumulator> Segmented<Acc> {
    pub(super) fn new<M: Members>(a: &M, cpu: &Cpu) -> Self {
        let mut parts = vec![];
        for member in 0..a.members() {
            cut_merge_path(member, a.lines(member).offsets, PART_SIZE, &mut parts);
        }
        let prefetch = Prefetch::of(a, &parts);
        let sums_runs = has_kernels_of_runs::<M>(cpu.simd()) && prefetch != Prefetch::EntriesAndX;
        let rows = cpu.map(a.nnz() + a.nrows(), parts.iter().collect(), |part: &Part| {
            PartRows::new::<M::Scalar, _>(part, a.lines(part.member).offsets, scanned(cpu.simd()), sums_runs)
        });
        let most_rows = parts.iter().map(|part| part.rows.len()).max().unwrap_or(0);
        let partition = Partition::of_tasks(parts, TASK_SIZE);
        Self { partition, parts: rows, most_sums: most_rows + 1 + PADDING, prefetch }
    }

    pub(super) fn bytes(&self) -> usize {
        let of_parts: usize = self.parts.iter().map(PartRows::bytes).sum();
        self.partition.bytes() + size_of_val(self.parts.as_slice()) + of_parts
    }

    pub(super) fn multiply<M>(&mut self, a: &M, cpu: &Cpu, product: Product<'_, M::Scalar>)
    where
        M: Members,
        M::Scalar: Scalar<Acc = Acc>,
    {
        let Product { x, y, update, op } = product;
        let cols = x.len() / a.members().max(1);
        let Self { parts, most_sums, prefetch, partition } = self;
        let (parts, most_sums, prefetch) = (&*parts, *most_sums, *prefetch);
        let has_empty = parts.iter().any(|rows| rows.filled.is_some());
        let workspace = || Workspace {
            filled: vec![Acc::ZERO; if has_empty { most_sums } else { 0 }],
            sums: vec![Acc::ZERO; most_sums],
        };
        let write = |y: &mut M::Scalar, sum| update.write(y, sum);
        partition.run_with(cpu, y, &write, &workspace, &|workspace, k, part, y| {
            let Lines { offsets, indices, values } = a.lines(part.member);
            let (columns, values) = (&indices[part.entries.clone()], &values[part.entries.clone()]);
            let x = &x[part.member * cols..][..cols];
            let count = y.len();
            let sums = cpu.simd().run(PartSums {
                columns,
                values,
                x,
                rows: &parts[k],
                count,
                prefetch,
                workspace,
                op,
            });
            let (head, whole, _) = part.split(&offsets);
            let first = whole.start - part.rows.start;
            update.write_all(&mut y[first..], &sums[first..count]);
            Carry { head: head.map(|_| sums[0]), tail: sums[count] }
        });
    }
}

impl Prefetch {
    /// The data whose prefetches pay.
    fn of<M: Members>(a: &M, parts: &[Part]) -> Self {
        if !Simd::has_fast_gathers() && fetches_x(a, parts) {
            Self::EntriesAndX
        } else if SpmvThresholds::CPU.fetches_entries(a) {
            Self::Entries
        } else {
            Self::Nothing
        }
    }
}

/// True if there are kernels for runs of rows, and these take less time than scans: on processors without fast gathers.
fn has_kernels_of_runs<M: Members>(simd: Simd) -> bool {
    [Simd::Avx2, Simd::Avx512].contains(&simd)
        && !Simd::has_fast_gathers()
        && [DType::F32, DType::F64].contains(&M::Scalar::DTYPE)
        && size_of::<M::Index>() == size_of::<i32>()
}

/// True if prefetches of elements of x pay: x has more pages than a TLB maps, and neighbouring entries are far from each
/// other in it.
fn fetches_x<M: Members>(a: &M, parts: &[Part]) -> bool {
    let (rows, cols) = a.member_shape();
    let elements = if M::BY_ROWS { cols } else { rows };
    let of_line = LINE / size_of::<M::Scalar>();
    if elements * size_of::<M::Scalar>() < SpmvThresholds::CPU.bytes_of_fetched_x {
        return false;
    }
    let (mut entries, mut lines) = (0, 0);
    for part in parts.iter().step_by(parts.len().div_ceil(SAMPLES).max(1)) {
        let columns = a.lines(part.member).indices[part.entries.clone()].iter().take(SAMPLE_SIZE);
        let mut sample: Vec<_> = columns.map(|column| column.as_usize() / of_line).collect();
        entries += sample.len();
        sample.sort_unstable();
        sample.dedup();
        lines += sample.len();
    }
    lines * SpmvThresholds::CPU.entries_of_line > entries
}

/// The sums of the rows of a part.
struct PartSums<'a, T: Scalar, I> {
    columns: &'a [I],
    values: &'a [T],
    x: &'a [T],
    rows: &'a PartRows,
    /// The number of rows that end in the part.
    count: usize,
    prefetch: Prefetch,
    workspace: &'a mut Workspace<T::Acc>,
    op: Op,
}

impl<'a, T: Scalar, I: Index> Vectorize for PartSums<'a, T, I> {
    /// The sums of the rows that end in the part, and that of the row that ends later.
    type Out = &'a [T::Acc];

    #[inline(always)]
    fn run<S: Isa>(self) -> Self::Out {
        let Self { columns, values, x, rows, count, prefetch, workspace: Workspace { filled, sums }, op } =
            self;
        let out = if rows.filled.is_some() { &mut *filled } else { &mut *sums };
        let (mut entry, mut row, mut starts) = (0, 0, rows.starts.as_slice());
        let end = LongRow { start: columns.len() as u16, len: 0 };
        for long in rows.long.iter().chain([&end]) {
            let [start, len] = [long.start, long.len].map(usize::from);
            if entry < start {
                let (own, rest) = starts.split_at((start - entry).div_ceil(64).min(starts.len()));
                let (columns, values) = (&columns[entry..start], &values[entry..start]);
                let PartRows { runs, longest, .. } = rows;
                let short = ShortRows { columns, values, x, starts: own, runs, longest: *longest, prefetch };
                // SAFETY: `S` is only run where the processor has it; the columns of a matrix are below the length of
                // `x`, as the plan checked; all sums of the part fit, and the padding behind them.
                row += unsafe { short.sums::<S>(op, &mut out[row..]) };
                starts = rest;
            }
            if len > 0 {
                let (known, later) = match prefetch {
                    Prefetch::EntriesAndX => (Columns::Fetched, columns.len()),
                    Prefetch::Entries => (Columns::InRange, start + len),
                    Prefetch::Nothing => (Columns::Cached, start + len),
                };
                let (columns, values) = (&columns[start..later], &values[start..start + len]);
                // SAFETY: as above.
                out[row] = unsafe {
                    match Simd::has_fast_gathers() {
                        true => dot::<S, T, I>(columns, values, x, op),
                        false => sum_by_loads::<S, T, I>(columns, values, x, op, known).unwrap_or_default(),
                    }
                };
                row += 1;
            }
            entry = start + len;
        }
        match &rows.filled {
            None => sums[row..=count].fill(T::Acc::ZERO),
            // SAFETY: as above; as many rows have entries as bits are set.
            Some(bits) => unsafe { expand::<S, T::Acc>(bits, filled, &mut sums[..=count + PADDING]) },
        }
        &sums[..=count]
    }
}

/// Neighbouring short rows, none of them empty.
#[derive(Clone, Copy)]
pub(super) struct ShortRows<'a, T, I> {
    pub(super) columns: &'a [I],
    pub(super) values: &'a [T],
    pub(super) x: &'a [T],
    /// A bit for each entry, set for the first ones of rows.
    pub(super) starts: &'a [u64],
    /// The runs of rows of one length, if they are not scanned.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "there are no kernels"))]
    pub(super) runs: &'a [EqualRows],
    /// The entries of the longest row, or more.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "there are no kernels"))]
    pub(super) longest: usize,
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "there are no kernels"))]
    pub(super) prefetch: Prefetch,
}

impl<T: Scalar, I: Index> ShortRows<'_, T, I> {
    /// Writes the sums and returns the number of rows.
    ///
    /// # Safety
    /// The processor has `S`; columns and values have one length; every column is below the length of `x`; there are
    /// [`PADDING`] more `sums` than rows.
    #[inline(always)]
    unsafe fn sums<S: Isa>(&self, op: Op, sums: &mut [T::Acc]) -> usize {
        let Self { columns, values, x, starts, .. } = *self;
        #[cfg(target_arch = "x86_64")]
        if size_of::<I>() == size_of::<i32>() {
            macro_rules! sum_where_it_is {
                ($simd:ident, $dtype:ident, $module:ident, $of_type:ident) => {
                    if const { is::<S, T>(Simd::$simd, DType::$dtype) } {
                        let (columns, values, x) = (cast_slice(columns), cast_slice(values), cast_slice(x));
                        let Self { runs, longest, prefetch, .. } = *self;
                        let rows = ShortRows { columns, values, x, starts, runs, longest, prefetch };
                        let sums = cast_slice_mut(sums);
                        // SAFETY: the caller's promises; processors that have AVX-512 have AVX2 and FMA, too.
                        return unsafe {
                            match runs.is_empty() {
                                true => segmented_sums_x86::$module::sums(&rows, sums),
                                false => equal_rows_x86::$of_type::sums(&rows, sums),
                            }
                        };
                    }
                };
            }
            sum_where_it_is!(Avx512, F32, avx512_f32, of_f32);
            sum_where_it_is!(Avx512, F64, avx512_f64, of_f64);
            sum_where_it_is!(Avx2, F32, avx2_f32, of_f32);
            sum_where_it_is!(Avx2, F64, avx2_f64, of_f64);
        }
        let mut count = 0;
        for (entry, (column, &value)) in columns.iter().zip(values).enumerate() {
            let product = op.apply(value).to_acc() * x[column.as_usize()].to_acc();
            if starts[entry / 64] >> (entry % 64) & 1 == 1 {
                sums[count] = product;
                count += 1;
            } else {
                sums[count - 1] += product;
            }
        }
        count
    }
}

/// Copies the sums of rows with entries to those of all rows, of which the others are zero.
///
/// # Safety
/// The processor has `S`; `filled` has as many sums as `bits` has set bits, and both have [`PADDING`] more.
#[inline(always)]
unsafe fn expand<S: Isa, T: Scalar>(bits: &[u64], filled: &[T], sums: &mut [T]) {
    #[cfg(target_arch = "x86_64")]
    {
        macro_rules! expand_where_it_is {
            ($simd:ident, $dtype:ident, $module:ident) => {
                if const { is::<S, T>(Simd::$simd, DType::$dtype) } {
                    let (filled, sums) = (cast_slice(filled), cast_slice_mut(sums));
                    // SAFETY: the caller's promises.
                    return unsafe { segmented_sums_x86::$module::expand(bits, filled, sums) };
                }
            };
        }
        expand_where_it_is!(Avx512, F32, avx512_f32);
        expand_where_it_is!(Avx512, F64, avx512_f64);
        expand_where_it_is!(Avx2, F32, avx2_f32);
        expand_where_it_is!(Avx2, F64, avx2_f64);
    }
    let mut next = 0;
    for (row, sum) in sums.iter_mut().enumerate() {
        let is_filled = bits.get(row / 64).is_some_and(|bits| bits >> (row % 64) & 1 == 1);
        *sum = if is_filled { filled[next] } else { T::ZERO };
        next += usize::from(is_filled);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparse_core::Csr;
    use sparse_generate::uniform;

    fn fetches(a: &Csr<f64>) -> bool {
        let mut parts = vec![];
        cut_merge_path(0, a.offsets(), PART_SIZE, &mut parts);
        fetches_x(a, &parts)
    }

    #[test]
    fn elements_of_a_large_x_are_prefetched_where_columns_are_far_from_each_other() {
        assert!(fetches(&uniform(3000, 2 << 20, 5, 1).unwrap()));
        assert!(!fetches(&uniform(3000, 1 << 20, 5, 1).unwrap()));
        assert!(!fetches(&Csr::identity(2 << 20).unwrap()));
    }
}
