//! The sum of a long row for `f32` and `f64` with 32-bit columns in the registers of AVX2: elements of x by a load for
//! each into a vector, which is multiplied by a vector of values. Wider vectors of AVX-512 take longer: the loads of x
//! take the time, and more lanes of the last vector of a row are empty.
//!
//! Bytes an entry, once: 8 of `f32` and 12 of `f64`. What limits in the caches are loads, of which a core has two a
//! cycle for vectors and floating point: entry by entry there are two for each, of x and of the value, here 1 + 1/8 or
//! 1 + 1/4. Columns are compared with the length of x where nobody has done so; loads of x have to wait for that.

use super::elements_x86::*;
use super::long_row::{AHEAD, Columns, X_AHEAD};
use super::masked_x86::*;
use crate::simd::{Isa, Simd, fetch_address};
use bytemuck::{cast, cast_slice};
use sparse_core::{DType, Index, Scalar};
use std::arch::x86_64::*;

/// `Σ value·x[column]`: `Some(None)` if a column is not below the length of `x`, `None` if `S` has no kernel for the
/// types or the row is shorter than a vector.
///
/// # Safety
/// The processor has `S`; there is a column for each value; the columns are what `known` says.
#[inline(always)]
pub(super) unsafe fn sum<S: Isa, T: Scalar, I: Index>(
    columns: &[I],
    values: &[T],
    x: &[T],
    known: Columns,
) -> Option<Option<T::Acc>> {
    if size_of::<I>() != size_of::<i32>() {
        return None;
    }
    macro_rules! sum_where_it_is {
        ($dtype:ident, $module:ident) => {
            if const { matches!((S::SIMD, T::DTYPE), (Simd::Avx2 | Simd::Avx512, DType::$dtype)) }
                && values.len() >= $module::SHORTEST
            {
                let (columns, values, x) = (cast_slice(columns), cast_slice(values), cast_slice(x));
                // SAFETY: the caller's promises; those that have AVX-512 have AVX2, too.
                let sum = unsafe {
                    match known {
                        Columns::Any => $module::sum::<false, true, false>(columns, values, x),
                        Columns::InRange => $module::sum::<true, true, false>(columns, values, x),
                        Columns::Cached => $module::sum::<true, false, false>(columns, values, x),
                        Columns::Fetched => $module::sum::<true, true, true>(columns, values, x),
                    }
                };
                return Some(sum.map(cast));
            }
        };
    }
    sum_where_it_is!(F32, of_f32);
    sum_where_it_is!(F64, of_f64);
    None
}

macro_rules! kernel {
    ($module:ident, $t:ty, $lanes:literal lanes,
     [$zero:ident, $load:ident, $fma:ident, $reduce:ident],
     [$elements:ident, $lie_below:ident, $add_behind:ident]) => {
        mod $module {
            use super::*;

            /// The entries of the shortest row.
            pub(super) const SHORTEST: usize = $lanes;

            /// The sum of a row, whose columns are compared unless they are `IN_RANGE`, with columns and values
            /// prefetched if it `FETCHES` them, and elements of `x` if it `FETCHES_X`. The last vector has entries of
            /// the one before, too, which it does not add.
            ///
            /// # Safety
            /// As for [`super::sum`]; the row is not shorter than [`SHORTEST`].
            #[inline(never)]
            #[target_feature(enable = "avx2,fma")]
            pub(super) unsafe fn sum<const IN_RANGE: bool, const FETCHES: bool, const FETCHES_X: bool>(
                columns: &[i32],
                values: &[$t],
                x: &[$t],
            ) -> Option<$t> {
                let (len, mut sum) = (values.len(), $zero());
                let (whole, last_columns) = (len / $lanes * $lanes, columns.len() - $lanes);
                for at in (0..whole).step_by($lanes) {
                    // SAFETY: vectors lie in the row; columns are compared before they are used.
                    unsafe {
                        let (columns, values) = (columns.as_ptr().add(at), values.as_ptr().add(at));
                        if FETCHES {
                            fetch_address(columns.wrapping_add(AHEAD));
                            fetch_address(values.wrapping_add(AHEAD));
                        }
                        if FETCHES_X {
                            fetch_elements::<$lanes, $t>(columns.add(X_AHEAD.min(last_columns - at)), x);
                        }
                        if !IN_RANGE && !$lie_below(columns, x.len()) {
                            return None;
                        }
                        sum = $fma($load(values), $elements::<false>(columns, x.as_ptr()), sum);
                    }
                }
                if whole < len {
                    let last = len - $lanes;
                    // SAFETY: as above.
                    unsafe {
                        let (columns, values) = (columns.as_ptr().add(last), values.as_ptr().add(last));
                        if !IN_RANGE && !$lie_below(columns, x.len()) {
                            return None;
                        }
                        let x = $elements::<false>(columns, x.as_ptr());
                        sum = $add_behind(whole - last, $load(values), x, sum);
                    }
                }
                Some($reduce(sum))
            }
        }
    };
}

kernel!(of_f32, f32, 8 lanes,
    [_mm256_setzero_ps, _mm256_loadu_ps, _mm256_fmadd_ps, add_f32s],
    [avx2_f32s, eight_lie_below, add_behind_f32s]);
kernel!(of_f64, f64, 4 lanes,
    [_mm256_setzero_pd, _mm256_loadu_pd, _mm256_fmadd_pd, add_f64s],
    [avx2_f64s, four_lie_below, add_behind_f64s]);

/// The least bit pattern that is no column: of columns below 0, too, which so lie above it.
fn limit(len: usize) -> i32 {
    len.min(1 << 31) as u32 as i32
}

/// True if 8 columns are below `len`.
///
/// # Safety
/// The columns may be read.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn eight_lie_below(columns: *const i32, len: usize) -> bool {
    // SAFETY: the caller's promise.
    let columns = unsafe { _mm256_loadu_si256(columns.cast()) };
    let are_above = _mm256_cmpeq_epi32(_mm256_max_epu32(columns, _mm256_set1_epi32(limit(len))), columns);
    _mm256_movemask_epi8(are_above) == 0
}

/// True if 4 columns are below `len`.
///
/// # Safety
/// The columns may be read.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn four_lie_below(columns: *const i32, len: usize) -> bool {
    // SAFETY: the caller's promise.
    let columns = unsafe { _mm_loadu_si128(columns.cast()) };
    let are_above = _mm_cmpeq_epi32(_mm_max_epu32(columns, _mm_set1_epi32(limit(len))), columns);
    _mm_movemask_epi8(are_above) == 0
}
