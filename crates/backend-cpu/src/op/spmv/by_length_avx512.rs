//! The sums of `rows_by_length` for `f32` with 32-bit columns in AVX-512's registers.

use super::by_length::{AHEAD, Listed};
use crate::simd::{Isa, Simd, fetch_line};
use bytemuck::{cast_slice, cast_slice_mut};
use sparse_core::{DType, Index, Scalar};
use std::arch::x86_64::*;

/// Lanes of a vector.
const LANES: usize = 16;

/// Computes `products` and the `sums` of the listed rows, if `S` has kernels for the types.
///
/// # Safety
/// The processor has `S`; columns, values and products have one length; every column is below the length of `x`; the
/// listed rows lie inside `sums`, their entries inside `products`.
#[inline(always)]
pub(super) unsafe fn sums<S: Isa, T: Scalar, I: Index>(
    columns: &[I],
    values: &[T],
    x: &[T],
    products: &mut [T::Acc],
    (short, long): (Listed<'_>, Listed<'_>),
    sums: &mut [T::Acc],
) -> bool {
    if S::SIMD != Simd::Avx512 || T::DTYPE != DType::F32 || size_of::<I>() != size_of::<i32>() {
        return false;
    }
    let (products, sums) = (cast_slice_mut(products), cast_slice_mut(sums));
    // SAFETY: the caller's promises.
    unsafe {
        multiply(cast_slice(columns), cast_slice(values), cast_slice(x), products);
        add_short(short, products, sums);
        add_long(long, products, sums);
    }
    true
}

/// The lanes below `count`.
fn lanes(count: usize) -> __mmask16 {
    __mmask16::MAX >> (LANES - count.min(LANES))
}

/// `values·x[columns]`.
///
/// # Safety
/// As for [`sums`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn multiply(columns: &[i32], values: &[f32], x: &[f32], products: &mut [f32]) {
    for at in (0..columns.len()).step_by(LANES) {
        fetch_line(columns, at + AHEAD);
        fetch_line(values, at + AHEAD);
        let live = lanes(columns.len() - at);
        // SAFETY: live lanes lie inside the three slices, and their columns are below the length of `x`.
        unsafe {
            let columns = _mm512_maskz_loadu_epi32(live, columns.as_ptr().add(at));
            let x = _mm512_mask_i32gather_ps::<4>(_mm512_setzero_ps(), live, columns, x.as_ptr());
            let values = _mm512_maskz_loadu_ps(live, values.as_ptr().add(at));
            _mm512_mask_storeu_ps(products.as_mut_ptr().add(at), live, _mm512_mul_ps(values, x));
        }
    }
}

/// Sums 16 rows side by side.
///
/// # Safety
/// As for [`sums`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn add_short(listed: Listed<'_>, products: &[f32], sums: &mut [f32]) {
    for at in (0..listed.rows.len()).step_by(LANES) {
        let live = lanes(listed.rows.len() - at);
        let longest = listed.lengths[(at + LANES).min(listed.lengths.len()) - 1];
        // SAFETY: live lanes lie inside the lists; rows and entries as the caller promises.
        unsafe {
            let load = |list: &[u16]| {
                _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(live, list.as_ptr().add(at).cast()))
            };
            let (starts, lengths) = (load(listed.starts), load(listed.lengths));
            let mut sum = _mm512_setzero_ps();
            for k in 0..longest {
                let more = _mm512_cmpgt_epi32_mask(lengths, _mm512_set1_epi32(k.into()));
                let products = products.as_ptr().add(k.into());
                sum = _mm512_add_ps(
                    sum,
                    _mm512_mask_i32gather_ps::<4>(_mm512_setzero_ps(), more, starts, products),
                );
            }
            _mm512_mask_i32scatter_ps::<4>(sums.as_mut_ptr(), live, load(listed.rows), sum);
        }
    }
}

/// Sums one row after the other.
///
/// # Safety
/// As for [`sums`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn add_long(listed: Listed<'_>, products: &[f32], sums: &mut [f32]) {
    for ((&row, &start), &length) in listed.rows.iter().zip(listed.starts).zip(listed.lengths) {
        let products = &products[usize::from(start)..][..usize::from(length)];
        let mut sum = _mm512_setzero_ps();
        for vector in products.chunks(LANES) {
            // SAFETY: live lanes lie inside the chunk.
            let vector = unsafe { _mm512_maskz_loadu_ps(lanes(vector.len()), vector.as_ptr()) };
            sum = _mm512_add_ps(sum, vector);
        }
        sums[usize::from(row)] = _mm512_reduce_add_ps(sum);
    }
}
