//! Sums of `segmented_sums` for runs of short rows of one length, of `f32` and `f64` with 32-bit columns, in the
//! registers of AVX2.
//!
//! A row is added by vectors of four products, and four rows are added up by a transposition: 3 instructions an entry
//! and 3 a row, where a [scan](super::segmented_sums_x86) takes 4.7 an entry. The entries of a row are unrolled for
//! each length, so that no branch depends on the end of a row. The order in which a row is added depends on its length
//! alone.
//!
//! Wider vectors would gain nothing: what limits are the loads of x, one for each lane.

use super::elements_x86::{avx2_f64s, quarter_f32s};
use super::long_row::AHEAD;
use super::masked_x86::*;
use super::part_rows::MAX_LEN;
use super::segmented_sums::{Prefetch, ShortRows};
use crate::simd::{LINE, fetch_address};
use std::arch::x86_64::*;
use std::array;

/// Products of a vector, and rows that are added up together.
const LANES: usize = 4;

/// Function pointers of `sum_run` for each length of rows.
macro_rules! kernels {
    ($fetches:literal) => {
        kernels!($fetches, 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32)
    };
    ($fetches:literal, $($len:literal)*) => { [$(sum_run::<$len, $fetches>),*] };
}

macro_rules! equal_rows {
    ($module:ident, $t:ty, $vector:ty,
     [$zero:ident, $load:ident, $live:ident, $load_live:ident, $store:ident, $fma:ident],
     [$elements:path, $padded:ident, $add_up:ident, $add_lanes:ident]) => {
        pub(super) mod $module {
            use super::*;

            /// Writes the sums of a run of rows with these columns and values.
            type Kernel = unsafe fn(*const i32, *const $t, *const $t, &mut [$t]);

            /// Kernels for rows of 1 to [`MAX_LEN`] entries, without and with prefetches.
            static KERNELS: [[Kernel; MAX_LEN]; 2] = [kernels!(false), kernels!(true)];

            /// Writes the sums of the rows of all runs, and returns their number.
            ///
            /// # Safety
            /// The processor has AVX2 and FMA; the rows have as many columns and values as their runs say, 1 to
            /// [`MAX_LEN`] each; every column is below the length of `x`.
            pub(in super::super) unsafe fn sums(rows: &ShortRows<'_, $t, i32>, sums: &mut [$t]) -> usize {
                let kernels = &KERNELS[usize::from(rows.prefetch != Prefetch::Nothing)];
                let (mut entry, mut row) = (0, 0);
                for run in rows.runs {
                    let (len, count) = (usize::from(run.len), usize::from(run.rows));
                    let end = entry + len * count;
                    let (columns, values) = (&rows.columns[entry..end], &rows.values[entry..end]);
                    let sums = &mut sums[row..row + count];
                    // SAFETY: the caller's promises; these are the entries of the rows.
                    unsafe { kernels[len - 1](columns.as_ptr(), values.as_ptr(), rows.x.as_ptr(), sums) };
                    (entry, row) = (end, row + count);
                }
                row
            }

            /// Writes the sums of rows of `LEN` entries, and prefetches later entries if it `FETCHES`.
            ///
            /// # Safety
            /// As for [`sums`].
            #[target_feature(enable = "avx2,fma")]
            unsafe fn sum_run<const LEN: usize, const FETCHES: bool>(
                mut columns: *const i32,
                mut values: *const $t,
                x: *const $t,
                sums: &mut [$t],
            ) {
                let (groups, rest) = sums.as_chunks_mut::<LANES>();
                // SAFETY: the caller's promises: there are columns and values for each row.
                unsafe {
                    for group in groups {
                        if FETCHES {
                            fetch_entries::<LEN, $t>(columns, values);
                        }
                        let rows =
                            array::from_fn(|k| sum_row::<LEN>(columns.add(k * LEN), values.add(k * LEN), x));
                        $store(group.as_mut_ptr(), $add_up(rows));
                        (columns, values) = (columns.add(LANES * LEN), values.add(LANES * LEN));
                    }
                    for sum in rest {
                        *sum = $add_lanes(sum_row::<LEN>(columns, values, x));
                        (columns, values) = (columns.add(LEN), values.add(LEN));
                    }
                }
            }

            /// A vector whose lanes add up to the sum of a row of `LEN` entries.
            ///
            /// # Safety
            /// As for [`sums`].
            #[inline]
            #[target_feature(enable = "avx2,fma")]
            unsafe fn sum_row<const LEN: usize>(
                columns: *const i32,
                values: *const $t,
                x: *const $t,
            ) -> $vector {
                let (mut sum, whole) = ($zero(), LEN / LANES * LANES);
                // SAFETY: the caller's promises.
                unsafe {
                    for at in (0..whole).step_by(LANES) {
                        sum = $fma($load(values.add(at)), $elements(columns.add(at), x), sum);
                    }
                    if whole < LEN {
                        let values = $load_live($live(LEN - whole), values.add(whole));
                        let x = $padded(LEN - whole, |k| *x.add(*columns.add(whole + k) as usize));
                        sum = $fma(values, x, sum);
                    }
                }
                sum
            }
        }
    };
}

equal_rows!(
    of_f32,
    f32,
    __m128,
    [_mm_setzero_ps, _mm_loadu_ps, short_f32_lanes, load_short_f32s, _mm_storeu_ps, _mm_fmadd_ps],
    [quarter_f32s, padded_f32s, add_up_f32s, add_4_f32s]
);
equal_rows!(
    of_f64,
    f64,
    __m256d,
    [_mm256_setzero_pd, _mm256_loadu_pd, f64_lanes, load_f64s, _mm256_storeu_pd, _mm256_fmadd_pd],
    [avx2_f64s::<false>, padded_f64s, add_up_f64s, add_f64s]
);

/// Prefetches as many entries as four rows of `LEN` have, behind those from here on.
#[inline(always)]
fn fetch_entries<const LEN: usize, T>(columns: *const i32, values: *const T) {
    for at in (0..LANES * LEN).step_by(LINE / size_of::<i32>()) {
        fetch_address(columns.wrapping_add(AHEAD + at));
    }
    for at in (0..LANES * LEN).step_by(LINE / size_of::<T>()) {
        fetch_address(values.wrapping_add(AHEAD + at));
    }
}

/// The first `len` elements, up to 3, and zeros.
#[inline]
#[target_feature(enable = "avx2")]
fn padded_f32s(len: usize, element: impl Fn(usize) -> f32) -> __m128 {
    let [a, b, c] = array::from_fn(|k| if k < len { element(k) } else { 0.0 });
    _mm_setr_ps(a, b, c, 0.0)
}

/// The first `len` elements in double precision, up to 3, and zeros.
#[inline]
#[target_feature(enable = "avx2")]
fn padded_f64s(len: usize, element: impl Fn(usize) -> f64) -> __m256d {
    let [a, b, c] = array::from_fn(|k| if k < len { element(k) } else { 0.0 });
    _mm256_setr_pd(a, b, c, 0.0)
}

/// The sum of each of four vectors, in the order of [`add_4_f32s`].
#[inline]
#[target_feature(enable = "avx2")]
fn add_up_f32s([a, b, c, d]: [__m128; LANES]) -> __m128 {
    let halves = |first, second| _mm_add_ps(_mm_unpacklo_ps(first, second), _mm_unpackhi_ps(first, second));
    let (first, second) = (halves(a, b), halves(c, d));
    _mm_add_ps(_mm_movelh_ps(first, second), _mm_movehl_ps(second, first))
}

/// The sum of each of four vectors, in the order of [`add_f64s`].
#[inline]
#[target_feature(enable = "avx2")]
fn add_up_f64s([a, b, c, d]: [__m256d; LANES]) -> __m256d {
    let halves = |first, second| {
        let low = _mm256_permute2f128_pd::<0x20>(first, second);
        _mm256_add_pd(low, _mm256_permute2f128_pd::<0x31>(first, second))
    };
    let (first, second) = (halves(a, c), halves(b, d));
    _mm256_add_pd(_mm256_unpacklo_pd(first, second), _mm256_unpackhi_pd(first, second))
}

#[cfg(test)]
mod tests {
    use super::super::part_rows::EqualRows;
    use super::*;
    use crate::simd::Simd;

    macro_rules! check {
        ($module:ident, $t:ty) => {
            for (len, prefetch) in
                (1..=MAX_LEN).flat_map(|len| [Prefetch::Nothing, Prefetch::Entries].map(|p| (len, p)))
            {
                let count = 11;
                let columns: Vec<i32> = (0..len * count).map(|k| (k * 29 % 97) as i32).collect();
                let values: Vec<$t> = (0..len * count).map(|k| (k % 5) as $t + 0.1).collect();
                let x: Vec<$t> = (0..97).map(|k| k as $t).collect();
                let sums_of = |range: std::ops::Range<usize>, runs: &[EqualRows]| {
                    let entries = range.start * len..range.end * len;
                    let (columns, values) = (&columns[entries.clone()], &values[entries]);
                    let rows =
                        ShortRows { columns, values, x: &x, starts: &[], runs, longest: len, prefetch };
                    let mut sums = vec![0.0; range.len()];
                    // SAFETY: the processor has AVX2; columns are below the length of `x`.
                    assert_eq!(unsafe { $module::sums(&rows, &mut sums) }, range.len());
                    sums
                };
                let run = |rows| EqualRows { len: len as u16, rows };
                let sums = sums_of(0..count, &[run(4), run(7)]);
                for (row, sum) in sums.iter().enumerate() {
                    assert_eq!(*sum, sums_of(row..row + 1, &[run(1)])[0], "row {row} of {len} alone");
                    let products = (row * len..(row + 1) * len).map(|k| values[k] * x[columns[k] as usize]);
                    let expected: $t = products.sum();
                    assert!((sum - expected).abs() <= 1e-4 * expected, "{len}: {sum} in place of {expected}");
                }
            }
        };
    }

    #[test]
    fn rows_of_every_length_have_the_same_sums_alone_and_beside_others() {
        if Simd::Avx2.is_available() {
            check!(of_f32, f32);
            check!(of_f64, f64);
        }
    }
}
