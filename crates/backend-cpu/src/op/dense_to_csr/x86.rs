//! Bits and packing with AVX2 and AVX-512.

use super::WORD;
use crate::Simd;
use sparse_core::op::Keep;
use sparse_core::{DType, Index, Scalar};
use std::arch::x86_64::*;

/// Bytes of a vector.
const BYTES_512: usize = 64;
const BYTES_256: usize = 32;

/// All bits of a complex number but the two signs.
const BOTH_PARTS: i64 = 0x7FFF_FFFF_7FFF_FFFF;

/// Sets the bits of the elements that are kept, for as many whole words as the instruction set has a way for, and
/// returns how many words that were.
pub(super) fn kept<T: Scalar>(simd: Simd, keep: Keep<T>, line: &[T], bits: &mut [u64]) -> usize {
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

/// Those that are not zeros of either sign, if there is a way for the type.
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

/// Those whose magnitude is not below or at `tolerance`, a number of the type itself, if there is a way for the type.
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

/// The bits of each word from those of its vectors, which tell what is not kept.
#[inline]
#[target_feature(enable = "avx2")]
fn words_avx2<const SIZE: usize>(bytes: &[u8], bits: &mut [u64], dropped: impl Fn(__m256i) -> i32) {
    for (word, elements) in bits.iter_mut().zip(bytes.chunks_exact(WORD * SIZE)) {
        let mut out = 0;
        for (k, vector) in elements.chunks_exact(BYTES_256).enumerate() {
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

/// Packs the elements of a row whose bits are set to the front of `indices` and `values`, and returns how many they
/// are, if the instruction set has a way for the types.
pub(super) fn pack<T: Scalar, I: Index>(
    simd: Simd,
    bits: &[u64],
    row: &[T],
    indices: &mut [I],
    values: &mut [T],
) -> Option<usize> {
    if simd != Simd::Avx512 || !matches!(size_of::<T>(), 4 | 8) {
        return None;
    }
    let count = bits.iter().map(|word| word.count_ones() as usize).sum();
    assert!(bits.len() == row.len().div_ceil(WORD) && count <= indices.len().min(values.len()));
    // SAFETY: bits beyond the end of the row are never set, and there is room for all that are set; the
    // instruction set and the sizes are as looked at.
    unsafe {
        match size_of::<T>() {
            4 => compress_4(bits, row.as_ptr().cast(), values.as_mut_ptr().cast()),
            _ => compress_8(bits, row.as_ptr().cast(), values.as_mut_ptr().cast()),
        }
        match size_of::<I>() {
            4 => positions_4(bits, indices.as_mut_ptr().cast()),
            _ => positions_8(bits, indices.as_mut_ptr().cast()),
        }
    }
    Some(count)
}

/// Calls `store` for every 16 elements of which some bit is set, with their number, their bits and where they go.
#[inline]
#[target_feature(enable = "avx512f,popcnt")]
fn sixteens<T>(bits: &[u64], mut to: *mut T, store: impl Fn(usize, __mmask16, *mut T)) {
    for (k, &word) in bits.iter().enumerate().filter(|(_, word)| **word != 0) {
        for quarter in 0..4 {
            let mask = (word >> (16 * quarter)) as __mmask16;
            store(k * WORD + 16 * quarter, mask, to);
            to = to.wrapping_add(mask.count_ones() as usize);
        }
    }
}

/// As [`sixteens`], 8 elements at a time.
#[inline]
#[target_feature(enable = "avx512f,popcnt")]
fn eights<T>(bits: &[u64], mut to: *mut T, store: impl Fn(usize, __mmask8, *mut T)) {
    for (k, &word) in bits.iter().enumerate().filter(|(_, word)| **word != 0) {
        for eighth in 0..8 {
            let mask = (word >> (8 * eighth)) as __mmask8;
            store(k * WORD + 8 * eighth, mask, to);
            to = to.wrapping_add(mask.count_ones() as usize);
        }
    }
}

/// As many low bits as `mask` has.
fn low_16(mask: __mmask16) -> __mmask16 {
    ((1_u32 << mask.count_ones()) - 1) as __mmask16
}

fn low_8(mask: __mmask8) -> __mmask8 {
    ((1_u32 << mask.count_ones()) - 1) as __mmask8
}

/// # Safety
/// `from` has an element for every bit that is set, `to` room for them.
#[target_feature(enable = "avx512f,popcnt")]
unsafe fn compress_4(bits: &[u64], from: *const i32, to: *mut i32) {
    sixteens(bits, to, |first, mask, to| {
        // SAFETY: masked loads and stores touch only the elements of set bits.
        unsafe {
            let values = _mm512_maskz_loadu_epi32(mask, from.wrapping_add(first));
            _mm512_mask_storeu_epi32(to, low_16(mask), _mm512_maskz_compress_epi32(mask, values));
        }
    });
}

/// # Safety
/// As for [`compress_4`].
#[target_feature(enable = "avx512f,popcnt")]
unsafe fn compress_8(bits: &[u64], from: *const i64, to: *mut i64) {
    eights(bits, to, |first, mask, to| {
        // SAFETY: masked loads and stores touch only the elements of set bits.
        unsafe {
            let values = _mm512_maskz_loadu_epi64(mask, from.wrapping_add(first));
            _mm512_mask_storeu_epi64(to, low_8(mask), _mm512_maskz_compress_epi64(mask, values));
        }
    });
}

/// # Safety
/// `to` has room for the positions of all bits that are set.
#[target_feature(enable = "avx512f,popcnt")]
unsafe fn positions_4(bits: &[u64], to: *mut i32) {
    let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    sixteens(bits, to, |first, mask, to| {
        let positions = _mm512_add_epi32(lanes, _mm512_set1_epi32(first as i32));
        // SAFETY: a masked store touches only as many elements as bits are set.
        unsafe { _mm512_mask_storeu_epi32(to, low_16(mask), _mm512_maskz_compress_epi32(mask, positions)) };
    });
}

/// # Safety
/// As for [`positions_4`].
#[target_feature(enable = "avx512f,popcnt")]
unsafe fn positions_8(bits: &[u64], to: *mut i64) {
    let lanes = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    eights(bits, to, |first, mask, to| {
        let positions = _mm512_add_epi64(lanes, _mm512_set1_epi64(first as i64));
        // SAFETY: a masked store touches only as many elements as bits are set.
        unsafe { _mm512_mask_storeu_epi64(to, low_8(mask), _mm512_maskz_compress_epi64(mask, positions)) };
    });
}
