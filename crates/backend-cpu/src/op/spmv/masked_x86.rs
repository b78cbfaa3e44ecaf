//! Masks of the first lanes of a vector, products added behind them, AVX2's masked loads and gathers with the arguments
//! of AVX-512's, and its sums of lanes.

use std::arch::x86_64::*;

/// The number of each lane.
pub(super) const fn lane_numbers<const LANES: usize>() -> [i32; LANES] {
    let mut numbers = [0; LANES];
    let mut lane = 0;
    while lane < LANES {
        numbers[lane] = lane as i32;
        lane += 1;
    }
    numbers
}

/// The first `len` of 16 lanes.
#[inline(always)]
pub(super) fn lanes_of_16(len: usize) -> __mmask16 {
    __mmask16::MAX >> (16 - len)
}

/// The first `len` of 8 lanes.
#[inline(always)]
pub(super) fn lanes_of_8(len: usize) -> __mmask8 {
    __mmask8::MAX >> (8 - len)
}

/// The first `len` of 8 lanes of `f32`.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn f32_lanes(len: usize) -> __m256i {
    _mm256_cmpgt_epi32(_mm256_set1_epi32(len as i32), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
}

/// The first `len` of 4 lanes of `f32`.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn short_f32_lanes(len: usize) -> __m128i {
    _mm_cmpgt_epi32(_mm_set1_epi32(len as i32), _mm_setr_epi32(0, 1, 2, 3))
}

/// The first `len` of 4 lanes of `f64`.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn f64_lanes(len: usize) -> __m256i {
    _mm256_cmpgt_epi64(_mm256_set1_epi64x(len as i64), _mm256_setr_epi64x(0, 1, 2, 3))
}

macro_rules! masked {
    ($load:ident, $t:ty, $vector:ty, $mask:ty, $instruction:ident) => {
        /// Live lanes from memory, zero in the others.
        ///
        /// # Safety
        /// Live lanes may be read.
        #[inline]
        #[target_feature(enable = "avx2")]
        pub(super) unsafe fn $load(live: $mask, from: *const $t) -> $vector {
            // SAFETY: the caller's promise.
            unsafe { $instruction(from, live) }
        }
    };
}

masked!(load_f32s, f32, __m256, __m256i, _mm256_maskload_ps);
masked!(load_short_f32s, f32, __m128, __m128i, _mm_maskload_ps);
masked!(load_f64s, f64, __m256d, __m256i, _mm256_maskload_pd);
masked!(load_8_columns, i32, __m256i, __m256i, _mm256_maskload_epi32);
masked!(load_4_columns, i32, __m128i, __m128i, _mm_maskload_epi32);

/// Live lanes from these positions, `others` elsewhere.
///
/// # Safety
/// The positions of live lanes may be read.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn gather_f32s<const SCALE: i32>(
    others: __m256,
    live: __m256i,
    positions: __m256i,
    from: *const f32,
) -> __m256 {
    // SAFETY: the caller's promise.
    unsafe { _mm256_mask_i32gather_ps::<SCALE>(others, from, positions, _mm256_castsi256_ps(live)) }
}

/// As for [`gather_f32s`].
///
/// # Safety
/// As for [`gather_f32s`].
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn gather_f64s<const SCALE: i32>(
    others: __m256d,
    live: __m256i,
    positions: __m128i,
    from: *const f64,
) -> __m256d {
    // SAFETY: the caller's promise.
    unsafe { _mm256_mask_i32gather_pd::<SCALE>(others, from, positions, _mm256_castsi256_pd(live)) }
}

/// The sums, and in the lanes behind the first `done`, 1 to 7, the products added.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn add_behind_f32s(done: usize, values: __m256, x: __m256, sums: __m256) -> __m256 {
    _mm256_blendv_ps(_mm256_fmadd_ps(values, x, sums), sums, _mm256_castsi256_ps(f32_lanes(done)))
}

/// As [`add_behind_f32s`], 1 to 3 lanes.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn add_behind_f64s(done: usize, values: __m256d, x: __m256d, sums: __m256d) -> __m256d {
    _mm256_blendv_pd(_mm256_fmadd_pd(values, x, sums), sums, _mm256_castsi256_pd(f64_lanes(done)))
}

/// The live lanes, zero in the others.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn keep_f32s(live: __m256i, lanes: __m256) -> __m256 {
    _mm256_and_ps(_mm256_castsi256_ps(live), lanes)
}

/// As [`keep_f32s`].
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn keep_f64s(live: __m256i, lanes: __m256d) -> __m256d {
    _mm256_and_pd(_mm256_castsi256_pd(live), lanes)
}

/// The sum of the lanes.
#[inline]
#[target_feature(enable = "avx")]
pub(super) fn add_f32s(lanes: __m256) -> f32 {
    add_4_f32s(_mm_add_ps(_mm256_castps256_ps128(lanes), _mm256_extractf128_ps::<1>(lanes)))
}

/// The sum of the lanes.
#[inline]
#[target_feature(enable = "avx")]
pub(super) fn add_4_f32s(lanes: __m128) -> f32 {
    let pairs = _mm_add_ps(lanes, _mm_movehl_ps(lanes, lanes));
    _mm_cvtss_f32(_mm_add_ss(pairs, _mm_movehdup_ps(pairs)))
}

/// The sum of the lanes.
#[inline]
#[target_feature(enable = "avx")]
pub(super) fn add_f64s(lanes: __m256d) -> f64 {
    let pairs = _mm_add_pd(_mm256_castpd256_pd128(lanes), _mm256_extractf128_pd::<1>(lanes));
    _mm_cvtsd_f64(_mm_add_sd(pairs, _mm_unpackhi_pd(pairs, pairs)))
}
