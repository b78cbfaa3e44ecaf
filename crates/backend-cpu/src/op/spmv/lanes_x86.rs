//! Lanes of a vector by bits, for segmented scans: sums in those whose bit is set, the lanes some entries before those
//! of a vector, the lanes whose bit is set as the first ones, and the other way round. AVX2 has tables in place of
//! masks.

use std::arch::x86_64::*;

macro_rules! with_masks {
    ($vector:ty, $mask:ty, [$add:ident, $compress:ident, $expand:ident],
     [$add_live:ident, $compress_live:ident, $expand_live:ident]) => {
        /// `own + earlier` in the lanes whose bit is set, `own` in the others.
        #[inline]
        #[target_feature(enable = "avx512f")]
        pub(super) fn $add(bits: u64, own: $vector, earlier: $vector) -> $vector {
            $add_live(own, bits as $mask, own, earlier)
        }

        /// The lanes whose bit is set, side by side.
        #[inline]
        #[target_feature(enable = "avx512f")]
        pub(super) fn $compress(bits: u64, lanes: $vector) -> $vector {
            $compress_live(bits as $mask, lanes)
        }

        /// The first lanes in those whose bit is set, zero in the others.
        #[inline]
        #[target_feature(enable = "avx512f")]
        pub(super) fn $expand(bits: u64, lanes: $vector) -> $vector {
            $expand_live(bits as $mask, lanes)
        }
    };
}

with_masks!(
    __m512,
    u16,
    [add_16_f32s, compress_16_f32s, expand_16_f32s],
    [_mm512_mask_add_ps, _mm512_maskz_compress_ps, _mm512_maskz_expand_ps]
);
with_masks!(
    __m512d,
    u8,
    [add_8_f64s, compress_8_f64s, expand_8_f64s],
    [_mm512_mask_add_pd, _mm512_maskz_compress_pd, _mm512_maskz_expand_pd]
);

/// The lanes `DISTANCE` before those of `own`, the first of which are in the vectors before, the last one first.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn before_16_f32s<const DISTANCE: usize>(own: __m512, before: [__m512; 2]) -> __m512 {
    let (own, before) = (_mm512_castps_si512(own), _mm512_castps_si512(before[0]));
    _mm512_castsi512_ps(match DISTANCE {
        1 => _mm512_alignr_epi32::<15>(own, before),
        2 => _mm512_alignr_epi32::<14>(own, before),
        4 => _mm512_alignr_epi32::<12>(own, before),
        8 => _mm512_alignr_epi32::<8>(own, before),
        _ => before,
    })
}

/// As [`before_16_f32s`].
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn before_8_f64s<const DISTANCE: usize>(own: __m512d, before: [__m512d; 2]) -> __m512d {
    let (own, last) = (_mm512_castpd_si512(own), _mm512_castpd_si512(before[0]));
    match DISTANCE {
        1 => _mm512_castsi512_pd(_mm512_alignr_epi64::<7>(own, last)),
        2 => _mm512_castsi512_pd(_mm512_alignr_epi64::<6>(own, last)),
        4 => _mm512_castsi512_pd(_mm512_alignr_epi64::<4>(own, last)),
        8 => before[0],
        _ => before[1],
    }
}

/// As [`before_16_f32s`].
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn before_8_f32s<const DISTANCE: usize>(own: __m256, before: [__m256; 2]) -> __m256 {
    let (own, last) = (_mm256_castps_si256(own), _mm256_castps_si256(before[0]));
    let middle = _mm256_permute2x128_si256::<0x21>(last, own);
    match DISTANCE {
        1 => _mm256_castsi256_ps(_mm256_alignr_epi8::<12>(own, middle)),
        2 => _mm256_castsi256_ps(_mm256_alignr_epi8::<8>(own, middle)),
        4 => _mm256_castsi256_ps(middle),
        8 => before[0],
        _ => before[1],
    }
}

/// As [`before_16_f32s`], up to a distance of 8.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn before_4_f64s<const DISTANCE: usize>(own: __m256d, before: [__m256d; 2]) -> __m256d {
    let middle = _mm256_permute2f128_pd::<0x21>(before[0], own);
    match DISTANCE {
        1 => _mm256_shuffle_pd::<0b0101>(middle, own),
        2 => middle,
        4 => before[0],
        _ => before[1],
    }
}

/// For each number of as many bits as lanes: all bits of the lanes whose bit is set.
const fn live<const BITS: usize, const LANES: usize>() -> [[u8; LANES]; BITS] {
    let mut lanes = [[0; LANES]; BITS];
    let mut k = 0;
    while k < BITS * LANES {
        if (k / LANES) >> (k % LANES) & 1 == 1 {
            lanes[k / LANES][k % LANES] = u8::MAX;
        }
        k += 1;
    }
    lanes
}

/// For each number of as many bits as lanes: the lanes whose bit is set, in the order of their words, of which each has
/// 8 / `LANES`; or, if `EXPANDED`, in the lanes whose bit is set the number of those before.
const fn places<const BITS: usize, const LANES: usize, const EXPANDED: bool>() -> [[u8; 8]; BITS] {
    let words = 8 / LANES;
    let mut places = [[0; 8]; BITS];
    let mut bits = 0;
    while bits < BITS {
        let (mut next, mut word) = (0, 0);
        while word < 8 {
            if bits >> (word / words) & 1 == 1 {
                let (from, to) = if EXPANDED { (next, word) } else { (word, next) };
                places[bits][to] = from as u8;
                next += 1;
            }
            word += 1;
        }
        bits += 1;
    }
    places
}

static LIVE_8: [[u8; 8]; 256] = live();
static LIVE_4: [[u8; 4]; 16] = live();
static COMPRESSED_8: [[u8; 8]; 256] = places::<256, 8, false>();
static COMPRESSED_4: [[u8; 8]; 16] = places::<16, 4, false>();
static EXPANDED_8: [[u8; 8]; 256] = places::<256, 8, true>();
static EXPANDED_4: [[u8; 8]; 16] = places::<16, 4, true>();

/// Eight bytes as the words of a vector.
#[inline]
#[target_feature(enable = "avx2")]
fn words(bytes: &[u8; 8]) -> __m256i {
    // SAFETY: there are eight bytes.
    _mm256_cvtepu8_epi32(unsafe { _mm_loadl_epi64(bytes.as_ptr().cast()) })
}

/// All bits of the lanes whose bit is set.
#[inline]
#[target_feature(enable = "avx2")]
fn live_f32s(bits: u64) -> __m256 {
    // SAFETY: a line of the table has eight bytes.
    let bytes = unsafe { _mm_loadl_epi64(LIVE_8[bits as usize].as_ptr().cast()) };
    _mm256_castsi256_ps(_mm256_cvtepi8_epi32(bytes))
}

/// As [`live_f32s`].
#[inline]
#[target_feature(enable = "avx2")]
fn live_f64s(bits: u64) -> __m256d {
    let bytes = _mm_cvtsi32_si128(i32::from_ne_bytes(LIVE_4[bits as usize]));
    _mm256_castsi256_pd(_mm256_cvtepi8_epi64(bytes))
}

/// `own + earlier` in the lanes whose bit is set, `own` in the others.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn add_8_f32s(bits: u64, own: __m256, earlier: __m256) -> __m256 {
    _mm256_add_ps(own, _mm256_and_ps(live_f32s(bits), earlier))
}

/// As [`add_8_f32s`].
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn add_4_f64s(bits: u64, own: __m256d, earlier: __m256d) -> __m256d {
    _mm256_add_pd(own, _mm256_and_pd(live_f64s(bits), earlier))
}

/// The lanes whose bit is set, side by side.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn compress_8_f32s(bits: u64, lanes: __m256) -> __m256 {
    _mm256_permutevar8x32_ps(lanes, words(&COMPRESSED_8[bits as usize]))
}

/// As [`compress_8_f32s`].
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn compress_4_f64s(bits: u64, lanes: __m256d) -> __m256d {
    let lanes = _mm256_castpd_ps(lanes);
    _mm256_castps_pd(_mm256_permutevar8x32_ps(lanes, words(&COMPRESSED_4[bits as usize])))
}

/// The first lanes in those whose bit is set, zero in the others.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn expand_8_f32s(bits: u64, lanes: __m256) -> __m256 {
    let lanes = _mm256_permutevar8x32_ps(lanes, words(&EXPANDED_8[bits as usize]));
    _mm256_and_ps(live_f32s(bits), lanes)
}

/// As [`expand_8_f32s`].
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn expand_4_f64s(bits: u64, lanes: __m256d) -> __m256d {
    let lanes = _mm256_permutevar8x32_ps(_mm256_castpd_ps(lanes), words(&EXPANDED_4[bits as usize]));
    _mm256_and_pd(live_f64s(bits), _mm256_castps_pd(lanes))
}
