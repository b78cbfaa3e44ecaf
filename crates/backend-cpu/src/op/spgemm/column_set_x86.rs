//! [`ColumnSet`](super::column_set::ColumnSet) by vectors of AVX2 and AVX-512.

use std::arch::x86_64::*;

/// A bit for each flag that is set.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,popcnt")]
pub(super) fn bits_avx512(flags: &[u8; 64]) -> u64 {
    // SAFETY: the flags are a vector.
    _mm512_movepi8_mask(unsafe { _mm512_loadu_si512(flags.as_ptr().cast()) })
}

/// A bit for each flag that is set.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn bits_avx2(flags: &[u8; 64]) -> u64 {
    let [low, high] = [0, 32].map(|at| {
        // SAFETY: the flags are two vectors.
        let flags = unsafe { _mm256_loadu_si256(flags.as_ptr().add(at).cast()) };
        u64::from(_mm256_movemask_epi8(flags) as u32)
    });
    low | high << 32
}

/// Writes the columns of a block of 64 whose first one is `first`, and up to a vector behind them.
///
/// # Safety
/// There is memory for the columns and for a vector of 16.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,popcnt")]
pub(super) unsafe fn write_columns(mut bits: u64, first: i32, mut to: *mut i32) {
    let lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    let mut columns = _mm512_add_epi32(lanes, _mm512_set1_epi32(first));
    for _ in 0..4 {
        let own = bits as __mmask16;
        // SAFETY: the caller's promise; fewer columns than all were written before.
        unsafe {
            _mm512_storeu_epi32(to, _mm512_maskz_compress_epi32(own, columns));
            to = to.add(own.count_ones() as usize);
        }
        bits >>= 16;
        columns = _mm512_add_epi32(columns, _mm512_set1_epi32(16));
    }
}
