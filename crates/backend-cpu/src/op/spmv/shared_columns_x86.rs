//! The sums of rows by common elements of x, for `f32` and `f64` in the registers of AVX2: a vector of elements, by a
//! load for each, is multiplied by the values of several rows before the next one. Wider vectors of AVX-512 take longer,
//! as for [long rows](super::long_row_x86): two unknowns a node and 18 entries a row 1.13 (`f32`) and 1.20 (`f64`) of
//! the time, three unknowns and 21 entries 1.12 and 1.42 (one thread of an EPYC, Zen 5).
//!
//! Bytes an entry: those of its value, and four for each column of a group, of which other rows need none. With copies
//! of the elements, which all rows read, groups of 200 rows take 0.85 of the time, of 1000 rows 1.3, of five rows 1.1.

use super::elements_x86::*;
use super::long_row::AHEAD as COLUMNS_AHEAD;
use super::masked_x86::*;
use crate::primitive::update::Update;
use crate::simd::{Isa, Simd, fetch_address};
use bytemuck::{cast, cast_slice};
use sparse_core::{DType, Index, Scalar};
use std::arch::x86_64::*;

/// Bytes by which values are prefetched ahead.
const AHEAD: usize = 4096;

/// Writes the sums of rows that have these columns, if `S` has kernels for the types; values and the columns of later
/// rows are prefetched if it `fetches` them.
///
/// # Safety
/// The processor has `S`; there are as many values for each element of `y` as columns, which are below the length of
/// `x`.
#[inline(always)]
pub(super) unsafe fn sums<S: Isa, T: Scalar, I: Index>(
    columns: &[I],
    values: &[T],
    x: &[T],
    y: &mut [T],
    update: Update<T::Acc>,
    fetches: bool,
) -> bool {
    if size_of::<I>() != size_of::<i32>() || columns.is_empty() {
        return false;
    }
    let kernel: Kernel<T> = match (S::SIMD, T::DTYPE, fetches) {
        (Simd::Avx2 | Simd::Avx512, DType::F32, false) => of_f32::sums::<T, false>,
        (Simd::Avx2 | Simd::Avx512, DType::F32, true) => of_f32::sums::<T, true>,
        (Simd::Avx2 | Simd::Avx512, DType::F64, false) => of_f64::sums::<T, false>,
        (Simd::Avx2 | Simd::Avx512, DType::F64, true) => of_f64::sums::<T, true>,
        _ => return false,
    };
    // SAFETY: the caller's promises; the kernel is that of `T`, and processors that have AVX-512 have AVX2, too.
    unsafe { kernel(cast_slice(columns), values, x, y, update) };
    true
}

/// Prefetches the line of an address if `FETCHES`.
#[inline(always)]
fn fetch_if<const FETCHES: bool, T>(address: *const T) {
    if FETCHES {
        fetch_address(address);
    }
}

/// As [`sums`], for a type.
type Kernel<T> = unsafe fn(&[i32], &[T], &[T], &mut [T], Update<<T as Scalar>::Acc>);

macro_rules! kernel {
    ($module:ident, $t:ty, $lanes:literal lanes,
     [$zero:ident, $live:ident, $load:ident, $load_live:ident, $keep:ident, $mul:ident, $fma:ident, $add_behind:ident, $reduce:ident],
     [$elements:ident, $last_elements:ident]) => {
        mod $module {
            use super::*;

            /// # Safety
            /// As for [`super::sums`]; there are columns.
            #[inline]
            #[target_feature(enable = "avx2,fma")]
            pub(super) unsafe fn sums<T: Scalar, const FETCHES: bool>(
                columns: &[i32],
                values: &[T],
                x: &[T],
                y: &mut [T],
                update: Update<T::Acc>,
            ) {
                let (mut values, x): (&[$t], &[$t]) = (cast_slice(values), cast_slice(x));
                // Groups that follow have as many entries, if they are like this one.
                let group = columns.len() * y.len();
                let ahead = COLUMNS_AHEAD.next_multiple_of(group);
                let mut rest = y;
                while !rest.is_empty() {
                    // SAFETY: the caller's promises.
                    let done = unsafe {
                        match rest.len() {
                            12.. => block::<12, T, FETCHES>(columns, ahead, values, x, rest, update),
                            8.. => block::<8, T, FETCHES>(columns, ahead, values, x, rest, update),
                            6.. => block::<6, T, FETCHES>(columns, ahead, values, x, rest, update),
                            5.. => block::<5, T, FETCHES>(columns, ahead, values, x, rest, update),
                            4.. => block::<4, T, FETCHES>(columns, ahead, values, x, rest, update),
                            3.. => block::<3, T, FETCHES>(columns, ahead, values, x, rest, update),
                            2.. => block::<2, T, FETCHES>(columns, ahead, values, x, rest, update),
                            _ => block::<1, T, FETCHES>(columns, ahead, values, x, rest, update),
                        }
                    };
                    (values, rest) = (&values[done * columns.len()..], &mut rest[done..]);
                }
            }

            /// Writes the sums of the first `N` rows, and prefetches the columns of other groups `ahead` if it
            /// `FETCHES`; returns `N`.
            ///
            /// # Safety
            /// As for [`sums`]; there are `N` rows.
            #[inline]
            #[target_feature(enable = "avx2,fma")]
            unsafe fn block<const N: usize, T: Scalar, const FETCHES: bool>(
                columns: &[i32],
                ahead: usize,
                values: &[$t],
                x: &[$t],
                y: &mut [T],
                update: Update<T::Acc>,
            ) -> usize {
                let (mut sums, len) = ([$zero(); N], columns.len());
                let rows: [_; N] = std::array::from_fn(|k| values[k * len..][..len].as_ptr());
                let whole = len / $lanes * $lanes;
                // SAFETY: vectors and live lanes lie in the rows; the columns are below the length of `x`, which so has
                // a first element, by which other lanes are replaced.
                unsafe {
                    for at in (0..whole).step_by($lanes) {
                        fetch_if::<FETCHES, _>(columns.as_ptr().wrapping_add(at + ahead));
                        let elements = $elements::<false>(columns.as_ptr().add(at), x.as_ptr());
                        for (sum, row) in sums.iter_mut().zip(rows) {
                            fetch_if::<FETCHES, _>(row.wrapping_add(at + AHEAD / size_of::<$t>()));
                            *sum = $fma($load(row.add(at)), elements, *sum);
                        }
                    }
                    fetch_if::<FETCHES, _>(columns.as_ptr().wrapping_add(whole + ahead));
                    if whole == 0 {
                        let live = $live(len);
                        let elements = $keep(live, $last_elements(columns.as_ptr(), len, x.as_ptr()));
                        for (sum, row) in sums.iter_mut().zip(rows) {
                            fetch_if::<FETCHES, _>(row.wrapping_add(AHEAD / size_of::<$t>()));
                            *sum = $mul($load_live(live, row), elements);
                        }
                    } else if whole < len {
                        // With entries of the vector before, which are not added again.
                        let last = len - $lanes;
                        let elements = $elements::<false>(columns.as_ptr().add(last), x.as_ptr());
                        for (sum, row) in sums.iter_mut().zip(rows) {
                            fetch_if::<FETCHES, _>(row.wrapping_add(whole + AHEAD / size_of::<$t>()));
                            *sum = $add_behind(whole - last, $load(row.add(last)), elements, *sum);
                        }
                    }
                }
                for (y, sum) in y.iter_mut().zip(sums) {
                    update.write(y, cast($reduce(sum)));
                }
                N
            }
        }
    };
}

kernel!(of_f32, f32, 8 lanes,
    [_mm256_setzero_ps, f32_lanes, _mm256_loadu_ps, load_f32s, keep_f32s, _mm256_mul_ps, _mm256_fmadd_ps, add_behind_f32s, add_f32s],
    [avx2_f32s, last_avx2_f32s]);
kernel!(of_f64, f64, 4 lanes,
    [_mm256_setzero_pd, f64_lanes, _mm256_loadu_pd, load_f64s, keep_f64s, _mm256_mul_pd, _mm256_fmadd_pd, add_behind_f64s, add_f64s],
    [avx2_f64s, last_avx2_f64s]);
