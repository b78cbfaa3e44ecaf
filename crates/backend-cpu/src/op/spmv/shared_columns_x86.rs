//! The sums of rows by common elements of x, for `f32` and `f64` in the registers of AVX2 and AVX-512.

use super::elements_x86::*;
use super::masked_x86::*;
use crate::primitive::update::Update;
use crate::simd::{Isa, LINE, Simd, fetch_address};
use bytemuck::{cast, cast_slice, cast_slice_mut};
use sparse_core::{DType, Index, Scalar};
use std::arch::x86_64::*;

/// Rows summed side by side.
const ROWS: usize = 4;

/// Bytes by which values are prefetched ahead.
const AHEAD: usize = 4096;

/// Elements behind the columns of a row that vectors may read.
const PADDING: usize = 16;

/// The elements of x for the columns of a row.
pub(super) struct Elements<T>(Vec<T>);

impl<T: Scalar> Elements<T> {
    /// A buffer for rows of up to `longest` entries.
    pub(super) fn new(longest: usize) -> Self {
        Self(vec![T::ZERO; longest + PADDING + LINE / size_of::<T>()])
    }

    /// The elements from the start of a cache line on: a vector that crosses two lines waits longer to be read after it
    /// is written.
    pub(super) fn aligned(&mut self) -> &mut [T] {
        let skipped = self.0.as_ptr().align_offset(LINE);
        &mut self.0[skipped.min(LINE / size_of::<T>())..]
    }
}

/// Writes the sums of rows that have these columns, if `S` has kernels for the types.
///
/// # Safety
/// The processor has `S`; there are as many values for each element of `y` as columns, which are below the length of
/// `x`, and a vector more `elements`.
#[inline(always)]
pub(super) unsafe fn sums<S: Isa, T: Scalar, I: Index>(
    columns: &[I],
    values: &[T],
    x: &[T],
    elements: &mut [T],
    y: &mut [T],
    update: Update<T::Acc>,
) -> bool {
    if size_of::<I>() != size_of::<i32>() {
        return false;
    }
    let kernel: Kernel<T> = match (S::SIMD, T::DTYPE) {
        (Simd::Avx512, DType::F32) => avx512_f32::sums,
        (Simd::Avx512, DType::F64) => avx512_f64::sums,
        (Simd::Avx2, DType::F32) => avx2_f32::sums,
        (Simd::Avx2, DType::F64) => avx2_f64::sums,
        _ => return false,
    };
    // SAFETY: the caller's promises; the kernel is that of `S` and `T`.
    unsafe { kernel(cast_slice(columns), values, x, elements, y, update) };
    true
}

/// As [`sums`], for an instruction set and a type that it has.
type Kernel<T> = unsafe fn(&[i32], &[T], &[T], &mut [T], &mut [T], Update<<T as Scalar>::Acc>);

macro_rules! kernel {
    ($module:ident, $t:ty, $lanes:literal lanes, features $features:literal,
     [$zero:ident, $live:ident, $load:ident, $load_live:ident, $store:ident, $fma:ident, $reduce:ident],
     [$elements:ident, $last_elements:ident]) => {
        mod $module {
            use super::*;

            /// # Safety
            /// As for [`super::sums`].
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) unsafe fn sums<T: Scalar>(
                columns: &[i32],
                values: &[T],
                x: &[T],
                elements: &mut [T],
                y: &mut [T],
                update: Update<T::Acc>,
            ) {
                let (values, x): (&[$t], &[$t]) = (cast_slice(values), cast_slice(x));
                let (len, elements) = (columns.len(), cast_slice_mut(elements));
                let (blocks, rest) = y.as_chunks_mut::<ROWS>();
                let (of_blocks, of_rest) = values.split_at(blocks.len() * ROWS * len);
                // SAFETY: the caller's promises.
                unsafe {
                    gather(columns, x, elements);
                    for (k, y) in blocks.iter_mut().enumerate() {
                        block::<ROWS, T>(&of_blocks[k * ROWS * len..], elements, len, y, update);
                    }
                    if let Ok(y) = <&mut [T; 3]>::try_from(&mut *rest) {
                        block::<3, T>(of_rest, elements, len, y, update);
                    } else if let Ok(y) = <&mut [T; 2]>::try_from(&mut *rest) {
                        block::<2, T>(of_rest, elements, len, y, update);
                    } else if let Ok(y) = <&mut [T; 1]>::try_from(rest) {
                        block::<1, T>(of_rest, elements, len, y, update);
                    }
                }
            }

            /// Copies the elements of `x` at these columns, by the vectors that are read again, since a vector of
            /// memory that was written in parts waits for all of them.
            ///
            /// # Safety
            /// As for [`sums`].
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn gather(columns: &[i32], x: &[$t], elements: &mut [$t]) {
                let (vectors, rest) = columns.as_chunks::<$lanes>();
                let mut to = elements.as_mut_ptr();
                // SAFETY: the caller's promises; there is an element of `x` for each column.
                unsafe {
                    for columns in vectors {
                        $store(to, $elements::<false>(columns.as_ptr(), x.as_ptr()));
                        to = to.add($lanes);
                    }
                    if !rest.is_empty() {
                        $store(to, $last_elements(rest.as_ptr(), rest.len(), x.as_ptr()));
                    }
                }
            }

            /// Writes the sums of `N` rows.
            ///
            /// # Safety
            /// As for [`sums`].
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn block<const N: usize, T: Scalar>(
                values: &[$t],
                elements: &[$t],
                len: usize,
                y: &mut [T; N],
                update: Update<T::Acc>,
            ) {
                let mut sums = [$zero(); N];
                let whole = len / $lanes * $lanes;
                let rows: [_; N] = std::array::from_fn(|k| values[k * len..].as_ptr());
                // SAFETY: vectors lie in the rows and in the elements with their padding; live lanes lie in the rows.
                unsafe {
                    for at in (0..whole).step_by($lanes) {
                        let elements = $load(elements.as_ptr().add(at));
                        for (sum, row) in sums.iter_mut().zip(rows) {
                            fetch_address(row.wrapping_add(at + AHEAD / size_of::<$t>()));
                            *sum = $fma($load(row.add(at)), elements, *sum);
                        }
                    }
                    if whole < len {
                        let live = $live(len - whole);
                        // Behind the columns is the first element of x, which may be infinite.
                        let elements = $load_live(live, elements.as_ptr().add(whole));
                        for (sum, row) in sums.iter_mut().zip(rows) {
                            fetch_address(row.wrapping_add(whole + AHEAD / size_of::<$t>()));
                            *sum = $fma($load_live(live, row.add(whole)), elements, *sum);
                        }
                    }
                }
                for (y, sum) in y.iter_mut().zip(sums) {
                    update.write(y, cast($reduce(sum)));
                }
            }
        }
    };
}

kernel!(avx512_f32, f32, 16 lanes, features "avx512f,avx512bw,avx512dq,avx512vl,avx2",
    [_mm512_setzero_ps, lanes_of_16, _mm512_loadu_ps, _mm512_maskz_loadu_ps, _mm512_storeu_ps, _mm512_fmadd_ps, _mm512_reduce_add_ps],
    [avx512_f32s, last_avx512_f32s]);
kernel!(avx512_f64, f64, 8 lanes, features "avx512f,avx512bw,avx512dq,avx512vl,avx2",
    [_mm512_setzero_pd, lanes_of_8, _mm512_loadu_pd, _mm512_maskz_loadu_pd, _mm512_storeu_pd, _mm512_fmadd_pd, _mm512_reduce_add_pd],
    [avx512_f64s, last_avx512_f64s]);
kernel!(avx2_f32, f32, 8 lanes, features "avx2,fma",
    [_mm256_setzero_ps, f32_lanes, _mm256_loadu_ps, load_f32s, _mm256_storeu_ps, _mm256_fmadd_ps, add_f32s],
    [avx2_f32s, last_avx2_f32s]);
kernel!(avx2_f64, f64, 4 lanes, features "avx2,fma",
    [_mm256_setzero_pd, f64_lanes, _mm256_loadu_pd, load_f64s, _mm256_storeu_pd, _mm256_fmadd_pd, add_f64s],
    [avx2_f64s, last_avx2_f64s]);
