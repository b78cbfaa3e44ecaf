//! Blocks of columns in the registers of AVX-512, of all types but those of 16 bits, and of AVX2, real ones alone.
//!
//! Up to half a vector of columns is summed in vectors of 256 bits or less: rows of B that narrow lie two in a cache
//! line, and a vector of 512 bits would read parts of two lines for each. Vectors that columns fill are loaded and
//! stored without masks: rows of six entries took 10 ns with masked loads and 4 without, where B and C had like offsets
//! in their pages (8 columns of f32, one core of a Zen 5).

use super::ahead::{fetch_rows, start, with_ahead};
use super::block::{RowMajor, Sink};
use super::nontemporal_stores::Stream;
use super::part::Part;
use super::registers_avx2::{fused_f32s, fused_f64s, rounded_f32s, rounded_f64s};
use super::rows::Rows;
use super::vectors_avx512::*;
use crate::simd::{Isa, LINE, Simd, is};
use bytemuck::{cast, cast_slice, cast_slice_mut};
use sparse_core::op::Op;
use sparse_core::{DType, Index, Scalar, c32, c64};
use std::arch::x86_64::*;
use std::array;

/// The most vectors summed at a time; registers are left for a value and a row of B.
const MAX_VECTORS: usize = 16;

/// The fewest vectors and the fewest entries of a row for which loads of B are aligned where its rows are not, as in
/// malloc's large blocks: a load of two cache lines takes as long as two loads, and the sums are shifted back once.
/// Two quiet cores, f32, 256 columns, in a loop of its own: a band of 41 46.8 → 35.2 ms, the 27-point stencil 36.0 →
/// 34.7, but the 5-point stencil 81.8 → 89.6.
const MIN_VECTORS_ALIGNED: usize = 4;
const MIN_ENTRIES_ALIGNED: usize = 16;

/// True if kernels in registers take any number of columns.
pub(super) const fn take_all<S: Isa, T: Scalar>() -> bool {
    is::<S, T>(Simd::Avx512, T::DTYPE) && !matches!(T::DTYPE, DType::F16 | DType::Bf16)
}

/// Writes `Σ value·B[column]` over the entries of each row to `sink`, for as many columns from `first` on as the
/// registers of `S` take: their number, or 0 if there are no kernels in registers.
///
/// # Safety
/// The processor has `S`; every column of `rows` is below the number of rows of `b`.
#[inline(always)]
pub(super) unsafe fn sums<S: Isa, R: Rows>(
    rows: &R,
    part: &Part,
    b: RowMajor<'_, R::Scalar>,
    first: usize,
    op: Op,
    sink: &mut impl Sink<R::Scalar>,
) -> usize {
    let (left, has_groups) = (b.columns - first, !part.groups.is_empty());
    macro_rules! take {
        ($kernel:ident, $vectors:expr, chains $chains:literal, rows $rows:literal, full $full:literal) => {
            match has_groups {
                true => $kernel::<{ $vectors }, $chains, $rows, $full, R>(rows, part, b, first, op, sink),
                false => $kernel::<{ $vectors }, $chains, 1, $full, R>(rows, part, b, first, op, sink),
            }
        };
    }
    // SAFETY: the caller's promises.
    unsafe {
        if const { is::<S, R::Scalar>(Simd::Avx512, DType::F64) } {
            match left {
                128.. => take!(f64s, MAX_VECTORS, chains 1, rows 1, full true),
                64.. => take!(f64s, 8, chains 1, rows 1, full true),
                32.. => take!(f64s, 4, chains 1, rows 2, full true),
                16.. => take!(f64s, 2, chains 2, rows 4, full true),
                8.. => take!(f64s, 1, chains 4, rows 4, full true),
                5.. => take!(f64s, 1, chains 4, rows 4, full false),
                4 => take!(half_f64s, 1, chains 4, rows 4, full true),
                2 => take!(quarter_f64s, 1, chains 4, rows 4, full true),
                _ => take!(half_f64s, 1, chains 4, rows 4, full false),
            }
        } else if const { is::<S, R::Scalar>(Simd::Avx512, DType::F32) } {
            match left {
                256.. => take!(f32s, MAX_VECTORS, chains 1, rows 1, full true),
                128.. => take!(f32s, 8, chains 1, rows 1, full true),
                64.. => take!(f32s, 4, chains 1, rows 2, full true),
                32.. => take!(f32s, 2, chains 2, rows 4, full true),
                16.. => take!(f32s, 1, chains 4, rows 4, full true),
                9.. => take!(f32s, 1, chains 4, rows 4, full false),
                8 => take!(half_f32s, 1, chains 4, rows 4, full true),
                4 => take!(quarter_f32s, 1, chains 4, rows 4, full true),
                2 => take!(pair_f32s, 1, chains 4, rows 4, full true),
                _ => take!(half_f32s, 1, chains 4, rows 4, full false),
            }
        } else if const { is::<S, R::Scalar>(Simd::Avx512, DType::C64) } {
            match left {
                32.. => take!(c64s, 8, chains 1, rows 1, full true),
                8.. => take!(c64s, 2, chains 1, rows 4, full true),
                4.. => take!(c64s, 1, chains 2, rows 4, full true),
                _ => take!(c64s, 1, chains 2, rows 4, full false),
            }
        } else if const { is::<S, R::Scalar>(Simd::Avx512, DType::C32) } {
            match left {
                64.. => take!(c32s, 8, chains 1, rows 1, full true),
                32.. => take!(c32s, 4, chains 1, rows 2, full true),
                8.. => take!(c32s, 1, chains 2, rows 4, full true),
                _ => take!(c32s, 1, chains 2, rows 4, full false),
            }
        } else if const { is::<S, R::Scalar>(Simd::Avx2, DType::F64) } {
            match left / 4 {
                8.. => fused_f64s::<8, R>(rows, part, b, first, sink),
                4.. => rounded_f64s::<4, R>(rows, part, b, first, sink),
                2.. => rounded_f64s::<2, R>(rows, part, b, first, sink),
                _ => 0,
            }
        } else if const { is::<S, R::Scalar>(Simd::Avx2, DType::F32) } {
            match left / 8 {
                8.. => fused_f32s::<8, R>(rows, part, b, first, sink),
                4.. => fused_f32s::<4, R>(rows, part, b, first, sink),
                2.. => rounded_f32s::<2, R>(rows, part, b, first, sink),
                1 => rounded_f32s::<1, R>(rows, part, b, first, sink),
                _ => 0,
            }
        } else {
            0
        }
    }
}

/// A bit for each of `parts` parts of a vector, or for all `lanes` if there are more.
fn live_lanes(parts: usize, lanes: usize) -> u16 {
    u16::MAX >> (16 - parts.min(lanes))
}

macro_rules! block {
    ($name:ident, row $row:ident, group $group:ident, aligned $aligned:ident, $t:ty, $lanes:literal of $part:ty,
     vector $vector:ty, mask $mask:ty,
     [$zero:ident, $set:ident, $load:ident, $load_live:ident, $fma:ident, $add:ident, $mul:ident, $store:ident, $store_live:ident, $bits:ident, $rotate:ident]) => {
        /// The sums in `V` vectors, or unless `FULL` in the lanes of one with columns: `L` rows of a group side by side, or if
        /// `L` is 1 row by row. Entries are added to `C` chains of sums in turn, so that one addition need not wait for
        /// the last, and the chains in order: `C` decides the bits, and depends neither on groups nor on the number of
        /// columns of one vector. A lane has one part, of two where numbers are complex.
        ///
        /// # Safety
        /// As for [`sums`]; there are columns for all lanes, or `V` is 1 and not `FULL`; there are groups, or `L` is 1.
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
        unsafe fn $name<const V: usize, const C: usize, const L: usize, const FULL: bool, R: Rows>(
            rows: &R,
            part: &Part,
            b: RowMajor<'_, R::Scalar>,
            first: usize,
            op: Op,
            sink: &mut impl Sink<R::Scalar>,
        ) -> usize {
            const PARTS: usize = size_of::<$t>() / size_of::<$part>();
            const COLUMNS: usize = $lanes / PARTS;
            let data: &[$part] = cast_slice(b.data);
            let len = (b.columns - first).min(V * COLUMNS);
            let live = live_lanes(PARTS * (b.columns - first), $lanes) as $mask;
            let streams = FULL && size_of::<[$part; $lanes]>() == LINE;
            let streamed = if streams { sink.streamed(first, len) } else { None };
            let mut streamed = streamed.map(|to| (to, Stream::new()));
            // The parts between a cache line and the beginning of each row, if all rows have as many.
            let misaligned = match (b.stride * size_of::<$t>()).is_multiple_of(LINE) {
                true => data.as_ptr().wrapping_add(PARTS * first).addr() % LINE / size_of::<$part>(),
                false => 0,
            };
            let misaligned = if misaligned.is_multiple_of(PARTS) { misaligned } else { 0 };
            let mut write = |row: usize, sums: [$vector; V]| {
                if let Some((to, stream)) = &mut streamed {
                    let alpha = $set(cast::<_, $t>(to.alpha));
                    // SAFETY: the sink's promise: the row has `len` elements, those of the vectors.
                    unsafe {
                        stream.seek(to.start.wrapping_add(row * to.stride).cast());
                        for sum in sums {
                            stream.write($bits($mul(alpha, sum)));
                        }
                    }
                    return;
                }
                let Some((c, update)) = sink.place(row, first, len) else {
                    let mut block = [[0.0; $lanes]; V];
                    for (part, sum) in block.iter_mut().zip(sums) {
                        // SAFETY: `part` has as many elements as a vector.
                        unsafe { $store(part.as_mut_ptr(), sum) };
                    }
                    sink.write(row, first, cast_slice(&block.as_flattened()[..PARTS * len]));
                    return;
                };
                let c: &mut [$part] = &mut cast_slice_mut(c)[..PARTS * len];
                let (alpha, beta) = (cast::<_, $t>(update.alpha), cast::<_, $t>(update.beta));
                for (v, sum) in sums.into_iter().enumerate() {
                    // SAFETY: live lanes lie in `c`; others are neither read nor written.
                    unsafe {
                        let c = c.as_mut_ptr().add(v * $lanes);
                        let mut value = $mul($set(alpha), sum);
                        if beta != <$t>::ZERO {
                            let old = if FULL { $load(c) } else { $load_live(live, c) };
                            value = $add(value, $mul($set(beta), old));
                        }
                        if FULL { $store(c, value) } else { $store_live(c, live, value) }
                    }
                }
            };
            if const { L == 1 } {
                for row in part.summed_rows() {
                    // SAFETY: the caller's promises; all rows of `b` begin as far behind a cache line.
                    write(row, unsafe { $row::<V, C, FULL, R>(rows, row, b, first, op, misaligned) });
                }
            } else if let Some(values) = rows.stored_values() {
                let mut sums = [[$zero(); V]; L];
                for group in &part.groups {
                    let entries = rows.entries(group.start);
                    let columns = &rows.columns()[entries.clone()];
                    for (shift, row) in group.clone().enumerate() {
                        let at = (first, shift);
                        let values = &values[entries.start + shift * columns.len()..];
                        // SAFETY: the caller's promises; the next `L` rows, or this one, have as many values.
                        unsafe {
                            if shift >= group.len() / L * L {
                                [sums[shift % L]] = $group::<V, C, 1, FULL, R>(columns, values, b, at, op);
                            } else if shift % L == 0 {
                                sums = $group::<V, C, L, FULL, R>(columns, values, b, at, op);
                            }
                        }
                        write(row, sums[shift % L]);
                    }
                }
            }
            if let Some((_, stream)) = streamed {
                // SAFETY: as above.
                unsafe { stream.end() };
            }
            len
        }

        /// The sums of a row.
        ///
        /// # Safety
        /// As for [`sums`]; there are columns for all lanes, or `V` is 1 and not `FULL`; rows of B begin `misaligned` parts behind a
        /// cache line, if not 0.
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
        unsafe fn $row<const V: usize, const C: usize, const FULL: bool, R: Rows>(
            rows: &R,
            row: usize,
            b: RowMajor<'_, R::Scalar>,
            first: usize,
            op: Op,
            misaligned: usize,
        ) -> [$vector; V] {
            const PARTS: usize = size_of::<$t>() / size_of::<$part>();
            const COLUMNS: usize = $lanes / PARTS;
            let data: &[$part] = cast_slice(b.data);
            let live = live_lanes(PARTS * (b.columns - first), $lanes) as $mask;
            let entries = rows.entries(row);
            let is_long = entries.len() >= MIN_ENTRIES_ALIGNED;
            if const { V >= MIN_VECTORS_ALIGNED } && misaligned > 0 && is_long {
                let entries = with_ahead(rows.columns(), &entries, b.ahead).zip(rows.values(entries));
                // SAFETY: the caller's promises.
                return unsafe { $aligned::<V, R>(entries, b, first, op, misaligned) };
            }
            let add = |sums: &mut [$vector; V], column: R::Index, value: R::Scalar| {
                let value = $set(cast::<R::Scalar, $t>(op.apply(value)));
                let at = PARTS * start(column, b, first);
                for (v, sum) in sums.iter_mut().enumerate() {
                    // SAFETY: whole vectors, or live lanes, lie in a row of `b`; others are not read.
                    let row = unsafe {
                        let row = data.as_ptr().add(at + v * $lanes);
                        if FULL { $load(row) } else { $load_live(live, row) }
                    };
                    *sum = $fma(value, row, *sum);
                }
            };
            let mut chains = [[$zero(); V]; C];
            if b.ahead == 0 {
                let mut entries = rows.columns()[entries.clone()].iter().zip(rows.values(entries));
                'row: loop {
                    for sums in &mut chains {
                        let Some((&column, value)) = entries.next() else { break 'row };
                        add(sums, column, value);
                    }
                }
            } else {
                let mut entries = with_ahead(rows.columns(), &entries, b.ahead).zip(rows.values(entries));
                'row: loop {
                    for sums in &mut chains {
                        let Some(((column, later), value)) = entries.next() else { break 'row };
                        fetch_rows(b, later, first, V * COLUMNS);
                        add(sums, column, value);
                    }
                }
            }
            let mut sums = chains[0];
            for chain in &chains[1..] {
                for (sum, &part) in sums.iter_mut().zip(chain) {
                    *sum = $add(*sum, part);
                }
            }
            sums
        }

        /// The sums of a row whose rows of B begin `misaligned` parts behind a cache line, by loads that do not
        /// cross lines: one vector more, of whose first and last only the lanes of the columns are read.
        ///
        /// # Safety
        /// As for [`sums`]; there are columns for all lanes of `V` vectors, which have the size of a cache line.
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
        unsafe fn $aligned<const V: usize, R: Rows>(
            entries: impl Iterator<Item = ((R::Index, [R::Index; 2]), R::Scalar)>,
            b: RowMajor<'_, R::Scalar>,
            first: usize,
            op: Op,
            misaligned: usize,
        ) -> [$vector; V] {
            const PARTS: usize = size_of::<$t>() / size_of::<$part>();
            let data: &[$part] = cast_slice(b.data);
            let of_last = ((1 << misaligned) - 1) as $mask;
            let (mut sums, mut last) = ([$zero(); V], $zero());
            for ((column, later), value) in entries {
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

        /// The sums of `L` rows of a group in `V` vectors each, or unless `FULL` in the lanes of one with columns, in the order
        /// of those of one row. Where a column follows the one before, the rows have all rows of B but the last in
        /// registers.
        ///
        /// # Safety
        /// As for [`sums`]; these are columns, to which those of the first row are `shift` further and those of the
        /// others one further each, and the values of all; there are columns for all lanes, or `V` is 1 and not `FULL`.
        #[inline(never)]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
        unsafe fn $group<const V: usize, const C: usize, const L: usize, const FULL: bool, R: Rows>(
            columns: &[R::Index],
            values: &[R::Scalar],
            b: RowMajor<'_, R::Scalar>,
            (first, shift): (usize, usize),
            op: Op,
        ) -> [[$vector; V]; L] {
            const PARTS: usize = size_of::<$t>() / size_of::<$part>();
            let data: &[$part] = cast_slice(b.data);
            let live = live_lanes(PARTS * (b.columns - first), $lanes) as $mask;
            let first = first + shift * b.stride;
            let load = |row: usize| {
                array::from_fn(|v| {
                    let from = data.as_ptr().wrapping_add(PARTS * (row * b.stride + first) + v * $lanes);
                    // SAFETY: whole vectors, or live lanes, lie in a row of `b`; others are not read.
                    unsafe { if FULL { $load(from) } else { $load_live(live, from) } }
                })
            };
            let mut chains = [[[$zero(); V]; L]; C];
            let (mut of_b, mut next) = ([[$zero(); V]; L], usize::MAX);
            let mut entries = columns.iter().enumerate();
            'rows: loop {
                for sums in &mut chains {
                    let Some((entry, column)) = entries.next() else { break 'rows };
                    let column = column.as_usize();
                    if column == next {
                        for k in 1..L {
                            of_b[k - 1] = of_b[k];
                        }
                        of_b[L - 1] = load(column + L - 1);
                    } else {
                        of_b = array::from_fn(|k| load(column + k));
                    }
                    next = column + 1;
                    for (k, (sums, of_b)) in sums.iter_mut().zip(&of_b).enumerate() {
                        // SAFETY: there are values for all rows.
                        let value = unsafe { *values.get_unchecked(k * columns.len() + entry) };
                        let value = $set(cast::<R::Scalar, $t>(op.apply(value)));
                        for (sum, &of_b) in sums.iter_mut().zip(of_b) {
                            *sum = $fma(value, of_b, *sum);
                        }
                    }
                }
            }
            let mut sums = chains[0];
            for chain in &chains[1..] {
                for (sum, &part) in sums.as_flattened_mut().iter_mut().zip(chain.as_flattened()) {
                    *sum = $add(*sum, part);
                }
            }
            sums
        }
    };
}

block!(f64s, row row_of_f64s, group group_of_f64s, aligned aligned_f64s, f64, 8 of f64, vector __m512d, mask u8,
    [_mm512_setzero_pd, _mm512_set1_pd, _mm512_loadu_pd, _mm512_maskz_loadu_pd, _mm512_fmadd_pd, _mm512_add_pd,
     _mm512_mul_pd, _mm512_storeu_pd, _mm512_mask_storeu_pd, _mm512_castpd_si512, rotate_f64s]);
block!(f32s, row row_of_f32s, group group_of_f32s, aligned aligned_f32s, f32, 16 of f32, vector __m512, mask u16,
    [_mm512_setzero_ps, _mm512_set1_ps, _mm512_loadu_ps, _mm512_maskz_loadu_ps, _mm512_fmadd_ps, _mm512_add_ps,
     _mm512_mul_ps, _mm512_storeu_ps, _mm512_mask_storeu_ps, _mm512_castps_si512, rotate_f32s]);
block!(half_f64s, row row_of_half_f64s, group group_of_half_f64s, aligned aligned_half_f64s, f64, 4 of f64, vector __m256d, mask u8,
    [_mm256_setzero_pd, _mm256_set1_pd, _mm256_loadu_pd, _mm256_maskz_loadu_pd, _mm256_fmadd_pd, _mm256_add_pd,
     _mm256_mul_pd, _mm256_storeu_pd, _mm256_mask_storeu_pd, half_of_f64s, rotate_half_f64s]);
block!(half_f32s, row row_of_half_f32s, group group_of_half_f32s, aligned aligned_half_f32s, f32, 8 of f32, vector __m256, mask u8,
    [_mm256_setzero_ps, _mm256_set1_ps, _mm256_loadu_ps, _mm256_maskz_loadu_ps, _mm256_fmadd_ps, _mm256_add_ps,
     _mm256_mul_ps, _mm256_storeu_ps, _mm256_mask_storeu_ps, half_of_f32s, rotate_half_f32s]);
block!(quarter_f64s, row row_of_quarter_f64s, group group_of_quarter_f64s, aligned aligned_quarter_f64s, f64, 2 of f64, vector __m128d, mask u8,
    [_mm_setzero_pd, _mm_set1_pd, _mm_loadu_pd, _mm_maskz_loadu_pd, _mm_fmadd_pd, _mm_add_pd,
     _mm_mul_pd, _mm_storeu_pd, _mm_mask_storeu_pd, quarter_of_f64s, rotate_quarter_f64s]);
block!(quarter_f32s, row row_of_quarter_f32s, group group_of_quarter_f32s, aligned aligned_quarter_f32s, f32, 4 of f32, vector __m128, mask u8,
    [_mm_setzero_ps, _mm_set1_ps, _mm_loadu_ps, _mm_maskz_loadu_ps, _mm_fmadd_ps, _mm_add_ps,
     _mm_mul_ps, _mm_storeu_ps, _mm_mask_storeu_ps, quarter_of_f32s, rotate_quarter_f32s]);
block!(pair_f32s, row row_of_pair_f32s, group group_of_pair_f32s, aligned aligned_pair_f32s, f32, 2 of f32, vector __m128, mask u8,
    [_mm_setzero_ps, _mm_set1_ps, load_pair, _mm_maskz_loadu_ps, _mm_fmadd_ps, _mm_add_ps,
     _mm_mul_ps, store_pair, _mm_mask_storeu_ps, quarter_of_f32s, rotate_quarter_f32s]);
block!(c64s, row row_of_c64s, group group_of_c64s, aligned aligned_c64s, c64, 8 of f64, vector __m512d, mask u8,
    [_mm512_setzero_pd, set_c64, _mm512_loadu_pd, _mm512_maskz_loadu_pd, add_product_c64, _mm512_add_pd,
     product_c64, _mm512_storeu_pd, _mm512_mask_storeu_pd, _mm512_castpd_si512, rotate_f64s]);
block!(c32s, row row_of_c32s, group group_of_c32s, aligned aligned_c32s, c32, 16 of f32, vector __m512, mask u16,
    [_mm512_setzero_ps, set_c32, _mm512_loadu_ps, _mm512_maskz_loadu_ps, add_product_c32, _mm512_add_ps,
     product_c32, _mm512_storeu_ps, _mm512_mask_storeu_ps, _mm512_castps_si512, rotate_f32s]);
