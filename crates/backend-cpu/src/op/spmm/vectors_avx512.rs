//! Operations on vectors of AVX-512 that take several instructions: halves, lanes across two vectors, and products of
//! complex numbers.

use sparse_core::{c32, c64};
use std::arch::x86_64::*;

/// A bit for each of `parts` lanes, or for all 8 if there are more.
#[inline(always)]
pub(super) fn lanes_of_8(parts: usize) -> u8 {
    u8::MAX >> (8 - parts.min(8))
}

/// A bit for each of `parts` lanes, or for all 16 if there are more.
#[inline(always)]
pub(super) fn lanes_of_16(parts: usize) -> u16 {
    u16::MAX >> (16 - parts.min(16))
}

/// A vector of 512 bits whose first half is `half`; the rest is not defined.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn half_of_f64s(half: __m256d) -> __m512i {
    _mm512_castpd_si512(_mm512_castpd256_pd512(half))
}

/// A vector of 512 bits whose first half is `half`; the rest is not defined.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn half_of_f32s(half: __m256) -> __m512i {
    _mm512_castps_si512(_mm512_castps256_ps512(half))
}

/// A vector of 512 bits whose first quarter is `quarter`; the rest is not defined.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn quarter_of_f64s(quarter: __m128d) -> __m512i {
    _mm512_castpd_si512(_mm512_castpd128_pd512(quarter))
}

/// A vector of 512 bits whose first quarter is `quarter`; the rest is not defined.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn quarter_of_f32s(quarter: __m128) -> __m512i {
    _mm512_castps_si512(_mm512_castps128_ps512(quarter))
}

macro_rules! rotate {
    ($name:ident, $vector:ty, [$number:ty; $lanes:literal], [$load:ident, $permute:ident]) => {
        /// The lanes of two vectors from lane `by` of the first one on.
        #[inline]
        #[target_feature(enable = "avx512f,avx512vl")]
        pub(super) fn $name(low: $vector, high: $vector, by: usize) -> $vector {
            let lanes: [$number; $lanes] = std::array::from_fn(|lane| (lane + by) as $number);
            // SAFETY: as many numbers as lanes.
            $permute(low, unsafe { $load(lanes.as_ptr()) }, high)
        }
    };
}

rotate!(rotate_f64s, __m512d, [i64; 8], [_mm512_loadu_epi64, _mm512_permutex2var_pd]);
rotate!(rotate_f32s, __m512, [i32; 16], [_mm512_loadu_epi32, _mm512_permutex2var_ps]);

macro_rules! complex {
    ($t:ty, $vector:ty, [$set:ident, $product:ident, $add_product:ident],
     [$broadcast:ident, $swap:expr, $mul:ident, $fmaddsub:ident, $add:ident]) => {
        /// The real part of a number in all lanes, and its imaginary part.
        #[inline]
        #[target_feature(enable = "avx512f")]
        pub(super) fn $set(value: $t) -> [$vector; 2] {
            [$broadcast(value.re), $broadcast(value.im)]
        }

        /// The products of a number with the numbers of a vector, whose parts alternate.
        #[inline]
        #[target_feature(enable = "avx512f")]
        pub(super) fn $product([re, im]: [$vector; 2], numbers: $vector) -> $vector {
            $fmaddsub(re, numbers, $mul(im, $swap(numbers)))
        }

        /// The sums and the products of a number with the numbers of a vector.
        #[inline]
        #[target_feature(enable = "avx512f")]
        pub(super) fn $add_product(value: [$vector; 2], numbers: $vector, sums: $vector) -> $vector {
            $add(sums, $product(value, numbers))
        }
    };
}

complex!(
    c64,
    __m512d,
    [set_c64, product_c64, add_product_c64],
    [_mm512_set1_pd, _mm512_permute_pd::<0b0101_0101>, _mm512_mul_pd, _mm512_fmaddsub_pd, _mm512_add_pd]
);
complex!(
    c32,
    __m512,
    [set_c32, product_c32, add_product_c32],
    [_mm512_set1_ps, _mm512_permute_ps::<0b1011_0001>, _mm512_mul_ps, _mm512_fmaddsub_ps, _mm512_add_ps]
);
