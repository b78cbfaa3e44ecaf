//! Blocks of columns in the registers of AVX-512, of all types but those of 16 bits, and of AVX2, real ones alone.

use super::block::{RowMajor, RowRanges, Sink, WIDE};
use super::source::Rows;
use super::stream::Stream;
use crate::simd::{Isa, Simd, fetch, fetch_line, is};
use bytemuck::{cast, cast_slice, cast_slice_mut};
use sparse_core::op::Op;
use sparse_core::{DType, Index, Scalar, c32, c64};
use std::arch::x86_64::*;
use std::ops::Range;

/// The most vectors summed at a time; registers are left for a value and a row of B.
const MOST: usize = 16;

/// True if kernels in registers take any number of columns.
pub(super) const fn take_all<S: Isa, T: Scalar>() -> bool {
    is::<S, T>(Simd::Avx512, T::DTYPE) && !matches!(T::DTYPE, DType::F16 | DType::Bf16)
}

/// Writes `Σ value·B[column]` over the entries of each line to `sink`, for as many columns from `first` on as the
/// registers of `S` take: their number, or 0 if there are no kernels in registers.
///
/// # Safety
/// The processor has `S`; every column of `rows` is below the number of rows of `b`.
#[inline(always)]
pub(super) unsafe fn sums<S: Isa, R: Rows>(
    rows: &R,
    lines: impl RowRanges,
    b: RowMajor<'_, R::Scalar>,
    first: usize,
    op: Op,
    sink: &mut impl Sink<R::Scalar>,
) -> usize {
    let left = b.columns - first;
    // SAFETY: the caller's promises.
    unsafe {
        if const { is::<S, R::Scalar>(Simd::Avx512, DType::F64) } {
            match left / 8 {
                MOST.. => f64s::<MOST, 1, R>(rows, lines, b, first, op, sink),
                8.. => f64s::<8, 1, R>(rows, lines, b, first, op, sink),
                4.. => f64s::<4, 1, R>(rows, lines, b, first, op, sink),
                2.. => f64s::<2, 2, R>(rows, lines, b, first, op, sink),
                _ => f64s::<1, 4, R>(rows, lines, b, first, op, sink),
            }
        } else if const { is::<S, R::Scalar>(Simd::Avx512, DType::F32) } {
            match left / 16 {
                MOST.. => f32s::<MOST, 1, R>(rows, lines, b, first, op, sink),
                8.. => f32s::<8, 1, R>(rows, lines, b, first, op, sink),
                4.. => f32s::<4, 1, R>(rows, lines, b, first, op, sink),
                2.. => f32s::<2, 2, R>(rows, lines, b, first, op, sink),
                _ => f32s::<1, 4, R>(rows, lines, b, first, op, sink),
            }
        } else if const { is::<S, R::Scalar>(Simd::Avx512, DType::C64) } {
            match left / 4 {
                8.. => c64s::<8, 1, R>(rows, lines, b, first, op, sink),
                2.. => c64s::<2, 1, R>(rows, lines, b, first, op, sink),
                _ => c64s::<1, 2, R>(rows, lines, b, first, op, sink),
            }
        } else if const { is::<S, R::Scalar>(Simd::Avx512, DType::C32) } {
            match left / 8 {
                8.. => c32s::<8, 1, R>(rows, lines, b, first, op, sink),
                4.. => c32s::<4, 1, R>(rows, lines, b, first, op, sink),
                _ => c32s::<1, 2, R>(rows, lines, b, first, op, sink),
            }
        } else if left < WIDE {
            0
        } else if const { is::<S, R::Scalar>(Simd::Avx2, DType::F64) } {
            whole_f64s(rows, lines, b, first, sink)
        } else if const { is::<S, R::Scalar>(Simd::Avx2, DType::F32) } {
            whole_f32s(rows, lines, b, first, sink)
        } else {
            0
        }
    }
}

/// The position in B, from the column `first` on, of a row.
#[inline(always)]
fn start<I: Index, T>(row: I, b: RowMajor<'_, T>, first: usize) -> usize {
    row.as_usize() * b.stride + first
}

/// The column of each entry, and those of the entries `ahead` and twice as far ahead of it, if there are such.
#[inline(always)]
fn with_ahead<'a, I: Index>(
    columns: &'a [I],
    entries: &Range<usize>,
    ahead: usize,
) -> impl Iterator<Item = (I, [I; 2])> + 'a {
    let own = &columns[entries.clone()];
    let later = |ahead| columns.get(entries.start + ahead..entries.end + ahead).unwrap_or(own);
    own.iter().zip(later(ahead)).zip(later(2 * ahead)).map(|((&own, &next), &far)| (own, [next, far]))
}

/// Prefetches `len` elements of the next row, and one of the row that is far ahead: the processor translates the
/// address of its page meanwhile, which may take as long as the elements themselves.
#[inline(always)]
fn fetch_rows<I: Index, T: Scalar>(b: RowMajor<'_, T>, [next, far]: [I; 2], first: usize, len: usize) {
    if b.ahead > 0 {
        fetch(b.data, start(next, b, first), len);
        fetch_line(b.data, start(far, b, first));
    }
}

macro_rules! block {
    ($name:ident, $t:ty, $lanes:literal of $part:ty, mask $mask:ty,
     [$zero:ident, $set:ident, $load:ident, $load_live:ident, $fma:ident, $add:ident, $mul:ident, $store:ident, $store_live:ident, $bits:ident]) => {
        /// The sums in `V` vectors, or if `V` is 1 in the lanes with columns. Entries are added to `C` chains of sums
        /// in turn, so that one addition need not wait for the last, and the chains in order. A lane has one part, of two
        /// where numbers are complex.
        ///
        /// # Safety
        /// As for [`sums`]; there are columns for all lanes, or `V` is 1.
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
        unsafe fn $name<const V: usize, const C: usize, R: Rows>(
            rows: &R,
            lines: impl RowRanges,
            b: RowMajor<'_, R::Scalar>,
            first: usize,
            op: Op,
            sink: &mut impl Sink<R::Scalar>,
        ) -> usize {
            const PARTS: usize = size_of::<$t>() / size_of::<$part>();
            const COLUMNS: usize = $lanes / PARTS;
            let data: &[$part] = cast_slice(b.data);
            let len = (b.columns - first).min(V * COLUMNS);
            let live = <$mask>::MAX >> ($lanes - PARTS * len.min(COLUMNS));
            let streamed = if len == V * COLUMNS { sink.streamed(first, len) } else { None };
            let mut streamed = streamed.map(|to| (to, Stream::new()));
            for (line, entries) in lines {
                let mut chains = [[$zero(); V]; C];
                let mut entries = with_ahead(rows.columns(), &entries, b.ahead).zip(rows.values(entries));
                'line: loop {
                    for sums in &mut chains {
                        let Some(((column, later), value)) = entries.next() else { break 'line };
                        fetch_rows(b, later, first, V * COLUMNS);
                        let value = $set(cast::<R::Scalar, $t>(op.apply(value)));
                        let row = PARTS * start(column, b, first);
                        for (v, sum) in sums.iter_mut().enumerate() {
                            // SAFETY: whole vectors, or live lanes, lie in a row of `b`; others are not read.
                            let row = unsafe {
                                let row = data.as_ptr().add(row + v * $lanes);
                                if V == 1 { $load_live(live, row) } else { $load(row) }
                            };
                            *sum = $fma(value, row, *sum);
                        }
                    }
                }
                let mut sums = chains[0];
                for chain in &chains[1..] {
                    for (sum, &part) in sums.iter_mut().zip(chain) {
                        *sum = $add(*sum, part);
                    }
                }
                if let Some((to, stream)) = &mut streamed {
                    let alpha = $set(cast::<_, $t>(to.alpha));
                    // SAFETY: the sink's promise: the line has `len` elements, those of the vectors.
                    unsafe {
                        stream.seek(to.start.wrapping_add(line * to.stride).cast());
                        for sum in sums {
                            stream.write($bits($mul(alpha, sum)));
                        }
                    }
                    continue;
                }
                let Some((c, update)) = sink.place(line, first, len) else {
                    let mut block = [[0.0; $lanes]; V];
                    for (part, sum) in block.iter_mut().zip(sums) {
                        // SAFETY: `part` has as many elements as a vector.
                        unsafe { $store(part.as_mut_ptr(), sum) };
                    }
                    sink.write(line, first, cast_slice(&block.as_flattened()[..PARTS * len]));
                    continue;
                };
                let c: &mut [$part] = &mut cast_slice_mut(c)[..PARTS * len];
                let (alpha, beta) = (cast::<_, $t>(update.alpha), cast::<_, $t>(update.beta));
                for (v, sum) in sums.into_iter().enumerate() {
                    // SAFETY: live lanes lie in `c`; others are neither read nor written.
                    unsafe {
                        let c = c.as_mut_ptr().add(v * $lanes);
                        let mut value = $mul($set(alpha), sum);
                        if beta != <$t>::ZERO {
                            value = $add(value, $mul($set(beta), $load_live(live, c)));
                        }
                        $store_live(c, live, value);
                    }
                }
            }
            if let Some((_, stream)) = streamed {
                // SAFETY: as above.
                unsafe { stream.end() };
            }
            len
        }
    };
}

block!(f64s, f64, 8 of f64, mask u8,
    [_mm512_setzero_pd, _mm512_set1_pd, _mm512_loadu_pd, _mm512_maskz_loadu_pd, _mm512_fmadd_pd, _mm512_add_pd,
     _mm512_mul_pd, _mm512_storeu_pd, _mm512_mask_storeu_pd, _mm512_castpd_si512]);
block!(f32s, f32, 16 of f32, mask u16,
    [_mm512_setzero_ps, _mm512_set1_ps, _mm512_loadu_ps, _mm512_maskz_loadu_ps, _mm512_fmadd_ps, _mm512_add_ps,
     _mm512_mul_ps, _mm512_storeu_ps, _mm512_mask_storeu_ps, _mm512_castps_si512]);
block!(c64s, c64, 8 of f64, mask u8,
    [_mm512_setzero_pd, set_c64, _mm512_loadu_pd, _mm512_maskz_loadu_pd, add_product_c64, _mm512_add_pd,
     product_c64, _mm512_storeu_pd, _mm512_mask_storeu_pd, _mm512_castpd_si512]);
block!(c32s, c32, 16 of f32, mask u16,
    [_mm512_setzero_ps, set_c32, _mm512_loadu_ps, _mm512_maskz_loadu_ps, add_product_c32, _mm512_add_ps,
     product_c32, _mm512_storeu_ps, _mm512_mask_storeu_ps, _mm512_castps_si512]);

macro_rules! complex {
    ($t:ty, $vector:ty, [$set:ident, $product:ident, $add_product:ident],
     [$broadcast:ident, $swap:expr, $mul:ident, $fmaddsub:ident, $add:ident]) => {
        /// The real part of a number in all lanes, and its imaginary part.
        #[inline]
        #[target_feature(enable = "avx512f")]
        fn $set(value: $t) -> [$vector; 2] {
            [$broadcast(value.re), $broadcast(value.im)]
        }

        /// The products of a number with the numbers of a vector, whose parts alternate.
        #[inline]
        #[target_feature(enable = "avx512f")]
        fn $product([re, im]: [$vector; 2], numbers: $vector) -> $vector {
            $fmaddsub(re, numbers, $mul(im, $swap(numbers)))
        }

        #[inline]
        #[target_feature(enable = "avx512f")]
        fn $add_product(value: [$vector; 2], numbers: $vector, sums: $vector) -> $vector {
            $add(sums, $product(value, numbers))
        }
    };
}

complex!(
    c64,
    __m512d,
    [set_c64, product_c64, add_product_c64],
    [_mm512_set1_pd, _mm512_permute_pd::<0b0101_0101>, _mm512_mul_pd, _mm512_fmaddsub_pd, _mm512_add_pd]
);
complex!(
    c32,
    __m512,
    [set_c32, product_c32, add_product_c32],
    [_mm512_set1_ps, _mm512_permute_ps::<0b1011_0001>, _mm512_mul_ps, _mm512_fmaddsub_ps, _mm512_add_ps]
);

macro_rules! whole_block {
    ($name:ident, $t:ty, lanes $lanes:literal, [$zero:ident, $set:ident, $load:ident, $fma:ident, $store:ident]) => {
        /// The sums of [`WIDE`] columns.
        ///
        /// # Safety
        /// As for [`sums`]; there are [`WIDE`] columns.
        #[inline]
        #[target_feature(enable = "avx2,fma")]
        unsafe fn $name<R: Rows>(
            rows: &R,
            lines: impl RowRanges,
            b: RowMajor<'_, R::Scalar>,
            first: usize,
            sink: &mut impl Sink<R::Scalar>,
        ) -> usize {
            let data: &[$t] = cast_slice(b.data);
            for (line, entries) in lines {
                let mut sums = [$zero(); WIDE / $lanes];
                for ((column, later), value) in
                    with_ahead(rows.columns(), &entries, b.ahead).zip(rows.values(entries))
                {
                    fetch_rows(b, later, first, WIDE);
                    let value = $set(cast::<R::Scalar, $t>(value));
                    let row = &data[start(column, b, first)..][..WIDE];
                    for (sum, row) in sums.iter_mut().zip(row.chunks_exact($lanes)) {
                        // SAFETY: `row` has as many elements as a vector.
                        *sum = $fma(value, unsafe { $load(row.as_ptr()) }, *sum);
                    }
                }
                let mut block = [0.0; WIDE];
                for (part, sum) in block.chunks_exact_mut($lanes).zip(sums) {
                    // SAFETY: `part` has as many elements as a vector.
                    unsafe { $store(part.as_mut_ptr(), sum) };
                }
                sink.write(line, first, cast_slice(&block));
            }
            WIDE
        }
    };
}

whole_block!(whole_f64s, f64, lanes 4,
    [_mm256_setzero_pd, _mm256_set1_pd, _mm256_loadu_pd, _mm256_fmadd_pd, _mm256_storeu_pd]);
whole_block!(whole_f32s, f32, lanes 8,
    [_mm256_setzero_ps, _mm256_set1_ps, _mm256_loadu_ps, _mm256_fmadd_ps, _mm256_storeu_ps]);
