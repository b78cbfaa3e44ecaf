//! The values of C for a known pattern.

use super::RowMethod;
use super::factors::Factors;
use super::hash::ColumnTable;
use super::thresholds::SpgemmThresholds;
#[cfg(target_arch = "x86_64")]
use crate::simd::Simd;
use crate::simd::{Isa, Vectorize, fetch_line};
use sparse_core::{Index, Scalar};
use std::ops::Range;

/// Columns that are compared with the column of a product at once.
const COMPARED: usize = 32;

/// The data that a thread needs to sum rows. All sums are zero between rows.
#[derive(Debug)]
pub(super) struct Workspace<Acc, I> {
    pub(super) sums: Vec<Acc>,
    table: ColumnTable<I>,
}

impl<Acc, I> Default for Workspace<Acc, I> {
    fn default() -> Self {
        Self { sums: vec![], table: ColumnTable::default() }
    }
}

impl<Acc, I: Index> Workspace<Acc, I> {
    /// Bytes of both arrays.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.sums.as_slice()) + self.table.bytes()
    }
}

/// The factors with their values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operands<'a, T, I: Index, O: Index> {
    pub(super) factors: Factors<'a, I, O>,
    pub(super) left: &'a [T],
    pub(super) right: &'a [T],
}

impl<'a, T: Scalar, I: Index, O: Index> Operands<'a, T, I, O> {
    /// An entry of the left factor, with columns and values of the row of the right one that it multiplies. Those of
    /// later entries are prefetched.
    #[inline(always)]
    pub(super) fn factor(self, entry: usize) -> (T::Acc, &'a [I], &'a [T]) {
        self.factors.fetch_ahead(entry, |start| {
            fetch_line(self.factors.right.indices, start);
            fetch_line(self.right, start);
        });
        self.cached_factor(entry)
    }

    /// As [`factor`](Self::factor), of an entry whose neighbours multiply neighbouring rows: nothing is prefetched.
    #[inline(always)]
    pub(super) fn cached_factor(self, entry: usize) -> (T::Acc, &'a [I], &'a [T]) {
        let Factors { left, right, .. } = self.factors;
        let entries = right.range(left.indices[entry].as_usize());
        (self.left[entry].to_acc(), &right.indices[entries.clone()], &self.right[entries])
    }
}

/// The values of some rows, whose columns are known; offsets count from the first of them.
pub(super) struct SumRows<'a, T: Scalar, I: Index, O: Index> {
    pub(super) operands: Operands<'a, T, I, O>,
    pub(super) rows: Range<usize>,
    pub(super) offsets: &'a [O],
    pub(super) columns: &'a [I],
    pub(super) values: &'a mut [T],
    pub(super) method: Option<RowMethod>,
    pub(super) workspace: &'a mut Workspace<T::Acc, I>,
}

impl<T: Scalar, I: Index, O: Index> Vectorize for SumRows<'_, T, I, O> {
    type Out = ();

    #[inline(always)]
    fn run<S: Isa>(self) {
        let Self { operands, rows, offsets, columns, mut values, method, workspace } = self;
        for (row, ends) in rows.zip(offsets.windows(2)) {
            let [start, end] = [ends[0], ends[1]].map(|offset| offset.as_usize() - offsets[0].as_usize());
            let columns = &columns[start..end];
            let (output, rest) = values.split_at_mut(columns.len());
            values = rest;
            let [first, .., last] = columns else {
                // At most one entry: the sum of all products.
                for value in output {
                    let mut sum = T::Acc::ZERO;
                    for entry in operands.factors.left.range(row) {
                        let (x, _, values) = operands.factor(entry);
                        values.iter().for_each(|y| sum += x * y.to_acc());
                    }
                    *value = T::from_acc(sum);
                }
                continue;
            };
            let window = last.as_usize() - first.as_usize() + 1;
            let preferred = || SpgemmThresholds::CPU.of_values(columns.len(), window, size_of::<T::Acc>());
            match method.unwrap_or_else(preferred) {
                RowMethod::Sort if columns.len() <= COMPARED => {
                    compare::<S, T, I, O>(operands, row, columns, output);
                }
                RowMethod::Sort => search(operands, row, columns, output, &mut workspace.sums),
                RowMethod::Hash => hash(operands, row, columns, output, workspace),
                RowMethod::Dense => dense(operands, row, columns, window, output, &mut workspace.sums),
            }
        }
    }
}

/// The first `len` sums, which are zero.
#[inline(always)]
pub(super) fn zeros<Acc: Scalar>(sums: &mut Vec<Acc>, len: usize) -> &mut [Acc] {
    if sums.len() < len {
        sums.resize(len, Acc::ZERO);
    }
    &mut sums[..len]
}

/// A sum for each column of the window. Rows of the right factor without gaps, as in bands, are added as vectors.
#[inline(always)]
fn dense<T: Scalar, I: Index, O: Index>(
    operands: Operands<'_, T, I, O>,
    row: usize,
    columns: &[I],
    window: usize,
    values: &mut [T],
    sums: &mut Vec<T::Acc>,
) {
    let (first, sums) = (columns[0].as_usize(), zeros(sums, window));
    let is_canonical = operands.factors.right.is_canonical();
    for entry in operands.factors.left.range(row) {
        let (x, columns, factors) = operands.factor(entry);
        let (Some(least), Some(greatest)) = (columns.first(), columns.last()) else { continue };
        let (least, greatest) = (least.as_usize() - first, greatest.as_usize() - first);
        if is_canonical && greatest - least == columns.len() - 1 {
            for (sum, y) in sums[least..=greatest].iter_mut().zip(factors) {
                *sum += x * y.to_acc();
            }
            continue;
        }
        for (column, y) in columns.iter().zip(factors) {
            let at = column.as_usize() - first;
            debug_assert!(at < window);
            // SAFETY: the pattern of C has the column of every product; the window is from its first to its last one.
            unsafe { *sums.get_unchecked_mut(at) += x * y.to_acc() };
        }
    }
    for (value, column) in values.iter_mut().zip(columns) {
        *value = T::from_acc(std::mem::replace(&mut sums[column.as_usize() - first], T::Acc::ZERO));
    }
}

/// A sum for each column, whose place a hash table has.
#[inline(always)]
fn hash<T: Scalar, I: Index, O: Index>(
    operands: Operands<'_, T, I, O>,
    row: usize,
    columns: &[I],
    values: &mut [T],
    workspace: &mut Workspace<T::Acc, I>,
) {
    let table = &mut workspace.table;
    let sums = zeros(&mut workspace.sums, table.clear(columns.len()));
    for entry in operands.factors.left.range(row) {
        let (x, columns, factors) = operands.factor(entry);
        for (&column, y) in columns.iter().zip(factors) {
            sums[table.insert(column).0] += x * y.to_acc();
        }
    }
    for (value, &column) in values.iter_mut().zip(columns) {
        let (slot, _) = table.insert(column);
        *value = T::from_acc(std::mem::replace(&mut sums[slot], T::Acc::ZERO));
    }
}

/// A sum for each column, whose place is searched for among all.
#[inline(always)]
fn search<T: Scalar, I: Index, O: Index>(
    operands: Operands<'_, T, I, O>,
    row: usize,
    columns: &[I],
    values: &mut [T],
    sums: &mut Vec<T::Acc>,
) {
    let sums = zeros(sums, columns.len());
    for entry in operands.factors.left.range(row) {
        let (x, factor_columns, factors) = operands.factor(entry);
        for (column, y) in factor_columns.iter().zip(factors) {
            sums[columns.partition_point(|before| before < column)] += x * y.to_acc();
        }
    }
    for (value, sum) in values.iter_mut().zip(sums) {
        *value = T::from_acc(std::mem::replace(sum, T::Acc::ZERO));
    }
}

/// A sum for each of few columns, whose place is found by comparing with all at once.
#[inline(always)]
fn compare<S: Isa, T: Scalar, I: Index, O: Index>(
    operands: Operands<'_, T, I, O>,
    row: usize,
    columns: &[I],
    values: &mut [T],
) {
    let mut padded = [I::PADDING; COMPARED];
    padded[..columns.len()].copy_from_slice(columns);
    let mut sums = [T::Acc::ZERO; COMPARED];
    for entry in operands.factors.left.range(row) {
        let (x, factor_columns, factors) = operands.factor(entry);
        for (&column, y) in factor_columns.iter().zip(factors) {
            sums[position::<S, I>(&padded, columns.len(), column) % COMPARED] += x * y.to_acc();
        }
    }
    for (value, sum) in values.iter_mut().zip(sums) {
        *value = T::from_acc(sum);
    }
}

/// The position of a column among the first `len`, which are sorted and contain it.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn position<S: Isa, I: Index>(columns: &[I; COMPARED], len: usize, column: I) -> usize {
    if S::SIMD == Simd::Avx512 && size_of::<I>() == size_of::<i32>() {
        // SAFETY: `S` is only run where the processor has it.
        return unsafe { position_avx512(bytemuck::cast_slice(columns), column.as_i64() as i32) };
    }
    columns[..len].partition_point(|before| *before < column)
}

/// The position of a column among the first `len`, which are sorted and contain it.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn position<S: Isa, I: Index>(columns: &[I; COMPARED], len: usize, column: I) -> usize {
    columns[..len].partition_point(|before| *before < column)
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,popcnt")]
fn position_avx512(columns: &[i32], column: i32) -> usize {
    use std::arch::x86_64::*;

    let column = _mm512_set1_epi32(column);
    // SAFETY: the slice has two vectors of 16 columns.
    let (low, high) =
        unsafe { (_mm512_loadu_epi32(columns.as_ptr()), _mm512_loadu_epi32(columns.as_ptr().add(16))) };
    let equal = [low, high].map(|columns| u32::from(_mm512_cmpeq_epi32_mask(columns, column)));
    (equal[0] | equal[1] << 16).trailing_zeros() as usize
}
