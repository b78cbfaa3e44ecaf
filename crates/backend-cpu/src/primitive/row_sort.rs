//! Sorting the entries of a row by index; equal indices keep their order.

use super::fill::entry_ranges;
use super::filled_rows::{are_often_empty, for_each_filled_row};
use crate::Cpu;
use crate::parallel::{CHUNK, rows_by_entries, split_mut};
#[cfg(target_arch = "x86_64")]
use crate::simd::Simd;
use crate::simd::{Isa, Vectorize};
use sparse_core::{Axis, Compressed, Host, Index, IndexOrder, Scalar};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// Rows up to this length are sorted by ranks: one vector of AVX-512.
const RANKED: usize = 16;

/// The most moves per entry of a row by insertion; rows in worse order are merged.
const MOVES: usize = 4;

/// The order of the entries within rows.
pub(crate) fn order_of<I: Index, O: Index>(cpu: &Cpu, offsets: &[O], columns: &[I]) -> IndexOrder {
    let row = |row: usize| &columns[offsets[row].as_usize()..offsets[row + 1].as_usize()];
    let is_often_empty = are_often_empty(offsets.len() - 1, columns.len());
    let orders = cpu.map(columns.len(), rows_by_entries(offsets, CHUNK), |rows| {
        if is_often_empty {
            let mut order = (true, true);
            for_each_filled_row(&offsets[rows.start..=rows.end], |_, entries| {
                let row = &columns[entries];
                order.0 &= row.is_sorted();
                order.1 &= row.is_sorted_by(|before, next| before < next);
            });
            return order;
        }
        let is_canonical = rows.clone().all(|k| row(k).is_sorted_by(|before, next| before < next));
        (is_canonical || rows.clone().all(|k| row(k).is_sorted()), is_canonical)
    });
    let (sorted, unique) = (orders.iter().all(|order| order.0), orders.iter().all(|order| order.1));
    IndexOrder { major_sorted: true, sorted, unique }
}

/// A copy with each row sorted by itself.
pub(crate) fn sort_rows<A: Axis, T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    a: &Compressed<A, T, Host, I, O>,
) -> Compressed<A, T, Host, I, O> {
    let offsets = a.offsets();
    let (mut indices, mut values) = (cpu.copy_of(a.indices()), cpu.copy_of(a.values()));
    sort_in_place(cpu, offsets, &mut indices, &mut values);
    let order = IndexOrder { sorted: true, ..a.order() };
    // SAFETY: the offsets are those of `a`; each row has its indices, sorted.
    unsafe { Compressed::new_unchecked(a.nrows(), a.ncols(), cpu.copy_of(offsets), indices, values, order) }
}

/// Sorts each row where it lies, in parts of rows with equal entries.
pub(crate) fn sort_in_place<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    offsets: &[O],
    indices: &mut [I],
    values: &mut [T],
) {
    let nnz = indices.len();
    let parts = rows_by_entries(offsets, CHUNK);
    let entries = entry_ranges(offsets, &parts);
    let arrays = split_mut(indices, &entries).into_iter().zip(split_mut(values, &entries));
    let work = parts.into_iter().zip(arrays).collect();
    cpu.for_each(nnz, work, |(rows, (indices, values))| {
        let lengths = rows.map(|row| offsets[row + 1].as_usize() - offsets[row].as_usize());
        cpu.simd().run(SortRows { indices, values, lengths });
    });
}

/// Sorts each of consecutive rows of these lengths.
pub(crate) struct SortRows<'a, T, I, Lengths> {
    pub(crate) indices: &'a mut [I],
    pub(crate) values: &'a mut [T],
    pub(crate) lengths: Lengths,
}

impl<T: Scalar, I: Index, Lengths: Iterator<Item = usize>> Vectorize for SortRows<'_, T, I, Lengths> {
    type Out = ();

    #[inline(always)]
    fn run<S: Isa>(self) {
        let Self { indices, values, lengths } = self;
        let (mut start, mut scratch) = (0, vec![]);
        for length in lengths {
            sort_row::<S, T, I>(&mut indices[start..], &mut values[start..], length, &mut scratch);
            start += length;
        }
    }
}

/// Sorts the first `length` entries.
#[inline(always)]
fn sort_row<S: Isa, T: Scalar, I: Index>(
    indices: &mut [I],
    values: &mut [T],
    length: usize,
    scratch: &mut Vec<(I, T)>,
) {
    if length < 2 {
        return;
    }
    if length <= RANKED
        && let (Some(indices), Some(values)) = (indices.first_chunk_mut(), values.first_chunk_mut())
        && let Some(ranks) = ranks::<S, I>(indices, length)
    {
        return move_to_ranks(indices, values, &ranks[..length]);
    }
    let (indices, values) = (&mut indices[..length], &mut values[..length]);
    if !indices.is_sorted() && !insertion_sort(indices, values) {
        merge_sort(indices, values, scratch);
    }
}

/// The rank of each of the first `len` indices, unless these are in order already or `S` has no branch-free comparison.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn ranks<S: Isa, I: Index>(indices: &[I; RANKED], len: usize) -> Option<[u8; RANKED]> {
    if S::SIMD != Simd::Avx512 || size_of::<I>() != size_of::<i32>() {
        return None;
    }
    // SAFETY: `S` is only run where the processor has it.
    unsafe { ranks_avx512(bytemuck::cast_slice(indices), len) }
}

/// Finds no ranks.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn ranks<S: Isa, I: Index>(_: &[I; RANKED], _: usize) -> Option<[u8; RANKED]> {
    None
}

/// The ranks by one comparison with all indices for each of the first `len`.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,popcnt")]
fn ranks_avx512(indices: &[i32], len: usize) -> Option<[u8; RANKED]> {
    let live = ((1_u32 << len) - 1) as __mmask16;
    // SAFETY: the slice has as many indices as the vector.
    let all = unsafe { _mm512_maskz_loadu_epi32(live, indices.as_ptr()) };
    let next = _mm512_maskz_alignr_epi32::<1>(live >> 1, all, all);
    if _mm512_mask_cmpgt_epi32_mask(live >> 1, all, next) == 0 {
        return None;
    }
    let mut ranks = [0; RANKED];
    for (k, (rank, &index)) in ranks.iter_mut().zip(indices).take(len).enumerate() {
        let index = _mm512_set1_epi32(index);
        let less = _mm512_mask_cmplt_epi32_mask(live, all, index);
        let equal_before = _mm512_mask_cmpeq_epi32_mask(((1_u32 << k) - 1) as __mmask16, all, index);
        *rank = (less | equal_before).count_ones() as u8;
    }
    Some(ranks)
}

#[inline(always)]
fn move_to_ranks<T: Scalar, I: Index>(indices: &mut [I; RANKED], values: &mut [T; RANKED], ranks: &[u8]) {
    let (unsorted, unsorted_values) = (*indices, *values);
    for (k, &rank) in ranks.iter().enumerate() {
        let rank = usize::from(rank) % RANKED;
        (indices[rank], values[rank]) = (unsorted[k], unsorted_values[k]);
    }
}

/// Sorts by insertion; false if [`MOVES`] were not enough, with the entries partly sorted, equal indices still in their
/// order.
fn insertion_sort<T: Copy, I: Index>(indices: &mut [I], values: &mut [T]) -> bool {
    let mut moves = MOVES * indices.len();
    for end in 1..indices.len() {
        let (index, value) = (indices[end], values[end]);
        let mut at = end;
        while at > 0 && indices[at - 1] > index {
            indices[at] = indices[at - 1];
            values[at] = values[at - 1];
            at -= 1;
        }
        indices[at] = index;
        values[at] = value;
        if end - at > moves {
            return false;
        }
        moves -= end - at;
    }
    true
}

fn merge_sort<T: Copy, I: Index>(indices: &mut [I], values: &mut [T], scratch: &mut Vec<(I, T)>) {
    scratch.clear();
    scratch.extend(indices.iter().copied().zip(values.iter().copied()));
    scratch.sort_by_key(|entry| entry.0);
    for ((index, value), entry) in indices.iter_mut().zip(values).zip(scratch) {
        (*index, *value) = *entry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Simd;

    #[test]
    fn rows_of_every_length_are_sorted_and_equal_indices_keep_their_order() {
        for len in 0..80 {
            let unsorted: Vec<i32> = (0..len).map(|k| k * 37 % 23).collect();
            let mut expected: Vec<_> = unsorted.iter().copied().zip((0..len).map(f64::from)).collect();
            expected.sort_by_key(|entry| entry.0);
            let sets = [Simd::Portable, Simd::detect()];
            for (simd, padding) in sets.into_iter().flat_map(|simd| [(simd, 0), (simd, RANKED)]) {
                let (mut indices, mut values) =
                    (unsorted.clone(), (0..len).map(f64::from).collect::<Vec<_>>());
                indices.resize(unsorted.len() + padding, -5);
                values.resize(unsorted.len() + padding, -5.0);
                let lengths = [unsorted.len()].into_iter();
                simd.run(SortRows { indices: &mut indices, values: &mut values, lengths });
                let found: Vec<_> = indices.into_iter().zip(values).collect();
                assert_eq!(found[..expected.len()], expected, "{len} entries");
                assert!(found[expected.len()..].iter().all(|&entry| entry == (-5, -5.0)), "{len} entries");
            }
        }
    }
}
