//! Runs of columns of `f32` and `f64` in the registers of AVX2 and AVX-512.

use super::masked_x86::*;
use super::repeated_rows::{Run, longest_run};
use super::{shifted_x86, transposed_x86};
use crate::primitive::update::Update;
use crate::simd::{Isa, Simd, fetch};
use bytemuck::{cast, cast_slice};
use sparse_core::{DType, Scalar};
use std::arch::x86_64::*;

/// Rows summed side by side.
const ROWS: usize = 4;

/// Bytes by which values are prefetched ahead.
const AHEAD: usize = 2048;

/// The most entries of rows that are the lanes of vectors.
const ACROSS: usize = 8;

/// Lanes of the short vectors, for rows without longer runs.
const SHORT: usize = 4;

/// Writes the sums of the rows from `first` on, one for each element of `y`, if `S` has kernels for the type.
///
/// # Safety
/// The processor has `S`; `values` has one value for each column of the runs in each row; the columns of the runs are
/// below the length of `x` in each of the rows; no run is longer than [`longest_run`].
#[inline(always)]
pub(super) unsafe fn sums<S: Isa, T: Scalar>(
    runs: &[Run],
    first: usize,
    values: &[T],
    x: &[T],
    y: &mut [T],
    update: Update<T::Acc>,
) -> bool {
    let entries: usize = runs.iter().map(|run| run.len).sum();
    if y.len() >= longest_run(S::SIMD, size_of::<T>()) && entries <= ACROSS {
        let mut distances = [0; ACROSS];
        let all = runs.iter().flat_map(|run| (run.distance..).take(run.len));
        distances.iter_mut().zip(all).for_each(|(to, distance)| *to = distance);
        let distances = &distances[..entries];
        // SAFETY: the caller's promises.
        unsafe {
            if Simd::has_fast_gathers() {
                return shifted_x86::write::<S, T>(distances, first, values, x, y, update);
            }
            if transposed_x86::write::<S, T>(distances, first, values, x, y, update) {
                return true;
            }
        }
    }
    let is_short = runs.iter().all(|run| run.len <= SHORT);
    let kernel: Kernel<T> = match (S::SIMD, T::DTYPE) {
        (Simd::Avx512, DType::F32) if is_short => short_f32::sums,
        (Simd::Avx512, DType::F32) => long_f32::sums,
        (Simd::Avx512, DType::F64) if is_short => short_f64::sums,
        (Simd::Avx512, DType::F64) => long_f64::sums,
        (Simd::Avx2, DType::F32) if is_short => avx2_short_f32::sums,
        (Simd::Avx2, DType::F32) => avx2_f32::sums,
        (Simd::Avx2, DType::F64) => avx2_f64::sums,
        _ => return false,
    };
    // SAFETY: the caller's promises; the kernel is that of `S` and `T`.
    unsafe { kernel(runs, first, values, x, y, update) };
    true
}

/// As [`sums`], for an instruction set and a type that it has.
type Kernel<T> = unsafe fn(&[Run], usize, &[T], &[T], &mut [T], Update<<T as Scalar>::Acc>);

/// Makes a module for a type and an instruction set. `$load` reads the lanes that are live, of which `$live` makes the
/// mask, and `$load_all` all of them, where they may be read; `$reduce` adds the lanes of a sum.
macro_rules! kernel {
    ($module:ident, $t:ty, $lanes:literal lanes, features $features:literal,
     [$zero:ident, $live:ident, $load:ident, $load_all:ident, $fma:ident, $reduce:ident]) => {
        mod $module {
            use super::*;

            /// Writes the sums of the rows from `first` on.
            ///
            /// # Safety
            /// As for [`super::sums`]; no run is longer than a vector.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) unsafe fn sums<T: Scalar>(
                runs: &[Run],
                first: usize,
                values: &[T],
                x: &[T],
                y: &mut [T],
                update: Update<T::Acc>,
            ) {
                let (values, x): (&[$t], &[$t]) = (cast_slice(values), cast_slice(x));
                let entries: usize = runs.iter().map(|run| run.len).sum();
                let whole =
                    first + rows_of_whole_vectors(runs, first, values.len() / entries.max(1), x.len());
                let (blocks, rest) = y.as_chunks_mut::<ROWS>();
                let (mut row, mut values) = (first, values);
                for y in blocks {
                    // SAFETY: the caller's promises; elements behind runs lie in `values` and `x` where they are read.
                    unsafe {
                        if row + ROWS <= whole {
                            block::<ROWS, true, T>(runs, entries, row, values, x, y, update);
                        } else {
                            block::<ROWS, false, T>(runs, entries, row, values, x, y, update);
                        }
                    }
                    (row, values) = (row + ROWS, &values[ROWS * entries..]);
                }
                for y in rest {
                    let y = std::array::from_mut(y);
                    // SAFETY: the caller's promises.
                    unsafe { block::<1, false, T>(runs, entries, row, values, x, y, update) };
                    (row, values) = (row + 1, &values[entries..]);
                }
            }

            /// The number of rows, of `count` from `first` on, in which a vector from the beginning of each run on lies
            /// in the values of all rows, and one in `x`.
            fn rows_of_whole_vectors(runs: &[Run], first: usize, count: usize, x_len: usize) -> usize {
                let entries: usize = runs.iter().map(|run| run.len).sum();
                let rows_of_a_vector = ($lanes as usize).div_ceil(entries.max(1));
                let farthest = runs.iter().map(|run| run.distance).max().unwrap_or(0);
                let end = (x_len as isize - ($lanes - 1) - farthest).max(0) as usize;
                count.saturating_sub(rows_of_a_vector).min(end.saturating_sub(first))
            }

            /// Sums the rows from `first` on; `values` begins with their values. `WHOLE` vectors of AVX-512 are read
            /// without masks, which take an instruction more for each; lanes behind a run are not added.
            ///
            /// # Safety
            /// As for [`sums`]; if `WHOLE`, vectors from the beginning of each run on lie in `values` and `x`.
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn block<const N: usize, const WHOLE: bool, T: Scalar>(
                runs: &[Run],
                entries: usize,
                first: usize,
                values: &[$t],
                x: &[$t],
                y: &mut [T; N],
                update: Update<T::Acc>,
            ) {
                fetch(values, AHEAD / size_of::<$t>(), N * entries);
                let mut values = values[..N * entries].as_ptr();
                let x = x.as_ptr().wrapping_add(first);
                let mut sums = [$zero(); N];
                for run in runs {
                    let live = $live(run.len);
                    for (k, sum) in sums.iter_mut().enumerate() {
                        let x = x.wrapping_offset(run.distance).wrapping_add(k);
                        // SAFETY: live lanes lie in the run of this row, and its columns in `x`; others are read by the
                        // caller's promise or not at all.
                        *sum = unsafe {
                            let values = values.add(k * entries);
                            if WHOLE {
                                $fma($load_all(live, values), $load_all(live, x), *sum, live)
                            } else {
                                $fma($load(live, values), $load(live, x), *sum, live)
                            }
                        };
                    }
                    // SAFETY: the entries of the run lie in the row.
                    values = unsafe { values.add(run.len) };
                }
                for (y, sum) in y.iter_mut().zip(sums) {
                    update.write(y, cast($reduce(sum)));
                }
            }
        }
    };
}

kernel!(long_f32, f32, 16 lanes, features "avx512f,avx512bw,avx512dq,avx512vl",
    [_mm512_setzero_ps, lanes_of_16, _mm512_maskz_loadu_ps, load_16_f32s, _mm512_mask3_fmadd_ps, _mm512_reduce_add_ps]);
kernel!(long_f64, f64, 8 lanes, features "avx512f,avx512bw,avx512dq,avx512vl",
    [_mm512_setzero_pd, lanes_of_8, _mm512_maskz_loadu_pd, load_8_f64s, _mm512_mask3_fmadd_pd, _mm512_reduce_add_pd]);
kernel!(short_f32, f32, 4 lanes, features "avx512f,avx512bw,avx512dq,avx512vl",
    [_mm_setzero_ps, lanes_of_8, _mm_maskz_loadu_ps, load_4_f32s, _mm_mask3_fmadd_ps, add_4_f32s]);
kernel!(short_f64, f64, 4 lanes, features "avx512f,avx512bw,avx512dq,avx512vl",
    [_mm256_setzero_pd, lanes_of_8, _mm256_maskz_loadu_pd, load_4_f64s, _mm256_mask3_fmadd_pd, add_f64s]);
kernel!(avx2_f32, f32, 8 lanes, features "avx2,fma",
    [_mm256_setzero_ps, f32_lanes, load_f32s, load_f32s, add_products_of_8_f32s, add_f32s]);
kernel!(avx2_short_f32, f32, 4 lanes, features "avx2,fma",
    [_mm_setzero_ps, short_f32_lanes, load_short_f32s, load_short_f32s, add_products_of_4_f32s, add_4_f32s]);
kernel!(avx2_f64, f64, 4 lanes, features "avx2,fma",
    [_mm256_setzero_pd, f64_lanes, load_f64s, load_f64s, add_products_of_4_f64s, add_f64s]);

macro_rules! load_all {
    ($name:ident, $t:ty, $vector:ty, $mask:ty, $load:ident) => {
        /// All lanes from memory, live or not.
        ///
        /// # Safety
        /// All lanes may be read.
        #[inline]
        #[target_feature(enable = "avx512f,avx512vl")]
        unsafe fn $name(_: $mask, from: *const $t) -> $vector {
            // SAFETY: the caller's promise.
            unsafe { $load(from) }
        }
    };
}

load_all!(load_16_f32s, f32, __m512, __mmask16, _mm512_loadu_ps);
load_all!(load_8_f64s, f64, __m512d, __mmask8, _mm512_loadu_pd);
load_all!(load_4_f32s, f32, __m128, __mmask8, _mm_loadu_ps);
load_all!(load_4_f64s, f64, __m256d, __mmask8, _mm256_loadu_pd);

macro_rules! add_products {
    ($name:ident, $vector:ty, $mask:ty, $fma:ident) => {
        /// The sums and the products, which are zero in lanes that are not live.
        #[inline]
        #[target_feature(enable = "avx2,fma")]
        fn $name(values: $vector, x: $vector, sums: $vector, _: $mask) -> $vector {
            $fma(values, x, sums)
        }
    };
}

add_products!(add_products_of_8_f32s, __m256, __m256i, _mm256_fmadd_ps);
add_products!(add_products_of_4_f32s, __m128, __m128i, _mm_fmadd_ps);
add_products!(add_products_of_4_f64s, __m256d, __m256i, _mm256_fmadd_pd);
