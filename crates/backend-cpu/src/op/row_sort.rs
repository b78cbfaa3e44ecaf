//! Sorting the entries of a row by index; equal indices keep their order.

use sparse_core::{Index, Scalar};
use std::ops::Range;

/// Rows up to this length are sorted by ranks: one vector of AVX-512.
const RANKED: usize = 16;

/// Rows shorter than this are sorted by insertion.
const INSERTION_LIMIT: usize = 32;

/// Sorts the entries of `row`, which stand in `indices` and `values` among those of other rows.
#[inline(always)]
pub(super) fn sort_row<T: Scalar, I: Index>(
    indices: &mut [I],
    values: &mut [T],
    row: Range<usize>,
    scratch: &mut Vec<(I, T)>,
) {
    if indices[row.clone()].is_sorted() {
        return;
    }
    if row.len() <= RANKED {
        let (indices, values) = (&mut indices[row.start..], &mut values[row.start..]);
        if let (Some(indices), Some(values)) = (indices.first_chunk_mut(), values.first_chunk_mut()) {
            return sort_by_ranks(indices, values, row.len());
        }
    }
    let (indices, values) = (&mut indices[row.clone()], &mut values[row]);
    if indices.len() < INSERTION_LIMIT {
        insertion_sort(indices, values)
    } else {
        merge_sort(indices, values, scratch)
    }
}

/// Sorts the first `len` entries: each goes where as many entries go before it. No branch depends on the indices.
#[inline(always)]
fn sort_by_ranks<T: Scalar, I: Index>(indices: &mut [I; RANKED], values: &mut [T; RANKED], len: usize) {
    let (unsorted, unsorted_values) = (*indices, *values);
    let mut ranks = [0_u32; RANKED];
    for (k, &index) in unsorted[..len].iter().enumerate() {
        for (lane, (rank, &other)) in ranks.iter_mut().zip(&unsorted).enumerate() {
            *rank += u32::from((index < other) | ((index == other) & (k < lane)));
        }
    }
    for (k, &rank) in ranks[..len].iter().enumerate() {
        let rank = rank as usize % RANKED;
        (indices[rank], values[rank]) = (unsorted[k], unsorted_values[k]);
    }
}

fn insertion_sort<T: Copy, I: Index>(indices: &mut [I], values: &mut [T]) {
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
    }
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

    #[test]
    fn rows_of_every_length_are_sorted_and_equal_indices_keep_their_order() {
        for len in 0..80 {
            let unsorted: Vec<i32> = (0..len).map(|k| k * 37 % 23).collect();
            let mut expected: Vec<_> = unsorted.iter().copied().zip((0..len).map(f64::from)).collect();
            expected.sort_by_key(|entry| entry.0);
            for padding in [0, RANKED] {
                let (mut indices, mut values) =
                    (unsorted.clone(), (0..len).map(f64::from).collect::<Vec<_>>());
                indices.resize(unsorted.len() + padding, -5);
                values.resize(unsorted.len() + padding, -5.0);
                sort_row(&mut indices, &mut values, 0..unsorted.len(), &mut vec![]);
                let found: Vec<_> = indices.into_iter().zip(values).collect();
                assert_eq!(found[..expected.len()], expected, "{len} entries");
                assert!(found[expected.len()..].iter().all(|&entry| entry == (-5, -5.0)), "{len} entries");
            }
        }
    }
}
