//! Operations on vectors of AVX2 that take several instructions: rounded products, and the first lanes of a vector.

use std::arch::x86_64::*;

/// Two elements, and zeros.
///
/// # Safety
/// They may be read.
#[inline]
#[target_feature(enable = "sse2")]
pub(super) unsafe fn load_pair(from: *const f32) -> __m128 {
    // SAFETY: the caller's promise; the load has no alignment.
    _mm_castpd_ps(unsafe { _mm_load_sd(from.cast()) })
}

/// Stores the first two elements.
///
/// # Safety
/// They may be written.
#[inline]
#[target_feature(enable = "sse2")]
pub(super) unsafe fn store_pair(to: *mut f32, elements: __m128) {
    // SAFETY: the caller's promise; the store has no alignment.
    unsafe { _mm_storel_pd(to.cast(), _mm_castps_pd(elements)) };
}

/// A vector of 256 bits whose first half is `half`; the rest is not defined.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn half_of_f64s(half: __m128d) -> __m256i {
    _mm256_castpd_si256(_mm256_castpd128_pd256(half))
}

/// A vector of 256 bits whose first half is `half`; the rest is not defined.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn half_of_f32s(half: __m128) -> __m256i {
    _mm256_castps_si256(_mm256_castps128_ps256(half))
}

macro_rules! rounded {
    ($name:ident, $vector:ty, [$add:ident, $mul:ident]) => {
        /// Sums of columns that fill no block of 32 have rounded products, as those of other instruction sets.
        #[inline]
        #[target_feature(enable = "avx2")]
        pub(super) fn $name(value: $vector, row: $vector, sums: $vector) -> $vector {
            $add(sums, $mul(value, row))
        }
    };
}

rounded!(add_rounded_f64s, __m256d, [_mm256_add_pd, _mm256_mul_pd]);
rounded!(add_rounded_f32s, __m256, [_mm256_add_ps, _mm256_mul_ps]);
rounded!(add_rounded_2_f64s, __m128d, [_mm_add_pd, _mm_mul_pd]);
rounded!(add_rounded_4_f32s, __m128, [_mm_add_ps, _mm_mul_ps]);

macro_rules! first_lanes {
    ($lanes:ident, $load:ident, $t:ty, $vector:ty, $mask:ty,
     [$compare:ident, $set:ident, $numbers:expr, $load_live:ident]) => {
        /// The first `len` lanes, or all if there are fewer.
        #[inline]
        #[target_feature(enable = "avx2")]
        pub(super) fn $lanes(len: usize) -> $mask {
            $compare($set(len.min(8) as _), $numbers)
        }

        /// Live lanes from memory, zero in the others.
        ///
        /// # Safety
        /// Live lanes may be read.
        #[inline]
        #[target_feature(enable = "avx2")]
        pub(super) unsafe fn $load(live: $mask, from: *const $t) -> $vector {
            // SAFETY: the caller's promise.
            unsafe { $load_live(from, live) }
        }
    };
}

first_lanes!(
    lanes_of_4_f64s,
    load_4_f64s,
    f64,
    __m256d,
    __m256i,
    [_mm256_cmpgt_epi64, _mm256_set1_epi64x, _mm256_setr_epi64x(0, 1, 2, 3), _mm256_maskload_pd]
);
first_lanes!(
    lanes_of_8_f32s,
    load_8_f32s,
    f32,
    __m256,
    __m256i,
    [_mm256_cmpgt_epi32, _mm256_set1_epi32, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_maskload_ps]
);
first_lanes!(
    lanes_of_2_f64s,
    load_2_f64s,
    f64,
    __m128d,
    __m128i,
    [_mm_cmpgt_epi64, _mm_set1_epi64x, _mm_set_epi64x(1, 0), _mm_maskload_pd]
);
first_lanes!(
    lanes_of_4_f32s,
    load_4_f32s,
    f32,
    __m128,
    __m128i,
    [_mm_cmpgt_epi32, _mm_set1_epi32, _mm_setr_epi32(0, 1, 2, 3), _mm_maskload_ps]
);

/// Stores live lanes, which are the first ones: by stores of fewer lanes, since masked ones take some 20 cycles on AMD's
/// processors.
///
/// # Safety
/// Live lanes may be written.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn store_8_f32s(to: *mut f32, live: __m256i, lanes: __m256) {
    let count = _mm256_movemask_ps(_mm256_castsi256_ps(live)).count_ones() as usize;
    let (low, high) = (_mm256_castps256_ps128(lanes), _mm256_extractf128_ps::<1>(lanes));
    // SAFETY: the caller's promise.
    unsafe {
        if count < 4 {
            return store_first(to, count, low);
        }
        _mm_storeu_ps(to, low);
        store_first(to.add(4), count - 4, high);
    }
}

/// Stores the first `count` lanes, at most 3 or all.
///
/// # Safety
/// They may be written.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn store_first(to: *mut f32, count: usize, lanes: __m128) {
    // SAFETY: the caller's promise.
    unsafe {
        match count {
            0 => {}
            1 => _mm_store_ss(to, lanes),
            2 => store_pair(to, lanes),
            3 => {
                store_pair(to, lanes);
                _mm_store_ss(to.add(2), _mm_movehl_ps(lanes, lanes));
            }
            _ => _mm_storeu_ps(to, lanes),
        }
    }
}

/// As [`store_8_f32s`].
///
/// # Safety
/// Live lanes may be written.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn store_4_f32s(to: *mut f32, live: __m128i, lanes: __m128) {
    let count = _mm_movemask_ps(_mm_castsi128_ps(live)).count_ones() as usize;
    // SAFETY: the caller's promise.
    unsafe { store_first(to, count, lanes) };
}

/// As [`store_8_f32s`].
///
/// # Safety
/// Live lanes may be written.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn store_4_f64s(to: *mut f64, live: __m256i, lanes: __m256d) {
    let (low, high) = (_mm256_castpd256_pd128(lanes), _mm256_extractf128_pd::<1>(lanes));
    // SAFETY: the caller's promise.
    unsafe {
        match _mm256_movemask_pd(_mm256_castsi256_pd(live)) {
            0 => {}
            0b1 => _mm_store_sd(to, low),
            0b11 => _mm_storeu_pd(to, low),
            0b111 => {
                _mm_storeu_pd(to, low);
                _mm_store_sd(to.add(2), high);
            }
            _ => _mm256_storeu_pd(to, lanes),
        }
    }
}

/// As [`store_8_f32s`].
///
/// # Safety
/// Live lanes may be written.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn store_2_f64s(to: *mut f64, live: __m128i, lanes: __m128d) {
    // SAFETY: the caller's promise.
    unsafe {
        match _mm_movemask_pd(_mm_castsi128_pd(live)) {
            0 => {}
            0b1 => _mm_store_sd(to, lanes),
            _ => _mm_storeu_pd(to, lanes),
        }
    }
}
