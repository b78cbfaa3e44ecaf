//! Products of `f32` and `f64` by NEON, which has no gathers: elements of `x` are loaded one by one, then multiplied
//! and added as vectors.

use super::slab::{LANES, Slab};
use crate::simd::{Isa, Simd};
use bytemuck::{cast, cast_slice, cast_slice_mut};
use sparse_core::{DType, Index, Scalar};
use std::arch::aarch64::*;

/// Entries below which the sum over the lanes costs more than they save.
const SHORT: usize = 8;

/// `Σ value·x[column]`, if `S` has vectors for the type and there are enough entries.
///
/// # Safety
/// Columns and values have one length; every column is below the length of `x`.
#[inline(always)]
pub(crate) unsafe fn dot<S: Isa, T: Scalar, I: Index>(
    columns: &[I],
    values: &[T],
    x: &[T],
) -> Option<T::Acc> {
    if S::SIMD != Simd::Neon || columns.len() < SHORT {
        return None;
    }
    // SAFETY: the caller's promises.
    unsafe {
        match T::DTYPE {
            DType::F64 => Some(cast(neon_f64::dot(columns, cast_slice(values), cast_slice(x)))),
            DType::F32 => Some(cast(neon_f32::dot(columns, cast_slice(values), cast_slice(x)))),
            _ => None,
        }
    }
}

/// Adds the sum of each row of the slab to `sums`, if `S` has vectors for the type.
///
/// # Safety
/// The slab lies within its arrays; every column is below the length of `x` or padding.
#[inline(always)]
pub(crate) unsafe fn add_slab<S: Isa, T: Scalar, I: Index>(
    slab: &Slab<'_, T, I>,
    sums: &mut [T::Acc; LANES],
    x: &[T],
) -> bool {
    if S::SIMD != Simd::Neon {
        return false;
    }
    let sums = sums.as_mut_slice();
    match T::DTYPE {
        // SAFETY: the caller's promises.
        DType::F64 => unsafe {
            neon_f64::add_slab(slab, cast_slice(slab.values), cast_slice_mut(sums), cast_slice(x))
        },
        // SAFETY: the caller's promises.
        DType::F32 => unsafe {
            neon_f32::add_slab(slab, cast_slice(slab.values), cast_slice_mut(sums), cast_slice(x))
        },
        _ => return false,
    }
    true
}

macro_rules! neon {
    ($module:ident, $t:ty, lanes $lanes:literal, [$set:ident, $load:ident, $fma:ident, $add:ident, $reduce:ident, $store:ident]) => {
        mod $module {
            use super::*;

            /// Two sums in turn, and a scalar one for the last entries.
            ///
            /// # Safety
            /// As for [`super::dot`].
            #[inline]
            #[target_feature(enable = "neon")]
            pub(crate) unsafe fn dot<I: Index>(columns: &[I], values: &[$t], x: &[$t]) -> $t {
                // SAFETY: the caller's promise.
                let at = |column: I| unsafe { *x.get_unchecked(column.as_usize()) };
                let (pairs, rest) = columns.as_chunks::<{ 2 * $lanes }>();
                let (value_pairs, value_rest) = values.as_chunks::<{ 2 * $lanes }>();
                let mut sums = [$set(0.0); 2];
                for (columns, values) in pairs.iter().zip(value_pairs) {
                    let x = columns.map(at);
                    for (half, sum) in sums.iter_mut().enumerate() {
                        let (values, x) = (&values[half * $lanes..], &x[half * $lanes..]);
                        // SAFETY: a whole vector follows in both.
                        *sum = unsafe { $fma(*sum, $load(values.as_ptr()), $load(x.as_ptr())) };
                    }
                }
                let rest = rest.iter().zip(value_rest).map(|(&column, value)| value * at(column));
                $reduce($add(sums[0], sums[1])) + rest.sum::<$t>()
            }

            /// Adds a vector of lanes at a time, element by element of their rows; padding adds 0·0.
            ///
            /// # Safety
            /// As for [`super::add_slab`].
            #[inline]
            #[target_feature(enable = "neon")]
            pub(crate) unsafe fn add_slab<T, I: Index>(
                slab: &Slab<'_, T, I>,
                values: &[$t],
                sums: &mut [$t],
                x: &[$t],
            ) {
                for (first, sums) in (0..slab.lanes).step_by($lanes).zip(sums.chunks_exact_mut($lanes)) {
                    let live = $lanes.min(slab.lanes - first);
                    // SAFETY: `sums` has as many elements as a vector.
                    let mut sum = unsafe { $load(sums.as_ptr()) };
                    for k in 0..slab.width {
                        let position = slab.start + k * slab.stride + first;
                        let (mut value_lanes, mut x_lanes) = ([0.0; $lanes], [0.0; $lanes]);
                        for lane in 0..live {
                            if let Some(column) = slab.columns.at(position + lane) {
                                value_lanes[lane] = values[position + lane];
                                // SAFETY: the caller's promise.
                                x_lanes[lane] = unsafe { *x.get_unchecked(column) };
                            }
                        }
                        // SAFETY: both arrays have as many elements as a vector.
                        sum = unsafe { $fma(sum, $load(value_lanes.as_ptr()), $load(x_lanes.as_ptr())) };
                    }
                    // SAFETY: as above.
                    unsafe { $store(sums.as_mut_ptr(), sum) };
                }
            }
        }
    };
}

neon!(neon_f64, f64, lanes 2, [vdupq_n_f64, vld1q_f64, vfmaq_f64, vaddq_f64, vaddvq_f64, vst1q_f64]);
neon!(neon_f32, f32, lanes 4, [vdupq_n_f32, vld1q_f32, vfmaq_f32, vaddq_f32, vaddvq_f32, vst1q_f32]);
