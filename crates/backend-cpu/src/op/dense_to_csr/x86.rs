//! Bits and packing with AVX2 and AVX-512.

use super::WORD;
use crate::Simd;
use crate::simd::fetch_line;
use sparse_core::op::Keep;
use sparse_core::{DType, Index, Scalar};
use std::arch::x86_64::*;

/// Bytes of a vector.
const BYTES_512: usize = 64;
const BYTES_256: usize = 32;

/// Bytes by which loads are prefetched ahead.
const AHEAD: usize = 2048;

/// All bits of a complex number but the two signs.
const BOTH_PARTS: i64 = 0x7FFF_FFFF_7FFF_FFFF;

/// Sets the bits of the elements to keep, for as many whole words as the instruction set has code for, and returns the
/// number of words.
pub(super) fn set_bits<T: Scalar>(simd: Simd, keep: Keep<T>, line: &[T], bits: &mut [u64]) -> usize {
    let whole = line.len() / WORD;
    let (bytes, bits) = (bytemuck::cast_slice(&line[..whole * WORD]), &mut bits[..whole]);
    // SAFETY: a `Cpu` is only made with an instruction set that the processor has.
    let done = unsafe {
        match keep {
            Keep::NonZero => nonzero(simd, T::DTYPE, bytes, bits),
            Keep::Above(tolerance) => above(simd, T::DTYPE, bytes, bits, tolerance.to_c64().re),
        }
    };
    if done { whole } else { 0 }
}

/// Sets the bits of elements that are not zeros of either sign, if there is code for the type.
///
/// # Safety
/// The processor has `simd`.
unsafe fn nonzero(simd: Simd, dtype: DType, bytes: &[u8], bits: &mut [u64]) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        match (simd, dtype) {
            (Simd::Avx512, DType::F16 | DType::Bf16) => nonzero_2_avx512(bytes, bits),
            (Simd::Avx512, DType::F32) => nonzero_4_avx512(bytes, bits),
            (Simd::Avx512, DType::F64) => nonzero_8_avx512(bytes, bits, i64::MAX),
            (Simd::Avx512, DType::C32) => nonzero_8_avx512(bytes, bits, BOTH_PARTS),
            (Simd::Avx2, DType::F32) => nonzero_4_avx2(bytes, bits),
            (Simd::Avx2, DType::F64) => nonzero_8_avx2(bytes, bits, i64::MAX),
            (Simd::Avx2, DType::C32) => nonzero_8_avx2(bytes, bits, BOTH_PARTS),
            _ => return false,
        }
    }
    true
}

/// Sets the bits of elements whose magnitude is not at most `tolerance`, a number of the type itself, if there is code
/// for the type.
///
/// # Safety
/// The processor has `simd`.
unsafe fn above(simd: Simd, dtype: DType, bytes: &[u8], bits: &mut [u64], tolerance: f64) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        match (simd, dtype) {
            (Simd::Avx512, DType::F32) => above_4_avx512(bytes, bits, tolerance as f32),
            (Simd::Avx512, DType::F64) => above_8_avx512(bytes, bits, tolerance),
            (Simd::Avx2, DType::F32) => above_4_avx2(bytes, bits, tolerance as f32),
            (Simd::Avx2, DType::F64) => above_8_avx2(bytes, bits, tolerance),
            _ => return false,
        }
    }
    true
}

/// The bits of each word from those of its vectors.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn words_avx512<const SIZE: usize>(bytes: &[u8], bits: &mut [u64], kept: impl Fn(__m512i) -> u64) {
    for (word, elements) in bits.iter_mut().zip(bytes.chunks_exact(WORD * SIZE)) {
        *word = 0;
        for (k, vector) in elements.chunks_exact(BYTES_512).enumerate() {
            fetch_line(vector, AHEAD);
            // SAFETY: `vector` has 64 bytes.
            let vector = unsafe { _mm512_loadu_si512(vector.as_ptr().cast()) };
            *word |= kept(vector) << (k * (BYTES_512 / SIZE));
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw")]
fn nonzero_2_avx512(bytes: &[u8], bits: &mut [u64]) {
    let magnitude = _mm512_set1_epi16(i16::MAX);
    words_avx512::<2>(bytes, bits, |vector| u64::from(_mm512_test_epi16_mask(vector, magnitude)));
}

#[target_feature(enable = "avx512f,avx512bw")]
fn nonzero_4_avx512(bytes: &[u8], bits: &mut [u64]) {
    let magnitude = _mm512_set1_epi32(i32::MAX);
    words_avx512::<4>(bytes, bits, |vector| u64::from(_mm512_test_epi32_mask(vector, magnitude)));
}

#[target_feature(enable = "avx512f,avx512bw")]
fn nonzero_8_avx512(bytes: &[u8], bits: &mut [u64], magnitude: i64) {
    let magnitude = _mm512_set1_epi64(magnitude);
    words_avx512::<8>(bytes, bits, |vector| u64::from(_mm512_test_epi64_mask(vector, magnitude)));
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
fn above_4_avx512(bytes: &[u8], bits: &mut [u64], tolerance: f32) {
    let tolerance = _mm512_set1_ps(tolerance);
    words_avx512::<4>(bytes, bits, |vector| {
        let magnitude = _mm512_abs_ps(_mm512_castsi512_ps(vector));
        u64::from(_mm512_cmp_ps_mask::<_CMP_NLE_UQ>(magnitude, tolerance))
    });
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
fn above_8_avx512(bytes: &[u8], bits: &mut [u64], tolerance: f64) {
    let tolerance = _mm512_set1_pd(tolerance);
    words_avx512::<8>(bytes, bits, |vector| {
        let magnitude = _mm512_abs_pd(_mm512_castsi512_pd(vector));
        u64::from(_mm512_cmp_pd_mask::<_CMP_NLE_UQ>(magnitude, tolerance))
    });
}

/// The bits of each word from those of its vectors, which mark dropped elements.
#[inline]
#[target_feature(enable = "avx2")]
fn words_avx2<const SIZE: usize>(bytes: &[u8], bits: &mut [u64], dropped: impl Fn(__m256i) -> i32) {
    for (word, elements) in bits.iter_mut().zip(bytes.chunks_exact(WORD * SIZE)) {
        let mut out = 0;
        for (k, vector) in elements.chunks_exact(BYTES_256).enumerate() {
            fetch_line(vector, AHEAD);
            // SAFETY: `vector` has 32 bytes.
            let vector = unsafe { _mm256_loadu_si256(vector.as_ptr().cast()) };
            out |= (dropped(vector) as u64) << (k * (BYTES_256 / SIZE));
        }
        *word = !out;
    }
}

#[target_feature(enable = "avx2")]
fn nonzero_4_avx2(bytes: &[u8], bits: &mut [u64]) {
    let magnitude = _mm256_set1_epi32(i32::MAX);
    words_avx2::<4>(bytes, bits, |vector| {
        let zero = _mm256_cmpeq_epi32(_mm256_and_si256(vector, magnitude), _mm256_setzero_si256());
        _mm256_movemask_ps(_mm256_castsi256_ps(zero))
    });
}

#[target_feature(enable = "avx2")]
fn nonzero_8_avx2(bytes: &[u8], bits: &mut [u64], magnitude: i64) {
    let magnitude = _mm256_set1_epi64x(magnitude);
    words_avx2::<8>(bytes, bits, |vector| {
        let zero = _mm256_cmpeq_epi64(_mm256_and_si256(vector, magnitude), _mm256_setzero_si256());
        _mm256_movemask_pd(_mm256_castsi256_pd(zero))
    });
}

#[target_feature(enable = "avx2")]
fn above_4_avx2(bytes: &[u8], bits: &mut [u64], tolerance: f32) {
    let (tolerance, sign) = (_mm256_set1_ps(tolerance), _mm256_set1_ps(-0.0));
    words_avx2::<4>(bytes, bits, |vector| {
        let magnitude = _mm256_andnot_ps(sign, _mm256_castsi256_ps(vector));
        _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_LE_OQ>(magnitude, tolerance))
    });
}

#[target_feature(enable = "avx2")]
fn above_8_avx2(bytes: &[u8], bits: &mut [u64], tolerance: f64) {
    let (tolerance, sign) = (_mm256_set1_pd(tolerance), _mm256_set1_pd(-0.0));
    words_avx2::<8>(bytes, bits, |vector| {
        let magnitude = _mm256_andnot_pd(sign, _mm256_castsi256_pd(vector));
        _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_LE_OQ>(magnitude, tolerance))
    });
}

/// Packs the elements of a row whose bits are set to the front of `indices` and `values`, and returns their number, if
/// the instruction set has code for the types.
pub(super) fn pack<T: Scalar, I: Index>(
    simd: Simd,
    bits: &[u64],
    row: &[T],
    indices: &mut [I],
    values: &mut [T],
) -> Option<usize> {
    if simd != Simd::Avx512 {
        return None;
    }
    let compress = match (size_of::<T>(), size_of::<I>()) {
        (4, 4) => compress::<4, 4>,
        (4, 8) => compress::<4, 8>,
        (8, 4) => compress::<8, 4>,
        (8, 8) => compress::<8, 8>,
        _ => return None,
    };
    let count = bits.iter().map(|word| word.count_ones() as usize).sum();
    let capacity = indices.len().min(values.len());
    assert!(bits.len() == row.len().div_ceil(WORD) && count <= capacity);
    // SAFETY: bits beyond the end of the row are never set, and both outputs are long enough for all that are set; the
    // instruction set and the sizes were checked.
    unsafe {
        compress(
            bits,
            row.as_ptr().cast(),
            capacity,
            indices.as_mut_ptr().cast(),
            values.as_mut_ptr().cast(),
        );
    }
    Some(count)
}

/// Elements whose bits are taken at a time.
const QUARTER: usize = 16;

/// Packs elements of `VALUE` bytes, and their positions into integers of `INDEX` bytes.
///
/// # Safety
/// `from` has an element for every bit that is set; `indices` and `values` have `capacity` elements, at least one for
/// each bit that is set.
#[target_feature(enable = "avx512f,popcnt")]
unsafe fn compress<const VALUE: usize, const INDEX: usize>(
    bits: &[u64],
    from: *const u8,
    capacity: usize,
    indices: *mut u8,
    values: *mut u8,
) {
    let mut end = 0;
    for (k, &word) in bits.iter().enumerate().filter(|(_, word)| **word != 0) {
        for first in (0..WORD).step_by(QUARTER) {
            let (mask, first) = ((word >> first) as __mmask16, k * WORD + first);
            // SAFETY: the caller's promises; whole vectors are stored only where they fit.
            unsafe {
                let from = from.wrapping_add(first * VALUE);
                let (indices, values) = (indices.add(end * INDEX), values.add(end * VALUE));
                if end + QUARTER <= capacity {
                    elements::<VALUE, true>(mask, from, values);
                    positions::<INDEX, true>(mask, first, indices);
                } else {
                    elements::<VALUE, false>(mask, from, values);
                    positions::<INDEX, false>(mask, first, indices);
                }
            }
            end += mask.count_ones() as usize;
        }
    }
}

/// Stores the elements of set bits contiguously, and the rest of the vector if `WHOLE`.
///
/// # Safety
/// `from` has an element for every bit that is set, `to` has that many, and 16 if `WHOLE`.
#[inline]
#[target_feature(enable = "avx512f,popcnt")]
unsafe fn elements<const SIZE: usize, const WHOLE: bool>(mask: __mmask16, from: *const u8, to: *mut u8) {
    // SAFETY: the caller's promise; masked loads touch only the elements of set bits.
    unsafe {
        if SIZE == 4 {
            let elements = _mm512_maskz_loadu_epi32(mask, from.cast());
            store_4::<WHOLE>(mask, elements, to);
        } else {
            let (low, high) = (mask as __mmask8, (mask >> 8) as __mmask8);
            store_8::<WHOLE>(low, _mm512_maskz_loadu_epi64(low, from.cast()), to);
            let to = to.add(8 * low.count_ones() as usize);
            store_8::<WHOLE>(high, _mm512_maskz_loadu_epi64(high, from.wrapping_add(64).cast()), to);
        }
    }
}

/// Stores the positions of set bits, counted from `first`, as [`elements`] does.
///
/// # Safety
/// `to` has an integer for every bit that is set, and 16 if `WHOLE`.
#[inline]
#[target_feature(enable = "avx512f,popcnt")]
unsafe fn positions<const SIZE: usize, const WHOLE: bool>(mask: __mmask16, first: usize, to: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe {
        if SIZE == 4 {
            let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
            store_4::<WHOLE>(mask, _mm512_add_epi32(lanes, _mm512_set1_epi32(first as i32)), to);
        } else {
            let (low, high) = (mask as __mmask8, (mask >> 8) as __mmask8);
            let lanes = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
            store_8::<WHOLE>(low, _mm512_add_epi64(lanes, _mm512_set1_epi64(first as i64)), to);
            let to = to.add(8 * low.count_ones() as usize);
            store_8::<WHOLE>(high, _mm512_add_epi64(lanes, _mm512_set1_epi64(first as i64 + 8)), to);
        }
    }
}

/// Stores the lanes of set bits contiguously, and zeros behind them if `WHOLE`.
///
/// # Safety
/// `to` has a lane for every bit that is set, and all lanes if `WHOLE`.
#[inline]
#[target_feature(enable = "avx512f,popcnt")]
unsafe fn store_4<const WHOLE: bool>(mask: __mmask16, lanes: __m512i, to: *mut u8) {
    let packed = _mm512_maskz_compress_epi32(mask, lanes);
    let stored = if WHOLE { __mmask16::MAX } else { ((1_u32 << mask.count_ones()) - 1) as __mmask16 };
    // SAFETY: the caller's promise.
    unsafe { _mm512_mask_storeu_epi32(to.cast(), stored, packed) };
}

/// As for [`store_4`], with eight lanes.
///
/// # Safety
/// As for [`store_4`].
#[inline]
#[target_feature(enable = "avx512f,popcnt")]
unsafe fn store_8<const WHOLE: bool>(mask: __mmask8, lanes: __m512i, to: *mut u8) {
    let packed = _mm512_maskz_compress_epi64(mask, lanes);
    let stored = if WHOLE { __mmask8::MAX } else { ((1_u32 << mask.count_ones()) - 1) as __mmask8 };
    // SAFETY: the caller's promise.
    unsafe { _mm512_mask_storeu_epi64(to.cast(), stored, packed) };
}
