//! Rows of few products in AVX-512's registers by expansion, sorting and compression.
//!
//! The products of some rows are written one after the other; then those of each row are sorted by column in up to four
//! vectors, and the products of each column are added. A key is a column and the position of its product, so that
//! products of one column stay in their order; the only branch that depends on columns is taken as often as the column
//! of most products has products.
//!
//! After Bell, Dalton, Olson: Exposing fine-grained parallelism in algebraic multigrid methods. SIAM Journal on
//! Scientific Computing 34, 2012.

use super::numeric::Operands;
use super::once::EXPANDED;
use super::product_vectors_avx512::*;
use super::sorted_keys_avx512::*;
use crate::simd::{Isa, Simd, is};
use bytemuck::{cast, cast_slice, cast_slice_mut};
use sparse_core::{Accumulator, DType, Index, Scalar};
use std::arch::x86_64::*;
use std::array;
use std::ops::Range;

/// The products of some rows, one after the other.
pub(super) struct Expanded<Acc> {
    columns: Vec<i32>,
    products: Vec<Acc>,
    /// The number of products of each row.
    counts: Vec<usize>,
}

impl<Acc> Default for Expanded<Acc> {
    fn default() -> Self {
        Self { columns: vec![], products: vec![], counts: vec![] }
    }
}

impl<Acc: Accumulator> Expanded<Acc> {
    /// Memory for all products, and for vectors that begin with the last.
    fn clear(&mut self) {
        self.columns.resize(EXPANDED + MAX_KEYS, 0);
        self.products.resize(EXPANDED + MAX_KEYS, Acc::ZERO);
        self.counts.clear();
    }
}

/// The rows of C that a kernel appends.
pub(super) struct Output<'a, T, I> {
    pub(super) lengths: &'a mut Vec<usize>,
    pub(super) columns: &'a mut Vec<I>,
    pub(super) values: &'a mut Vec<T>,
}

macro_rules! kernel {
    ($module:ident, $t:ty, sums $sums:ty,
     [$load_few:ident, $store_few:ident, $scale_few:ident, $load_live:ident, $scale:ident],
     [$zero:ident, $load:ident, $load_pair:ident, $store:ident, $pick:ident, $add:ident, $shift:ident, $compress:ident]) => {
        mod $module {
            use super::*;

            /// # Safety
            /// As for [`super::multiply`]; the types are `$t` and `i32`.
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,popcnt")]
            pub(super) unsafe fn multiply<T: Scalar, I: Index, O: Index>(
                operands: Operands<'_, T, I, O>,
                rows: Range<usize>,
                most: usize,
                expanded: &mut Expanded<T::Acc>,
                output: Output<'_, T, I>,
            ) -> (usize, usize) {
                expanded.clear();
                let Expanded { columns, products, counts } = expanded;
                let products: &mut [$t] = cast_slice_mut(products);
                let all = expand(operands, rows, most.min(MAX_KEYS), columns, products, counts);
                let Output { lengths, columns: columns_of_c, values } = output;
                columns_of_c.reserve(all + MAX_KEYS);
                values.reserve(all + MAX_KEYS);
                let (columns_start, values_start) = (columns_of_c.len(), values.len());
                let (mut start, mut len, mut rest) = (0, 0, counts.as_slice());
                while let [count, later @ ..] = rest {
                    let (columns, products) = (&columns[start..], &products[start..]);
                    // SAFETY: there is memory for all products and a row more; rows are not longer.
                    let (rows, of_rows) = unsafe {
                        let to = columns_of_c.as_mut_ptr().add(columns_start + len).cast();
                        let values = values.as_mut_ptr().add(values_start + len).cast();
                        match (*count, later) {
                            (0, _) => (1, [0, 0]),
                            (count @ ..=8, &[next @ 1..=8, ..]) => {
                                (2, compress_two(columns, products, [count, next], to, values))
                            }
                            (count @ ..=16, _) => {
                                (1, [compress::<1>(columns, products, count, to, values), 0])
                            }
                            (count @ ..=32, _) => {
                                (1, [compress::<2>(columns, products, count, to, values), 0])
                            }
                            (count, _) => (1, [compress::<4>(columns, products, count, to, values), 0]),
                        }
                    };
                    lengths.extend_from_slice(&of_rows[..rows]);
                    len += of_rows[0] + of_rows[1];
                    start += rest[..rows].iter().sum::<usize>();
                    rest = &rest[rows..];
                }
                // SAFETY: so many were written.
                unsafe {
                    columns_of_c.set_len(columns_start + len);
                    values.set_len(values_start + len);
                }
                (counts.len(), all)
            }

            /// Writes the products of rows up to one with more than `most`, or for which there is no memory;
            /// returns the number of products.
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,popcnt")]
            fn expand<T: Scalar, I: Index, O: Index>(
                operands: Operands<'_, T, I, O>,
                rows: Range<usize>,
                most: usize,
                to_columns: &mut [i32],
                to_products: &mut [$t],
                counts: &mut Vec<usize>,
            ) -> usize {
                let (left, right) = (operands.factors.left, operands.factors.right);
                let (first, mut at) = (left.offsets[rows.start].as_usize(), 0);
                let has_one_entry_a_row = operands.factors.right_length() == Some(1);
                'rows: for row in rows {
                    let (entries, end) = (left.range(row), EXPANDED.min(at + most));
                    if has_one_entry_a_row {
                        if entries.len() > end - at {
                            break;
                        }
                        counts.push(entries.len());
                        at += entries.len();
                        continue;
                    }
                    let start = at;
                    for (entry, &x) in entries.clone().zip(&operands.left[entries]) {
                        let (_, columns, factors) = operands.factor(entry);
                        let (columns, factors): (&[i32], &[$t]) = (cast_slice(columns), cast_slice(factors));
                        let (len, x) = (columns.len(), cast::<T, $t>(x));
                        if len > end - at {
                            at = start;
                            break 'rows;
                        }
                        let to = (&mut to_columns[at..][..MAX_KEYS], &mut to_products[at..][..MAX_KEYS]);
                        // SAFETY: live lanes are entries; there is memory for a vector behind the last one.
                        unsafe {
                            if len <= 4 {
                                let live = (1 << len) - 1;
                                let columns = _mm_maskz_loadu_epi32(live, columns.as_ptr());
                                _mm_storeu_epi32(to.0.as_mut_ptr(), columns);
                                let products = $scale_few(x, $load_few(live, factors.as_ptr()));
                                $store_few(to.1.as_mut_ptr(), products);
                            } else {
                                for k in (0..len).step_by(LANES) {
                                    let live = u16::MAX >> LANES.saturating_sub(len - k);
                                    let columns = _mm512_maskz_loadu_epi32(live, columns.as_ptr().add(k));
                                    _mm512_storeu_epi32(to.0.as_mut_ptr().add(k), columns);
                                    let products = $scale(x, $load_live(live, factors.as_ptr().add(k)));
                                    $store(to.1.as_mut_ptr().add(k), products);
                                }
                            }
                        }
                        at += len;
                    }
                    counts.push(at - start);
                }
                if has_one_entry_a_row {
                    let entries = first..first + at;
                    let (from, values): (&[i32], &[$t]) =
                        (cast_slice(&left.indices[entries.clone()]), cast_slice(&operands.left[entries]));
                    let (columns, factors): (&[i32], &[$t]) =
                        (cast_slice(right.indices), cast_slice(operands.right));
                    let to = to_columns.iter_mut().zip(to_products);
                    for ((to_column, to_product), (&k, &x)) in to.zip(from.iter().zip(values)) {
                        (*to_column, *to_product) = (columns[k as usize], x * factors[k as usize]);
                    }
                }
                at
            }

            /// Writes the entries of a row of C, of at least one product and at most `V` vectors of them, the first
            /// ones of these; returns their number.
            ///
            /// # Safety
            /// There is memory for `V` vectors at `to` and `values`.
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,popcnt")]
            unsafe fn compress<const V: usize>(
                columns: &[i32],
                products: &[$t],
                count: usize,
                to: *mut i32,
                values: *mut $t,
            ) -> usize {
                let live = u64::MAX >> (64 - count);
                let (columns, products) = (&columns[..V * LANES], &products[..V * LANES]);
                // SAFETY: the slices have `V` vectors; the caller's promise.
                unsafe {
                    let keys = array::from_fn(|v| {
                        key(lanes(live, v), v, _mm512_loadu_epi32(columns.as_ptr().add(v * LANES)))
                    });
                    let table: [_; V] = array::from_fn(|v| $load(products.as_ptr().add(v * LANES)));
                    add_up(sort(keys, count), &table, live, 0, to, values).count_ones() as usize
                }
            }

            /// As [`compress`], of two rows with at most half a vector of products each.
            ///
            /// # Safety
            /// As for [`compress`].
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,popcnt")]
            unsafe fn compress_two(
                columns: &[i32],
                products: &[$t],
                [count, next]: [usize; 2],
                to: *mut i32,
                values: *mut $t,
            ) -> [usize; 2] {
                const HALF: usize = LANES / 2;
                let live =
                    u64::from(u8::MAX) >> (HALF - count) | (u64::from(u8::MAX) >> (HALF - next)) << HALF;
                let (columns, products) = (&columns[..count + HALF], &products[..count + HALF]);
                // SAFETY: the slices have half a vector from the beginning of each row on; the caller's promise.
                let first = unsafe {
                    let low = _mm256_loadu_epi32(columns.as_ptr());
                    let high = _mm256_loadu_epi32(columns.as_ptr().add(count));
                    let columns = _mm512_inserti32x8::<1>(_mm512_castsi256_si512(low), high);
                    let keys = sort_halves(key(lanes(live, 0), 0, columns));
                    let table = [$load_pair(products.as_ptr(), products.as_ptr().add(count))];
                    add_up([keys], &table, live, 1 << HALF, to, values)
                };
                [first as u8, (first >> HALF) as u8].map(|first| first.count_ones() as usize)
            }

            /// Writes the columns of sorted keys, each once, and the sums of their products; returns a bit for each
            /// lane of the keys, set for those that were the first of their column.
            ///
            /// # Safety
            /// As for [`compress`]; keys that are not `live` are the greatest number.
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,popcnt")]
            unsafe fn add_up<const V: usize>(
                keys: [__m512i; V],
                table: &[$sums; V],
                live: u64,
                starts: u64,
                columns: *mut i32,
                values: *mut $t,
            ) -> u64 {
                let sorted = keys.map(|key| _mm512_srli_epi32::<POSITION_BITS>(key));
                let (mut first, mut before) = (0, _mm512_set1_epi32(-1));
                for (v, &own) in sorted.iter().enumerate() {
                    let neighbours = _mm512_alignr_epi32::<15>(own, before);
                    first |= u64::from(_mm512_cmpneq_epi32_mask(own, neighbours)) << (v * LANES);
                    before = own;
                }
                first = (first | starts) & live;
                // A sum of −0 alone is 0.
                let mut later = keys.map(|key| $pick(table, key));
                let mut sums = later.map(|products| $add($zero(), !0, products));
                let repeated = !first & live;
                // Lanes that the lanes up to this distance repeat.
                let (mut distance, mut repeats) = (1, repeated >> 1);
                while repeats != 0 {
                    for v in 0..V {
                        let next = if v + 1 < V { later[v + 1] } else { $zero() };
                        later[v] = $shift(later[v], next);
                        sums[v] = $add(sums[v], lanes(repeats, v), later[v]);
                    }
                    distance += 1;
                    repeats &= repeated >> distance;
                }
                let mut len = 0;
                for (v, (&own, sums)) in sorted.iter().zip(sums).enumerate() {
                    let of_vector = lanes(first, v);
                    // SAFETY: the caller's promise: there are at most as many entries as products.
                    unsafe {
                        _mm512_storeu_epi32(columns.add(len), _mm512_maskz_compress_epi32(of_vector, own));
                        $compress(values.add(len), of_vector, sums);
                    }
                    len += of_vector.count_ones() as usize;
                }
                first
            }
        }
    };
}

/// The bits of vector `v`.
#[inline(always)]
fn lanes(bits: u64, v: usize) -> u16 {
    (bits >> (v * LANES)) as u16
}

/// A kernel for each type of values, and the function that calls it.
macro_rules! kernels {
    ($($module:ident, $dtype:ident, $t:ty, sums $sums:ty, $copies:tt, $functions:tt;)+) => {
        $(kernel!($module, $t, sums $sums, $copies, $functions);)+

        /// Appends rows of C, up to one of more than `most` or [`MAX_KEYS`] products; returns their number, which
        /// may be less, and is 0 where `S` has no kernel for the types, and that of their products.
        ///
        /// # Safety
        /// The processor has `S`.
        #[inline(always)]
        pub(super) unsafe fn multiply<S: Isa, T: Scalar, I: Index, O: Index>(
            operands: Operands<'_, T, I, O>,
            rows: Range<usize>,
            most: usize,
            expanded: &mut Expanded<T::Acc>,
            output: Output<'_, T, I>,
        ) -> (usize, usize) {
            $(if const { is::<S, T>(Simd::Avx512, DType::$dtype) && size_of::<I>() == size_of::<i32>() }
                && operands.factors.right.minor <= MAX_COLUMNS
            {
                // SAFETY: the caller's promise.
                return unsafe { $module::multiply(operands, rows, most, expanded, output) };
            })+
            (0, 0)
        }
    };
}

kernels! {
    for_f32, F32, f32, sums __m512,
        [_mm_maskz_loadu_ps, _mm_storeu_ps, scale_4_f32s, _mm512_maskz_loadu_ps, scale_f32s],
        [_mm512_setzero_ps, _mm512_loadu_ps, load_two_f32s, _mm512_storeu_ps, pick_f32s, add_f32s, shift_f32s, compress_f32s];
    for_f64, F64, f64, sums [__m512d; 2],
        [_mm256_maskz_loadu_pd, _mm256_storeu_pd, scale_4_f64s, load_live_f64s, scale_f64s],
        [zero_f64s, load_f64s, load_two_f64s, store_f64s, pick_f64s, add_f64s, shift_f64s, compress_f64s];
}
