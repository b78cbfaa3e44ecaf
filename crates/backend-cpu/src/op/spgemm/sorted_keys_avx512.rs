//! Columns of products as keys, in order by a network of comparisons without branches, in AVX-512's registers.
//!
//! A vector takes 30 instructions, two 87 and four 232. Each step compares every key with another one: with that in the
//! mirrored lane first, then with those 8, 4, 2 and 1 lanes away.
//!
//! Batcher: Sorting networks and their applications. AFIPS 1968.

use std::arch::x86_64::*;

/// The lanes of a vector of keys.
pub(super) const LANES: usize = 16;

/// The most keys that are sorted: four vectors of them.
pub(super) const MAX_KEYS: usize = 4 * LANES;

/// The lowest bits of a key, which have the position of its product; the others have its column.
pub(super) const POSITION_BITS: u32 = MAX_KEYS.ilog2();

/// The most columns of which a key has the number.
pub(super) const MAX_COLUMNS: usize = 1 << (u32::BITS - POSITION_BITS);

/// The keys of vector `v`: the greatest number in lanes that are not live.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn key(live: u16, v: usize, columns: __m512i) -> __m512i {
    let lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let position = _mm512_add_epi32(lane, _mm512_set1_epi32((v * LANES) as i32));
    let columns = _mm512_slli_epi32::<POSITION_BITS>(columns);
    _mm512_mask_or_epi32(_mm512_set1_epi32(-1), live, columns, position)
}

/// The keys in order, of which at most `count` are not the greatest number.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn sort<const V: usize>(mut keys: [__m512i; V], count: usize) -> [__m512i; V] {
    match keys.as_mut_slice() {
        [a] if count <= 8 => *a = sort_halves(*a),
        [a] => *a = sort_vector(*a),
        [a, b] => (*a, *b) = sort_two(*a, *b),
        [a, b, c, d] => {
            (*a, *b) = sort_two(*a, *b);
            (*c, *d) = sort_two(*c, *d);
            (*a, *d) = exchange_vectors(*a, reverse(*d));
            (*b, *c) = exchange_vectors(*b, reverse(*c));
            // The greater ones are in reverse, which a merge may be.
            (*a, *b) = exchange_vectors(*a, *b);
            (*c, *d) = exchange_vectors(*d, *c);
            [*a, *b, *c, *d] = [*a, *b, *c, *d].map(|keys| merge(keys));
        }
        _ => {}
    }
    keys
}

#[inline]
#[target_feature(enable = "avx512f")]
fn sort_two(a: __m512i, b: __m512i) -> (__m512i, __m512i) {
    let (a, b) = exchange_vectors(sort_vector(a), reverse(sort_vector(b)));
    (merge(a), merge(b))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn sort_vector(keys: __m512i) -> __m512i {
    let keys = sort_halves(keys);
    let keys = exchange(keys, reverse(keys), 0x00FF);
    merge_halves(keys)
}

/// The keys of which the first 8 lanes are in order, and the last 8.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn sort_halves(keys: __m512i) -> __m512i {
    let keys = exchange(keys, _mm512_shuffle_epi32::<0xB1>(keys), 0x5555);
    let keys = exchange(keys, _mm512_shuffle_epi32::<0x1B>(keys), 0x3333);
    let keys = exchange(keys, _mm512_shuffle_epi32::<0xB1>(keys), 0x5555);
    let lane = _mm512_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8);
    let keys = exchange(keys, _mm512_permutexvar_epi32(lane, keys), 0x0F0F);
    merge_quarters(keys)
}

/// The keys in order, of a vector that ascends and then descends, or the other way round.
#[inline]
#[target_feature(enable = "avx512f")]
fn merge(keys: __m512i) -> __m512i {
    merge_halves(exchange(keys, _mm512_shuffle_i32x4::<0x4E>(keys, keys), 0x00FF))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn merge_halves(keys: __m512i) -> __m512i {
    merge_quarters(exchange(keys, _mm512_shuffle_i32x4::<0xB1>(keys, keys), 0x0F0F))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn merge_quarters(keys: __m512i) -> __m512i {
    let keys = exchange(keys, _mm512_shuffle_epi32::<0x4E>(keys), 0x3333);
    exchange(keys, _mm512_shuffle_epi32::<0xB1>(keys), 0x5555)
}

/// The lesser of each pair of keys in the lanes whose bit is set, and the greater one in the others.
#[inline]
#[target_feature(enable = "avx512f")]
fn exchange(keys: __m512i, others: __m512i, lesser: u16) -> __m512i {
    _mm512_mask_min_epu32(_mm512_max_epu32(keys, others), lesser, keys, others)
}

/// The lesser and the greater of each pair of keys.
#[inline]
#[target_feature(enable = "avx512f")]
fn exchange_vectors(a: __m512i, b: __m512i) -> (__m512i, __m512i) {
    (_mm512_min_epu32(a, b), _mm512_max_epu32(a, b))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn reverse(keys: __m512i) -> __m512i {
    let lane = _mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    _mm512_permutexvar_epi32(lane, keys)
}
