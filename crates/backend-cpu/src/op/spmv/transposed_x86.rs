//! Neighbouring rows with the same short runs, a row in each lane of the registers of AVX2 or AVX-512, for processors
//! without fast gathers: as many rows as lanes are loaded as whole vectors, and entry `k` of all of them is taken from
//! each by a permutation.

use crate::primitive::update::Update;
use crate::simd::{Isa, Simd, fetch};
use bytemuck::{cast, cast_slice};
use sparse_core::{DType, Scalar};
use std::arch::x86_64::*;

/// Bytes by which values are prefetched ahead.
const AHEAD: usize = 4096;

/// The most entries of a row, with AVX-512. AVX2 has fewer, since a vector then takes more permutations than its rows
/// take loads: 300 000 rows of 6 took 131 µs in place of 179 (`f32`), but 576 in place of 226 (`f64`).
const LONGEST: usize = 7;

/// Writes the sums of the rows from `first` on, in each of which entry `k` is `distances[k]` right of the diagonal;
/// returns false if `S` has no vectors of `T`, rows are longer than [`LONGEST`], or fewer than lanes.
///
/// # Safety
/// The processor has `S`; there are values for all rows, whose columns are below the length of `x`.
#[inline(always)]
pub(super) unsafe fn write<S: Isa, T: Scalar>(
    distances: &[isize],
    first: usize,
    values: &[T],
    x: &[T],
    y: &mut [T],
    update: Update<T::Acc>,
) -> bool {
    // SAFETY: the caller's promises; the kernel is that of `S` and `T`.
    unsafe {
        match (S::SIMD, T::DTYPE) {
            (Simd::Avx512, DType::F32) => of_f32::write(distances, first, values, x, y, update),
            (Simd::Avx512, DType::F64) => of_f64::write(distances, first, values, x, y, update),
            (Simd::Avx2, DType::F32) => avx2_f32::write(distances, first, values, x, y, update),
            (Simd::Avx2, DType::F64) => avx2_f64::write(distances, first, values, x, y, update),
            _ => false,
        }
    }
}

/// Makes a module for a type and an instruction set. `$number` is the type of the lanes' numbers, by which `$permute`
/// takes entry `k` of each row out of the vectors that have the rows.
macro_rules! transposed {
    ($module:ident, $t:ty, $vector:ty, $lanes:literal lanes, mask $mask:ty, number $number:ty, up to $longest:literal,
     features $features:literal,
     [$zero:ident, $load:ident, $store:ident, $fma:ident, $permute:ident, $load_numbers:ident]) => {
        mod $module {
            use super::*;

            const LANES: usize = $lanes;

            /// # Safety
            /// As for [`super::write`].
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) unsafe fn write<T: Scalar>(
                distances: &[isize],
                first: usize,
                values: &[T],
                x: &[T],
                y: &mut [T],
                update: Update<T::Acc>,
            ) -> bool {
                let (values, x): (&[$t], &[$t]) = (cast_slice(values), cast_slice(x));
                // SAFETY: the caller's promises; as many distances as entries.
                unsafe {
                    match distances.len() {
                        entries if entries > $longest => false,
                        1 => rows::<1, T>(distances, first, values, x, y, update),
                        2 => rows::<2, T>(distances, first, values, x, y, update),
                        3 => rows::<3, T>(distances, first, values, x, y, update),
                        4 => rows::<4, T>(distances, first, values, x, y, update),
                        5 => rows::<5, T>(distances, first, values, x, y, update),
                        6 => rows::<6, T>(distances, first, values, x, y, update),
                        LONGEST => rows::<LONGEST, T>(distances, first, values, x, y, update),
                        _ => false,
                    }
                }
            }

            /// [`write`] for rows of `N` entries.
            ///
            /// # Safety
            /// As for [`write`]; there are `N` distances.
            #[inline(never)]
            #[target_feature(enable = $features)]
            unsafe fn rows<const N: usize, T: Scalar>(
                distances: &[isize],
                first: usize,
                values: &[$t],
                x: &[$t],
                y: &mut [T],
                update: Update<T::Acc>,
            ) -> bool {
                let len = y.len();
                if len < LANES {
                    return false;
                }
                let sums_from = |row: usize| {
                    let values = &values[row * N..];
                    fetch(values, AHEAD / size_of::<$t>(), LANES * N);
                    // SAFETY: the caller's promises: there are values and elements for as many rows as lanes.
                    unsafe { sums::<N>(distances, values, x.as_ptr().wrapping_add(first + row)) }
                };
                let (blocks, rest) = y.as_chunks_mut::<LANES>();
                for (k, y) in blocks.iter_mut().enumerate() {
                    update.write_all(y, &sums_from(k * LANES).map(cast));
                }
                if !rest.is_empty() {
                    // With rows before them, which are written already.
                    let sums = sums_from(len - LANES).map(cast);
                    update.write_all(rest, &sums[LANES - rest.len()..]);
                }
                true
            }

            /// The sums of as many rows as lanes, the first of which has its diagonal at `x`.
            ///
            /// # Safety
            /// The processor has the instruction set; there are values and elements for as many rows as lanes, and `N`
            /// distances.
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn sums<const N: usize>(distances: &[isize], values: &[$t], x: *const $t) -> [$t; LANES] {
                let mut sums = [0.0; LANES];
                // SAFETY: the caller's promises.
                unsafe {
                    let vectors: [_; N] = std::array::from_fn(|j| $load(values.as_ptr().add(j * LANES)));
                    let mut all = $zero();
                    for entry in 0..N {
                        let x = $load(x.wrapping_offset(distances[entry]));
                        all = $fma(entries::<N>(&vectors, entry), x, all);
                    }
                    $store(sums.as_mut_ptr(), all);
                }
                sums
            }

            /// The places of the entries of as many rows of `N` entries as lanes, in as many vectors.
            struct Places<const N: usize>;

            impl<const N: usize> Places<N> {
                /// For each entry, the lane in which each row has it.
                const LANE_OF_ROW: [[$number; LANES]; N] = {
                    let mut lanes = [[0; LANES]; N];
                    let mut position = 0;
                    while position < LANES * N {
                        lanes[position % N][position / N] = (position % LANES) as $number;
                        position += 1;
                    }
                    lanes
                };

                /// For each entry and vector, the rows that have it there.
                const ROWS: [[$mask; N]; N] = {
                    let mut rows = [[0; N]; N];
                    let mut position = 0;
                    while position < LANES * N {
                        rows[position % N][position / LANES] |= 1 << (position / N);
                        position += 1;
                    }
                    rows
                };
            }

            /// Entry `entry` of each row, of rows of `N` entries that lie in these vectors.
            #[inline]
            #[target_feature(enable = $features)]
            fn entries<const N: usize>(vectors: &[$vector; N], entry: usize) -> $vector {
                // SAFETY: as many numbers as lanes.
                let lanes = unsafe { $load_numbers(Places::<N>::LANE_OF_ROW[entry].as_ptr().cast()) };
                let mut all = $zero();
                for (&rows, &vector) in Places::<N>::ROWS[entry].iter().zip(vectors) {
                    all = $permute(all, rows, lanes, vector);
                }
                all
            }
        }
    };
}

transposed!(of_f32, f32, __m512, 16 lanes, mask u16, number i32, up to 7,
    features "avx512f,avx512bw,avx512dq,avx512vl",
    [_mm512_setzero_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_fmadd_ps,
     _mm512_mask_permutexvar_ps, _mm512_loadu_si512]);
transposed!(of_f64, f64, __m512d, 8 lanes, mask u8, number i64, up to 7,
    features "avx512f,avx512bw,avx512dq,avx512vl",
    [_mm512_setzero_pd, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_fmadd_pd,
     _mm512_mask_permutexvar_pd, _mm512_loadu_si512]);
transposed!(avx2_f32, f32, __m256, 8 lanes, mask u8, number i32, up to 6, features "avx2,fma",
    [_mm256_setzero_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_fmadd_ps, permute_f32s, _mm256_loadu_si256]);
transposed!(avx2_f64, f64, __m256d, 4 lanes, mask u8, number i64, up to 5, features "avx2,fma",
    [_mm256_setzero_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_fmadd_pd, permute_f64s, _mm256_loadu_si256]);

/// The lanes of `from` with these numbers where a bit is set, `others` elsewhere. All is constant but `others` and
/// `from`, so that the compiler finds fewer shuffles.
#[inline]
#[target_feature(enable = "avx2")]
fn permute_f32s(others: __m256, bits: u8, numbers: __m256i, from: __m256) -> __m256 {
    let bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    let live = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(bits.into()), bit), bit);
    _mm256_blendv_ps(others, _mm256_permutevar8x32_ps(from, numbers), _mm256_castsi256_ps(live))
}

/// As [`permute_f32s`].
#[inline]
#[target_feature(enable = "avx2")]
fn permute_f64s(others: __m256d, bits: u8, numbers: __m256i, from: __m256d) -> __m256d {
    let bit = _mm256_setr_epi64x(1, 2, 4, 8);
    let live = _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(bits.into()), bit), bit);
    // The words of number k are 2k and 2k + 1.
    let twice = _mm256_add_epi64(numbers, numbers);
    let words =
        _mm256_or_si256(twice, _mm256_slli_epi64::<32>(_mm256_add_epi64(twice, _mm256_set1_epi64x(1))));
    let permuted = _mm256_permutevar8x32_ps(_mm256_castpd_ps(from), words);
    _mm256_blendv_pd(others, _mm256_castps_pd(permuted), _mm256_castsi256_pd(live))
}
