//! Rows of few entries in AVX-512's registers: one vector has the columns of a row in order, others have their sums.
//!
//! The column of a product is compared with all of the row's at once. If it is among them, the product is added to the
//! sum in its lane; else the lanes behind its place move up by one. So a row is found, sorted and summed by a few
//! instructions for each product.

use super::numeric::Operands;
use crate::simd::{Isa, Simd, fetch_line, is};
use bytemuck::cast;
use sparse_core::{DType, Index, Scalar};
use std::arch::x86_64::*;
use std::ops::Range;

/// The most entries of a row: the lanes of a vector of columns.
const LANES: usize = 16;

/// Appends rows of C with their lengths, up to one that has more than [`LANES`] entries; returns their number, which is 0
/// where `S` has no kernel for the types.
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
    if const { is::<S, T>(Simd::Avx512, DType::F32) && size_of::<I>() == size_of::<i32>() } {
        // SAFETY: the caller's promise.
        return unsafe { for_f32::multiply(operands, rows, lengths, columns, values) };
    }
    if const { is::<S, T>(Simd::Avx512, DType::F64) && size_of::<I>() == size_of::<i32>() } {
        // SAFETY: the caller's promise.
        return unsafe { for_f64::multiply(operands, rows, lengths, columns, values) };
    }
    0
}

macro_rules! kernel {
    ($module:ident, $t:ty, $sums:ty, [$zero:ident, $add:ident, $insert:ident, $store:ident]) => {
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
                    columns.reserve(LANES);
                    values.reserve(LANES);
                    let end = columns.len() + len;
                    // SAFETY: there is memory for all lanes, of which the first ones have the entries of the row.
                    unsafe {
                        _mm512_storeu_epi32(columns.as_mut_ptr().add(columns.len()).cast(), lanes);
                        $store(values.as_mut_ptr().add(values.len()).cast(), sums);
                        columns.set_len(end);
                        values.set_len(end);
                    }
                    lengths.push(len);
                }
                rows.len()
            }

            /// The number of entries of a row, their columns, and their sums; none if there are more than lanes.
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,popcnt")]
            fn find<T: Scalar, I: Index, O: Index>(
                Operands { factors, left, right }: Operands<'_, T, I, O>,
                row: usize,
            ) -> Option<(usize, __m512i, $sums)> {
                let mut len = 0;
                let mut columns = _mm512_set1_epi32(i32::MAX);
                let mut sums = $zero();
                for entry in factors.left.range(row) {
                    factors.fetch_ahead(entry, |start| {
                        fetch_line(factors.right.indices, start);
                        fetch_line(right, start);
                    });
                    let x: $t = cast(left[entry]);
                    let factor = factors.right.range(factors.left.indices[entry].as_usize());
                    for (column, &y) in factors.right.indices[factor.clone()].iter().zip(&right[factor]) {
                        let column = _mm512_set1_epi32(column.as_i64() as i32);
                        let product = x * cast::<T, $t>(y);
                        let equal = _mm512_cmpeq_epi32_mask(columns, column);
                        if equal != 0 {
                            sums = $add(sums, equal, product);
                            continue;
                        }
                        if len == LANES {
                            return None;
                        }
                        len += 1;
                        // The lanes before it are the low ones, so that one more is the lane of the column.
                        let place = _mm512_cmplt_epi32_mask(columns, column) + 1;
                        columns = _mm512_mask_expand_epi32(column, !place, columns);
                        // A sum of −0 alone is 0.
                        sums = $insert(sums, place, 0.0 + product);
                    }
                }
                Some((len, columns, sums))
            }
        }
    };
}

kernel!(for_f32, f32, __m512, [_mm512_setzero_ps, add_f32, insert_f32, _mm512_storeu_ps]);
kernel!(for_f64, f64, [__m512d; 2], [zero_f64, add_f64, insert_f64, store_f64]);

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
    let moved = if in_low == 0 {
        high
    } else {
        _mm512_castsi512_pd(_mm512_alignr_epi64::<7>(_mm512_castpd_si512(high), _mm512_castpd_si512(low)))
    };
    [_mm512_mask_expand_pd(product, !in_low, low), _mm512_mask_expand_pd(product, !in_high, moved)]
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
