//! Chunks of entries, and the scalar products of each.

use super::entry_rows::{EntryRows, Run};
use super::operand::{Operand, copy_row};
use crate::Cpu;
use crate::parallel::{CHUNK, chunks, split_mut};
use crate::primitive::update::Update;
use crate::simd::{Isa, Vectorize, fetch};
use sparse_core::op::Sampling;
use sparse_core::{Accumulator, Index, Scalar};
use std::ops::Range;

/// Multiplications of one chunk, on average.
const CHUNK_WORK: usize = 8 * CHUNK;

/// The most entries of one chunk.
const MAX_ENTRIES: usize = CHUNK;

/// Partial sums of a scalar product, so that the compiler may use vectors.
const LANES: usize = 16;

/// Partial sums of the last elements of a scalar product.
const LAST_LANES: usize = 4;

/// Bytes of rows of V between the one that is read and the one that is prefetched.
const AHEAD_BYTES: usize = 8 * 1024;

/// The most entries between these.
const MAX_AHEAD: usize = 32;

/// Entries of a row whose scalar products are computed at once: each part of the row of U is loaded once for them.
const AT_ONCE: usize = 4;

/// Entries, and what becomes of their scalar products.
pub(in crate::op) struct Product<'a, T: Scalar, I> {
    pub(super) rows: &'a dyn EntryRows,
    pub(super) columns: &'a [I],
    pub(super) values: &'a [T],
    pub(super) sampling: Sampling,
    pub(super) update: Update<T::Acc>,
}

/// Computes the scalar products of all entries. V by columns is copied to `packed`.
pub(super) fn run<T: Scalar, I: Index>(
    cpu: &Cpu,
    packed: &mut Vec<T>,
    product: Product<'_, T, I>,
    (u, v): (Operand<'_, T>, Operand<'_, T>),
    c: &mut [T],
) {
    let (entries, inner) = (c.len(), u.cols);
    let is_packed = !v.has_rows() && entries >= v.rows;
    let v = if is_packed { packed_rows(cpu, packed, v) } else { v };
    let ranges = chunks(entries, (CHUNK_WORK / inner).clamp(1, MAX_ENTRIES));
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
    let ahead = (AHEAD_BYTES / size_of_val(u)).clamp(AT_ONCE, MAX_AHEAD);
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

/// `Σ u_t·v_t` for several v: [`LANES`] sums at a time and then [`LAST_LANES`], added in a fixed order.
#[inline(always)]
fn dot<T: Scalar, const N: usize>(u: &[T::Acc], v: [&[T]; N]) -> [T::Acc; N] {
    let (u_lanes, u_last) = u.as_chunks::<LANES>();
    let v = v.map(|v| v[..u.len()].as_chunks::<LANES>());
    let last = dot_of_last(u_last, std::array::from_fn(|at| v[at].1));
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

/// [`dot`] of fewer than [`LANES`] elements.
#[inline(always)]
fn dot_of_last<T: Scalar, const N: usize>(u: &[T::Acc], v: [&[T]; N]) -> [T::Acc; N] {
    let (u_lanes, u_last) = u.as_chunks::<LAST_LANES>();
    let mut sums = [T::Acc::ZERO; N];
    // Loops, since closures are not always inlined into code for the instruction set.
    for (sum, v) in sums.iter_mut().zip(v) {
        let (v_lanes, v_last) = v[..u.len()].as_chunks::<LAST_LANES>();
        let mut lanes = [T::Acc::ZERO; LAST_LANES];
        for (u, v) in u_lanes.iter().zip(v_lanes) {
            for ((lane, &u), v) in lanes.iter_mut().zip(u).zip(v) {
                *lane += u * v.to_acc();
            }
        }
        *sum = sum_of_lanes(lanes);
        for (&u, v) in u_last.iter().zip(v_last) {
            *sum += u * v.to_acc();
        }
    }
    sums
}

/// The sum of all lanes, a power of two, by halves.
#[inline(always)]
fn sum_of_lanes<Acc: Accumulator, const L: usize>(mut sums: [Acc; L]) -> Acc {
    let mut lanes = L / 2;
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

    #[test]
    fn scalar_products_have_every_element_once() {
        for len in [1, 3, 4, 7, 15, 16, 17, 22, 65] {
            let u: Vec<f64> = (1..=len).map(f64::from).collect();
            let expected = u.iter().map(|u| u * u).sum::<f64>();
            assert_eq!(dot(&u, [&u[..]; 2]), [expected; 2], "{len}");
        }
    }
}
