//! Matrices to test with, and their dense form.

use nnz::{Coo, Csr, Host, Index, Result, Scalar, c64};
use proptest::collection::vec;
use proptest::prelude::*;

/// A Gaussian integer; real types take its real part.
pub(crate) type Value = (i32, i32);

pub(crate) fn value() -> impl Strategy<Value = Value> {
    (-3..4, -3..4)
}

pub(crate) fn scalar<T: Scalar>((re, im): Value) -> T {
    T::from_c64(c64::new(re.into(), im.into()))
}

/// Entries anywhere in a matrix, in any order, with repetitions and zeros.
#[derive(Debug, Clone)]
pub(crate) struct Triplets {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    entries: Vec<(usize, usize, Value)>,
}

pub(crate) fn triplets() -> impl Strategy<Value = Triplets> {
    (0..9_usize, 0..9_usize).prop_flat_map(|(rows, cols)| {
        let most = if rows * cols == 0 { 0 } else { 40 };
        let entry = (0..rows.max(1), 0..cols.max(1), value());
        vec(entry, 0..=most).prop_map(move |entries| Triplets { rows, cols, entries })
    })
}

impl Triplets {
    /// Changes the shape and drops the entries outside.
    pub(crate) fn reshape(&mut self, rows: usize, cols: usize) {
        (self.rows, self.cols) = (rows, cols);
        self.entries.retain(|e| e.0 < rows && e.1 < cols);
    }

    /// (row, column, value), in input order.
    pub(crate) fn entries<T: Scalar>(&self) -> Vec<(usize, usize, T)> {
        self.entries.iter().map(|&(i, j, v)| (i, j, scalar(v))).collect()
    }

    pub(crate) fn coo<T: Scalar, I: Index>(&self) -> Result<Coo<T, Host, I>> {
        Coo::from_triplets(self.rows, self.cols, self.entries::<T>())
    }

    /// The entries of each row in input order: unsorted, with duplicates.
    pub(crate) fn csr<T: Scalar, I: Index, O: Index>(&self) -> Result<Csr<T, Host, I, O>> {
        self.csr_by(|i, _| (i, 0))
    }

    /// The entries of each row by columns, those of one coordinate in input order.
    pub(crate) fn sorted_csr<T: Scalar, I: Index, O: Index>(&self) -> Result<Csr<T, Host, I, O>> {
        self.csr_by(|i, j| (i, j))
    }

    fn csr_by<T: Scalar, I: Index, O: Index>(
        &self,
        key: impl Fn(usize, usize) -> (usize, usize),
    ) -> Result<Csr<T, Host, I, O>> {
        let mut entries = self.entries::<T>();
        entries.sort_by_key(|&(i, j, _)| key(i, j));
        let offsets = (0..=self.rows).map(|row| O::cast(entries.iter().filter(|e| e.0 < row).count()));
        let indices = entries.iter().map(|e| I::cast(e.1)).collect();
        let values = entries.iter().map(|e| e.2).collect();
        Csr::new_unsorted(self.rows, self.cols, offsets.collect(), indices, values)
    }

    /// The sums of the entries, row by row.
    pub(crate) fn dense<T: Scalar>(&self) -> Vec<Vec<c64>> {
        let mut dense = vec![vec![c64::default(); self.cols]; self.rows];
        for (i, j, value) in self.entries::<T>() {
            dense[i][j] += value.to_c64();
        }
        dense
    }

    /// The expected result of compression: sorted, summed, without zeros.
    pub(crate) fn canonical<T: Scalar>(&self) -> Vec<(usize, usize, T)> {
        let mut entries = vec![];
        for (i, row) in self.dense::<T>().into_iter().enumerate() {
            entries.extend(row.into_iter().enumerate().map(|(j, value)| (i, j, T::from_c64(value))));
        }
        entries.retain(|e| !e.2.is_zero());
        entries
    }
}
