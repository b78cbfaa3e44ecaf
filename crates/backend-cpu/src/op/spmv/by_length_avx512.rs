//! The sums of `rows_by_length` for `f32` and `f64` with 32-bit columns in AVX-512's registers.

use super::by_length::{AHEAD, Listed};
use crate::simd::{Isa, Simd, fetch_line};
use bytemuck::{cast_slice, cast_slice_mut};
use sparse_core::{DType, Index, Scalar};
use std::arch::x86_64::*;

/// Computes `products` and the `sums` of the short and of the long rows, if `S` has kernels for the types.
///
/// # Safety
/// The processor has `S`; columns, values and products have one length; every column is below the length of `x`; the
/// listed rows lie inside `sums`, their entries inside `products`.
#[inline(always)]
pub(super) unsafe fn sums<S: Isa, T: Scalar, I: Index>(
    columns: &[I],
    values: &[T],
    x: &[T],
    products: &mut [T::Acc],
    lists: [Listed<'_>; 2],
    sums: &mut [T::Acc],
) -> bool {
    if S::SIMD != Simd::Avx512 || size_of::<I>() != size_of::<i32>() {
        return false;
    }
    let columns = cast_slice(columns);
    // SAFETY: the caller's promises.
    unsafe {
        match T::DTYPE {
            DType::F32 => avx512_f32::sums(
                columns,
                cast_slice(values),
                cast_slice(x),
                cast_slice_mut(products),
                lists,
                cast_slice_mut(sums),
            ),
            DType::F64 => avx512_f64::sums(
                columns,
                cast_slice(values),
                cast_slice(x),
                cast_slice_mut(products),
                lists,
                cast_slice_mut(sums),
            ),
            _ => return false,
        }
    }
    true
}

macro_rules! avx512 {
    ($module:ident, $t:ty, lanes $lanes:literal, mask $mask:ty,
     [$zero:ident, $load:ident, $store:ident, $mul:ident, $add:ident, $reduce:ident],
     [$load_columns:ident, $gather:ident, $scatter:ident],
     [$load_list:ident, $widen:ident, $is_greater:ident, $numbers:ident]) => {
        mod $module {
            use super::*;

            const SIZE: i32 = size_of::<$t>() as i32;

            /// # Safety
            /// As for [`super::sums`].
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
            pub(super) unsafe fn sums(
                columns: &[i32],
                values: &[$t],
                x: &[$t],
                products: &mut [$t],
                [short, long]: [Listed<'_>; 2],
                sums: &mut [$t],
            ) {
                // SAFETY: the caller's promises.
                unsafe {
                    multiply(columns, values, x, products);
                    add_short(short, products, sums);
                    add_long(long, products, sums);
                }
            }

            /// The lanes below `count`.
            fn lanes(count: usize) -> $mask {
                <$mask>::MAX >> ($lanes - count.min($lanes))
            }

            /// `values·x[columns]`.
            ///
            /// # Safety
            /// As for [`super::sums`].
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
            unsafe fn multiply(columns: &[i32], values: &[$t], x: &[$t], products: &mut [$t]) {
                for at in (0..columns.len()).step_by($lanes) {
                    fetch_line(columns, at + AHEAD);
                    fetch_line(values, at + AHEAD);
                    let live = lanes(columns.len() - at);
                    // SAFETY: live lanes lie inside the three slices, and their columns are below the length of `x`.
                    unsafe {
                        let columns = $load_columns(live, columns.as_ptr().add(at));
                        let x = $gather::<SIZE>($zero(), live, columns, x.as_ptr());
                        let values = $load(live, values.as_ptr().add(at));
                        $store(products.as_mut_ptr().add(at), live, $mul(values, x));
                    }
                }
            }

            /// Sums as many rows side by side as there are lanes.
            ///
            /// # Safety
            /// As for [`super::sums`].
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
            unsafe fn add_short(listed: Listed<'_>, products: &[$t], sums: &mut [$t]) {
                for at in (0..listed.rows.len()).step_by($lanes) {
                    let live = lanes(listed.rows.len() - at);
                    let longest = listed.lengths[(at + $lanes).min(listed.lengths.len()) - 1];
                    // SAFETY: live lanes lie inside the lists; rows and entries as the caller promises.
                    unsafe {
                        let load = |list: &[u16]| $widen($load_list(live, list.as_ptr().add(at).cast()));
                        let (starts, lengths) = (load(listed.starts), load(listed.lengths));
                        let mut sum = $zero();
                        for k in 0..longest {
                            let more = $is_greater(lengths, $numbers(k.into()));
                            let products = products.as_ptr().add(k.into());
                            sum = $add(sum, $gather::<SIZE>($zero(), more, starts, products));
                        }
                        $scatter::<SIZE>(sums.as_mut_ptr(), live, load(listed.rows), sum);
                    }
                }
            }

            /// Sums one row after the other.
            ///
            /// # Safety
            /// As for [`super::sums`].
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
            unsafe fn add_long(listed: Listed<'_>, products: &[$t], sums: &mut [$t]) {
                for ((&row, &start), &length) in listed.rows.iter().zip(listed.starts).zip(listed.lengths) {
                    let products = &products[usize::from(start)..][..usize::from(length)];
                    let mut sum = $zero();
                    for vector in products.chunks($lanes) {
                        // SAFETY: live lanes lie inside the chunk.
                        sum = $add(sum, unsafe { $load(lanes(vector.len()), vector.as_ptr()) });
                    }
                    sums[usize::from(row)] = $reduce(sum);
                }
            }
        }
    };
}

avx512!(avx512_f32, f32, lanes 16, mask u16,
    [_mm512_setzero_ps, _mm512_maskz_loadu_ps, _mm512_mask_storeu_ps, _mm512_mul_ps, _mm512_add_ps, _mm512_reduce_add_ps],
    [_mm512_maskz_loadu_epi32, _mm512_mask_i32gather_ps, _mm512_mask_i32scatter_ps],
    [_mm256_maskz_loadu_epi16, _mm512_cvtepu16_epi32, _mm512_cmpgt_epi32_mask, _mm512_set1_epi32]);
avx512!(avx512_f64, f64, lanes 8, mask u8,
    [_mm512_setzero_pd, _mm512_maskz_loadu_pd, _mm512_mask_storeu_pd, _mm512_mul_pd, _mm512_add_pd, _mm512_reduce_add_pd],
    [_mm256_maskz_loadu_epi32, _mm512_mask_i32gather_pd, _mm512_mask_i32scatter_pd],
    [_mm_maskz_loadu_epi16, _mm256_cvtepu16_epi32, _mm256_cmpgt_epi32_mask, _mm256_set1_epi32]);
