//! [`Ranked`](super::ranked::Ranked) by AVX-512: whole vectors of keys and of entries.

use sparse_core::Index;
use std::arch::x86_64::*;

/// Keys of a vector.
const LANES: usize = 16;

/// The first `len` lanes, of more than there are all.
#[inline]
fn first_lanes(len: usize) -> __mmask16 {
    ((1_u32 << len.min(LANES)) - 1) as __mmask16
}

/// Writes the keys of products with these columns of 32 bits, the first of which has the position `start`. Keys behind
/// them are written, too.
///
/// # Safety
/// There is memory for the keys and for a vector more.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,popcnt")]
pub(super) unsafe fn push<I: Index>(keys: *mut u32, start: usize, columns: &[I], first: usize, bits: u32) {
    let lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    let (first, bits) = (_mm512_set1_epi32(first as i32), _mm512_set1_epi32(bits as i32));
    for at in (0..columns.len()).step_by(LANES) {
        // SAFETY: the lanes that are read are columns; the caller's promise.
        unsafe {
            let columns =
                _mm512_maskz_loadu_epi32(first_lanes(columns.len() - at), columns.as_ptr().add(at).cast());
            let positions = _mm512_add_epi32(lanes, _mm512_set1_epi32((start + at) as i32));
            let keys_of_columns = _mm512_sllv_epi32(_mm512_sub_epi32(columns, first), bits);
            _mm512_storeu_epi32(keys.add(start + at).cast(), _mm512_or_si512(keys_of_columns, positions));
        }
    }
}

/// Writes the first `len` keys in order.
///
/// # Safety
/// The keys are distinct; behind `len` of them is memory for a vector.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,popcnt")]
pub(super) unsafe fn sort(keys: *const u32, len: usize, sorted: *mut u32) {
    let mut at = 0;
    // SAFETY: the caller's promise; a key has as many before it as are less, which are fewer than `len`.
    unsafe {
        while at + LANES < len {
            let own = [0, LANES].map(|lanes| _mm512_loadu_epi32(keys.add(at + lanes).cast()));
            let [low, high] = ranks(keys, len, own);
            _mm512_i32scatter_epi32::<4>(sorted.cast(), low, own[0]);
            _mm512_mask_i32scatter_epi32::<4>(sorted.cast(), first_lanes(len - at - LANES), high, own[1]);
            at += 2 * LANES;
        }
        if at < len {
            let own = [_mm512_loadu_epi32(keys.add(at).cast())];
            let [ranks] = ranks(keys, len, own);
            _mm512_mask_i32scatter_epi32::<4>(sorted.cast(), first_lanes(len - at), ranks, own[0]);
        }
    }
}

/// The number of lesser keys, for each of these.
///
/// # Safety
/// There are `len` keys.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,popcnt")]
unsafe fn ranks<const N: usize>(keys: *const u32, len: usize, own: [__m512i; N]) -> [__m512i; N] {
    let mut ranks = [_mm512_setzero_si512(); N];
    for k in 0..len {
        // SAFETY: the caller's promise.
        let key = _mm512_set1_epi32(unsafe { *keys.add(k) } as i32);
        for (ranks, own) in ranks.iter_mut().zip(own) {
            let less = _mm512_cmplt_epu32_mask(key, own);
            *ranks = _mm512_mask_add_epi32(*ranks, less, *ranks, _mm512_set1_epi32(1));
        }
    }
    ranks
}

/// Entries of up to a vector of products.
pub(super) struct Entries {
    /// The lanes whose column is not that of the lane before.
    pub(super) new: u32,
    /// The lanes whose column is.
    pub(super) equal: u32,
    /// The position of the product of each lane.
    pub(super) positions: [u32; LANES],
    /// Those of new lanes alone, and zeros.
    pub(super) new_positions: [u32; LANES],
}

/// The entries of the first `len` keys in order, behind one of another column; writes the columns of new lanes.
///
/// # Safety
/// There is memory for a vector of keys, one key before them, and for a vector of columns.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,popcnt")]
pub(super) unsafe fn entries(
    sorted: *const u32,
    len: usize,
    first: usize,
    bits: u32,
    columns: *mut i32,
) -> Entries {
    let live = first_lanes(len);
    let shift = _mm512_set1_epi32(bits as i32);
    // SAFETY: the caller's promise.
    let [keys, before] = unsafe { [sorted, sorted.sub(1)].map(|keys| _mm512_loadu_epi32(keys.cast())) };
    let [of_lanes, of_before] = [keys, before].map(|keys| _mm512_srlv_epi32(keys, shift));
    let new = _mm512_mask_cmpneq_epi32_mask(live, of_lanes, of_before);
    let positions = _mm512_maskz_and_epi32(live, keys, _mm512_set1_epi32((1 << bits) - 1));
    let new_columns = _mm512_add_epi32(of_lanes, _mm512_set1_epi32(first as i32));
    let mut entries = Entries {
        new: new.into(),
        equal: (live & !new).into(),
        positions: [0; LANES],
        new_positions: [0; LANES],
    };
    // SAFETY: the caller's promise; the arrays are vectors.
    unsafe {
        _mm512_storeu_epi32(columns, _mm512_maskz_compress_epi32(new, new_columns));
        _mm512_storeu_epi32(entries.positions.as_mut_ptr().cast(), positions);
        _mm512_storeu_epi32(
            entries.new_positions.as_mut_ptr().cast(),
            _mm512_maskz_compress_epi32(new, positions),
        );
    }
    entries
}
