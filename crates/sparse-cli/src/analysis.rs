//! Properties of a matrix that one pass over its entries finds.

use nnz::op::RowStatistics;
use nnz::{Matrix, Result, Scalar as _, c64};
use serde::Serialize;

/// The shape of the pattern and properties of the values.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Structure {
    /// The largest distance of an entry below the diagonal.
    pub(crate) lower_bandwidth: usize,
    /// The largest distance of an entry above the diagonal.
    pub(crate) upper_bandwidth: usize,
    /// Entries on the diagonal.
    pub(crate) diagonal: usize,
    /// Stored entries whose value is zero.
    pub(crate) explicit_zeros: usize,
}

impl Structure {
    /// The structure without entries.
    pub(crate) const EMPTY: Self =
        Self { lower_bandwidth: 0, upper_bandwidth: 0, diagonal: 0, explicit_zeros: 0 };

    /// The structure of the entries of a matrix.
    pub(crate) fn of(a: &Matrix) -> Result<Self> {
        let mut structure = Self::EMPTY;
        a.for_each_entry(&mut |row, col, value| structure.add(row, col, value))?;
        Ok(structure)
    }

    /// Counts one more entry.
    pub(crate) fn add(&mut self, row: usize, col: usize, value: c64) {
        self.lower_bandwidth = self.lower_bandwidth.max(row.saturating_sub(col));
        self.upper_bandwidth = self.upper_bandwidth.max(col.saturating_sub(row));
        self.diagonal += usize::from(row == col);
        self.explicit_zeros += usize::from(value.is_zero());
    }
}

/// The symmetry of a matrix, entry by entry.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Symmetry {
    /// The fraction of entries whose mirror image is stored too; none without entries.
    pub(crate) mirrored_share: Option<f64>,
    /// Every mirror image is stored.
    pub(crate) pattern: bool,
    /// `a_ji = a_ij`
    pub(crate) numeric: bool,
    /// `a_ji = -a_ij`
    pub(crate) skew: bool,
    /// `a_ji = conj(a_ij)`
    pub(crate) hermitian: bool,
}

impl Symmetry {
    /// The symmetry of a matrix; `None` if it is not square.
    pub(crate) fn of(a: &Matrix) -> Result<Option<Self>> {
        let nnz = a.nnz();
        Ok(a.symmetry()?.map(|symmetry| Self {
            mirrored_share: (nnz > 0).then(|| symmetry.mirrored as f64 / nnz as f64),
            pattern: symmetry.pattern,
            numeric: symmetry.symmetric,
            skew: symmetry.skew,
            hermitian: symmetry.hermitian,
        }))
    }
}

/// A summary of the row lengths.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct RowLengths {
    shortest: usize,
    longest: usize,
    mean: f64,
    deviation: f64,
    empty: usize,
    /// Numbers of rows with a length in `2^(k-1)..2^k`; the first counts empty rows.
    histogram: Vec<usize>,
}

impl From<RowStatistics> for RowLengths {
    fn from(statistics: RowStatistics) -> Self {
        Self {
            shortest: statistics.shortest,
            longest: statistics.longest,
            mean: statistics.mean,
            deviation: statistics.deviation,
            empty: statistics.empty,
            histogram: statistics.histogram,
        }
    }
}

impl std::fmt::Display for RowLengths {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { shortest, longest, mean, deviation, empty, .. } = self;
        write!(f, "{shortest} to {longest}, mean {mean:.2}, standard deviation {deviation:.2}, {empty} empty")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;
    use nnz::Csr;

    #[test]
    fn bandwidths_and_zeros_are_counted() {
        let entries = [(0, 0, 1.0), (0, 3, 0.0), (2, 0, -0.0), (2, 1, 5.0)];
        let a = Csr::<f64>::from_triplets(3, 4, entries).unwrap();
        let a = Matrix::from_typed(&Context::host().unwrap(), a).unwrap();
        let structure = Structure::of(&a).unwrap();
        assert_eq!((structure.lower_bandwidth, structure.upper_bandwidth), (2, 3));
        assert_eq!((structure.diagonal, structure.explicit_zeros), (1, 2));
        assert_eq!(Symmetry::of(&a).unwrap(), None);
    }
}
