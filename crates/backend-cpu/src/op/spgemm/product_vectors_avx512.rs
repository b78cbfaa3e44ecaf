//! Vectors of 16 products in AVX-512's registers: one of `f32`, two of `f64`.

use std::arch::x86_64::*;

#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
pub(super) fn scale_4_f32s(x: f32, factors: __m128) -> __m128 {
    _mm_mul_ps(_mm_set1_ps(x), factors)
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
pub(super) fn scale_4_f64s(x: f64, factors: __m256d) -> __m256d {
    _mm256_mul_pd(_mm256_set1_pd(x), factors)
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn scale_f32s(x: f32, factors: __m512) -> __m512 {
    _mm512_mul_ps(_mm512_set1_ps(x), factors)
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn scale_f64s(x: f64, factors: [__m512d; 2]) -> [__m512d; 2] {
    factors.map(|factors| _mm512_mul_pd(_mm512_set1_pd(x), factors))
}

/// Half a vector from each of two places.
///
/// # Safety
/// There are 8 elements at each.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
pub(super) unsafe fn load_two_f32s(low: *const f32, high: *const f32) -> __m512 {
    // SAFETY: the caller's promise.
    unsafe { _mm512_insertf32x8::<1>(_mm512_castps256_ps512(_mm256_loadu_ps(low)), _mm256_loadu_ps(high)) }
}

/// As [`load_two_f32s`].
///
/// # Safety
/// As for [`load_two_f32s`].
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn load_two_f64s(low: *const f64, high: *const f64) -> [__m512d; 2] {
    // SAFETY: the caller's promise.
    unsafe { [_mm512_loadu_pd(low), _mm512_loadu_pd(high)] }
}

/// The products at the positions in the lowest bits of keys.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn pick_f32s<const V: usize>(products: &[__m512; V], keys: __m512i) -> __m512 {
    match *products.as_slice() {
        [a] => _mm512_permutexvar_ps(keys, a),
        [a, b] => _mm512_permutex2var_ps(a, keys, b),
        [a, b, c, d] => {
            let (low, high) = (_mm512_permutex2var_ps(a, keys, b), _mm512_permutex2var_ps(c, keys, d));
            _mm512_mask_mov_ps(low, _mm512_test_epi32_mask(keys, _mm512_set1_epi32(32)), high)
        }
        _ => _mm512_setzero_ps(),
    }
}

/// As [`pick_f32s`].
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
pub(super) fn pick_f64s<const V: usize>(products: &[[__m512d; 2]; V], keys: __m512i) -> [__m512d; 2] {
    let halves = [_mm512_castsi512_si256(keys), _mm512_extracti32x8_epi32::<1>(keys)];
    halves.map(|keys| {
        let keys = _mm512_cvtepu32_epi64(keys);
        let of_vectors = products.map(|[low, high]| _mm512_permutex2var_pd(low, keys, high));
        let higher = |bit| _mm512_test_epi64_mask(keys, _mm512_set1_epi64(bit));
        match *of_vectors.as_slice() {
            [a] => a,
            [a, b] => _mm512_mask_mov_pd(a, higher(16), b),
            [a, b, c, d] => {
                let (low, high) =
                    (_mm512_mask_mov_pd(a, higher(16), b), _mm512_mask_mov_pd(c, higher(16), d));
                _mm512_mask_mov_pd(low, higher(32), high)
            }
            _ => _mm512_setzero_pd(),
        }
    })
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn add_f32s(sums: __m512, live: u16, products: __m512) -> __m512 {
    _mm512_mask_add_ps(sums, live, sums, products)
}

/// The lanes moved down by one, the last of which is the first of the next vector.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn shift_f32s(own: __m512, next: __m512) -> __m512 {
    let [own, next] = [own, next].map(|products| _mm512_castps_si512(products));
    _mm512_castsi512_ps(_mm512_alignr_epi32::<1>(next, own))
}

/// # Safety
/// There is memory for a vector.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn compress_f32s(to: *mut f32, live: u16, sums: __m512) {
    // SAFETY: the caller's promise.
    unsafe { _mm512_storeu_ps(to, _mm512_maskz_compress_ps(live, sums)) };
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn zero_f64s() -> [__m512d; 2] {
    [_mm512_setzero_pd(); 2]
}

/// # Safety
/// There are 16 elements.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn load_f64s(from: *const f64) -> [__m512d; 2] {
    // SAFETY: the caller's promise.
    unsafe { [_mm512_loadu_pd(from), _mm512_loadu_pd(from.add(8))] }
}

/// # Safety
/// Live lanes may be read.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn load_live_f64s(live: u16, from: *const f64) -> [__m512d; 2] {
    let (low, high) = (live as u8, (live >> 8) as u8);
    // SAFETY: the caller's promise.
    unsafe { [_mm512_maskz_loadu_pd(low, from), _mm512_maskz_loadu_pd(high, from.wrapping_add(8))] }
}

/// # Safety
/// There is memory for 16 elements.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn store_f64s(to: *mut f64, [low, high]: [__m512d; 2]) {
    // SAFETY: the caller's promise.
    unsafe {
        _mm512_storeu_pd(to, low);
        _mm512_storeu_pd(to.add(8), high);
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn add_f64s([low, high]: [__m512d; 2], live: u16, [first, second]: [__m512d; 2]) -> [__m512d; 2] {
    let (in_low, in_high) = (live as u8, (live >> 8) as u8);
    [_mm512_mask_add_pd(low, in_low, low, first), _mm512_mask_add_pd(high, in_high, high, second)]
}

/// As [`shift_f32s`].
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn shift_f64s([low, high]: [__m512d; 2], [next, _]: [__m512d; 2]) -> [__m512d; 2] {
    [[low, high], [high, next]].map(|[own, next]| {
        let [own, next] = [own, next].map(|products| _mm512_castpd_si512(products));
        _mm512_castsi512_pd(_mm512_alignr_epi64::<1>(next, own))
    })
}

/// # Safety
/// There is memory for 16 elements.
#[inline]
#[target_feature(enable = "avx512f,popcnt")]
pub(super) unsafe fn compress_f64s(to: *mut f64, live: u16, [low, high]: [__m512d; 2]) {
    let (in_low, in_high) = (live as u8, (live >> 8) as u8);
    // SAFETY: the caller's promise.
    unsafe {
        _mm512_storeu_pd(to, _mm512_maskz_compress_pd(in_low, low));
        _mm512_storeu_pd(to.add(in_low.count_ones() as usize), _mm512_maskz_compress_pd(in_high, high));
    }
}
