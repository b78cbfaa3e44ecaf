//! Sliced ELL of cuSPARSE on the host: slices of rows, each padded to its longest and stored column by column.

use rayon::prelude::*;
use sparse_core::{Csr, Index, Scalar};

/// Rows of a slice: those of a warp.
pub(super) const SLICE: usize = 32;

/// The column of padding.
const PADDING: i32 = -1;

/// The arrays of sliced ELL.
pub(super) struct SlicedEll<T> {
    /// The first element of each slice, and the end of the last.
    pub(super) offsets: Vec<i32>,
    pub(super) columns: Vec<i32>,
    pub(super) values: Vec<T>,
}

/// The number of elements for rows of these lengths, padding included; the last slice is whole.
pub(super) fn elements(lengths: &[usize]) -> usize {
    lengths.chunks(SLICE).map(elements_of_slice).sum()
}

fn elements_of_slice(lengths: &[usize]) -> usize {
    SLICE * lengths.iter().copied().fold(0, usize::max)
}

impl<T: Scalar> SlicedEll<T> {
    /// The matrix in slices; the number of elements must fit `i32`.
    pub(super) fn new(a: &Csr<T>) -> Self {
        let lengths = a.row_lengths();
        let mut offsets = vec![0];
        let mut end = 0;
        for slice in lengths.chunks(SLICE) {
            end += elements_of_slice(slice);
            offsets.push(i32::cast(end));
        }
        let (mut columns, mut values) = (vec![PADDING; end], vec![T::ZERO; end]);
        let (mut columns_left, mut values_left) = (&mut columns[..], &mut values[..]);
        let mut slices = vec![];
        for rows in lengths.chunks(SLICE) {
            let elements = elements_of_slice(rows);
            let (own_columns, own_values);
            (own_columns, columns_left) = columns_left.split_at_mut(elements);
            (own_values, values_left) = values_left.split_at_mut(elements);
            slices.push((own_columns, own_values));
        }
        slices.into_par_iter().enumerate().for_each(|(slice, (columns, values))| {
            let first = slice * SLICE;
            for row in first..a.nrows().min(first + SLICE) {
                for (place, (col, value)) in a.major_entries(row).enumerate() {
                    let place = place * SLICE + row - first;
                    (columns[place], values[place]) = (i32::cast(col), value);
                }
            }
        });
        Self { offsets, columns, values }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_stands_in_the_column_of_its_row() {
        let a: Csr<f32> = sparse_generate::power_law(100, 5, 2.2, 40, 1).unwrap();
        let sell = SlicedEll::new(&a);
        assert_eq!(sell.values.len(), elements(&a.row_lengths()));
        assert_eq!(sell.offsets.len(), 5);
        let mut found = vec![];
        for row in 0..a.nrows() {
            let (start, end) = (sell.offsets[row / SLICE] as usize, sell.offsets[row / SLICE + 1] as usize);
            for place in (start + row % SLICE..end).step_by(SLICE).filter(|&place| sell.columns[place] >= 0) {
                found.push((row, sell.columns[place] as usize, sell.values[place]));
            }
        }
        assert_eq!(found, a.triplets().collect::<Vec<_>>());
    }
}
