//! Vectors of elements of x at any columns: by a load for each, which takes less time than gathers on processors
//! without [fast ones](crate::simd::Simd::has_fast_gathers) (an EPYC, Zen 5: 0.24 ns an element of `f32` in place of
//! 0.41, 0.24 of `f64` in place of 0.30), or, with AVX-512, by gathers.

use super::masked_x86::*;
use crate::simd::fetch_line;
use std::arch::x86_64::*;

/// Two neighbouring columns.
///
/// # Safety
/// Both may be read.
#[inline(always)]
unsafe fn pair(columns: *const i32) -> [usize; 2] {
    // SAFETY: the caller's promise.
    let pair = unsafe { columns.cast::<u64>().read_unaligned() };
    [pair as u32 as usize, (pair >> 32) as usize]
}

/// Prefetches the elements of `x` at `N` columns, an even number.
///
/// # Safety
/// The columns may be read.
#[inline(always)]
pub(super) unsafe fn fetch_elements<const N: usize, T>(columns: *const i32, x: &[T]) {
    for k in (0..N).step_by(2) {
        // SAFETY: the caller's promise.
        for column in unsafe { pair(columns.add(k)) } {
            fetch_line(x, column);
        }
    }
}

/// The elements of `x` at 4 columns.
///
/// # Safety
/// The columns may be read, and are below the length of `x`.
#[inline(always)]
pub(super) unsafe fn quarter_f32s(columns: *const i32, x: *const f32) -> __m128 {
    // SAFETY: the caller's promises.
    unsafe {
        let ([a, b], [c, d]) = (pair(columns), pair(columns.add(2)));
        _mm_setr_ps(*x.add(a), *x.add(b), *x.add(c), *x.add(d))
    }
}

/// The elements of `x` at 2 columns.
///
/// # Safety
/// As for [`quarter_f32s`].
#[inline(always)]
unsafe fn quarter_f64s(columns: *const i32, x: *const f64) -> __m128d {
    // SAFETY: the caller's promises.
    unsafe {
        let [a, b] = pair(columns);
        _mm_setr_pd(*x.add(a), *x.add(b))
    }
}

/// The elements of `x` at 8 columns.
///
/// # Safety
/// As for [`quarter_f32s`].
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn avx2_f32s<const GATHERS: bool>(columns: *const i32, x: *const f32) -> __m256 {
    // SAFETY: the caller's promises.
    unsafe { _mm256_set_m128(quarter_f32s(columns.add(4), x), quarter_f32s(columns, x)) }
}

/// The elements of `x` at 4 columns.
///
/// # Safety
/// As for [`quarter_f32s`].
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn avx2_f64s<const GATHERS: bool>(columns: *const i32, x: *const f64) -> __m256d {
    // SAFETY: the caller's promises.
    unsafe { _mm256_set_m128d(quarter_f64s(columns.add(2), x), quarter_f64s(columns, x)) }
}

/// The elements of `x` at 16 columns.
///
/// # Safety
/// As for [`quarter_f32s`].
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2")]
pub(super) unsafe fn avx512_f32s<const GATHERS: bool>(columns: *const i32, x: *const f32) -> __m512 {
    // SAFETY: the caller's promises.
    unsafe {
        if GATHERS {
            return _mm512_i32gather_ps::<4>(_mm512_loadu_epi32(columns), x);
        }
        let (first, second) = (avx2_f32s::<false>(columns, x), avx2_f32s::<false>(columns.add(8), x));
        _mm512_insertf32x8::<1>(_mm512_castps256_ps512(first), second)
    }
}

/// The elements of `x` at 8 columns.
///
/// # Safety
/// As for [`quarter_f32s`].
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2")]
pub(super) unsafe fn avx512_f64s<const GATHERS: bool>(columns: *const i32, x: *const f64) -> __m512d {
    // SAFETY: the caller's promises.
    unsafe {
        if GATHERS {
            return _mm512_i32gather_pd::<8>(_mm256_loadu_epi32(columns), x);
        }
        let (first, second) = (avx2_f64s::<false>(columns, x), avx2_f64s::<false>(columns.add(4), x));
        _mm512_insertf64x4::<1>(_mm512_castpd256_pd512(first), second)
    }
}

macro_rules! last_elements {
    ($name:ident, $t:ty, $vector:ty, $lanes:literal lanes, features $features:literal,
     [$elements:ident, $live:ident, $load:ident, $store:ident]) => {
        /// The elements of `x` at `columns`, fewer than a vector, and the first ones of `x` in the other lanes.
        ///
        /// # Safety
        /// The columns may be read, and are below the length of `x`, which is not 0.
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) unsafe fn $name(columns: *const i32, len: usize, x: *const $t) -> $vector {
            let mut padded = [0; $lanes];
            // SAFETY: the caller's promises; lanes behind the columns are 0.
            unsafe {
                $store(padded.as_mut_ptr().cast(), $load($live(len), columns));
                $elements::<false>(padded.as_ptr(), x)
            }
        }
    };
}

last_elements!(last_avx512_f32s, f32, __m512, 16 lanes, features "avx512f,avx512bw,avx512dq,avx512vl,avx2",
    [avx512_f32s, lanes_of_16, _mm512_maskz_loadu_epi32, _mm512_storeu_epi32]);
last_elements!(last_avx512_f64s, f64, __m512d, 8 lanes, features "avx512f,avx512bw,avx512dq,avx512vl,avx2",
    [avx512_f64s, lanes_of_8, _mm256_maskz_loadu_epi32, _mm256_storeu_epi32]);
last_elements!(last_avx2_f32s, f32, __m256, 8 lanes, features "avx2",
    [avx2_f32s, f32_lanes, load_8_columns, _mm256_storeu_si256]);
last_elements!(last_avx2_f64s, f64, __m256d, 4 lanes, features "avx2",
    [avx2_f64s, short_f32_lanes, load_4_columns, _mm_storeu_si128]);
