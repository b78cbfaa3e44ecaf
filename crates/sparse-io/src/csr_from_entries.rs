//! CSR from unordered entries: counts, scans, fills, sorts, and adds duplicates.

use crate::parallel;
use sparse_core::{Csr, Dense, Error, Host, Index, IndexOrder, Order, Result, Scalar};

/// Bytes of row offsets that are always allowed.
const OFFSET_BYTES: usize = 256 << 20;
/// Bytes of row offsets per byte of entries that are allowed beyond.
const OFFSET_FACTOR: usize = 16;
/// Assumed bytes of an entry in the limit of row offsets, for any type.
pub(crate) const ENTRY_BYTES: usize = 8;
/// The least number of entries that a task of the parallel sort takes.
const GRAIN: usize = 1 << 15;

/// True if offsets for `rows` rows would take more memory than `entries` entries justify: a file of a few bytes may
/// claim any number of rows.
///
/// ```
/// assert!(sparse_io::are_rows_too_many(1_000_000_000, 1) && !sparse_io::are_rows_too_many(1_000, 1));
/// ```
pub fn are_rows_too_many(rows: usize, entries: usize) -> bool {
    check_row_claim(rows, size_of::<usize>(), entries.saturating_mul(ENTRY_BYTES)).is_err()
}

/// An error if a claimed number of rows would take more memory than `entry_bytes` bytes of entries justify.
pub(crate) fn check_row_claim(rows: usize, offset_bytes: usize, entry_bytes: usize) -> Result<(), String> {
    let needed = rows.saturating_mul(offset_bytes);
    if needed <= OFFSET_BYTES.max(entry_bytes.saturating_mul(OFFSET_FACTOR)) {
        return Ok(());
    }
    Err(format!(
        "{rows} rows need {needed} bytes of row offsets, which {entry_bytes} bytes of entries do not justify; read it as COO"
    ))
}

/// The matrix of the entries of `triplets`, at most `nnz_bound`, with sorted rows; duplicates are added in their order.
/// `triplets` is called twice, to count the entries of each row and to scatter them: the only copy of the entries is
/// the matrix.
///
/// ```
/// use sparse_core::Csr;
///
/// let entries = [(1, 0, 1.0), (0, 1, 5.0), (1, 0, 2.0)];
/// let a: Csr<f64> = sparse_io::csr_from_triplets(2, 2, entries.len(), || entries.into_iter())?;
/// assert!(a.triplets().eq([(0, 1, 5.0), (1, 0, 3.0)]));
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::IndexOverflow`] if a number does not fit `I` or `O`; [`Error::Format`] if rows are too many for the
/// entries, or a column is out of range.
///
/// # Panics
/// If a row is out of range.
pub fn csr_from_triplets<T: Scalar, I: Index, O: Index, Triplets>(
    rows: usize,
    cols: usize,
    nnz_bound: usize,
    triplets: impl Fn() -> Triplets,
) -> Result<Csr<T, Host, I, O>>
where
    Triplets: Iterator<Item = (usize, usize, T)>,
{
    I::try_new("rows", rows)?;
    I::try_new("columns", cols)?;
    check_row_claim(rows, size_of::<usize>(), nnz_bound.saturating_mul(ENTRY_BYTES))
        .map_err(|reason| Error::format("csr", reason))?;
    let mut positions = vec![0_usize; rows + 1];
    for (row, col, _) in triplets() {
        if col >= cols {
            return Err(Error::format("csr", format_args!("row {row}: column {col} is not below {cols}")));
        }
        positions[row + 1] += 1;
    }
    for row in 0..rows {
        positions[row + 1] += positions[row];
    }
    let nnz = positions[rows];
    O::try_new("nnz", nnz)?;
    let offsets: Vec<O> = positions.iter().map(|&position| O::cast(position)).collect();
    let (mut indices, mut values) = (vec![I::cast(0); nnz], vec![T::ZERO; nnz]);
    for (row, col, value) in triplets() {
        indices[positions[row]] = I::cast(col);
        values[positions[row]] = value;
        positions[row] += 1;
    }
    canonical(Csr::new_unsorted(rows, cols, offsets, indices, values)?)
}

/// All elements but zeros of either sign, in the order of storage.
pub(crate) fn nonzeros<T: Scalar>(dense: &Dense<T>) -> impl Iterator<Item = (usize, usize, T)> + '_ {
    let line = dense.major_minor().1;
    let by_rows = dense.order() == Order::RowMajor;
    let nonzeros = dense.data().iter().enumerate().filter(|(_, value)| !value.is_zero());
    nonzeros.map(move |(k, &value)| {
        let (row, col) = if by_rows { (k / line, k % line) } else { (k % line, k / line) };
        (row, col, value)
    })
}

/// Sorts the rows in place, and adds duplicates in their order.
pub(crate) fn canonical<T: Scalar, I: Index, O: Index>(
    matrix: Csr<T, Host, I, O>,
) -> Result<Csr<T, Host, I, O>> {
    if matrix.order() == IndexOrder::CANONICAL {
        return Ok(matrix);
    }
    let (rows, cols) = (matrix.nrows(), matrix.ncols());
    let (mut offsets, mut indices, mut values) = matrix.into_parts();
    if sort_rows(&offsets, &mut indices, &mut values) {
        sum_duplicates(&mut offsets, &mut indices, &mut values);
    }
    Csr::new_unsorted(rows, cols, offsets, indices, values)
}

/// Sorts the rows in parts of at least [`GRAIN`] entries; true if any index occurs twice in a row.
fn sort_rows<T: Scalar, I: Index, O: Index>(offsets: &[O], indices: &mut [I], values: &mut [T]) -> bool {
    let (mut rest, mut first, mut parts) = ((indices, values), 0, vec![]);
    while first + 1 < offsets.len() {
        let start = offsets[first].as_usize();
        let end = offsets.partition_point(|offset| offset.as_usize() < start + GRAIN).min(offsets.len() - 1);
        let length = offsets[end].as_usize() - start;
        let ((indices, later_indices), (values, later_values)) =
            (rest.0.split_at_mut(length), rest.1.split_at_mut(length));
        parts.push((&offsets[first..=end], indices, values));
        (rest, first) = ((later_indices, later_values), end);
    }
    parallel::map(parts, &|(offsets, indices, values)| sort_part(offsets, indices, values)).contains(&true)
}

/// Sorts the rows of a part, which starts at `offsets[0]`; true if any index occurs twice in a row.
fn sort_part<T: Scalar, I: Index, O: Index>(offsets: &[O], indices: &mut [I], values: &mut [T]) -> bool {
    let (start, mut scratch) = (offsets[0].as_usize(), vec![]);
    offsets.windows(2).fold(false, |repeated, row| {
        let range = row[0].as_usize() - start..row[1].as_usize() - start;
        sort_row(&mut indices[range.clone()], &mut values[range], &mut scratch) | repeated
    })
}

/// Sorts one row, equal indices in their old order; true if any index occurs twice.
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
    let (mut written, mut at) = (0, 0);
    for offset in &mut offsets[1..] {
        let end = offset.as_usize();
        while at < end {
            let (index, mut sum) = (indices[at], values[at].to_acc());
            at += 1;
            while at < end && indices[at] == index {
                sum += values[at].to_acc();
                at += 1;
            }
            (indices[written], values[written]) = (index, T::from_acc(sum));
            written += 1;
        }
        *offset = O::cast(written);
    }
    indices.truncate(written);
    values.truncate(written);
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
            let matrix = csr_from_triplets::<f64, i32, i64, _>(7, 5, 60, || triplets.clone()).unwrap();
            let expected: Vec<_> = sums.into_iter().map(|((i, j), v)| (i, j, v)).collect();
            prop_assert_eq!(matrix.triplets().collect::<Vec<_>>(), expected);
            prop_assert_eq!(matrix.order(), IndexOrder::CANONICAL);
        }
    }

    #[test]
    fn a_claim_of_rows_sizes_no_allocation() {
        let empty = std::iter::empty::<(usize, usize, f64)>;
        assert!(csr_from_triplets::<f64, i64, i64, _>(1 << 60, 0, 0, empty).is_err());
        assert!(check_row_claim(1 << 30, 8, 1 << 30).is_ok());
    }

    #[test]
    fn a_column_that_its_type_would_wrap_is_refused() {
        let triplets = || [(1, (1 << 32) + 1, 5.0)].into_iter();
        let error = csr_from_triplets::<f64, i32, i32, _>(2, 2, 1, triplets).unwrap_err().to_string();
        assert!(error.contains("row 1: column 4294967297 is not below 2"), "{error}");
    }

    #[test]
    fn rows_are_sorted_in_pieces_too() {
        let n = 3 * GRAIN;
        let triplets = (0..n).rev().map(|k| (k % 5, k / 5, k as f64)).chain([(0, 0, 0.5)]);
        let matrix = csr_from_triplets::<f64, i32, i32, _>(5, n / 5 + 1, n + 1, || triplets.clone()).unwrap();
        assert_eq!(matrix.values().len(), n);
        assert!(matrix.triplets().all(|(i, j, v)| v.floor() == (5 * j + i) as f64));
        assert_eq!(matrix.values()[0], 0.5);
    }
}
