//! CSR from unordered entries: count, scan, fill, sort, add up duplicates.

use sparse_core::{Csr, Host, Index, Result, Scalar};

/// Entries below which a piece is sorted by one thread.
const GRAIN: usize = 1 << 15;

/// The matrix of `triplets`; duplicates are added in the order in which they come (rule V4).
pub(crate) fn csr_from_triplets<T: Scalar, I: Index, O: Index>(
    rows: usize,
    cols: usize,
    triplets: impl Iterator<Item = (usize, usize, T)> + Clone,
) -> Result<Csr<T, Host, I, O>> {
    I::try_new("rows", rows)?;
    I::try_new("columns", cols)?;
    let mut places = vec![0_usize; rows + 1];
    for (row, _, _) in triplets.clone() {
        places[row + 1] += 1;
    }
    for row in 0..rows {
        places[row + 1] += places[row];
    }
    let nnz = places[rows];
    O::try_new("nnz", nnz)?;
    let mut offsets: Vec<O> = places.iter().map(|&place| O::cast(place)).collect();
    let (mut indices, mut values) = (vec![I::cast(0); nnz], vec![T::ZERO; nnz]);
    for (row, col, value) in triplets {
        indices[places[row]] = I::cast(col);
        values[places[row]] = value;
        places[row] += 1;
    }
    sort_and_sum(&mut offsets, &mut indices, &mut values);
    Csr::new(rows, cols, offsets, indices, values)
}

/// Sorts every row in place, then adds up duplicates in the order in which they stood.
pub(crate) fn sort_and_sum<T: Scalar, I: Index, O: Index>(
    offsets: &mut [O],
    indices: &mut Vec<I>,
    values: &mut Vec<T>,
) {
    if sort_rows(offsets, indices, values) {
        sum_duplicates(offsets, indices, values);
    }
}

/// Sorts the rows of a piece, which starts at `offsets[0]`; says whether any index occurs twice in a row.
fn sort_rows<T: Scalar, I: Index, O: Index>(offsets: &[O], indices: &mut [I], values: &mut [T]) -> bool {
    let rows = offsets.len() - 1;
    let start = offsets[0].as_usize();
    if rows < 2 || indices.len() <= GRAIN {
        let mut scratch = Vec::new();
        return offsets.windows(2).fold(false, |repeated, row| {
            let range = row[0].as_usize() - start..row[1].as_usize() - start;
            sort_row(&mut indices[range.clone()], &mut values[range], &mut scratch) | repeated
        });
    }
    let half = start + indices.len() / 2;
    let middle = offsets
        .partition_point(|offset| offset.as_usize() < half)
        .clamp(1, rows - 1);
    let (left_indices, right_indices) = indices.split_at_mut(offsets[middle].as_usize() - start);
    let (left_values, right_values) = values.split_at_mut(left_indices.len());
    let (left, right) = rayon::join(
        || sort_rows(&offsets[..=middle], left_indices, left_values),
        || sort_rows(&offsets[middle..], right_indices, right_values),
    );
    left | right
}

/// Sorts one row, equal indices in their old order; says whether any index occurs twice.
fn sort_row<T: Scalar, I: Index>(indices: &mut [I], values: &mut [T], scratch: &mut Vec<(I, T)>) -> bool {
    if indices.is_sorted_by(|a, b| a < b) {
        return false;
    }
    scratch.clear();
    scratch.extend(indices.iter().copied().zip(values.iter().copied()));
    scratch.sort_by_key(|&(index, _)| index);
    for ((index, value), sorted) in indices.iter_mut().zip(values).zip(scratch) {
        (*index, *value) = *sorted;
    }
    indices.windows(2).any(|pair| pair[0] == pair[1])
}

/// Adds up equal neighbours and closes the gaps.
fn sum_duplicates<T: Scalar, I: Index, O: Index>(
    offsets: &mut [O],
    indices: &mut Vec<I>,
    values: &mut Vec<T>,
) {
    let (mut kept, mut at) = (0, 0);
    for offset in &mut offsets[1..] {
        let end = offset.as_usize();
        while at < end {
            let (index, mut sum) = (indices[at], values[at].to_acc());
            at += 1;
            while at < end && indices[at] == index {
                sum += values[at].to_acc();
                at += 1;
            }
            (indices[kept], values[kept]) = (index, T::from_acc(sum));
            kept += 1;
        }
        *offset = O::cast(kept);
    }
    indices.truncate(kept);
    values.truncate(kept);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn assembling_agrees_with_a_map(
            triplets in prop::collection::vec((0..7_usize, 0..5_usize, -9..9_i32), 0..60),
        ) {
            let triplets = triplets.into_iter().map(|(i, j, v)| (i, j, f64::from(v)));
            let mut sums = BTreeMap::new();
            for (i, j, v) in triplets.clone() {
                *sums.entry((i, j)).or_insert(0.0) += v;
            }
            let matrix = csr_from_triplets::<f64, i32, i64>(7, 5, triplets).unwrap();
            let expected: Vec<_> = sums.into_iter().map(|((i, j), v)| (i, j, v)).collect();
            prop_assert_eq!(matrix.triplets().collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn rows_are_sorted_in_pieces_too() {
        let n = 3 * GRAIN;
        let triplets = (0..n)
            .rev()
            .map(|k| (k % 5, k / 5, k as f64))
            .chain([(0, 0, 0.5)]);
        let matrix = csr_from_triplets::<f64, i32, i32>(5, n / 5 + 1, triplets).unwrap();
        assert_eq!(matrix.values().len(), n);
        assert!(matrix.triplets().all(|(i, j, v)| v.floor() == (5 * j + i) as f64));
        assert_eq!(matrix.values()[0], 0.5);
    }
}
