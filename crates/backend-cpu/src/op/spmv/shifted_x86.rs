//! Neighbouring rows whose columns are those of the row before, each one further, in the registers of AVX2 and AVX-512.
//!
//! A row is in each lane. Entry `k` of such rows multiplies neighbouring elements of x, which are loaded; only values
//! are gathered, at one distance from each other, and no sum over the lanes is needed.

use super::masked_x86::*;
use crate::primitive::shifted_rows::are_shifted;
use crate::primitive::update::Update;
use crate::simd::{Isa, Simd, fetch};
use bytemuck::{cast, cast_slice, cast_slice_mut};
use sparse_core::{DType, Index, Scalar};
use std::arch::x86_64::*;

/// Bytes by which values are prefetched ahead where columns are not read.
const AHEAD: usize = 2048;

/// Writes the sums of the first rows, as long as vectors of them have these columns, all below the length of `x`;
/// returns the number of rows. Columns and values are those of as many rows as there are sums, `length` for each.
///
/// # Safety
/// The processor has AVX-512; `T` is `f32` or `f64`; there are `length` columns and values for each of the sums.
#[inline(always)]
pub(super) unsafe fn sum<T: Scalar, I: Index>(
    columns: &[I],
    values: &[T],
    length: usize,
    x: &[T],
    sums: &mut [T::Acc],
) -> usize {
    // SAFETY: the caller's promises.
    unsafe {
        match T::DTYPE {
            DType::F64 => sum_f64(columns, cast_slice(values), length, cast_slice(x), cast_slice_mut(sums)),
            _ => sum_f32(columns, cast_slice(values), length, cast_slice(x), cast_slice_mut(sums)),
        }
    }
}

/// `y ← alpha·A·x + beta·y` for the rows of A from `first` on, in each of which entry `k` is `distances[k]` right of
/// the diagonal; false if `S` has no vectors of `T`.
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
    let kernel: Kernel<T> = match (S::SIMD, T::DTYPE) {
        (Simd::Avx512, DType::F64) => avx512_f64::write,
        (Simd::Avx512, DType::F32) => avx512_f32::write,
        (Simd::Avx2, DType::F64) => avx2_f64::write,
        (Simd::Avx2, DType::F32) => avx2_f32::write,
        _ => return false,
    };
    // SAFETY: the caller's promises; the kernel is that of `S` and `T`.
    unsafe { kernel(distances, first, values, x, y, update) };
    true
}

/// As [`write`], for an instruction set and a type that it has.
type Kernel<T> = unsafe fn(&[isize], usize, &[T], &[T], &mut [T], Update<<T as Scalar>::Acc>);

/// Makes [`sum`] for a type, by the module of its AVX-512 kernels.
macro_rules! checked_sum {
    ($name:ident, $t:ty, $module:ident) => {
        /// # Safety
        /// As for [`sum`].
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
        unsafe fn $name<I: Index>(
            columns: &[I],
            values: &[$t],
            length: usize,
            x: &[$t],
            sums: &mut [$t],
        ) -> usize {
            let positions = $module::positions(length);
            let mut done = 0;
            // SAFETY: columns and values of the rows by the caller's promise, in `x` by `are_shifted`.
            unsafe {
                for sums in sums.chunks_mut($module::LANES) {
                    let columns = columns.get_unchecked(done * length..);
                    let most = x.len().checked_sub(sums.len());
                    let is_inside = |column: &I| most.is_some_and(|most| column.as_usize() <= most);
                    if !columns[..length].iter().all(is_inside) || !are_shifted(columns, length, sums.len()) {
                        break;
                    }
                    let starts = columns[..length].iter().map(|first| x.as_ptr().add(first.as_usize()));
                    $module::add(values.as_ptr().add(done * length), positions, starts, sums);
                    done += sums.len();
                }
            }
            done
        }
    };
}

checked_sum!(sum_f64, f64, avx512_f64);
checked_sum!(sum_f32, f32, avx512_f32);

/// Makes a module for a type and an instruction set: the operations on vectors of numbers, then those on vectors of the
/// positions that `$gather` reads values from.
macro_rules! rows_in_lanes {
    ($module:ident, $t:ty, $lanes:literal lanes, features $features:literal, positions $vector:ty,
     [$zero:ident, $live:path, $load:ident, $gather:ident, $fma:ident, $store:ident],
     [$load_positions:ident, $positions:ident, $multiply:ident]) => {
        mod $module {
            use super::*;

            pub(super) const LANES: usize = $lanes;

            const SIZE: i32 = size_of::<$t>() as i32;

            /// Writes the rows from `first` on.
            ///
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
            ) {
                let (values, x): (&[$t], &[$t]) = (cast_slice(values), cast_slice(x));
                let positions = positions(distances.len());
                for (k, y) in y.chunks_mut(LANES).enumerate() {
                    let values = &values[k * LANES * distances.len()..];
                    fetch(values, AHEAD / size_of::<$t>(), LANES * distances.len());
                    let x = x.as_ptr().wrapping_add(first + k * LANES);
                    let starts = distances.iter().map(|&distance| x.wrapping_offset(distance));
                    let mut sums = [0.0; LANES];
                    // SAFETY: the caller's promises.
                    unsafe { add(values.as_ptr(), positions, starts, &mut sums[..y.len()]) };
                    update.write_all(y, &sums.map(cast)[..y.len()]);
                }
            }

            /// The positions of the first values of as many rows as lanes.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn positions(length: usize) -> $vector {
                // SAFETY: as many numbers as lanes.
                let numbers = unsafe { $load_positions(const { &lane_numbers::<LANES>() }.as_ptr().cast()) };
                $multiply(numbers, $positions(length as i32))
            }

            /// Writes the sums of rows, one for each lane, whose first values are at these positions; there is a start
            /// for each entry, the element of x that the first row's multiplies.
            ///
            /// # Safety
            /// There are values and elements behind each start for all rows, which are no more than lanes.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) unsafe fn add(
                values: *const $t,
                positions: $vector,
                starts: impl Iterator<Item = *const $t>,
                sums: &mut [$t],
            ) {
                let live = $live(sums.len());
                let mut all = $zero();
                // SAFETY: the caller's promises; lanes that are not live are neither read nor written.
                unsafe {
                    for (k, start) in starts.enumerate() {
                        let values = $gather::<SIZE>($zero(), live, positions, values.add(k).cast());
                        all = $fma(values, $load(live, start), all);
                    }
                    $store(sums.as_mut_ptr(), live, all);
                }
            }
        }
    };
}

rows_in_lanes!(avx512_f64, f64, 8 lanes, features "avx512f,avx512bw,avx512dq,avx512vl", positions __m256i,
    [_mm512_setzero_pd, lanes_of_8, _mm512_maskz_loadu_pd, _mm512_mask_i32gather_pd, _mm512_fmadd_pd,
     _mm512_mask_storeu_pd],
    [_mm256_loadu_si256, _mm256_set1_epi32, _mm256_mullo_epi32]);
rows_in_lanes!(avx512_f32, f32, 16 lanes, features "avx512f,avx512bw,avx512dq,avx512vl", positions __m512i,
    [_mm512_setzero_ps, lanes_of_16, _mm512_maskz_loadu_ps, _mm512_mask_i32gather_ps, _mm512_fmadd_ps,
     _mm512_mask_storeu_ps],
    [_mm512_loadu_si512, _mm512_set1_epi32, _mm512_mullo_epi32]);
rows_in_lanes!(avx2_f64, f64, 4 lanes, features "avx2,fma", positions __m128i,
    [_mm256_setzero_pd, f64_lanes, load_f64s, gather_f64s, _mm256_fmadd_pd, _mm256_maskstore_pd],
    [_mm_loadu_si128, _mm_set1_epi32, _mm_mullo_epi32]);
rows_in_lanes!(avx2_f32, f32, 8 lanes, features "avx2,fma", positions __m256i,
    [_mm256_setzero_ps, f32_lanes, load_f32s, gather_f32s, _mm256_fmadd_ps, _mm256_maskstore_ps],
    [_mm256_loadu_si256, _mm256_set1_epi32, _mm256_mullo_epi32]);
