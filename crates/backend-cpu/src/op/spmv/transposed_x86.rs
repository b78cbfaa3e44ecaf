//! Neighbouring rows with the same short runs, a row in each lane of AVX-512's registers, for processors without fast
//! gathers: as many rows as lanes are loaded as whole vectors, and entry `k` of all of them is taken from each by a
//! permutation.

use crate::primitive::update::Update;
use crate::simd::{Isa, Simd, fetch};
use bytemuck::{cast, cast_slice};
use sparse_core::{DType, Scalar};
use std::arch::x86_64::*;

/// Bytes by which values are prefetched ahead.
const AHEAD: usize = 4096;

/// The most entries of a row.
pub(super) const LONGEST: usize = 7;

/// Writes the sums of the first of the rows from `first` on, as many as whole vectors have, in each of which entry `k`
/// is `distances[k]` right of the diagonal; returns their number, 0 if `S` has no vectors of `T` or rows are longer
/// than [`LONGEST`].
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
) -> usize {
    // SAFETY: the caller's promises; the kernel is that of `S` and `T`.
    unsafe {
        match (S::SIMD, T::DTYPE) {
            (Simd::Avx512, DType::F32) => of_f32::write(distances, first, values, x, y, update),
            (Simd::Avx512, DType::F64) => of_f64::write(distances, first, values, x, y, update),
            _ => 0,
        }
    }
}

macro_rules! transposed {
    ($module:ident, $t:ty, $vector:ty, $lanes:literal lanes, mask $mask:ty, number $number:ty,
     [$zero:ident, $load:ident, $store:ident, $fma:ident, $permute:ident, $load_numbers:ident]) => {
        mod $module {
            use super::*;

            const LANES: usize = $lanes;

            /// # Safety
            /// As for [`super::write`].
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
            pub(super) unsafe fn write<T: Scalar>(
                distances: &[isize],
                first: usize,
                values: &[T],
                x: &[T],
                y: &mut [T],
                update: Update<T::Acc>,
            ) -> usize {
                let (values, x): (&[$t], &[$t]) = (cast_slice(values), cast_slice(x));
                // SAFETY: the caller's promises; as many distances as entries.
                unsafe {
                    match distances.len() {
                        1 => rows::<1, T>(distances, first, values, x, y, update),
                        2 => rows::<2, T>(distances, first, values, x, y, update),
                        3 => rows::<3, T>(distances, first, values, x, y, update),
                        4 => rows::<4, T>(distances, first, values, x, y, update),
                        5 => rows::<5, T>(distances, first, values, x, y, update),
                        6 => rows::<6, T>(distances, first, values, x, y, update),
                        LONGEST => rows::<LONGEST, T>(distances, first, values, x, y, update),
                        _ => 0,
                    }
                }
            }

            /// [`write`] for rows of `N` entries.
            ///
            /// # Safety
            /// As for [`write`]; there are `N` distances.
            #[inline(never)]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
            unsafe fn rows<const N: usize, T: Scalar>(
                distances: &[isize],
                first: usize,
                values: &[$t],
                x: &[$t],
                y: &mut [T],
                update: Update<T::Acc>,
            ) -> usize {
                let (blocks, _) = y.as_chunks_mut::<LANES>();
                for (k, y) in blocks.iter_mut().enumerate() {
                    let values = &values[k * LANES * N..];
                    fetch(values, AHEAD / size_of::<$t>(), LANES * N);
                    let x = x.as_ptr().wrapping_add(first + k * LANES);
                    let mut sums = [0.0; LANES];
                    // SAFETY: the caller's promises: there are values and elements for as many rows as lanes.
                    unsafe {
                        let vectors: [_; N] = std::array::from_fn(|j| $load(values.as_ptr().add(j * LANES)));
                        let mut all = $zero();
                        for entry in 0..N {
                            let x = $load(x.wrapping_offset(distances[entry]));
                            all = $fma(entries::<N>(&vectors, entry), x, all);
                        }
                        $store(sums.as_mut_ptr(), all);
                    }
                    update.write_all(y, &sums.map(cast));
                }
                blocks.len() * LANES
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
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
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

transposed!(of_f32, f32, __m512, 16 lanes, mask u16, number i32,
    [_mm512_setzero_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_fmadd_ps, _mm512_mask_permutexvar_ps, _mm512_loadu_si512]);
transposed!(of_f64, f64, __m512d, 8 lanes, mask u8, number i64,
    [_mm512_setzero_pd, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_fmadd_pd, _mm512_mask_permutexvar_pd, _mm512_loadu_si512]);
