//! Products of `f32` and `f64` with 32-bit columns by the gathers of AVX2 and AVX-512.

use super::slab::{Columns, LANES, NO_DELTA, Slab};
use crate::simd::{Isa, Simd};
use bytemuck::{cast, cast_slice, cast_slice_mut};
use sparse_core::{DType, Index, Scalar};
use std::arch::x86_64::*;

/// Entries below which a gather and the sum over its lanes cost more than they save, without masks.
const SHORT: usize = 16;

/// `Σ value·x[column]`, if `S` has gathers for these types and there are enough entries.
///
/// # Safety
/// The processor has `S`; columns and values have one length; every column is below the length of `x`.
#[inline(always)]
pub(crate) unsafe fn dot<S: Isa, T: Scalar, I: Index>(
    columns: &[I],
    values: &[T],
    x: &[T],
) -> Option<T::Acc> {
    if size_of::<I>() != size_of::<i32>() || columns.is_empty() {
        return None;
    }
    let columns = cast_slice(columns);
    // SAFETY: the caller's promises.
    unsafe {
        match (S::SIMD, T::DTYPE) {
            (Simd::Avx512, DType::F64) => {
                Some(cast(avx512_f64::dot(columns, cast_slice(values), cast_slice(x))))
            }
            (Simd::Avx512, DType::F32) if columns.len() <= 8 => {
                Some(cast(up_to_8_f32(columns, cast_slice(values), cast_slice(x))))
            }
            (Simd::Avx512, DType::F32) => {
                Some(cast(avx512_f32::dot(columns, cast_slice(values), cast_slice(x))))
            }
            (Simd::Avx2, _) if columns.len() < SHORT => None,
            (Simd::Avx2, DType::F64) => Some(cast(avx2_f64::dot(columns, cast_slice(values), cast_slice(x)))),
            (Simd::Avx2, DType::F32) => Some(cast(avx2_f32::dot(columns, cast_slice(values), cast_slice(x)))),
            _ => None,
        }
    }
}

/// As [`dot`], with masked gathers of AVX-512 whatever the number of entries, of columns that are compared with the
/// length of `x`: `Some(None)` if one is not below it. `None` if `S` or the types have no such gathers.
///
/// # Safety
/// The processor has `S`; columns and values have one length.
#[inline(always)]
pub(crate) unsafe fn checked_dot<S: Isa, T: Scalar, I: Index>(
    columns: &[I],
    values: &[T],
    x: &[T],
) -> Option<Option<T::Acc>> {
    if size_of::<I>() != size_of::<i32>() {
        return None;
    }
    let columns = cast_slice(columns);
    // SAFETY: the caller's promises.
    unsafe {
        match (S::SIMD, T::DTYPE) {
            (Simd::Avx512, DType::F64) => {
                Some(avx512_f64::checked_dot(columns, cast_slice(values), cast_slice(x)).map(cast))
            }
            (Simd::Avx512, DType::F32) => {
                Some(avx512_f32::checked_dot(columns, cast_slice(values), cast_slice(x)).map(cast))
            }
            _ => None,
        }
    }
}

/// Adds the sum of each row of the slab to `sums`, if `S` has masked gathers for these types.
///
/// # Safety
/// The processor has `S`; the slab lies within its arrays; every column is below the length of `x` or padding.
#[inline(always)]
pub(crate) unsafe fn add_slab<S: Isa, T: Scalar, I: Index>(
    slab: &Slab<'_, T, I>,
    sums: &mut [T::Acc; LANES],
    x: &[T],
) -> bool {
    if size_of::<I>() != size_of::<i32>() {
        return false;
    }
    let (values, sums) = (slab.values, sums.as_mut_slice());
    // SAFETY: the caller's promises.
    unsafe {
        match (S::SIMD, T::DTYPE) {
            (Simd::Avx512, DType::F64) => {
                avx512_f64::add_slab(slab, cast_slice(values), cast_slice_mut(sums), cast_slice(x))
            }
            (Simd::Avx512, DType::F32) => {
                avx512_f32::add_slab(slab, cast_slice(values), cast_slice_mut(sums), cast_slice(x))
            }
            (Simd::Avx2, DType::F64) if slab.lanes == LANES => {
                avx2_f64::add_slab(slab, cast_slice(values), cast_slice_mut(sums), cast_slice(x))
            }
            (Simd::Avx2, DType::F32) if slab.lanes == LANES => {
                avx2_f32::add_slab(slab, cast_slice(values), cast_slice_mut(sums), cast_slice(x))
            }
            _ => return false,
        }
    }
    true
}

macro_rules! avx512 {
    ($module:ident, $t:ty, lanes $lanes:literal, mask $mask:ty, vector $vector:ty, columns $columns:ty,
     [$zero:ident, $load:ident, $load_columns:ident, $gather:ident, $fma:ident, $add:ident, $reduce:ident, $store:ident],
     [$columns_zero:ident, $is_column:ident, $load_deltas:ident, $is_delta:ident, $no_delta:ident, $widen:ident, $base:ident, $add_columns:ident, $is_beyond:ident]) => {
        mod $module {
            use super::*;

            const SCALE: i32 = size_of::<$t>() as i32;

            /// `sum + value·x[column]` in the lanes of `mask`.
            ///
            /// # Safety
            /// `values` may be read, and columns are below the length of `x`, in the lanes of `mask`.
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
            unsafe fn step(
                mask: $mask,
                columns: $columns,
                values: *const $t,
                x: &[$t],
                sum: $vector,
            ) -> $vector {
                // SAFETY: the caller's promise; other lanes are not read.
                unsafe {
                    let x = $gather::<SCALE>($zero(), mask, columns, x.as_ptr());
                    $fma($load(mask, values), x, sum)
                }
            }

            /// Two sums in turn; the last entries by a mask.
            ///
            /// # Safety
            /// As for [`super::dot`].
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
            pub(crate) unsafe fn dot(columns: &[i32], values: &[$t], x: &[$t]) -> $t {
                let mut sums = [$zero(); 2];
                let (pairs, rest) = columns.as_chunks::<{ 2 * $lanes }>();
                let (value_pairs, value_rest) = values.as_chunks::<{ 2 * $lanes }>();
                for (columns, values) in pairs.iter().zip(value_pairs) {
                    for half in 0..2 {
                        let columns = &columns[half * $lanes..];
                        // SAFETY: whole vectors follow; columns are below the length of `x`.
                        sums[half] = unsafe {
                            let columns = $load_columns(<$mask>::MAX, columns.as_ptr());
                            step(<$mask>::MAX, columns, values[half * $lanes..].as_ptr(), x, sums[half])
                        };
                    }
                }
                for (columns, values) in rest.chunks($lanes).zip(value_rest.chunks($lanes)) {
                    let live = <$mask>::MAX >> ($lanes - columns.len());
                    // SAFETY: live lanes lie inside both slices; their columns are below the length of `x`.
                    sums[0] = unsafe {
                        step(live, $load_columns(live, columns.as_ptr()), values.as_ptr(), x, sums[0])
                    };
                }
                $reduce($add(sums[0], sums[1]))
            }

            /// One vector at a time, the last entries by a mask; `None` if a column is not below the length of `x`.
            ///
            /// # Safety
            /// The processor has AVX-512; columns and values have one length.
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
            pub(crate) unsafe fn checked_dot(columns: &[i32], values: &[$t], x: &[$t]) -> Option<$t> {
                let end = $base(x.len() as i32);
                let mut sum = $zero();
                for (columns, values) in columns.chunks($lanes).zip(values.chunks($lanes)) {
                    let live = <$mask>::MAX >> ($lanes - columns.len());
                    // SAFETY: live lanes lie inside both slices; their columns are compared before they are used.
                    unsafe {
                        let columns = $load_columns(live, columns.as_ptr());
                        if $is_beyond(live, columns, end) != 0 {
                            return None;
                        }
                        sum = step(live, columns, values.as_ptr(), x, sum);
                    }
                }
                Some($reduce(sum))
            }

            /// Adds a vector of lanes at a time, element by element of their rows.
            ///
            /// # Safety
            /// As for [`super::add_slab`].
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
            pub(crate) unsafe fn add_slab<T, I: Index>(
                slab: &Slab<'_, T, I>,
                values: &[$t],
                sums: &mut [$t],
                x: &[$t],
            ) {
                for lane in (0..slab.lanes).step_by($lanes) {
                    let live = <$mask>::MAX >> ($lanes - (slab.lanes - lane).min($lanes));
                    let mut sum = $zero();
                    for k in 0..slab.width {
                        let position = slab.start + k * slab.stride + lane;
                        // SAFETY: live elements lie inside the slab.
                        let (columns, live) = unsafe { columns_at(slab.columns, position, live) };
                        // SAFETY: as above; live columns are below the length of `x`.
                        sum = unsafe { step(live, columns, values[position..].as_ptr(), x, sum) };
                    }
                    let sums = &mut sums[lane..][..$lanes];
                    // SAFETY: `sums` has as many elements as a vector.
                    unsafe { $store(sums.as_mut_ptr(), $add(sum, $load(<$mask>::MAX, sums.as_ptr()))) };
                }
            }

            /// The columns of the elements from `position` on, and the `live` ones that are not padding.
            ///
            /// # Safety
            /// Live elements lie inside the arrays.
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
            unsafe fn columns_at<I: Index>(
                columns: Columns<'_, I>,
                position: usize,
                live: $mask,
            ) -> ($columns, $mask) {
                match columns {
                    Columns::Plain(columns) => {
                        let columns: &[i32] = cast_slice(&columns[position..]);
                        // SAFETY: live elements lie inside the slice.
                        let columns = unsafe { $load_columns(live, columns.as_ptr()) };
                        (columns, $is_column(live, columns, $columns_zero()))
                    }
                    Columns::Deltas { bases, deltas, height } => {
                        let base = bases[position / height].as_i64() as i32;
                        // SAFETY: live elements lie inside the slice.
                        let deltas = unsafe { $load_deltas(live, deltas[position..].as_ptr().cast()) };
                        let live = $is_delta(live, deltas, $no_delta(-1));
                        ($add_columns($base(base), $widen(deltas)), live)
                    }
                }
            }
        }
    };
}

avx512!(avx512_f64, f64, lanes 8, mask u8, vector __m512d, columns __m256i,
    [_mm512_setzero_pd, _mm512_maskz_loadu_pd, _mm256_maskz_loadu_epi32, _mm512_mask_i32gather_pd, _mm512_fmadd_pd,
     _mm512_add_pd, _mm512_reduce_add_pd, _mm512_storeu_pd],
    [_mm256_setzero_si256, _mm256_mask_cmpge_epi32_mask, _mm_maskz_loadu_epi16, _mm_mask_cmpneq_epu16_mask,
     _mm_set1_epi16, _mm256_cvtepu16_epi32, _mm256_set1_epi32, _mm256_add_epi32, _mm256_mask_cmpge_epu32_mask]);

avx512!(avx512_f32, f32, lanes 16, mask u16, vector __m512, columns __m512i,
    [_mm512_setzero_ps, _mm512_maskz_loadu_ps, _mm512_maskz_loadu_epi32, _mm512_mask_i32gather_ps, _mm512_fmadd_ps,
     _mm512_add_ps, _mm512_reduce_add_ps, _mm512_storeu_ps],
    [_mm512_setzero_si512, _mm512_mask_cmpge_epi32_mask, _mm256_maskz_loadu_epi16, _mm256_mask_cmpneq_epu16_mask,
     _mm256_set1_epi16, _mm512_cvtepu16_epi32, _mm512_set1_epi32, _mm512_add_epi32, _mm512_mask_cmpge_epu32_mask]);

/// One step of half a vector.
///
/// # Safety
/// As for [`dot`]; there are at most 8 entries.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn up_to_8_f32(columns: &[i32], values: &[f32], x: &[f32]) -> f32 {
    let live = u8::MAX >> (8 - columns.len());
    // SAFETY: live lanes lie inside both slices, and their columns are below the length of `x`; others are not read.
    let products = unsafe {
        let columns = _mm256_maskz_loadu_epi32(live, columns.as_ptr());
        let x = _mm256_mmask_i32gather_ps::<4>(_mm256_setzero_ps(), live, columns, x.as_ptr());
        _mm256_mul_ps(_mm256_maskz_loadu_ps(live, values.as_ptr()), x)
    };
    let halves = _mm_add_ps(_mm256_castps256_ps128(products), _mm256_extractf128_ps::<1>(products));
    let pairs = _mm_add_ps(halves, _mm_movehl_ps(halves, halves));
    _mm_cvtss_f32(_mm_add_ss(pairs, _mm_movehdup_ps(pairs)))
}

macro_rules! avx2 {
    ($module:ident, $t:ty, lanes $lanes:literal, columns $columns:ty, at $columns_at:ident,
     [$zero:ident, $load:ident, $load_columns:ident, $gather:ident, $fma:ident, $store:ident],
     [$gather_live:ident, $and:ident]) => {
        mod $module {
            use super::*;

            const SCALE: i32 = size_of::<$t>() as i32;

            /// One vector of sums and a scalar one for the last entries.
            ///
            /// # Safety
            /// As for [`super::dot`].
            #[inline]
            #[target_feature(enable = "avx2,fma")]
            pub(crate) unsafe fn dot(columns: &[i32], values: &[$t], x: &[$t]) -> $t {
                let (vectors, rest) = columns.as_chunks::<$lanes>();
                let (value_vectors, value_rest) = values.as_chunks::<$lanes>();
                let mut sum = $zero();
                for (columns, values) in vectors.iter().zip(value_vectors) {
                    // SAFETY: whole vectors; columns are below the length of `x`.
                    sum = unsafe {
                        let columns = $load_columns(columns.as_ptr().cast::<$columns>());
                        let x = $gather::<SCALE>(x.as_ptr(), columns);
                        $fma($load(values.as_ptr()), x, sum)
                    };
                }
                let mut lanes = [0.0; $lanes];
                // SAFETY: the array has as many elements as the vector.
                unsafe { $store(lanes.as_mut_ptr(), sum) };
                let rest = rest.iter().zip(value_rest).map(|(&column, value)| value * x[column as usize]);
                lanes.into_iter().sum::<$t>() + rest.sum::<$t>()
            }

            /// Adds a vector of lanes at a time, element by element of their rows; padding adds 0·0.
            ///
            /// # Safety
            /// As for [`super::add_slab`]; all lanes have rows.
            #[inline]
            #[target_feature(enable = "avx2,fma")]
            pub(crate) unsafe fn add_slab<T, I: Index>(
                slab: &Slab<'_, T, I>,
                values: &[$t],
                sums: &mut [$t],
                x: &[$t],
            ) {
                for (lane, sums) in (0..slab.lanes).step_by($lanes).zip(sums.chunks_exact_mut($lanes)) {
                    // SAFETY: `sums` has as many elements as a vector.
                    let mut sum = unsafe { $load(sums.as_ptr()) };
                    for k in 0..slab.width {
                        let position = slab.start + k * slab.stride + lane;
                        // SAFETY: whole vectors of elements lie inside the slab; live columns are below the length of
                        // `x`, others are not read.
                        sum = unsafe {
                            let (columns, live) = $columns_at(slab.columns, position);
                            let x = $gather_live::<SCALE>($zero(), x.as_ptr(), columns, live);
                            $fma($and($load(values[position..].as_ptr()), live), x, sum)
                        };
                    }
                    // SAFETY: as above.
                    unsafe { $store(sums.as_mut_ptr(), sum) };
                }
            }
        }
    };
}

avx2!(avx2_f64, f64, lanes 4, columns __m128i, at columns_of_4,
    [_mm256_setzero_pd, _mm256_loadu_pd, _mm_loadu_si128, _mm256_i32gather_pd, _mm256_fmadd_pd, _mm256_storeu_pd],
    [_mm256_mask_i32gather_pd, _mm256_and_pd]);

avx2!(avx2_f32, f32, lanes 8, columns __m256i, at columns_of_8,
    [_mm256_setzero_ps, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_i32gather_ps, _mm256_fmadd_ps, _mm256_storeu_ps],
    [_mm256_mask_i32gather_ps, _mm256_and_ps]);

/// The columns of four elements, and all bits of the lanes that are not padding.
///
/// # Safety
/// The elements lie inside the arrays.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn columns_of_4<I: Index>(columns: Columns<'_, I>, position: usize) -> (__m128i, __m256d) {
    let (columns, live) = match columns {
        Columns::Plain(columns) => {
            let columns: &[i32] = cast_slice(&columns[position..]);
            // SAFETY: the caller's promise.
            let columns = unsafe { _mm_loadu_si128(columns.as_ptr().cast()) };
            (columns, _mm_cmpgt_epi32(columns, _mm_set1_epi32(-1)))
        }
        Columns::Deltas { bases, deltas, height } => {
            // SAFETY: the caller's promise.
            let deltas = unsafe { _mm_cvtepu16_epi32(_mm_loadl_epi64(deltas[position..].as_ptr().cast())) };
            let base = _mm_set1_epi32(bases[position / height].as_i64() as i32);
            (_mm_add_epi32(base, deltas), _mm_cmplt_epi32(deltas, _mm_set1_epi32(NO_DELTA.into())))
        }
    };
    (columns, _mm256_castsi256_pd(_mm256_cvtepi32_epi64(live)))
}

/// As for [`columns_of_4`], with eight elements.
///
/// # Safety
/// The elements lie inside the arrays.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn columns_of_8<I: Index>(columns: Columns<'_, I>, position: usize) -> (__m256i, __m256) {
    let (columns, live) = match columns {
        Columns::Plain(columns) => {
            let columns: &[i32] = cast_slice(&columns[position..]);
            // SAFETY: the caller's promise.
            let columns = unsafe { _mm256_loadu_si256(columns.as_ptr().cast()) };
            (columns, _mm256_cmpgt_epi32(columns, _mm256_set1_epi32(-1)))
        }
        Columns::Deltas { bases, deltas, height } => {
            // SAFETY: the caller's promise.
            let deltas =
                unsafe { _mm256_cvtepu16_epi32(_mm_loadu_si128(deltas[position..].as_ptr().cast())) };
            let base = _mm256_set1_epi32(bases[position / height].as_i64() as i32);
            (_mm256_add_epi32(base, deltas), _mm256_cmpgt_epi32(_mm256_set1_epi32(NO_DELTA.into()), deltas))
        }
    };
    (columns, _mm256_castsi256_ps(live))
}
