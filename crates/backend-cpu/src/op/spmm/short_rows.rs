//! `C ← A·B` with few entries in the rows of A: one row after the other, each in order, with its sums in registers.
//!
//! Nothing is looked at ahead and no row is treated apart, which take longer than a row of few entries. f64, one thread
//! of an EPYC (Zen 5), µs of the general kernels and of these, the former with checks: a grid of 60², K = 2 23 and 6, K
//! = 8 38 and 10; a diagonal of 10 000 48 and 7, 60 and 13; 10 000 rows of 5 in random columns, K = 8, 74 and 46.

use super::thresholds::SpmmThresholds;
use crate::Cpu;
use crate::parallel::{CHUNK, rows_by_entries, split_mut};
use crate::primitive::filled_rows::{are_often_empty, for_each_filled_row};
use crate::primitive::lines::Lines;
use crate::simd::{Isa, Vectorize};
use sparse_core::{Index, Scalar};
use std::ops::Range;

/// Columns of B that stay in registers for a row of A.
const WIDE: usize = 32;
const NARROW: usize = 8;

/// True if sums of a row are in C while its entries are added: those of few columns, or of a type that rounds, stay in
/// registers.
fn adds_to_c<T: Scalar>(columns: usize) -> bool {
    columns > WIDE && size_of::<T>() == size_of::<T::Acc>()
}

/// True if the rows of A are so short, and none is long.
pub(super) fn are_short<T: Scalar, I: Index, O: Index>(
    a: Lines<'_, T, I, O>,
    longest: usize,
    (b, columns): (&[T], usize),
    c: &[T],
) -> bool {
    let thresholds = SpmmThresholds::CPU;
    let have_at_most = |entries: usize| a.indices.len() <= entries * a.offsets.len();
    let is_short = match () {
        () if adds_to_c::<T>(columns) => have_at_most(1),
        () if have_at_most(thresholds.short_rows) => true,
        () => {
            have_at_most(thresholds.short_rows_in_cache)
                && (size_of_val(b) <= thresholds.cached_bytes || columns_stay_near(a))
        }
    };
    is_short && longest <= thresholds.segment && size_of_val(c) < thresholds.streamed_bytes
}

/// Rows whose columns are compared with those of the row before.
const SAMPLED_ROWS: usize = 64;

/// Rows of B from one that is read to the next that a processor fetches by itself, or has in its cache.
const NEAR: usize = 16;

/// True if most entries of a sample of rows have columns near those of the row before, as on grids: their rows of B need
/// not be fetched ahead, however many B has.
fn columns_stay_near<T, I: Index, O: Index>(Lines { offsets, indices, .. }: Lines<'_, T, I, O>) -> bool {
    let columns = |row: usize| &indices[offsets[row].as_usize()..offsets[row + 1].as_usize()];
    let rows = offsets.len() - 1;
    let (mut pairs, mut near) = (0, 0);
    for row in (1..rows).step_by(rows / SAMPLED_ROWS + 1) {
        for (before, column) in columns(row - 1).iter().zip(columns(row)) {
            pairs += 1;
            near += usize::from(before.as_usize().abs_diff(column.as_usize()) <= NEAR);
        }
    }
    4 * near >= 3 * pairs
}

/// The product, with B and C of `columns` columns by rows.
///
/// # Safety
/// The offsets and columns of A are those of a matrix with as many columns as B has rows.
pub(super) unsafe fn multiply<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    a: Lines<'_, T, I, O>,
    (b, columns): (&[T], usize),
    c: &mut [T],
) {
    let rows = rows_by_entries(a.offsets, CHUNK);
    let elements: Vec<_> = rows.iter().map(|rows| rows.start * columns..rows.end * columns).collect();
    let work = (a.indices.len() + a.offsets.len()).saturating_mul(columns);
    let tasks = rows.into_iter().zip(split_mut(c, &elements)).collect();
    cpu.for_each(
        work / SpmmThresholds::CPU.products_per_element,
        tasks,
        |(rows, c): (Range<usize>, &mut [T])| {
            cpu.simd().run(Rows { a, rows, b, columns, c });
        },
    );
}

/// The products of some rows.
struct Rows<'a, T, I, O> {
    a: Lines<'a, T, I, O>,
    rows: Range<usize>,
    b: &'a [T],
    columns: usize,
    c: &'a mut [T],
}

impl<T: Scalar, I: Index, O: Index> Vectorize for Rows<'_, T, I, O> {
    type Out = ();

    #[inline(always)]
    fn run<S: Isa>(mut self) {
        if adds_to_c::<T>(self.columns) {
            // SAFETY: `multiply` was promised the offsets and columns of a matrix.
            return unsafe { self.multiply_all() };
        }
        if self.skips_rows() {
            self.c.fill(T::ZERO);
        }
        let mut first = 0;
        while first < self.columns {
            // SAFETY: `multiply` was promised the offsets and columns of a matrix.
            first += unsafe {
                match self.columns - first {
                    WIDE => self.multiply::<WIDE>(first),
                    NARROW.. => self.multiply::<NARROW>(first),
                    4.. => self.multiply::<4>(first),
                    2.. => self.multiply::<2>(first),
                    _ => self.multiply::<1>(first),
                }
            }
        }
    }
}

impl<T: Scalar, I: Index, O: Index> Rows<'_, T, I, O> {
    /// The offsets of the rows.
    fn offsets(&self) -> &[O] {
        &self.a.offsets[self.rows.start..=self.rows.end]
    }

    /// True if rows without entries are filled with zeros before others are summed.
    fn skips_rows(&self) -> bool {
        let offsets = self.offsets();
        are_often_empty(self.rows.len(), offsets[self.rows.len()].as_usize() - offsets[0].as_usize())
    }

    /// Computes all columns, a row of C at a time: its sums stay in the L1 cache.
    ///
    /// # Safety
    /// That of [`multiply`].
    #[inline(always)]
    unsafe fn multiply_all(&mut self) {
        let Self { a: Lines { offsets, indices, values }, rows, b, columns, c } = self;
        let mut start = offsets[rows.start].as_usize();
        for (end, c) in offsets[rows.start + 1..=rows.end].iter().zip(c.chunks_exact_mut(*columns)) {
            let entries = start..end.as_usize();
            start = entries.end;
            let mut factors = indices[entries.clone()].iter().zip(&values[entries]).map(|(column, value)| {
                let row = column.as_usize() * *columns;
                // SAFETY: the caller's promise: the column has a row of B.
                (value.to_acc(), unsafe { b.get_unchecked(row..row + *columns) })
            });
            match factors.next() {
                // A sum of −0 alone is 0.
                Some((value, b)) => {
                    let products = b.iter().map(|b| T::from_acc(T::Acc::ZERO + value * b.to_acc()));
                    c.iter_mut().zip(products).for_each(|(c, product)| *c = product);
                }
                None => c.fill(T::ZERO),
            }
            for (value, b) in factors {
                for (c, b) in c.iter_mut().zip(b) {
                    *c = T::from_acc(c.to_acc() + value * b.to_acc());
                }
            }
        }
    }

    /// Computes `W` columns from `first` on; returns `W`. If it [skips rows](Self::skips_rows), these are zeros.
    ///
    /// # Safety
    /// That of [`multiply`].
    #[inline(always)]
    unsafe fn multiply<const W: usize>(&mut self, first: usize) -> usize {
        let skips_rows = self.skips_rows();
        let Self { a, rows, b, columns, c } = self;
        // In variables of this function, else they are loaded again for every row.
        let (a, columns, b) = (*a, *columns, Columns { b, columns: *columns, first });
        let offsets = &a.offsets[rows.start..=rows.end];
        if skips_rows {
            for_each_filled_row(offsets, |row, entries| {
                // SAFETY: the caller's promise.
                unsafe { b.sum::<W, _, _>(a, entries, &mut c[row * columns..][..columns]) }
            });
            return W;
        }
        let mut start = offsets[0].as_usize();
        for (end, c) in offsets[1..].iter().zip(c.chunks_exact_mut(columns)) {
            let end = end.as_usize();
            // SAFETY: the caller's promise.
            unsafe { b.sum::<W, _, _>(a, start..end, c) };
            start = end;
        }
        W
    }
}

/// Columns of B from `first` on.
#[derive(Clone, Copy)]
struct Columns<'a, T> {
    b: &'a [T],
    columns: usize,
    first: usize,
}

impl<T: Scalar> Columns<'_, T> {
    /// Writes the sums of `W` columns of a row with these entries to a row of C.
    ///
    /// Always inlined: a closure of two calls was not, and so compiled for the base instruction set. f64, one thread
    /// of an EPYC (Zen 5), K = 32, µs: 1000 rows of 4 18 and 9, a diagonal of 1000 6.6 and 3.5, a grid of 60² 74 and 35.
    ///
    /// # Safety
    /// The entries lie inside the matrix, which has as many columns as B has rows.
    #[inline(always)]
    unsafe fn sum<const W: usize, I: Index, O: Index>(
        self,
        a: Lines<'_, T, I, O>,
        entries: Range<usize>,
        c: &mut [T],
    ) {
        let Self { b, columns, first } = self;
        let (mut sums, mut entry) = ([T::Acc::ZERO; W], entries.start);
        while entry < entries.end {
            // SAFETY: the caller's promise: the entry is one of the matrix, and its row of B is there.
            let (value, b) = unsafe {
                let row = a.indices.get_unchecked(entry).as_usize() * columns + first;
                (a.values.get_unchecked(entry).to_acc(), b.get_unchecked(row..row + W))
            };
            for (sum, b) in sums.iter_mut().zip(b) {
                *sum += value * b.to_acc();
            }
            entry += 1;
        }
        for (c, &sum) in c[first..first + W].iter_mut().zip(&sums) {
            *c = T::from_acc(sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparse_core::Csr;
    use sparse_generate::{stencil_5, uniform};

    fn lines(a: &Csr<f64>) -> Lines<'_, f64, i32, i32> {
        Lines { offsets: a.offsets(), indices: a.indices(), values: a.values() }
    }

    #[test]
    fn grids_are_local_and_random_columns_are_not() {
        assert!(columns_stay_near(lines(&stencil_5(70, 70).unwrap())));
        assert!(columns_stay_near(lines(&Csr::identity(5).unwrap())));
        assert!(!columns_stay_near(lines(&uniform(5000, 5000, 5, 1).unwrap())));
        assert!(columns_stay_near(lines(&Csr::from_triplets(0, 3, []).unwrap())));
    }
}
