//! Rows of C whose products lie in a window of few columns: each is added to the sum of its column, and flags tell
//! which columns have one. Both are taken out in order, 64 flags at a time, so that nothing is compared or sorted.

use super::column_set::{BLOCK, IN_SET, take_flags};
use super::numeric::Operands;
use crate::simd::Isa;
use sparse_core::{Accumulator, Index, Scalar};
use std::mem::MaybeUninit;
use std::ops::Range;

/// Columns of a window for each product up to which its flags are looked at. One thread, AVX-512, f64, ns for each
/// product in this way and with the row in registers: 5-point grids of 30² to 250² (up to 40 columns) 1.8 and 3.7, 5
/// entries a row in 1000 random columns (40) 6.3 and 8, in 3000 (120) 14 and 7.
const COLUMNS_PER_PRODUCT: usize = 64;

/// The widest window: its sums stay in the caches of a core.
const WIDEST: usize = 1 << 13;

/// The most products: rows of more are added as vectors where they have no gaps.
const MOST: usize = 256;

/// True if products are near each other: a window of few columns for each of them.
#[inline(always)]
pub(super) fn are_near(products: usize, window: usize) -> bool {
    products <= MOST && window <= COLUMNS_PER_PRODUCT * products && window <= WIDEST
}

/// A sum and a flag for each column of a window; all are zero between rows.
pub(super) struct NearSums<Acc> {
    sums: Vec<Acc>,
    flags: Vec<u8>,
}

impl<Acc> Default for NearSums<Acc> {
    fn default() -> Self {
        Self { sums: vec![], flags: vec![] }
    }
}

impl<Acc: Accumulator> NearSums<Acc> {
    /// Appends a row of C, given the number of its products and the window of their columns.
    #[inline(always)]
    pub(super) fn multiply<S: Isa, T: Scalar<Acc = Acc>, I: Index, O: Index>(
        &mut self,
        operands: Operands<'_, T, I, O>,
        row: usize,
        (products, window): (usize, Range<usize>),
        columns: &mut Vec<I>,
        values: &mut Vec<T>,
    ) {
        let (first, len) = (window.start, window.len().next_multiple_of(BLOCK));
        if self.sums.len() < len {
            self.sums.resize(len, Acc::ZERO);
            self.flags.resize(len, 0);
        }
        let (sums, flags) = (&mut self.sums[..len], &mut self.flags[..len]);
        for entry in operands.factors.left.range(row) {
            let (x, factor_columns, factors) = operands.cached_factor(entry);
            for (column, y) in factor_columns.iter().zip(factors) {
                let at = column.as_usize() - first;
                sums[at] += x * y.to_acc();
                flags[at] = IN_SET;
            }
        }
        // A push would look for memory twice for each entry.
        let (columns_of_row, values_of_row) = (spare(columns, products), spare(values, products));
        let mut count = 0;
        for (block, (sums, flags)) in
            sums.as_chunks_mut::<BLOCK>().0.iter_mut().zip(flags.as_chunks_mut().0).enumerate()
        {
            let mut found = take_flags::<S>(flags);
            while found != 0 {
                let at = found.trailing_zeros() as usize % BLOCK;
                found &= found - 1;
                columns_of_row[count].write(I::cast(first + block * BLOCK + at));
                values_of_row[count].write(T::from_acc(std::mem::replace(&mut sums[at], Acc::ZERO)));
                count += 1;
            }
        }
        // SAFETY: the `count` elements behind the last have been written.
        unsafe {
            columns.set_len(columns.len() + count);
            values.set_len(values.len() + count);
        }
    }
}

/// Memory for `len` more elements.
#[inline(always)]
fn spare<T>(elements: &mut Vec<T>, len: usize) -> &mut [MaybeUninit<T>] {
    elements.reserve(len);
    &mut elements.spare_capacity_mut()[..len]
}
