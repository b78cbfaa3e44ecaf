//! Properties of a matrix that one pass over its entries finds.

use nnz::op::RowStatistics;
use nnz::{Accumulator, Csr, Host, Index, SparseFormat};
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
    /// Walks over entries: (row, column, value).
    pub(crate) fn of<T: Accumulator>(entries: impl Iterator<Item = (usize, usize, T)>) -> Self {
        let mut structure = Self { lower_bandwidth: 0, upper_bandwidth: 0, diagonal: 0, explicit_zeros: 0 };
        for (row, col, value) in entries {
            structure.lower_bandwidth = structure.lower_bandwidth.max(row.saturating_sub(col));
            structure.upper_bandwidth = structure.upper_bandwidth.max(col.saturating_sub(row));
            structure.diagonal += usize::from(row == col);
            structure.explicit_zeros += usize::from(value.is_zero());
        }
        structure
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
    /// Compares a matrix, whose rows are sorted, with its transpose; `None` if it is not square.
    ///
    /// Rows are visited in order, so that the mirror images within any one row are looked up in storage order: one
    /// cursor per row finds them all in a single pass.
    pub(crate) fn of<T: Accumulator, I: Index, O: Index>(a: &Csr<T, Host, I, O>) -> Option<Self> {
        if a.rows() != a.cols() {
            return None;
        }
        let mut cursors: Vec<usize> = a.row_ptr().iter().map(|offset| offset.as_usize()).collect();
        let (mut mirrored, mut numeric, mut skew, mut hermitian) = (0_usize, true, true, true);
        for (row, col, value) in a.triplets() {
            let end = a.row_ptr()[col + 1].as_usize();
            let cursor = &mut cursors[col];
            while *cursor < end && a.col_idx()[*cursor].as_usize() < row {
                *cursor += 1;
            }
            if *cursor < end && a.col_idx()[*cursor].as_usize() == row {
                let image = a.values()[*cursor];
                mirrored += 1;
                numeric &= image == value;
                skew &= image == -value;
                hermitian &= image == value.conj();
            }
        }
        let pattern = mirrored == a.nnz();
        Some(Self {
            mirrored_share: (a.nnz() > 0).then(|| mirrored as f64 / a.nnz() as f64),
            pattern,
            numeric: pattern && numeric,
            skew: pattern && skew,
            hermitian: pattern && hermitian,
        })
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
    use nnz::{Coo, c64, op::Operations, reference::Reference};

    fn csr<T: Accumulator>(rows: usize, cols: usize, triplets: &[(usize, usize, T)]) -> Csr<T> {
        let coo = Coo::<T>::from_triplets(rows, cols, triplets.iter().copied()).unwrap();
        Reference.convert(&coo, &Default::default()).unwrap()
    }

    #[test]
    fn bandwidths_and_zeros_are_counted() {
        let a = csr(3, 4, &[(0, 0, 1.0), (0, 3, 0.0), (2, 0, -0.0), (2, 1, 5.0)]);
        let structure = Structure::of(a.triplets());
        assert_eq!((structure.lower_bandwidth, structure.upper_bandwidth), (2, 3));
        assert_eq!((structure.diagonal, structure.explicit_zeros), (1, 2));
    }

    #[test]
    fn only_square_matrices_have_a_symmetry() {
        assert_eq!(Symmetry::of(&csr(2, 3, &[(0, 0, 1.0)])), None);
        let empty = Symmetry::of(&csr::<f64>(0, 0, &[])).unwrap();
        assert!(empty.pattern && empty.numeric && empty.mirrored_share.is_none());
    }

    #[test]
    fn a_missing_mirror_image_is_found_wherever_it_is() {
        let triplets = [(0, 1, 1.0), (0, 2, 1.0), (1, 0, 1.0), (1, 2, 1.0), (2, 0, 1.0), (2, 1, 1.0)];
        assert!(Symmetry::of(&csr(3, 3, &triplets)).unwrap().numeric);
        for missing in 0..triplets.len() {
            let mut rest = triplets.to_vec();
            rest.remove(missing);
            let symmetry = Symmetry::of(&csr(3, 3, &rest)).unwrap();
            assert!(!symmetry.pattern && !symmetry.numeric, "without {:?}", triplets[missing]);
            assert_eq!(symmetry.mirrored_share, Some(0.8));
        }
    }

    #[test]
    fn the_kinds_of_symmetry_are_told_apart() {
        let kinds = |upper: c64, lower: c64| {
            let s = Symmetry::of(&csr(2, 2, &[(0, 1, upper), (1, 0, lower)])).unwrap();
            (s.pattern, s.numeric, s.skew, s.hermitian)
        };
        let z = c64::new(1.0, 2.0);
        assert_eq!(kinds(z, z), (true, true, false, false));
        assert_eq!(kinds(z, -z), (true, false, true, false));
        assert_eq!(kinds(z, z.conj()), (true, false, false, true));
        assert_eq!(kinds(z, z + z), (true, false, false, false));
    }
}
