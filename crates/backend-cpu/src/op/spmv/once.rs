//! Products of one call with CSR whose columns nobody has checked: the pass that multiplies compares them, too.
//!
//! A check before it would read the columns once more, a third of the bytes of a product of f64, and a plan reads the
//! rows again. Along the rows, parts and sums are those of plans, but for small matrices, which the calling thread
//! multiplies entry by entry. Across them there is no time for a pattern of the transpose: chunks of entries add to
//! sums of their own, whatever these take.

use super::Product;
use super::chunked_scatter::{Chunks, Scatter, chunk_size};
use super::compressed::{multiply_across, multiply_stored};
use super::long_row::Columns;
use super::row_block::Entries;
use super::thresholds::SpmvThresholds;
use crate::Cpu;
use crate::borrow::Extremes;
use crate::op::compiled::{find, spmv_once_table};
use crate::op::spmv::members::Members;
use crate::parallel::{CHUNK, rows_by_entries};
use crate::primitive::filled_rows::{are_often_empty, for_each_filled_row};
use crate::primitive::lines::Lines;
use crate::primitive::partition::{Cut, PART_SIZE, Part, Partition, cut_merge_path};
use crate::primitive::update::Update;
use crate::simd::{Isa, Vectorize};
use bytemuck::cast_slice_mut;
use num_traits::One;
use sparse_core::op::Op;
use sparse_core::{HostCsr, Index, Result, Scalar};
use std::ops::Range;

impl Cpu {
    /// `y ← op(A)·x` without a plan; false if a column of A is out of range, which nobody has looked at.
    ///
    /// # Errors
    /// [`Error::Unsupported`](sparse_core::Error::Unsupported) if the types are none of the catalogue's;
    /// [`Error::OutOfMemory`](sparse_core::Error::OutOfMemory).
    pub(crate) fn multiply_once<T: Scalar, I: Index, O: Index>(
        &self,
        a: &HostCsr<T, I, O>,
        op: Op,
        x: &[T],
        y: &mut [T],
    ) -> Result<bool> {
        let functions: &Functions<T, I, O> = find(spmv_once_table(), "spmv", "csr")?;
        (functions.multiply)(self, a, op, x, y)
    }
}

/// The functions for one triple of types, which are compiled in this crate.
pub(in crate::op) struct Functions<T: Scalar, I: Index, O: Index> {
    multiply: Multiply<T, I, O>,
}

/// `y ← op(A)·x`; false if a column of A is out of range, after which `y` has no meaning.
type Multiply<T, I, O> = fn(&Cpu, &HostCsr<T, I, O>, Op, &[T], &mut [T]) -> Result<bool>;

impl<T: Scalar, I: Index, O: Index> Functions<T, I, O> {
    pub(in crate::op) const ALL: Self = Self { multiply };
}

fn multiply<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    a: &HostCsr<T, I, O>,
    op: Op,
    x: &[T],
    y: &mut [T],
) -> Result<bool> {
    let update = Update { alpha: T::Acc::one(), beta: T::Acc::ZERO };
    let product = Product { x, y, update, op };
    if op.transposes() { across(cpu, a, product) } else { Ok(along(cpu, a, product)) }
}

fn along<T: Scalar, I: Index, O: Index>(cpu: &Cpu, a: &HostCsr<T, I, O>, product: Product<'_, T>) -> bool {
    // The order of sums is that of the matrix, whatever the threads.
    if SpmvThresholds::CPU.sums_in_order(a.offsets()) {
        return sum_in_order(cpu, a.lines(0), product.x, product.y);
    }
    let cut = |cut| Partition::cut(cut, [a.offsets()].into_iter());
    let mut parts = cut(Cut::Rows);
    if parts.longest() > PART_SIZE {
        parts = cut(Cut::MergePath);
    }
    multiply_stored(a, cpu, &mut parts, product, Columns::Any)
}

/// `y ← A·x`, entry by entry; false if a column is out of range.
///
/// Each row begins where the one before ends, so that one offset is read for it. f64, one thread of an EPYC (Zen 5), µs
/// with both offsets of each row and with one: diagonal of 10 000 7.7 and 6.0, grid of 100² 17.8 and 15.3, 10 000 rows
/// of 5 in random columns 19.9 and 16.9.
fn sum_in_order<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    Lines { offsets, indices, values }: Lines<'_, T, I, O>,
    x: &[T],
    y: &mut [T],
) -> bool {
    if !cpu.lies_below(indices, x.len()) {
        return false;
    }
    let entries = Entries { columns: indices, values, x, op: Op::None, known: Columns::InRange };
    if are_often_empty(y.len(), indices.len()) {
        sum_filled_rows(cpu, offsets, entries, y);
        return true;
    }
    if indices.len() == y.len() && cpu.simd().run(HaveOneEntry(offsets)) {
        for (entry, y) in y.iter_mut().enumerate() {
            // SAFETY: columns have been compared, and each entry is one of the matrix. A sum of −0 alone is 0.
            *y = T::from_acc(T::Acc::ZERO + unsafe { entries.product(entry) });
        }
        return true;
    }
    let mut start = 0;
    for (y, end) in y.iter_mut().zip(&offsets[1..]) {
        let row = start..end.as_usize();
        start = row.end;
        let sum = if row.len() > IN_ORDER {
            cpu.simd().run(SumLongRow { entries, row })
        } else {
            // SAFETY: columns have been compared, and the entries are those of the matrix.
            unsafe { entries.sum_in_order(row) }
        };
        *y = T::from_acc(sum);
    }
    true
}

/// The same where many rows have no entries, and all columns have been compared.
fn sum_filled_rows<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    offsets: &[O],
    entries: Entries<'_, T, I>,
    y: &mut [T],
) {
    y.fill(T::ZERO);
    for_each_filled_row(offsets, |row, range| {
        let sum = if range.len() > IN_ORDER {
            cpu.simd().run(SumLongRow { entries, row: range })
        } else {
            // SAFETY: columns have been compared, and the entries are those of the matrix.
            unsafe { entries.sum_in_order(range) }
        };
        y[row] = T::from_acc(sum);
    });
}

/// True if each row between these offsets has one entry, as those of diagonals and permutations. f64, one thread of an
/// EPYC (Zen 5), µs of `y ← A·x` row by row and entry by entry: a diagonal of 1000 1.03 and 0.59, of 50 000 51 and 29.
struct HaveOneEntry<'a, O>(&'a [O]);

impl<O: Index> Vectorize for HaveOneEntry<'_, O> {
    type Out = bool;

    #[inline(always)]
    fn run<S: Isa>(self) -> bool {
        // Without a branch, so that it is vectorized.
        self.0.iter().enumerate().fold(true, |so_far, (row, start)| so_far & (start.as_usize() == row))
    }
}

/// The longest rows that are summed in order: the next ones are begun while their additions wait for each other.
const IN_ORDER: usize = 128;

/// The sum of a row whose columns have been compared.
struct SumLongRow<'a, T, I> {
    entries: Entries<'a, T, I>,
    row: Range<usize>,
}

impl<T: Scalar, I: Index> Vectorize for SumLongRow<'_, T, I> {
    type Out = T::Acc;

    #[inline(always)]
    fn run<S: Isa>(self) -> T::Acc {
        // SAFETY: the processor has `S`. There is a sum, since columns have been compared.
        unsafe { self.entries.sum::<S>(self.row) }.unwrap_or(T::Acc::ZERO)
    }
}

fn across<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    a: &HostCsr<T, I, O>,
    product: Product<'_, T>,
) -> Result<bool> {
    let (Lines { offsets, indices, .. }, cols) = (a.lines(0), a.ncols());
    if a.nnz() <= SpmvThresholds::CPU.serial_scatter {
        return Ok(across_serially(cpu, a.lines(0), product));
    }
    let mut chunks = vec![];
    cut_merge_path(0, offsets, chunk_size(a.nnz() + a.nrows().max(cols)), &mut chunks);
    let extremes = cpu.map(a.nnz(), chunks.iter().collect(), |chunk: &Part| {
        cpu.simd().run(Extremes(&indices[chunk.entries.clone()]))
    });
    if !extremes.iter().flatten().all(|(least, greatest)| least.as_i64() >= 0 && greatest.as_usize() < cols) {
        return Ok(false);
    }
    let range = |extremes: Option<(I, I)>| {
        extremes.map_or(0..0, |(least, greatest)| least.as_usize()..greatest.as_usize() + 1)
    };
    let mut rows: Vec<_> = extremes.into_iter().map(range).collect();
    // Fewer chunks where their sums would take more time than the entries.
    let sums = |rows: &[Range<usize>]| rows.iter().map(Range::len).sum::<usize>();
    while chunks.len() > 2 && sums(&rows) > a.nnz() / SpmvThresholds::CPU.entries_per_sum {
        chunks = chunks.chunks(2).map(join).collect();
        rows = rows.chunks(2).map(hull).collect();
    }
    if sums(&rows) > a.nnz() / SpmvThresholds::CPU.entries_per_sum_of_two {
        return Ok(across_serially(cpu, a.lines(0), product));
    }
    let mut scatter = Scatter::new(Chunks::new(chunks, rows))?;
    multiply_across(a, cpu, &mut scatter, product);
    Ok(true)
}

/// Adds the entries to `y`, which it overwrites, in the order in which they are stored; false if a column is out of
/// range.
fn across_serially<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    lines: Lines<'_, T, I, O>,
    Product { x, y, update, op }: Product<'_, T>,
) -> bool {
    if T::DTYPE == T::Acc::DTYPE && update.alpha.is_one() && update.beta.is_zero() {
        let sums = cast_slice_mut(y);
        sums.fill(T::Acc::ZERO);
        return add_entries(cpu, lines, x, op, sums);
    }
    let mut sums = vec![T::Acc::ZERO; y.len()];
    let are_inside = add_entries(cpu, lines, x, op, &mut sums);
    update.write_all(y, &sums);
    are_inside
}

/// Average entries of rows from which on each is a slice of its own. f64, one thread, slices and one iterator over all
/// entries: 10 000 in a row 306 and 429 µs, 20 in a row 33 and 41, 5 in a row 103 and 85.
const LONG_ROWS: usize = 16;

/// Adds the product of each entry to the sum of its column; false if a column is out of range.
fn add_entries<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    Lines { offsets, indices, values }: Lines<'_, T, I, O>,
    x: &[T],
    op: Op,
    sums: &mut [T::Acc],
) -> bool {
    rows_by_entries(offsets, CHUNK).into_iter().all(|rows| {
        let start = offsets[rows.start].as_usize();
        let entries = start..offsets[rows.end].as_usize();
        let (indices, values) = (&indices[entries.clone()], &values[entries]);
        let extremes = cpu.simd().run(Extremes(indices));
        let are_inside =
            extremes.is_none_or(|(least, greatest)| least.as_i64() >= 0 && greatest.as_usize() < sums.len());
        if !are_inside {
            return false;
        }
        let mut add = |index: &I, value: T, x: T| {
            // SAFETY: the index has been compared.
            let sum = unsafe { sums.get_unchecked_mut(index.as_usize()) };
            *sum += op.apply(value).to_acc() * x.to_acc();
        };
        let ends =
            offsets[rows.start..=rows.end].windows(2).map(|ends| [ends[0].as_usize(), ends[1].as_usize()]);
        let rows = x[rows.clone()].iter().zip(ends);
        if indices.len() >= LONG_ROWS * rows.len() {
            for (&x, [from, to]) in rows {
                let row = from - start..to - start;
                indices[row.clone()]
                    .iter()
                    .zip(&values[row])
                    .for_each(|(index, &value)| add(index, value, x));
            }
        } else {
            let mut entries = indices.iter().zip(values);
            for (&x, [from, to]) in rows {
                for (index, &value) in entries.by_ref().take(to - from) {
                    add(index, value, x);
                }
            }
        }
        true
    })
}

/// One or two neighbouring parts as one.
fn join(parts: &[Part]) -> Part {
    let (first, last) = (&parts[0], &parts[parts.len() - 1]);
    Part {
        member: first.member,
        rows: first.rows.start..last.rows.end,
        entries: first.entries.start..last.entries.end,
    }
}

/// The range that has all of one or two ranges.
fn hull(ranges: &[Range<usize>]) -> Range<usize> {
    let ranges = || ranges.iter().filter(|range| !range.is_empty());
    let start = ranges().map(|range| range.start).min().unwrap_or_default();
    start..ranges().map(|range| range.end).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_parts_cover_both() {
        let part = |rows, entries| Part { member: 0, rows, entries };
        let joined = join(&[part(0..2, 0..5), part(2..3, 5..9)]);
        assert_eq!((joined.rows, joined.entries), (0..3, 0..9));
        assert_eq!(hull(&[4..6, 0..0]), 4..6);
        assert_eq!(hull(&[4..6, 1..2]), 1..6);
        assert_eq!(hull(&[0..0, 0..0]), 0..0);
    }
}
