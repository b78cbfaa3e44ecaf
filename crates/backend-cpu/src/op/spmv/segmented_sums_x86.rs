//! The segmented scan of `segmented_sums` for `f32` and `f64` with 32-bit columns in the registers of AVX2 and AVX-512.
//!
//! Lane `k` of a vector first has the product of entry `k`. Each step adds the lane that is 1, 2, 4, 8 or 16 entries
//! before it, of this vector or one before, if a bit says that all entries between are of one row. Then the last entry
//! of a row has its sum, whose tree depends on the row's length alone.

use super::elements_x86::*;
use super::lanes_x86::*;
use super::long_row::{AHEAD, X_AHEAD};
use super::masked_x86::*;
use super::segmented_sums::{Prefetch, ShortRows};
use crate::simd::{Simd, fetch_line};
use std::arch::x86_64::*;

/// The most steps, for rows of up to 32 entries.
const STEPS: usize = 5;

/// For each step, a bit for each of 64 entries, set if it adds.
#[derive(Clone, Copy, Default)]
struct Masks([u64; STEPS]);

impl Masks {
    /// The masks of the next 64 entries, whose bits say which of them are the first of their rows.
    #[inline(always)]
    fn next(&self, starts: u64) -> Self {
        let mut masks = [!starts; STEPS];
        for step in 1..STEPS {
            let distance = 1 << (step - 1);
            masks[step] =
                masks[step - 1] & (masks[step - 1] << distance | self.0[step - 1] >> (64 - distance));
        }
        Self(masks)
    }
}

macro_rules! scans {
    ($module:ident, $t:ty, $vector:ty, $lanes:literal lanes, features $features:literal,
     [$zero:ident, $load:ident, $live:ident, $load_live:ident, $store:ident, $mul:ident],
     [$elements:ident, $last_elements:ident],
     [$add_live:ident, $before:ident, $compress:ident, $expand:ident]) => {
        pub(super) mod $module {
            use super::*;

            /// The bits of a vector's lanes.
            const LIVE: u64 = (1 << $lanes) - 1;

            /// Writes the sums of the rows and returns their number.
            ///
            /// # Safety
            /// The processor has the instruction set; columns and values have one length; every column is below the
            /// length of `x`; no row is longer than `longest`, which [`scanned`](super::super::segmented_sums::scanned)
            /// bounds; there is a vector more of `sums` than rows.
            #[inline]
            #[target_feature(enable = $features)]
            pub(in super::super) unsafe fn sums(rows: &ShortRows<'_, $t, i32>, sums: &mut [$t]) -> usize {
                // SAFETY: the caller's promises.
                unsafe {
                    match (Simd::has_fast_gathers(), rows.prefetch) {
                        (true, _) => sums_of::<true, true, false>(rows, sums),
                        (false, Prefetch::Nothing) => sums_of::<false, false, false>(rows, sums),
                        (false, Prefetch::Entries) => sums_of::<false, true, false>(rows, sums),
                        (false, Prefetch::EntriesAndX) => sums_of::<false, true, true>(rows, sums),
                    }
                }
            }

            /// As [`sums`], with elements of x by `GATHERS` or by loads, and with columns and values prefetched if it
            /// `FETCHES` them, and elements of x if it `FETCHES_X`.
            ///
            /// # Safety
            /// As for [`sums`].
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn sums_of<const GATHERS: bool, const FETCHES: bool, const FETCHES_X: bool>(
                rows: &ShortRows<'_, $t, i32>,
                sums: &mut [$t],
            ) -> usize {
                // SAFETY: the caller's promises; no row is longer than two to the power of the steps.
                unsafe {
                    match rows.longest {
                        ..=4 => scan::<2, GATHERS, FETCHES, FETCHES_X>(rows, sums),
                        ..=8 => scan::<3, GATHERS, FETCHES, FETCHES_X>(rows, sums),
                        ..=16 => scan::<4, GATHERS, FETCHES, FETCHES_X>(rows, sums),
                        _ => scan::<STEPS, GATHERS, FETCHES, FETCHES_X>(rows, sums),
                    }
                }
            }

            /// Writes the sums of rows of up to two to the power of `N` entries and returns the number of rows.
            ///
            /// A function for each set of constants, so that operands stay in registers.
            ///
            /// # Safety
            /// As for [`sums`].
            #[inline(never)]
            #[target_feature(enable = $features)]
            unsafe fn scan<
                const N: usize,
                const GATHERS: bool,
                const FETCHES: bool,
                const FETCHES_X: bool,
            >(
                rows: &ShortRows<'_, $t, i32>,
                sums: &mut [$t],
            ) -> usize {
                let (len, starts) = (rows.columns.len(), rows.starts);
                let (mut masks, mut before) = (Masks::default(), [[$zero(); 2]; STEPS]);
                let mut next = sums.as_mut_ptr();
                let mut add = |lane: usize, own: $vector, masks: Masks, ends: u64| {
                    let scanned = step::<N>(own, masks.0.map(|mask| mask >> lane & LIVE), &mut before);
                    let ends = ends >> lane & LIVE;
                    // SAFETY: a vector behind the sums of rows before is within `sums`.
                    unsafe {
                        $store(next, $compress(ends, scanned));
                        next = next.add(ends.count_ones() as usize);
                    }
                };
                for (word, bits) in starts.windows(2).enumerate() {
                    masks = masks.next(bits[0]);
                    let ends = bits[0] >> 1 | bits[1] << 63;
                    for lane in (0..64).step_by($lanes) {
                        // SAFETY: as many entries as bits, but for the last word.
                        let own = unsafe { products::<GATHERS, FETCHES, FETCHES_X>(rows, 64 * word + lane) };
                        add(lane, own, masks, ends);
                    }
                }
                if let Some(bits) = starts.last() {
                    masks = masks.next(*bits);
                    let first = 64 * (starts.len() - 1);
                    let ends = bits >> 1 | 1 << (len - 1 - first);
                    for at in (first..len).step_by($lanes) {
                        // SAFETY: the caller's promise.
                        let own = unsafe {
                            match at + $lanes <= len {
                                true => products::<GATHERS, FETCHES, FETCHES_X>(rows, at),
                                false => last_products(rows, at),
                            }
                        };
                        add(at - first, own, masks, ends);
                    }
                }
                // SAFETY: both are of `sums`.
                unsafe { next.offset_from_unsigned(sums.as_ptr()) }
            }

            /// The products of the vector of entries from `at` on.
            ///
            /// # Safety
            /// There is a vector of entries from `at` on; every column is below the length of `x`.
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn products<const GATHERS: bool, const FETCHES: bool, const FETCHES_X: bool>(
                rows: &ShortRows<'_, $t, i32>,
                at: usize,
            ) -> $vector {
                if FETCHES {
                    fetch_line(rows.columns, at + AHEAD);
                    fetch_line(rows.values, at + AHEAD);
                }
                if FETCHES_X {
                    let ahead = X_AHEAD.min(rows.columns.len() - $lanes - at);
                    // SAFETY: so many columns are left.
                    unsafe { fetch_elements::<$lanes, $t>(rows.columns.as_ptr().add(at + ahead), rows.x) };
                }
                // SAFETY: the caller's promises.
                unsafe {
                    let x = $elements::<GATHERS>(rows.columns.as_ptr().add(at), rows.x.as_ptr());
                    $mul($load(rows.values.as_ptr().add(at)), x)
                }
            }

            /// The products of the last entries, from `at` on, fewer than a vector.
            ///
            /// # Safety
            /// Every column is below the length of `x`, which has an element.
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn last_products(rows: &ShortRows<'_, $t, i32>, at: usize) -> $vector {
                let len = rows.columns.len() - at;
                // SAFETY: the caller's promises; live lanes are entries.
                unsafe {
                    let x = $last_elements(rows.columns.as_ptr().add(at), len, rows.x.as_ptr());
                    $mul($load_live($live(len), rows.values.as_ptr().add(at)), x)
                }
            }

            /// The sums of a vector of products with those of up to 3, 7, 15 or 31 entries before each. `before` has,
            /// for each step, the two vectors that it added to before, the last one first.
            #[inline]
            #[target_feature(enable = $features)]
            fn step<const N: usize>(
                own: $vector,
                masks: [u64; STEPS],
                before: &mut [[$vector; 2]; STEPS],
            ) -> $vector {
                let mut sums = $add_live(masks[0], own, $before::<1>(own, before[0]));
                before[0][0] = own;
                let pairs = sums;
                sums = $add_live(masks[1], pairs, $before::<2>(pairs, before[1]));
                before[1][0] = pairs;
                if N > 2 {
                    let fours = sums;
                    sums = $add_live(masks[2], fours, $before::<4>(fours, before[2]));
                    before[2][0] = fours;
                }
                if N > 3 {
                    let eights = sums;
                    sums = $add_live(masks[3], eights, $before::<8>(eights, before[3]));
                    before[3] = [eights, before[3][0]];
                }
                if N > 4 {
                    let sixteens = sums;
                    sums = $add_live(masks[4], sixteens, $before::<16>(sixteens, before[4]));
                    before[4] = [sixteens, before[4][0]];
                }
                sums
            }

            /// Writes the sums of all rows: in turn those that are `filled`, whose bit is set, and zero.
            ///
            /// # Safety
            /// The processor has the instruction set; there are as many `filled` as bits are set, and a vector more,
            /// and a vector more of `sums` than bits of rows that are filled.
            #[inline]
            #[target_feature(enable = $features)]
            pub(in super::super) unsafe fn expand(bits: &[u64], filled: &[$t], sums: &mut [$t]) {
                let mut next = filled.as_ptr();
                for (at, sums) in (0..).step_by($lanes).zip(sums.chunks_exact_mut($lanes)) {
                    let bits = bits.get(at / 64).map_or(0, |bits| bits >> (at % 64) & LIVE);
                    // SAFETY: the caller's promises; the chunk is a vector.
                    unsafe {
                        $store(sums.as_mut_ptr(), $expand(bits, $load(next)));
                        next = next.add(bits.count_ones() as usize);
                    }
                }
            }
        }
    };
}

scans!(avx512_f32, f32, __m512, 16 lanes, features "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt",
    [_mm512_setzero_ps, _mm512_loadu_ps, lanes_of_16, _mm512_maskz_loadu_ps, _mm512_storeu_ps, _mm512_mul_ps],
    [avx512_f32s, last_avx512_f32s],
    [add_16_f32s, before_16_f32s, compress_16_f32s, expand_16_f32s]);
scans!(avx512_f64, f64, __m512d, 8 lanes, features "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt",
    [_mm512_setzero_pd, _mm512_loadu_pd, lanes_of_8, _mm512_maskz_loadu_pd, _mm512_storeu_pd, _mm512_mul_pd],
    [avx512_f64s, last_avx512_f64s],
    [add_8_f64s, before_8_f64s, compress_8_f64s, expand_8_f64s]);
scans!(avx2_f32, f32, __m256, 8 lanes, features "avx2,popcnt",
    [_mm256_setzero_ps, _mm256_loadu_ps, f32_lanes, load_f32s, _mm256_storeu_ps, _mm256_mul_ps],
    [avx2_f32s, last_avx2_f32s],
    [add_8_f32s, before_8_f32s, compress_8_f32s, expand_8_f32s]);
scans!(avx2_f64, f64, __m256d, 4 lanes, features "avx2,popcnt",
    [_mm256_setzero_pd, _mm256_loadu_pd, f64_lanes, load_f64s, _mm256_storeu_pd, _mm256_mul_pd],
    [avx2_f64s, last_avx2_f64s],
    [add_4_f64s, before_4_f64s, compress_4_f64s, expand_4_f64s]);
