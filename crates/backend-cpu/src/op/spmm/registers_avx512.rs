//! Blocks of columns in the registers of AVX-512, of all types but those of 16 bits.
//!
//! Up to half a vector of columns is summed in vectors of 256 bits or less: rows of B that narrow lie two in a cache
//! line, and a vector of 512 bits would read parts of two lines for each. Vectors that columns fill are loaded and
//! stored without masks: rows of six entries took 10 ns with masked loads and 4 without, where B and C had like offsets
//! in their pages (8 columns of f32, one core of a Zen 5).

use super::ahead::{fetch_rows, start, with_ahead};
use super::block::{RowMajor, Sink};
use super::nontemporal_stores::Stream;
use super::part::Part;
use super::row_blocks::{MIN_ENTRIES_ALIGNED, MIN_VECTORS_ALIGNED, block, misaligned_parts};
use super::rows::Rows;
use super::vectors_avx2::{load_pair, store_pair};
use super::vectors_avx512::*;
use bytemuck::{cast, cast_slice, cast_slice_mut};
use sparse_core::op::Op;
use sparse_core::{Index, Scalar, c32, c64};
use std::arch::x86_64::*;
use std::array;

/// Makes the `$aligned` of `block` for a type; `$rotate` moves the lanes of two neighbouring vectors to one.
macro_rules! aligned {
    ($aligned:ident, $t:ty, $lanes:literal of $part:ty, vector $vector:ty, mask $mask:ty,
     [$zero:ident, $set:ident, $load:ident, $load_live:ident, $fma:ident, $rotate:ident]) => {
        /// The sums of a row whose rows of B begin `misaligned` parts behind a cache line, by loads that do not
        /// cross lines: one vector more, of whose first and last only the lanes of the columns are read.
        ///
        /// # Safety
        /// As for [`sums`](super::registers::sums); there are columns for all lanes of `V` vectors, which have the size
        /// of a cache line.
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
        unsafe fn $aligned<const V: usize, R: Rows>(
            rows: &R,
            row: usize,
            b: RowMajor<'_, R::Scalar>,
            first: usize,
            op: Op,
            misaligned: usize,
        ) -> [$vector; V] {
            const PARTS: usize = size_of::<$t>() / size_of::<$part>();
            let data: &[$part] = cast_slice(b.data);
            let of_last = ((1 << misaligned) - 1) as $mask;
            let (mut sums, mut last) = ([$zero(); V], $zero());
            let entries = rows.entries(row);
            let columns = with_ahead(rows.columns(), &entries, b.ahead);
            for ((column, later), value) in columns.zip(rows.values(entries)) {
                fetch_rows(b, later, first, V * $lanes / PARTS);
                let value = $set(cast::<R::Scalar, $t>(op.apply(value)));
                let row =
                    data.as_ptr().wrapping_add(PARTS * start(column, b, first)).wrapping_sub(misaligned);
                // SAFETY: the lanes that are read lie in a row of `b`.
                unsafe {
                    sums[0] = $fma(value, $load_live(!of_last, row), sums[0]);
                    for (v, sum) in sums.iter_mut().enumerate().skip(1) {
                        *sum = $fma(value, $load(row.wrapping_add(v * $lanes)), *sum);
                    }
                    last = $fma(value, $load_live(of_last, row.wrapping_add(V * $lanes)), last);
                }
            }
            let mut next = last;
            for sum in sums.iter_mut().rev() {
                (*sum, next) = ($rotate(*sum, next, misaligned), *sum);
            }
            sums
        }
    };
}

block!(f64s, row row_of_f64s, group group_of_f64s, f64, 8 of f64, vector __m512d,
    mask lanes_of_8 as u8, features "avx512f,avx512bw,avx512dq,avx512vl", stream Stream of 64,
    aligned aligned_f64s,
    [_mm512_setzero_pd, _mm512_set1_pd, _mm512_loadu_pd, _mm512_maskz_loadu_pd, _mm512_fmadd_pd, _mm512_add_pd, _mm512_mul_pd, _mm512_storeu_pd,
     _mm512_mask_storeu_pd, _mm512_castpd_si512]);
block!(f32s, row row_of_f32s, group group_of_f32s, f32, 16 of f32, vector __m512,
    mask lanes_of_16 as u16, features "avx512f,avx512bw,avx512dq,avx512vl", stream Stream of 64,
    aligned aligned_f32s,
    [_mm512_setzero_ps, _mm512_set1_ps, _mm512_loadu_ps, _mm512_maskz_loadu_ps, _mm512_fmadd_ps, _mm512_add_ps, _mm512_mul_ps, _mm512_storeu_ps,
     _mm512_mask_storeu_ps, _mm512_castps_si512]);
block!(half_f64s, row row_of_half_f64s, group group_of_half_f64s, f64, 4 of f64, vector __m256d,
    mask lanes_of_8 as u8, features "avx512f,avx512bw,avx512dq,avx512vl", stream Stream of 64,
    [_mm256_setzero_pd, _mm256_set1_pd, _mm256_loadu_pd, _mm256_maskz_loadu_pd, _mm256_fmadd_pd, _mm256_add_pd, _mm256_mul_pd, _mm256_storeu_pd,
     _mm256_mask_storeu_pd, half_of_f64s]);
block!(half_f32s, row row_of_half_f32s, group group_of_half_f32s, f32, 8 of f32, vector __m256,
    mask lanes_of_8 as u8, features "avx512f,avx512bw,avx512dq,avx512vl", stream Stream of 64,
    [_mm256_setzero_ps, _mm256_set1_ps, _mm256_loadu_ps, _mm256_maskz_loadu_ps, _mm256_fmadd_ps, _mm256_add_ps, _mm256_mul_ps, _mm256_storeu_ps,
     _mm256_mask_storeu_ps, half_of_f32s]);
block!(quarter_f64s, row row_of_quarter_f64s, group group_of_quarter_f64s, f64, 2 of f64, vector __m128d,
    mask lanes_of_8 as u8, features "avx512f,avx512bw,avx512dq,avx512vl", stream Stream of 64,
    [_mm_setzero_pd, _mm_set1_pd, _mm_loadu_pd, _mm_maskz_loadu_pd, _mm_fmadd_pd, _mm_add_pd, _mm_mul_pd, _mm_storeu_pd,
     _mm_mask_storeu_pd, quarter_of_f64s]);
block!(quarter_f32s, row row_of_quarter_f32s, group group_of_quarter_f32s, f32, 4 of f32, vector __m128,
    mask lanes_of_8 as u8, features "avx512f,avx512bw,avx512dq,avx512vl", stream Stream of 64,
    [_mm_setzero_ps, _mm_set1_ps, _mm_loadu_ps, _mm_maskz_loadu_ps, _mm_fmadd_ps, _mm_add_ps, _mm_mul_ps, _mm_storeu_ps,
     _mm_mask_storeu_ps, quarter_of_f32s]);
block!(pair_f32s, row row_of_pair_f32s, group group_of_pair_f32s, f32, 2 of f32, vector __m128,
    mask lanes_of_8 as u8, features "avx512f,avx512bw,avx512dq,avx512vl", stream Stream of 64,
    [_mm_setzero_ps, _mm_set1_ps, load_pair, _mm_maskz_loadu_ps, _mm_fmadd_ps, _mm_add_ps, _mm_mul_ps, store_pair,
     _mm_mask_storeu_ps, quarter_of_f32s]);
block!(c64s, row row_of_c64s, group group_of_c64s, c64, 8 of f64, vector __m512d,
    mask lanes_of_8 as u8, features "avx512f,avx512bw,avx512dq,avx512vl", stream Stream of 64,
    aligned aligned_c64s,
    [_mm512_setzero_pd, set_c64, _mm512_loadu_pd, _mm512_maskz_loadu_pd, add_product_c64, _mm512_add_pd, product_c64, _mm512_storeu_pd,
     _mm512_mask_storeu_pd, _mm512_castpd_si512]);
block!(c32s, row row_of_c32s, group group_of_c32s, c32, 16 of f32, vector __m512,
    mask lanes_of_16 as u16, features "avx512f,avx512bw,avx512dq,avx512vl", stream Stream of 64,
    aligned aligned_c32s,
    [_mm512_setzero_ps, set_c32, _mm512_loadu_ps, _mm512_maskz_loadu_ps, add_product_c32, _mm512_add_ps, product_c32, _mm512_storeu_ps,
     _mm512_mask_storeu_ps, _mm512_castps_si512]);

aligned!(aligned_f64s, f64, 8 of f64, vector __m512d, mask u8,
    [_mm512_setzero_pd, _mm512_set1_pd, _mm512_loadu_pd, _mm512_maskz_loadu_pd, _mm512_fmadd_pd, rotate_f64s]);
aligned!(aligned_f32s, f32, 16 of f32, vector __m512, mask u16,
    [_mm512_setzero_ps, _mm512_set1_ps, _mm512_loadu_ps, _mm512_maskz_loadu_ps, _mm512_fmadd_ps, rotate_f32s]);
aligned!(aligned_c64s, c64, 8 of f64, vector __m512d, mask u8,
    [_mm512_setzero_pd, set_c64, _mm512_loadu_pd, _mm512_maskz_loadu_pd, add_product_c64, rotate_f64s]);
aligned!(aligned_c32s, c32, 16 of f32, vector __m512, mask u16,
    [_mm512_setzero_ps, set_c32, _mm512_loadu_ps, _mm512_maskz_loadu_ps, add_product_c32, rotate_f32s]);
