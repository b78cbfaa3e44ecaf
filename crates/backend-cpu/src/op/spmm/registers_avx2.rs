//! Blocks of columns of `f32` and `f64` in AVX2's registers.

use super::ahead::{fetch_rows, start, with_ahead};
use super::block::{RowMajor, Sink};
use super::nontemporal_stores::HalfStream;
use super::part::Part;
use super::row_blocks::block;
use super::rows::Rows;
use super::vectors_avx2::*;
use bytemuck::{cast, cast_slice, cast_slice_mut};
use sparse_core::op::Op;
use sparse_core::{Index, Scalar};
use std::arch::x86_64::*;
use std::array;

/// Makes a function that sums all whole blocks of columns of a row before the next row. Its arguments are those of
/// `block`; `$add_product` is its `$fma`.
macro_rules! whole_blocks {
    ($name:ident, $t:ty, lanes $lanes:literal,
     [$zero:ident, $set:ident, $load:ident, $add_product:ident, $add:ident, $mul:ident, $store:ident, $bits:ident]) => {
        /// The sums in `V` vectors, of as many blocks of columns as there are, row by row: the rows of B that a row
        /// uses stay in the L1 cache, and the row of C is written from its first block to its last.
        ///
        /// # Safety
        /// As for [`sums`](super::registers::sums); there are columns for all lanes.
        #[inline]
        #[target_feature(enable = "avx2,fma")]
        pub(super) unsafe fn $name<const V: usize, R: Rows>(
            rows: &R,
            part: &Part,
            b: RowMajor<'_, R::Scalar>,
            first: usize,
            sink: &mut impl Sink<R::Scalar>,
        ) -> usize {
            let data: &[$t] = cast_slice(b.data);
            let width = V * $lanes;
            let len = (b.columns - first) / width * width;
            let mut streamed = sink.streamed(first, len).map(|to| (to, HalfStream::new()));
            for row_of_c in part.summed_rows() {
                let entries = rows.entries(row_of_c);
                if let Some((to, stream)) = &mut streamed {
                    // SAFETY: the sink's promise: the row has `len` elements, those of the vectors.
                    unsafe { stream.seek(to.start.wrapping_add(row_of_c * to.stride).cast()) };
                }
                for at in (first..first + len).step_by(width) {
                    let mut sums = [$zero(); V];
                    let columns = with_ahead(rows.columns(), &entries, b.ahead);
                    for ((column, later), value) in columns.zip(rows.values(entries.clone())) {
                        if at == first {
                            fetch_rows(b, later, first, len);
                        }
                        let value = $set(cast::<R::Scalar, $t>(value));
                        let row = data.as_ptr().wrapping_add(start(column, b, at));
                        for (v, sum) in sums.iter_mut().enumerate() {
                            // SAFETY: whole vectors lie in a row of `b`.
                            *sum = $add_product(value, unsafe { $load(row.add(v * $lanes)) }, *sum);
                        }
                    }
                    if let Some((to, stream)) = &mut streamed {
                        let alpha = $set(cast::<_, $t>(to.alpha));
                        for sum in sums {
                            // SAFETY: as above.
                            unsafe { stream.write($bits($mul(alpha, sum))) };
                        }
                    } else if let Some((c, update)) = sink.place(row_of_c, at, width) {
                        let c: &mut [$t] = cast_slice_mut(c);
                        let (alpha, beta) = (cast::<_, $t>(update.alpha), cast::<_, $t>(update.beta));
                        for (c, sum) in c.chunks_exact_mut($lanes).zip(sums) {
                            // SAFETY: `c` has as many elements as a vector.
                            unsafe {
                                let mut value = $mul($set(alpha), sum);
                                if beta != 0.0 {
                                    value = $add(value, $mul($set(beta), $load(c.as_ptr())));
                                }
                                $store(c.as_mut_ptr(), value);
                            }
                        }
                    } else {
                        let mut block = [[0.0; $lanes]; V];
                        for (part, sum) in block.iter_mut().zip(sums) {
                            // SAFETY: `part` has as many elements as a vector.
                            unsafe { $store(part.as_mut_ptr(), sum) };
                        }
                        sink.write(row_of_c, at, cast_slice(block.as_flattened()));
                    }
                }
            }
            if let Some((_, stream)) = streamed {
                // SAFETY: all vectors were written where the sink has memory for them.
                unsafe { stream.end() };
            }
            len
        }
    };
}

whole_blocks!(fused_f64s, f64, lanes 4,
    [_mm256_setzero_pd, _mm256_set1_pd, _mm256_loadu_pd, _mm256_fmadd_pd, _mm256_add_pd, _mm256_mul_pd,
     _mm256_storeu_pd, _mm256_castpd_si256]);
whole_blocks!(fused_f32s, f32, lanes 8,
    [_mm256_setzero_ps, _mm256_set1_ps, _mm256_loadu_ps, _mm256_fmadd_ps, _mm256_add_ps, _mm256_mul_ps,
     _mm256_storeu_ps, _mm256_castps_si256]);
whole_blocks!(rounded_f64s, f64, lanes 4,
    [_mm256_setzero_pd, _mm256_set1_pd, _mm256_loadu_pd, add_rounded_f64s, _mm256_add_pd, _mm256_mul_pd,
     _mm256_storeu_pd, _mm256_castpd_si256]);

block!(avx2_fused_f32s, row row_of_avx2_fused_f32s, group group_of_avx2_fused_f32s, f32, 8 of f32, vector __m256,
    mask lanes_of_8_f32s as __m256i, features "avx2,fma", stream HalfStream of 32,
    [_mm256_setzero_ps, _mm256_set1_ps, _mm256_loadu_ps, load_8_f32s, _mm256_fmadd_ps, _mm256_add_ps, _mm256_mul_ps,
     _mm256_storeu_ps, store_8_f32s, _mm256_castps_si256]);
block!(avx2_f64s, row row_of_avx2_f64s, group group_of_avx2_f64s, f64, 4 of f64, vector __m256d,
    mask lanes_of_4_f64s as __m256i, features "avx2,fma", stream HalfStream of 32,
    [_mm256_setzero_pd, _mm256_set1_pd, _mm256_loadu_pd, load_4_f64s, add_rounded_f64s, _mm256_add_pd, _mm256_mul_pd,
     _mm256_storeu_pd, store_4_f64s, _mm256_castpd_si256]);
block!(avx2_f32s, row row_of_avx2_f32s, group group_of_avx2_f32s, f32, 8 of f32, vector __m256,
    mask lanes_of_8_f32s as __m256i, features "avx2,fma", stream HalfStream of 32,
    [_mm256_setzero_ps, _mm256_set1_ps, _mm256_loadu_ps, load_8_f32s, add_rounded_f32s, _mm256_add_ps, _mm256_mul_ps,
     _mm256_storeu_ps, store_8_f32s, _mm256_castps_si256]);
block!(avx2_half_f64s, row row_of_avx2_half_f64s, group group_of_avx2_half_f64s, f64, 2 of f64, vector __m128d,
    mask lanes_of_2_f64s as __m128i, features "avx2,fma", stream HalfStream of 32,
    [_mm_setzero_pd, _mm_set1_pd, _mm_loadu_pd, load_2_f64s, add_rounded_2_f64s, _mm_add_pd, _mm_mul_pd,
     _mm_storeu_pd, store_2_f64s, half_of_f64s]);
block!(avx2_half_f32s, row row_of_avx2_half_f32s, group group_of_avx2_half_f32s, f32, 4 of f32, vector __m128,
    mask lanes_of_4_f32s as __m128i, features "avx2,fma", stream HalfStream of 32,
    [_mm_setzero_ps, _mm_set1_ps, _mm_loadu_ps, load_4_f32s, add_rounded_4_f32s, _mm_add_ps, _mm_mul_ps,
     _mm_storeu_ps, store_4_f32s, half_of_f32s]);
block!(avx2_pair_f32s, row row_of_avx2_pair_f32s, group group_of_avx2_pair_f32s, f32, 2 of f32, vector __m128,
    mask lanes_of_4_f32s as __m128i, features "avx2,fma", stream HalfStream of 32,
    [_mm_setzero_ps, _mm_set1_ps, load_pair, load_4_f32s, add_rounded_4_f32s, _mm_add_ps, _mm_mul_ps,
     store_pair, store_4_f32s, half_of_f32s]);
