//! Matrices with far more rows than entries: their row offsets would fill the memory, so they stay coordinates.

use anyhow::Result;
use nnz::op::{Duplicates, Operations, RowStatistics};
use nnz::reference::Reference;
use nnz::{Accumulator, Coo, Csr, Host, SparseFormat};

/// A matrix without its empty indices, at which neither a row nor a column has an entry.
///
/// Rows and columns lose the same indices, so that symmetry and the order of entries stay.
pub(crate) struct Compacted<T: Accumulator> {
    shape: (usize, usize),
    /// The remaining indices, ascending.
    remaining: Vec<usize>,
    /// The compacted matrix, duplicates added.
    pub(crate) matrix: Csr<T, Host, i64, i64>,
}

impl<T: Accumulator> Compacted<T> {
    /// Removes the empty indices.
    pub(crate) fn new(a: &Coo<T, Host, i64>) -> Result<Self> {
        let mut remaining: Vec<usize> = a.triplets().flat_map(|(row, col, _)| [row, col]).collect();
        remaining.sort_unstable();
        remaining.dedup();
        let place = |index: usize| remaining.partition_point(|&other| other < index);
        let entries = a.triplets().map(|(row, col, value)| (place(row), place(col), value));
        let small = Coo::<T, Host, i64>::from_triplets(remaining.len(), remaining.len(), entries)?;
        let matrix = Reference.convert(&small, &Duplicates::Sum)?;
        Ok(Self { shape: (a.rows(), a.cols()), remaining, matrix })
    }

    /// (rows, columns) of the whole matrix.
    pub(crate) fn shape(&self) -> (usize, usize) {
        self.shape
    }

    /// The entries with their indices in the whole matrix.
    pub(crate) fn triplets(&self) -> impl Iterator<Item = (usize, usize, T)> + '_ {
        self.matrix.triplets().map(|(row, col, value)| (self.remaining[row], self.remaining[col], value))
    }

    /// The statistics of the rows of the whole matrix.
    pub(crate) fn row_statistics(&self) -> RowStatistics {
        let filled = self.matrix.row_lengths().into_iter().filter(|&length| length > 0);
        let empty = self.shape.0 - filled.clone().count();
        RowStatistics::from_counts(filled.map(|length| (length, 1)).chain([(0, empty)]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_empty_is_left_out() {
        let far = 3_000_000_000;
        let entries = [(far, 7, 1.0), (7, far, 2.0), (far, 7, 0.5)];
        let a = Coo::<f64, Host, i64>::from_triplets(far + 1, far + 2, entries).unwrap();
        let compacted = Compacted::new(&a).unwrap();
        assert_eq!(compacted.shape(), (far + 1, far + 2));
        assert_eq!((compacted.matrix.rows(), compacted.matrix.nnz()), (2, 2));
        assert_eq!(compacted.triplets().collect::<Vec<_>>(), [(7, far, 2.0), (far, 7, 1.5)]);
        let rows = compacted.row_statistics();
        assert_eq!((rows.rows, rows.nnz, rows.empty, rows.longest), (far + 1, 2, far - 1, 1));
    }
}
