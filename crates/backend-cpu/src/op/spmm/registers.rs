//! Blocks of columns of `f32` and `f64` in the registers of AVX-512 and AVX2.

use super::block::{RowMajor, WIDE};
use super::source::Rows;
use crate::simd::{Isa, Simd};
use bytemuck::{cast, cast_slice};
use sparse_core::{DType, Index, Scalar};
use std::arch::x86_64::*;
use std::ops::Range;

/// `Σ value·B[column]` over these entries for up to [`WIDE`] columns of B, if `S` has registers for them.
///
/// # Safety
/// The processor has `S`.
#[inline(always)]
pub(super) unsafe fn block<S: Isa, T: Scalar, I: Index, O: Index>(
    rows: &Rows<'_, T, I, O>,
    entries: Range<usize>,
    b: RowMajor<'_, T>,
    columns: Range<usize>,
) -> Option<[T::Acc; WIDE]> {
    // SAFETY: the caller's promise.
    unsafe {
        match (S::SIMD, T::DTYPE, columns.len()) {
            (Simd::Avx512, DType::F64, 1..=8) => Some(cast(f64s::<1, T, I, O>(rows, entries, b, columns))),
            (Simd::Avx512, DType::F64, 9..=16) => Some(cast(f64s::<2, T, I, O>(rows, entries, b, columns))),
            (Simd::Avx512, DType::F64, 17..=24) => Some(cast(f64s::<3, T, I, O>(rows, entries, b, columns))),
            (Simd::Avx512, DType::F64, _) => Some(cast(f64s::<4, T, I, O>(rows, entries, b, columns))),
            (Simd::Avx512, DType::F32, 1..=16) => Some(cast(f32s::<1, T, I, O>(rows, entries, b, columns))),
            (Simd::Avx512, DType::F32, _) => Some(cast(f32s::<2, T, I, O>(rows, entries, b, columns))),
            (Simd::Avx2, DType::F64, WIDE) => Some(cast(whole_f64s(rows, entries, b, columns.start))),
            (Simd::Avx2, DType::F32, WIDE) => Some(cast(whole_f32s(rows, entries, b, columns.start))),
            _ => None,
        }
    }
}

macro_rules! block {
    ($name:ident, $t:ty, lanes $lanes:literal, mask $mask:ty, [$zero:ident, $set:ident, $load:ident, $fma:ident, $store:ident]) => {
        /// The sums in `V` vectors, the last one under a mask.
        ///
        /// # Safety
        /// As [`block`]; there are more than `(V − 1)·lanes` columns and no more than `V·lanes`.
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
        unsafe fn $name<const V: usize, T: Scalar, I: Index, O: Index>(
            rows: &Rows<'_, T, I, O>,
            entries: Range<usize>,
            b: RowMajor<'_, T>,
            columns: Range<usize>,
        ) -> [$t; WIDE] {
            let data: &[$t] = cast_slice(b.data);
            let last = <$mask>::MAX >> (V * $lanes - columns.len());
            let mut sums = [$zero(); V];
            rows.for_each(entries, |column, value| {
                let value = $set(cast::<T, $t>(value));
                let row = &data[column * b.stride + columns.start..][..columns.len()];
                for (v, sum) in sums.iter_mut().enumerate() {
                    let live = if v + 1 == V { last } else { <$mask>::MAX };
                    // SAFETY: live lanes lie inside `row`; others are not read.
                    let row = unsafe { $load(live, row.as_ptr().add(v * $lanes)) };
                    *sum = $fma(value, row, *sum);
                }
            });
            let mut block = [0.0; WIDE];
            for (part, sum) in block.chunks_exact_mut($lanes).zip(sums) {
                // SAFETY: `part` has as many elements as a vector.
                unsafe { $store(part.as_mut_ptr(), sum) };
            }
            block
        }
    };
}

block!(f64s, f64, lanes 8, mask u8,
    [_mm512_setzero_pd, _mm512_set1_pd, _mm512_maskz_loadu_pd, _mm512_fmadd_pd, _mm512_storeu_pd]);
block!(f32s, f32, lanes 16, mask u16,
    [_mm512_setzero_ps, _mm512_set1_ps, _mm512_maskz_loadu_ps, _mm512_fmadd_ps, _mm512_storeu_ps]);

macro_rules! whole_block {
    ($name:ident, $t:ty, lanes $lanes:literal, [$zero:ident, $set:ident, $load:ident, $fma:ident, $store:ident]) => {
        /// The sums of [`WIDE`] columns.
        ///
        /// # Safety
        /// As [`block`].
        #[inline]
        #[target_feature(enable = "avx2,fma")]
        unsafe fn $name<T: Scalar, I: Index, O: Index>(
            rows: &Rows<'_, T, I, O>,
            entries: Range<usize>,
            b: RowMajor<'_, T>,
            first: usize,
        ) -> [$t; WIDE] {
            let data: &[$t] = cast_slice(b.data);
            let mut sums = [$zero(); WIDE / $lanes];
            rows.for_each(entries, |column, value| {
                let value = $set(cast::<T, $t>(value));
                let row = &data[column * b.stride + first..][..WIDE];
                for (sum, row) in sums.iter_mut().zip(row.chunks_exact($lanes)) {
                    // SAFETY: `row` has as many elements as a vector.
                    *sum = $fma(value, unsafe { $load(row.as_ptr()) }, *sum);
                }
            });
            let mut block = [0.0; WIDE];
            for (part, sum) in block.chunks_exact_mut($lanes).zip(sums) {
                // SAFETY: `part` has as many elements as a vector.
                unsafe { $store(part.as_mut_ptr(), sum) };
            }
            block
        }
    };
}

whole_block!(whole_f64s, f64, lanes 4,
    [_mm256_setzero_pd, _mm256_set1_pd, _mm256_loadu_pd, _mm256_fmadd_pd, _mm256_storeu_pd]);
whole_block!(whole_f32s, f32, lanes 8,
    [_mm256_setzero_ps, _mm256_set1_ps, _mm256_loadu_ps, _mm256_fmadd_ps, _mm256_storeu_ps]);
