//! Rows of few entries in AVX-512's registers: one or two vectors have a row's columns in order, others their sums.
//!
//! The column of a product is compared with all of the row's at once. If it is among them, the product is added to the
//! sum in its lane; else the lanes behind its place move up by one. So a row is found, sorted and summed by a few
//! instructions for each product. A row that does not fit one vector goes on with two.

use super::numeric::Operands;
use crate::simd::{Isa, Simd, is};
use bytemuck::cast;
use sparse_core::{DType, Index, Scalar};
use std::arch::x86_64::*;
use std::ops::Range;

/// The lanes of a vector of columns.
const LANES: usize = 16;

/// The most entries of a row: the lanes of two vectors of columns.
const MAX_ENTRIES: usize = 2 * LANES;

/// The entries of a row, and vectors of their columns and sums.
type Row<Sums> = (usize, [__m512i; 2], [Sums; 2]);

macro_rules! kernel {
    ($module:ident, $t:ty, $sums:ty, [$zero:ident, $add:ident, $insert:ident, $shift:ident, $store:ident]) => {
        mod $module {
            use super::*;

            /// # Safety
            /// The types are `$t` and `i32`.
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,popcnt")]
            pub(super) unsafe fn multiply<T: Scalar, I: Index, O: Index>(
                operands: Operands<'_, T, I, O>,
                rows: Range<usize>,
                lengths: &mut Vec<usize>,
                columns: &mut Vec<I>,
                values: &mut Vec<T>,
            ) -> usize {
                for (count, row) in rows.clone().enumerate() {
                    let Some((len, lanes, sums)) = find(operands, row) else { return count };
                    columns.reserve(MAX_ENTRIES);
                    values.reserve(MAX_ENTRIES);
                    let (start, values_start) = (columns.len(), values.len());
                    // SAFETY: there is memory for all lanes, of which the first ones have the entries of the row.
                    unsafe {
                        for (k, (lanes, sums)) in lanes.into_iter().zip(sums).enumerate() {
                            _mm512_storeu_epi32(columns.as_mut_ptr().add(start + k * LANES).cast(), lanes);
                            $store(values.as_mut_ptr().add(values_start + k * LANES).cast(), sums);
                        }
                        columns.set_len(start + len);
                        values.set_len(values_start + len);
                    }
                    lengths.push(len);
                }
                rows.len()
            }

            /// A row; none if it has more than [`MAX_ENTRIES`] entries, or if its first vector is full before half of
            /// the left factor's entries are done: then flags and sums by column take less time. The 27-point stencil
            /// and an interpolation, two threads, ns for each product, always, never and by this rule: A·P, of which
            /// rows have 8 to 27 entries, 1.4, 1.9 and 1.7; R·(A·P), of 27 entries and 320 products, 1.8, 1.3 and 1.3.
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,popcnt")]
            fn find<T: Scalar, I: Index, O: Index>(
                operands: Operands<'_, T, I, O>,
                row: usize,
            ) -> Option<Row<$sums>> {
                let mut len = 0;
                let mut columns = _mm512_set1_epi32(i32::MAX);
                let mut sums = $zero();
                let entries = operands.factors.left.range(row);
                for entry in entries.clone() {
                    let (x, factor_columns, factors) = operands.factor(entry);
                    let x: $t = cast(x);
                    for (at, (column, &y)) in factor_columns.iter().zip(factors).enumerate() {
                        let column = _mm512_set1_epi32(column.as_i64() as i32);
                        let product = x * cast::<T, $t>(y);
                        let equal = _mm512_cmpeq_epi32_mask(columns, column);
                        if equal != 0 {
                            sums = $add(sums, equal, product);
                            continue;
                        }
                        if len == LANES {
                            let rest = entry..entries.end;
                            let is_worthwhile = 2 * rest.len() <= entries.len() + 1;
                            return if is_worthwhile {
                                find_more(operands, rest, at, columns, sums)
                            } else {
                                None
                            };
                        }
                        len += 1;
                        // The lanes before it are the low ones, so that one more is the lane of the column.
                        let place = _mm512_cmplt_epi32_mask(columns, column) + 1;
                        columns = _mm512_mask_expand_epi32(column, !place, columns);
                        // A sum of −0 alone is 0.
                        sums = $insert(sums, place, 0.0 + product);
                    }
                }
                Some((len, [columns, _mm512_set1_epi32(i32::MAX)], [sums, $zero()]))
            }

            /// The rest of a row whose first vector is full: the products of these entries, but for some of the first.
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,popcnt")]
            fn find_more<T: Scalar, I: Index, O: Index>(
                operands: Operands<'_, T, I, O>,
                entries: Range<usize>,
                mut done: usize,
                mut low: __m512i,
                mut low_sums: $sums,
            ) -> Option<Row<$sums>> {
                let mut len = LANES;
                let (mut high, mut high_sums) = (_mm512_set1_epi32(i32::MAX), $zero());
                for entry in entries {
                    let (x, columns, factors) = operands.factor(entry);
                    let x: $t = cast(x);
                    for (column, &y) in columns.iter().zip(factors).skip(std::mem::take(&mut done)) {
                        let column = _mm512_set1_epi32(column.as_i64() as i32);
                        let product = x * cast::<T, $t>(y);
                        let in_low = _mm512_cmpeq_epi32_mask(low, column);
                        let in_high = _mm512_cmpeq_epi32_mask(high, column);
                        if in_low | in_high != 0 {
                            low_sums = $add(low_sums, in_low, product);
                            high_sums = $add(high_sums, in_high, product);
                            continue;
                        }
                        if len == MAX_ENTRIES {
                            return None;
                        }
                        len += 1;
                        let less = _mm512_cmplt_epi32_mask(low, column);
                        if less == !0 {
                            let place = _mm512_cmplt_epi32_mask(high, column) + 1;
                            high = _mm512_mask_expand_epi32(column, !place, high);
                            high_sums = $insert(high_sums, place, 0.0 + product);
                        } else {
                            high = _mm512_alignr_epi32::<15>(high, low);
                            high_sums = $shift(high_sums, low_sums);
                            low = _mm512_mask_expand_epi32(column, !(less + 1), low);
                            low_sums = $insert(low_sums, less + 1, 0.0 + product);
                        }
                    }
                }
                Some((len, [low, high], [low_sums, high_sums]))
            }
        }
    };
}

/// A kernel for each type of values, and the function that calls it.
macro_rules! kernels {
    ($($module:ident, $dtype:ident, $t:ty, $sums:ty, $functions:tt;)+) => {
        $(kernel!($module, $t, $sums, $functions);)+

        /// Appends rows of C with their lengths, up to one that has more than [`MAX_ENTRIES`] entries, or too many
        /// products for two vectors; returns their number, which is 0 where `S` has no kernel for the types.
        ///
        /// # Safety
        /// The processor has `S`.
        #[inline(always)]
        pub(super) unsafe fn multiply<S: Isa, T: Scalar, I: Index, O: Index>(
            operands: Operands<'_, T, I, O>,
            rows: Range<usize>,
            lengths: &mut Vec<usize>,
            columns: &mut Vec<I>,
            values: &mut Vec<T>,
        ) -> usize {
            $(if const { is::<S, T>(Simd::Avx512, DType::$dtype) && size_of::<I>() == size_of::<i32>() } {
                // SAFETY: the caller's promise.
                return unsafe { $module::multiply(operands, rows, lengths, columns, values) };
            })+
            0
        }
    };
}

kernels! {
    for_f32, F32, f32, __m512, [_mm512_setzero_ps, add_f32, insert_f32, shift_f32, _mm512_storeu_ps];
    for_f64, F64, f64, [__m512d; 2], [zero_f64, add_f64, insert_f64, shift_f64, store_f64];
}

#[inline]
#[target_feature(enable = "avx512f")]
fn add_f32(sums: __m512, lane: __mmask16, product: f32) -> __m512 {
    _mm512_mask_add_ps(sums, lane, sums, _mm512_set1_ps(product))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn insert_f32(sums: __m512, lane: __mmask16, product: f32) -> __m512 {
    _mm512_mask_expand_ps(_mm512_set1_ps(product), !lane, sums)
}

/// The sums of a vector moved up by one lane, behind the last of the vector before it.
#[inline]
#[target_feature(enable = "avx512f")]
fn shift_f32(sums: __m512, before: __m512) -> __m512 {
    let [sums, before] = [sums, before].map(|sums| _mm512_castps_si512(sums));
    _mm512_castsi512_ps(_mm512_alignr_epi32::<15>(sums, before))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn zero_f64() -> [__m512d; 2] {
    [_mm512_setzero_pd(); 2]
}

#[inline]
#[target_feature(enable = "avx512f")]
fn add_f64([low, high]: [__m512d; 2], lane: __mmask16, product: f64) -> [__m512d; 2] {
    let product = _mm512_set1_pd(product);
    [
        _mm512_mask_add_pd(low, lane as __mmask8, low, product),
        _mm512_mask_add_pd(high, (lane >> 8) as __mmask8, high, product),
    ]
}

#[inline]
#[target_feature(enable = "avx512f")]
fn insert_f64([low, high]: [__m512d; 2], lane: __mmask16, product: f64) -> [__m512d; 2] {
    let product = _mm512_set1_pd(product);
    let (in_low, in_high) = (lane as __mmask8, (lane >> 8) as __mmask8);
    // The last lane of the low half moves to the high one.
    let moved = if in_low == 0 { high } else { shift_half(high, low) };
    [_mm512_mask_expand_pd(product, !in_low, low), _mm512_mask_expand_pd(product, !in_high, moved)]
}

#[inline]
#[target_feature(enable = "avx512f")]
fn shift_f64([low, high]: [__m512d; 2], [_, before]: [__m512d; 2]) -> [__m512d; 2] {
    [shift_half(low, before), shift_half(high, low)]
}

#[inline]
#[target_feature(enable = "avx512f")]
fn shift_half(sums: __m512d, before: __m512d) -> __m512d {
    let [sums, before] = [sums, before].map(|sums| _mm512_castpd_si512(sums));
    _mm512_castsi512_pd(_mm512_alignr_epi64::<7>(sums, before))
}

/// # Safety
/// There is memory for both vectors.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn store_f64(start: *mut f64, [low, high]: [__m512d; 2]) {
    // SAFETY: the caller's promise.
    unsafe {
        _mm512_storeu_pd(start, low);
        _mm512_storeu_pd(start.add(8), high);
    }
}
