//! Sums of rows, a block of neighbouring rows at a time. Columns are compared with the length of
//! x as they are read, unless they are known to be in range.
//!
//! | rows of the block | method |
//! |---|---|
//! | short, with few changes of length from row to row | neighbours of one length whose columns are those of the row before, each one further, in the lanes of a vector ([`shifted_x86`]); others four side by side, entry by entry |
//! | of at most one vector, with AVX-512 | all products first, then each row's sum from a vector whose other lanes are masked |
//! | of unequal lengths, with AVX-512, fast gathers and 32-bit columns | a masked gather for each vector of a row |
//! | others | one row after the other |
//!
//! The first two have no branch that depends on the length of one row, and the third has one: an end that a processor
//! does not foresee takes as long as 10 entries. Columns and values are prefetched for longer rows where gathers are
//! slow: on an EPYC (Zen 5) two threads take 0.58 to 0.64 of the time without with 256 entries a row. Elsewhere nothing
//! is: on a Xeon (Sapphire Rapids) two threads take 0.55 to 0.93 of the time without.

use super::long_row::{Columns, has_vectors_of_loads, sum_by_loads};
#[cfg(target_arch = "x86_64")]
use super::masked_x86::lane_numbers;
#[cfg(target_arch = "x86_64")]
use super::shifted_x86;
use crate::borrow::Extremes;
use crate::primitive::dot::dot;
#[cfg(target_arch = "x86_64")]
use crate::primitive::gather::checked_dot;
use crate::primitive::partition::RowEnds;
use crate::simd::{Isa, Simd, Vectorize};
#[cfg(target_arch = "x86_64")]
use bytemuck::cast_slice;
use bytemuck::cast_slice_mut;
use sparse_core::op::Op;
use sparse_core::{Accumulator, DType, Index, Scalar};
use std::ops::Range;

/// Rows of a block.
const ROWS: usize = 64;

/// The longest rows that count as short.
const SHORT: usize = 24;

/// The same where longer ones have vectors of loads: one thread of an EPYC (Zen 5), rows of 18 entries 0.75 of the time
/// (`f64`) and 0.93 (`f32`), of 21 entries 0.52 and 0.90.
const SHORT_BY_LOADS: usize = 16;

/// Rows that are summed side by side.
const SIDE_BY_SIDE: usize = 4;

/// The products that come first, in words of 64 bits: a vector of AVX-512 for each row.
const PRODUCT_WORDS: usize = 8 * ROWS;

/// The most changes of length from row to row with which neighbours of one length are summed side by side. On an EPYC
/// with AVX-512 a grid, which has boundaries, takes 3.4 ms with four changes and 3.9 without any; with 16 a Xeon takes
/// 1.1 times as long where a tenth of the rows is of another length.
const CHANGES: usize = 4;

/// The entries of a matrix, and the operand.
#[derive(Clone, Copy)]
pub(super) struct Entries<'a, T, I> {
    pub(super) columns: &'a [I],
    pub(super) values: &'a [T],
    pub(super) x: &'a [T],
    pub(super) op: Op,
    pub(super) known: Columns,
}

impl<T: Scalar, I: Index> Entries<'_, T, I> {
    /// The product of an entry whose column has been compared.
    ///
    /// # Safety
    /// The entry lies inside the matrix, and its column is below the length of `x`.
    #[inline(always)]
    pub(super) unsafe fn product(&self, entry: usize) -> T::Acc {
        // SAFETY: the caller's promise.
        unsafe {
            let x = self.x.get_unchecked(self.columns.get_unchecked(entry).as_usize());
            self.op.apply(*self.values.get_unchecked(entry)).to_acc() * x.to_acc()
        }
    }

    /// True if all columns of a range of entries are below the length of `x`.
    #[inline(always)]
    fn has_columns_in_range<S: Isa>(&self, range: Range<usize>) -> bool {
        let extremes = Extremes(&self.columns[range]).run::<S>();
        extremes.is_none_or(|(least, most)| least.as_i64() >= 0 && most.as_usize() < self.x.len())
    }

    /// The products of a range of entries; `None` in place of one whose column is out of range.
    #[inline(always)]
    fn products(&self, range: Range<usize>) -> impl Iterator<Item = Option<T::Acc>> {
        // Looked up one by one, else they are compiled to gathers, which take longer on some processors.
        self.columns[range.clone()].iter().zip(&self.values[range]).map(|(column, &value)| {
            Some(self.op.apply(value).to_acc() * self.x.get(column.as_usize())?.to_acc())
        })
    }

    /// The sum of the products of a range of entries; `None` if a column is out of range.
    ///
    /// # Safety
    /// `S` is run where the processor has it; columns that are said to be in range are.
    #[inline(always)]
    pub(super) unsafe fn sum<S: Isa>(&self, range: Range<usize>) -> Option<T::Acc> {
        if range.len() <= longest_short::<S, T, I>() {
            return self.products(range).try_fold(T::Acc::ZERO, |sum, product| Some(sum + product?));
        }
        let (columns, values) = (&self.columns[range.clone()], &self.values[range.clone()]);
        if !Simd::has_fast_gathers() {
            // SAFETY: the caller's promises.
            return unsafe { sum_by_loads::<S, T, I>(columns, values, self.x, self.op, self.known) };
        }
        // SAFETY: columns have been compared; the caller's promise.
        (self.known != Columns::Any || self.has_columns_in_range::<S>(range))
            .then(|| unsafe { dot::<S, T, I>(columns, values, self.x, self.op) })
    }

    /// The sum of the products of a range of entries, one after the other.
    ///
    /// # Safety
    /// The entries lie inside the matrix, and their columns are below the length of `x`.
    #[inline(always)]
    pub(super) unsafe fn sum_in_order(&self, range: Range<usize>) -> T::Acc {
        // SAFETY: the caller's promise.
        range.fold(T::Acc::ZERO, |sum, entry| sum + unsafe { self.product(entry) })
    }

    /// The sums of rows of `length` entries each, the first of which begins at `start`: by vectors of rows as long as
    /// each has the columns of the row before, one further, and then side by side. `None` if a column is out of range.
    ///
    /// # Safety
    /// The rows lie inside the matrix; `S` is run where the processor has it.
    #[inline(always)]
    unsafe fn sum_alike<S: Isa>(&self, start: usize, length: usize, sums: &mut [T::Acc]) -> Option<()> {
        // SAFETY: the caller's promises.
        let done = unsafe { self.sum_shifted::<S>(start, length, sums) };
        let (start, rest) = (start + done * length, &mut sums[done..]);
        if rest.is_empty() {
            return Some(());
        }
        if self.known == Columns::Any && !self.has_columns_in_range::<S>(start..start + rest.len() * length) {
            return None;
        }
        // SAFETY: the caller's promise; columns have been compared.
        unsafe { self.sum_side_by_side(start, length, rest) };
        Some(())
    }

    /// As [`sum_alike`](Self::sum_alike), the first rows, by vectors of rows; returns how many.
    ///
    /// # Safety
    /// As for [`sum_alike`](Self::sum_alike).
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn sum_shifted<S: Isa>(&self, start: usize, length: usize, sums: &mut [T::Acc]) -> usize {
        if lanes::<S, T>().is_none() || !Simd::has_fast_gathers() {
            return 0;
        }
        let range = start..start + sums.len() * length;
        let (columns, values) = (&self.columns[range.clone()], &self.values[range]);
        // SAFETY: `S` has vectors of `T`, and the caller promises that the processor has `S`; there are as many columns
        // and values.
        unsafe { shifted_x86::sum(columns, values, length, self.x, sums) }
    }

    /// Sums no row.
    ///
    /// # Safety
    /// None is needed.
    #[cfg(not(target_arch = "x86_64"))]
    #[inline(always)]
    unsafe fn sum_shifted<S: Isa>(&self, _: usize, _: usize, _: &mut [T::Acc]) -> usize {
        0
    }

    /// As [`sum_alike`](Self::sum_alike), some rows side by side.
    ///
    /// # Safety
    /// The rows lie inside the matrix, and their columns are below the length of `x`.
    #[inline(always)]
    unsafe fn sum_side_by_side(&self, start: usize, length: usize, sums: &mut [T::Acc]) {
        let (groups, rest) = sums.as_chunks_mut::<SIDE_BY_SIDE>();
        let mut start = start;
        for group in groups {
            let mut totals = [T::Acc::ZERO; SIDE_BY_SIDE];
            for k in 0..length {
                for (row, total) in totals.iter_mut().enumerate() {
                    // SAFETY: the caller's promise.
                    *total += unsafe { self.product(start + row * length + k) };
                }
            }
            *group = totals;
            start += SIDE_BY_SIDE * length;
        }
        for sum in rest {
            *sum = T::Acc::ZERO;
            for entry in start..start + length {
                // SAFETY: the caller's promise.
                *sum += unsafe { self.product(entry) };
            }
            start += length;
        }
    }

    /// Writes the products of a range of entries; `None` if a column is out of range.
    #[inline(always)]
    fn multiply(&self, range: Range<usize>, products: &mut [T::Acc]) -> Option<()> {
        for (to, product) in products.iter_mut().zip(self.products(range)) {
            *to = product?;
        }
        Some(())
    }

    /// The sum of a row by masked gathers, where `S` and the types have them.
    ///
    /// # Safety
    /// `S` is run where the processor has it.
    #[inline(always)]
    unsafe fn sum_gathered<S: Isa>(&self, range: Range<usize>) -> Option<T::Acc> {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the caller's promise.
        if let Some(sum) = unsafe {
            checked_dot::<S, T, I>(&self.columns[range.clone()], &self.values[range.clone()], self.x)
        } {
            return sum;
        }
        // SAFETY: the caller's promise.
        unsafe { self.sum::<S>(range) }
    }
}

/// The longest rows that count as short, for an instruction set and types.
#[inline(always)]
fn longest_short<S: Isa, T: Scalar, I: Index>() -> usize {
    if has_vectors_of_loads::<S, T, I>() { SHORT_BY_LOADS } else { SHORT }
}

/// The lanes of a vector of sums, if `S` has masks for them.
pub(super) const fn lanes<S: Isa, Acc: Scalar>() -> Option<usize> {
    match (S::SIMD, Acc::DTYPE) {
        (Simd::Avx512, DType::F32) => Some(16),
        (Simd::Avx512, DType::F64) => Some(8),
        _ => None,
    }
}

/// The lengths of the rows of a block.
struct Lengths {
    least: usize,
    greatest: usize,
    /// The rows whose length is not that of the row before.
    changes: usize,
}

impl Lengths {
    /// The lengths of rows between these positions.
    #[inline(always)]
    fn of(starts: &[usize]) -> Self {
        let rows = starts.len() - 1;
        let first = starts[1] - starts[0];
        if starts.iter().zip(&starts[1..]).fold(true, |alike, (start, end)| alike & (end - start == first)) {
            return Self { least: first, greatest: first, changes: 0 };
        }
        // Loops of their own, so that they are compiled to vectors.
        let lengths = starts.iter().zip(&starts[1..]).map(|(start, end)| end - start);
        let (least, greatest) = lengths
            .fold((usize::MAX, 0), |(least, greatest), length| (least.min(length), greatest.max(length)));
        let neighbours = starts[..rows - 1].iter().zip(&starts[1..rows]).zip(&starts[2..]);
        let changes =
            neighbours.map(|((first, second), third)| usize::from(second - first != third - second)).sum();
        Self { least, greatest, changes }
    }
}

/// The workspace of a block.
pub(super) struct Block<Acc> {
    /// The entries at which rows begin, and the end of the last one.
    starts: [usize; ROWS + 1],
    sums: [Acc; ROWS],
    products: [u64; PRODUCT_WORDS],
}

impl<Acc: Accumulator> Block<Acc> {
    pub(super) fn new() -> Self {
        Self { starts: [0; ROWS + 1], sums: [Acc::ZERO; ROWS], products: [0; PRODUCT_WORDS] }
    }

    /// Sums rows, of which the first begins at `entry`, and calls `write` with the first row and the sums of each
    /// block; returns the end of the last row, or `None` if a column is out of range.
    ///
    /// # Safety
    /// The rows are those of the matrix; `S` is run where the processor has it.
    #[inline(always)]
    pub(super) unsafe fn sum<S: Isa, T: Scalar<Acc = Acc>, I: Index>(
        &mut self,
        entries: &Entries<'_, T, I>,
        rows: Range<usize>,
        mut entry: usize,
        ends: &impl RowEnds,
        mut write: impl FnMut(usize, &[Acc]),
    ) -> Option<usize> {
        for row in rows.clone().step_by(ROWS) {
            let count = ROWS.min(rows.end - row);
            let (end, lengths) = self.measure(row, count, entry, ends);
            // SAFETY: the caller's promises; rows ascend.
            unsafe { self.sum_block::<S, T, I>(entries, count, entry..end, &lengths)? };
            write(row, &self.sums[..count]);
            entry = end;
        }
        Some(entry)
    }

    /// Stores where `count` rows from `row` on begin, the first of them at `entry`; returns the end of the last one,
    /// and what is known of their lengths.
    #[inline(always)]
    fn measure(&mut self, row: usize, count: usize, entry: usize, ends: &impl RowEnds) -> (usize, Lengths) {
        let mut end = entry;
        self.starts[0] = entry;
        for (k, start) in self.starts[1..=count].iter_mut().enumerate() {
            end = ends.end(row + k, end);
            *start = end;
        }
        (end, Lengths::of(&self.starts[..=count]))
    }

    /// Sums the entries of `count` rows with these lengths; `None` if a column is out of range.
    ///
    /// # Safety
    /// As for [`sum`](Self::sum).
    #[inline(always)]
    unsafe fn sum_block<S: Isa, T: Scalar<Acc = Acc>, I: Index>(
        &mut self,
        entries: &Entries<'_, T, I>,
        count: usize,
        range: Range<usize>,
        &Lengths { least, greatest, changes }: &Lengths,
    ) -> Option<()> {
        let vectors = lanes::<S, Acc>().map(|lanes| greatest.div_ceil(lanes));
        let sums = self.sums[..count].iter_mut().zip(self.starts.windows(2));
        // SAFETY: the caller's promises; columns are compared before rows are summed side by side.
        unsafe {
            if greatest <= longest_short::<S, T, I>() && changes <= CHANGES {
                self.sum_runs::<S, T, I>(entries, count, changes)?;
            } else if vectors.is_some_and(|vectors| vectors <= 1) {
                entries.multiply(range, cast_slice_mut(&mut self.products))?;
                self.add(count);
            } else if least < greatest && Simd::has_fast_gathers() {
                for (sum, row) in sums {
                    *sum = entries.sum_gathered::<S>(row[0]..row[1])?;
                }
            } else {
                for (sum, row) in sums {
                    *sum = entries.sum::<S>(row[0]..row[1])?;
                }
            }
        }
        Some(())
    }

    /// Sums `count` rows with so many changes of length, those of one length that follow each other side by side;
    /// `None` if a column is out of range.
    ///
    /// # Safety
    /// The rows lie inside the matrix; `S` is run where the processor has it.
    #[inline(always)]
    unsafe fn sum_runs<S: Isa, T: Scalar<Acc = Acc>, I: Index>(
        &mut self,
        entries: &Entries<'_, T, I>,
        count: usize,
        changes: usize,
    ) -> Option<()> {
        let mut first = 0;
        while first < count {
            let starts = &self.starts[first..=count];
            let length = starts[1] - starts[0];
            let run = match changes {
                0 => count,
                _ => starts.windows(2).take_while(|row| row[1] - row[0] == length).count(),
            };
            // SAFETY: the caller's promise.
            unsafe { entries.sum_alike::<S>(starts[0], length, &mut self.sums[first..first + run])? };
            first += run;
        }
        Some(())
    }

    /// Adds the products of each of `count` rows.
    ///
    /// # Safety
    /// The processor has AVX-512, with [`lanes`] for the type; rows ascend, and have at most so many products.
    #[inline(always)]
    unsafe fn add(&mut self, count: usize) {
        let Self { products, starts, sums, .. } = self;
        let (starts, sums) = (&starts[..=count], &mut sums[..count]);
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the caller's promises.
        unsafe {
            match Acc::DTYPE {
                DType::F64 => avx512_f64::add(cast_slice(products), starts, cast_slice_mut(sums)),
                _ => avx512_f32::add(cast_slice(products), starts, cast_slice_mut(sums)),
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (products, starts, sums);
    }
}

#[cfg(target_arch = "x86_64")]
macro_rules! avx512 {
    ($module:ident, $t:ty, lanes $lanes:literal,
     [$load:ident, $reduce:ident],
     [$counts:ident, $load_counts:ident, $is_greater:ident]) => {
        mod $module {
            use super::lane_numbers;
            use std::arch::x86_64::*;

            /// Sums of the products of rows between these positions, counted from that of the first product.
            ///
            /// # Safety
            /// The processor has AVX-512; the positions ascend, and are those of `products`.
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
            pub(super) unsafe fn add(products: &[$t], starts: &[usize], sums: &mut [$t]) {
                // SAFETY: as many numbers as lanes.
                let numbers = unsafe { $load_counts(const { &lane_numbers::<$lanes>() }.as_ptr().cast()) };
                for (sum, row) in sums.iter_mut().zip(starts.windows(2)) {
                    let live = $is_greater($counts((row[1] - row[0]) as i32), numbers);
                    // SAFETY: live lanes are those of products of the row.
                    let products = unsafe { $load(live, products.as_ptr().wrapping_add(row[0] - starts[0])) };
                    *sum = $reduce(products);
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
avx512!(avx512_f64, f64, lanes 8,
    [_mm512_maskz_loadu_pd, _mm512_reduce_add_pd],
    [_mm256_set1_epi32, _mm256_loadu_si256, _mm256_cmpgt_epi32_mask]);

#[cfg(target_arch = "x86_64")]
avx512!(avx512_f32, f32, lanes 16,
    [_mm512_maskz_loadu_ps, _mm512_reduce_add_ps],
    [_mm512_set1_epi32, _mm512_loadu_si512, _mm512_cmpgt_epi32_mask]);
