//! Matrices with far more rows than entries: their row offsets would fill the memory, so they stay coordinates.

use crate::analysis::Structure;
use crate::context::Context;
use nnz::op::RowStatistics;
use nnz::{Format, IndexType, Matrix, Result};

/// A matrix without its empty indices, at which neither a row nor a column has an entry.
///
/// Rows and columns lose the same indices, so that symmetry and the order of entries stay.
pub(crate) struct Compacted {
    shape: (usize, usize),
    /// The remaining indices, ascending.
    remaining: Vec<usize>,
    /// The compacted matrix in CSR, duplicates added.
    pub(crate) matrix: Matrix,
}

impl Compacted {
    /// Removes the empty indices.
    pub(crate) fn new(a: &Matrix) -> Result<Self> {
        let mut remaining = Vec::with_capacity(2 * a.nnz());
        a.for_each_entry(&mut |row, col, _| remaining.extend([row, col]))?;
        remaining.sort_unstable();
        remaining.dedup();
        let position = |index: usize| remaining.partition_point(|&other| other < index);
        let mut entries = Vec::with_capacity(a.nnz());
        a.for_each_entry(&mut |row, col, value| entries.push((position(row), position(col), value)))?;
        let shape = (remaining.len(), remaining.len());
        let small = Matrix::from_triplets(&Context::host()?, a.dtype(), IndexType::I64, shape, &entries)?;
        let matrix = small.to_format(Format::Csr)?;
        Ok(Self { shape: a.shape(), remaining, matrix })
    }

    /// (rows, columns) of the whole matrix.
    pub(crate) fn shape(&self) -> (usize, usize) {
        self.shape
    }

    /// The structure of the whole matrix.
    pub(crate) fn structure(&self) -> Result<Structure> {
        let mut structure = Structure::EMPTY;
        let whole = |index: usize| self.remaining[index];
        self.matrix.for_each_entry(&mut |row, col, value| structure.add(whole(row), whole(col), value))?;
        Ok(structure)
    }

    /// The statistics of the rows of the whole matrix.
    pub(crate) fn row_statistics(&self) -> Result<RowStatistics> {
        let lengths = self.matrix.row_lengths()?;
        let filled = lengths.into_iter().filter(|&length| length > 0);
        let empty = self.shape.0 - filled.clone().count();
        Ok(RowStatistics::from_counts(filled.map(|length| (length, 1)).chain([(0, empty)])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nnz::{Coo, Host};

    #[test]
    fn only_what_is_empty_is_left_out() {
        let far = 3_000_000_000;
        let entries = [(far, 7, 1.0), (7, far, 2.0), (far, 7, 0.5)];
        let a = Coo::<f64, Host, i64>::from_triplets(far + 1, far + 2, entries).unwrap();
        let compacted = Compacted::new(&Matrix::from_typed(&Context::host().unwrap(), a).unwrap()).unwrap();
        assert_eq!(compacted.shape(), (far + 1, far + 2));
        assert_eq!((compacted.matrix.nrows(), compacted.matrix.nnz()), (2, 2));
        assert_eq!(
            compacted.matrix.to_dense().unwrap().values().to_vec::<f64>().unwrap(),
            [0.0, 2.0, 1.5, 0.0]
        );
        let structure = compacted.structure().unwrap();
        assert_eq!((structure.lower_bandwidth, structure.upper_bandwidth), (far - 7, far - 7));
        let rows = compacted.row_statistics().unwrap();
        assert_eq!((rows.rows, rows.nnz, rows.empty, rows.longest), (far + 1, 2, far - 1, 1));
    }
}
