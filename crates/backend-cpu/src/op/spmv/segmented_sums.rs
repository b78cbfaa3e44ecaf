//! Algorithm `segmented_sums`: the products of short rows are summed by a segmented scan, which adds to each the ones
//! 1, 2, 4, … entries before it in the same row, so that no branch depends on the end of a row. Longer rows are summed
//! one by one. The plan has a bit for each entry of short rows, so that a product reads no offsets.
//!
//! After Blelloch, Heroux, Zagha: Segmented operations for sparse matrix computation on vector multiprocessors.
//! CMU-CS-93-173, 1993.

use super::Product;
use super::long_row::{Columns, sum_by_loads};
use super::members::Members;
#[cfg(target_arch = "x86_64")]
use super::segmented_sums_x86;
use super::thresholds::SpmvThresholds;
use crate::Cpu;
use crate::primitive::dot::dot;
use crate::primitive::lines::Lines;
use crate::primitive::partition::{Carry, Part, Partition, cut_merge_path};
#[cfg(target_arch = "x86_64")]
use crate::simd::is;
use crate::simd::{Isa, LINE, Simd, Vectorize};
#[cfg(target_arch = "x86_64")]
use bytemuck::{cast_slice, cast_slice_mut};
#[cfg(target_arch = "x86_64")]
use sparse_core::DType;
use sparse_core::op::Op;
use sparse_core::{Accumulator, Index, Scalar};

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
    /// True if elements of x are prefetched; never where gathers are fast.
    fetches_x: bool,
}

/// The rows of a part that have entries there: of a row that begins in an earlier part or ends in a later one, the
/// entries of this part.
#[derive(Default)]
struct PartRows {
    /// A bit for each entry of short rows, set for the first ones of rows; those behind a long row begin with a new
    /// word.
    starts: Vec<u64>,
    /// The entries of the longest short row.
    longest: usize,
    /// The rows with more entries than a scan sums.
    long: Vec<LongRow>,
    /// A bit for each row, set for those with entries; `None` if all have some.
    filled: Option<Vec<u64>>,
}

/// The first entry of a row in the part, and the number of its entries.
struct LongRow {
    start: u16,
    len: u16,
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
        let rows = cpu.map(a.nnz() + a.nrows(), parts.iter().collect(), |part: &Part| {
            PartRows::new(part, a.lines(part.member).offsets, scanned(cpu.simd()))
        });
        let most_rows = parts.iter().map(|part| part.rows.len()).max().unwrap_or(0);
        let fetches_x = !Simd::has_fast_gathers() && fetches_x(a, &parts);
        let partition = Partition::of_tasks(parts, TASK_SIZE);
        Self { partition, parts: rows, most_sums: most_rows + 1 + PADDING, fetches_x }
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
        let Self { parts, most_sums, fetches_x, partition } = self;
        let (parts, most_sums, fetches_x) = (&*parts, *most_sums, *fetches_x);
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
                fetches_x,
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

impl PartRows {
    fn new<O: Index>(part: &Part, offsets: &[O], short: usize) -> Self {
        let mut rows = Self::default();
        // As many words as there may be; a long row leaves one unfinished.
        let mut starts = vec![0; part.entries.len() / 64 + part.entries.len() / short + 1];
        let mut has_empty = false;
        // The first entry of short rows since the last long one, and its bit.
        let (mut start, mut first, mut bit) = (0, 0, 0);
        let ends = offsets[part.rows.start + 1..=part.rows.end].iter().map(|end| end.as_usize());
        for (row, end) in ends.chain([part.entries.end]).map(|end| end - part.entries.start).enumerate() {
            let len = end - start;
            if len > short {
                rows.long.push(LongRow { start: start as u16, len: len as u16 });
                (first, bit) = (end, (bit + start - first).next_multiple_of(64));
            } else if len > 0 {
                rows.longest = rows.longest.max(len);
                let bit = bit + start - first;
                starts[bit / 64] |= 1 << (bit % 64);
            } else {
                has_empty |= row < part.rows.len();
            }
            start = end;
        }
        rows.starts = starts[..(bit + start - first).div_ceil(64)].to_vec();
        rows.filled = has_empty.then(|| filled(part, offsets));
        rows
    }

    fn bytes(&self) -> usize {
        let filled = self.filled.as_ref().map_or(0, Vec::len);
        size_of::<u64>() * (self.starts.len() + filled) + size_of_val(self.long.as_slice())
    }
}

/// A bit for each row that ends in a part, and for that which ends later, set for those with entries there.
fn filled<O: Index>(part: &Part, offsets: &[O]) -> Vec<u64> {
    let mut bits = vec![0; part.rows.len() / 64 + 1];
    let mut start = part.entries.start;
    let ends = part.rows.clone().map(|row| offsets[row + 1].as_usize()).chain([part.entries.end]);
    for (row, end) in ends.enumerate() {
        bits[row / 64] |= u64::from(start != end) << (row % 64);
        start = end;
    }
    bits
}

/// The sums of the rows of a part.
struct PartSums<'a, T: Scalar, I> {
    columns: &'a [I],
    values: &'a [T],
    x: &'a [T],
    rows: &'a PartRows,
    /// The number of rows that end in the part.
    count: usize,
    fetches_x: bool,
    workspace: &'a mut Workspace<T::Acc>,
    op: Op,
}

impl<'a, T: Scalar, I: Index> Vectorize for PartSums<'a, T, I> {
    /// The sums of the rows that end in the part, and that of the row that ends later.
    type Out = &'a [T::Acc];

    #[inline(always)]
    fn run<S: Isa>(self) -> Self::Out {
        let Self { columns, values, x, rows, count, fetches_x, workspace: Workspace { filled, sums }, op } =
            self;
        let out = if rows.filled.is_some() { &mut *filled } else { &mut *sums };
        let (mut entry, mut row, mut starts) = (0, 0, rows.starts.as_slice());
        let end = LongRow { start: columns.len() as u16, len: 0 };
        for long in rows.long.iter().chain([&end]) {
            let [start, len] = [long.start, long.len].map(usize::from);
            if entry < start {
                let (own, rest) = starts.split_at((start - entry).div_ceil(64));
                let (columns, values) = (&columns[entry..start], &values[entry..start]);
                let short = ShortRows { columns, values, x, starts: own, longest: rows.longest, fetches_x };
                // SAFETY: `S` is only run where the processor has it; the columns of a matrix are below the length of
                // `x`, as the plan checked; all sums of the part fit, and the padding behind them.
                row += unsafe { short.sums::<S>(op, &mut out[row..]) };
                starts = rest;
            }
            if len > 0 {
                let later = if fetches_x { columns.len() } else { start + len };
                let (columns, values) = (&columns[start..later], &values[start..start + len]);
                let known = if fetches_x { Columns::Fetched } else { Columns::InRange };
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

/// Neighbouring rows that a scan sums, none of them empty.
#[derive(Clone, Copy)]
pub(super) struct ShortRows<'a, T, I> {
    pub(super) columns: &'a [I],
    pub(super) values: &'a [T],
    pub(super) x: &'a [T],
    /// A bit for each entry, set for the first ones of rows.
    pub(super) starts: &'a [u64],
    /// The entries of the longest row, or more.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "there are no kernels"))]
    pub(super) longest: usize,
    /// True if elements of x are prefetched.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "there are no kernels"))]
    pub(super) fetches_x: bool,
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
            macro_rules! scan_where_it_is {
                ($simd:ident, $dtype:ident, $module:ident) => {
                    if const { is::<S, T>(Simd::$simd, DType::$dtype) } {
                        let (columns, values, x) = (cast_slice(columns), cast_slice(values), cast_slice(x));
                        let rows = ShortRows {
                            columns,
                            values,
                            x,
                            starts,
                            longest: self.longest,
                            fetches_x: self.fetches_x,
                        };
                        // SAFETY: the caller's promises.
                        return unsafe { segmented_sums_x86::$module::sums(&rows, cast_slice_mut(sums)) };
                    }
                };
            }
            scan_where_it_is!(Avx512, F32, avx512_f32);
            scan_where_it_is!(Avx512, F64, avx512_f64);
            scan_where_it_is!(Avx2, F32, avx2_f32);
            scan_where_it_is!(Avx2, F64, avx2_f64);
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
