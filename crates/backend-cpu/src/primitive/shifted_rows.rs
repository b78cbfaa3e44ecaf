//! Neighbouring rows whose columns are those of the row before, each one further, as in stencils and bands.

use crate::simd::Isa;
#[cfg(target_arch = "x86_64")]
use crate::simd::Simd;
use sparse_core::Index;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// True if the columns of the second half are those of the first, each one further, and there are some. The column
/// behind halves of one length is ignored.
#[inline(always)]
pub(crate) fn is_second_half_shifted<S: Isa, I: Index>(columns: &[I]) -> bool {
    let (before, own) = columns.split_at(columns.len() / 2);
    let is_next = |(before, own): (&I, &I)| before.as_usize() + 1 == own.as_usize();
    // The first columns tell most rows; the others are compared without branches, by vectors.
    if !before.iter().zip(own).next().is_some_and(is_next) {
        return false;
    }
    #[cfg(target_arch = "x86_64")]
    if const { S::SIMD as u8 == Simd::Avx512 as u8 } {
        // SAFETY: `S` is only run where the processor has it; there are columns of two rows.
        return unsafe { are_shifted(columns, before.len(), 2) };
    }
    before.iter().zip(own).map(is_next).fold(true, |all, next| all & next)
}

/// The columns from the second row on that are each one further than that of the row before, up to the first that is
/// not; rows have `length` columns.
pub(crate) fn shifted_columns<I: Index>(columns: &[I], length: usize) -> usize {
    /// Columns that are compared without a branch between them.
    const TOGETHER: usize = 16;
    let (before, own) = (&columns[..columns.len() - length], &columns[length..]);
    let is_next = |(before, own): (&I, &I)| before.as_usize() + 1 == own.as_usize();
    let chunks = before.as_chunks::<TOGETHER>().0.iter().zip(own.as_chunks::<TOGETHER>().0);
    let are_next = |(before, own): &(&[I; TOGETHER], &[I; TOGETHER])| {
        before.iter().zip(own.iter()).map(is_next).fold(true, |all, next| all & next)
    };
    let whole = TOGETHER * chunks.take_while(are_next).count();
    whole + before[whole..].iter().zip(&own[whole..]).take_while(|&pair| is_next(pair)).count()
}

/// True if the columns of `rows` rows are those of the first, each as much further as the row.
///
/// # Safety
/// There are `length` columns for each row.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) unsafe fn are_shifted<I: Index>(columns: &[I], length: usize, rows: usize) -> bool {
    let pairs = length * (rows - 1);
    let lanes = 64 / size_of::<I>();
    let mut differ = 0;
    for k in (0..pairs).step_by(lanes) {
        let live = u16::MAX >> (16 - (pairs - k).min(lanes));
        // SAFETY: live lanes are columns; others are not read.
        unsafe {
            let (own, next) = (columns.as_ptr().add(k), columns.as_ptr().add(k + length));
            differ |= if size_of::<I>() == size_of::<i32>() {
                let own = _mm512_add_epi32(_mm512_maskz_loadu_epi32(live, own.cast()), _mm512_set1_epi32(1));
                _mm512_mask_cmpneq_epi32_mask(live, own, _mm512_maskz_loadu_epi32(live, next.cast()))
            } else {
                let live = live as u8;
                let own = _mm512_add_epi64(_mm512_maskz_loadu_epi64(live, own.cast()), _mm512_set1_epi64(1));
                let next = _mm512_maskz_loadu_epi64(live, next.cast());
                u16::from(_mm512_mask_cmpneq_epi64_mask(live, own, next))
            };
        }
    }
    differ == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifted_columns_end_with_the_first_that_is_not() {
        let columns: Vec<i32> = (0..50).flat_map(|row| [row, row + 7, row + 9]).collect();
        assert_eq!(shifted_columns(&columns, 3), 147);
        assert_eq!(shifted_columns(&columns[..3], 3), 0);
        for at in [0, 1, 15, 16, 17, 100, 146] {
            let mut other = columns.clone();
            other[3 + at] += 1;
            assert_eq!(shifted_columns(&other, 3), at);
        }
    }
}
