//! Single elements, rows, columns and the diagonal of matrices on the host.

use super::{Axis, Col, Compressed, Coo, Row};
use crate::index::Index;
use crate::scalar::{Scalar, rounded_sum};
use crate::space::Host;
use std::iter::{Copied, Map, Zip};
use std::slice::Iter;

/// The entries of one row or column, borrowed from the matrix.
#[derive(Debug, Clone, Copy)]
pub struct SparseVecView<'a, T: Scalar, I: Index = i32> {
    dim: usize,
    indices: &'a [I],
    values: &'a [T],
    /// The indices ascend strictly.
    canonical: bool,
}

impl<'a, T: Scalar, I: Index> SparseVecView<'a, T, I> {
    /// The length of the vector, zeros included.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The number of stored entries; explicit zeros count.
    ///
    /// ```
    /// let a = sparse_core::Csr::<f64>::from_triplets(1, 5, [(0, 3, 2.0)])?;
    /// assert_eq!((a.row(0).nnz(), a.row(0).dim()), (1, 5));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn nnz(&self) -> usize {
        self.indices.len()
    }

    /// One index per entry, as stored.
    #[doc(alias("col_indices", "row_indices"))]
    pub fn indices(&self) -> &'a [I] {
        self.indices
    }

    /// One value per entry, as stored.
    #[doc(alias("data", "val"))]
    pub fn values(&self) -> &'a [T] {
        self.values
    }

    /// The entries as (index, value), as stored.
    ///
    /// ```
    /// let a = sparse_core::Csr::<f64>::from_triplets(1, 5, [(0, 3, 2.0), (0, 1, 1.0)])?;
    /// assert!(a.row(0).iter().eq([(1, 1.0), (3, 2.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn iter(&self) -> <Self as IntoIterator>::IntoIter {
        self.into_iter()
    }

    /// The value at `index`, or `None` if nothing is stored there; entries that repeat an index are added.
    ///
    /// O(log nnz) if the matrix is sorted and without duplicates, else O(nnz).
    ///
    /// ```
    /// let a = sparse_core::Csr::<f64>::from_triplets(1, 5, [(0, 3, 2.0)])?;
    /// assert_eq!((a.row(0).get(3), a.row(0).get(4), a.row(0).get(5)), (Some(2.0), None, None));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn get(&self, index: usize) -> Option<T> {
        if self.canonical {
            let found = self.indices.binary_search_by_key(&index, |stored| stored.as_usize());
            return found.ok().map(|position| self.values[position]);
        }
        rounded_sum(self.iter().filter(|&(stored, _)| stored == index).map(|(_, value)| value))
    }
}

impl<T: Scalar, I: Index> PartialEq for SparseVecView<'_, T, I> {
    fn eq(&self, other: &Self) -> bool {
        (self.dim, self.indices, self.values) == (other.dim, other.indices, other.values)
    }
}

impl<'a, T: Scalar, I: Index> IntoIterator for SparseVecView<'a, T, I> {
    type Item = (usize, T);
    type IntoIter = Zip<Map<Copied<Iter<'a, I>>, fn(I) -> usize>, Copied<Iter<'a, T>>>;

    fn into_iter(self) -> Self::IntoIter {
        let indices = self.indices.iter().copied().map(I::as_usize as fn(I) -> usize);
        indices.zip(self.values.iter().copied())
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Compressed<A, T, Host, I, O> {
    /// Row `k` of CSR, column `k` of CSC.
    fn major_vector(&self, k: usize) -> SparseVecView<'_, T, I> {
        let range = self.pattern.range(k);
        SparseVecView {
            dim: self.pattern.minor,
            indices: &self.pattern.indices[range.clone()],
            values: &self.values[range],
            canonical: self.pattern.order.unique,
        }
    }

    /// The number of entries of row `k` of CSR, of column `k` of CSC.
    fn major_nnz(&self, k: usize) -> usize {
        self.pattern.range(k).len()
    }

    /// The value at (i, j), or `None` if nothing is stored there; entries of one coordinate are added.
    ///
    /// A coordinate outside of the matrix is `None` too. With n entries in the row (CSR) or column (CSC), O(log n) if
    /// the matrix is sorted and without duplicates, else O(n).
    ///
    /// ```
    /// let a = sparse_core::Csr::<f64>::from_triplets(2, 2, [(0, 1, 5.0), (1, 0, 0.0)])?;
    /// assert_eq!((a.get(0, 1), a.get(1, 0), a.get(1, 1), a.get(9, 9)), (Some(5.0), Some(0.0), None, None));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    #[doc(alias("get_entry", "coeff"))]
    pub fn get(&self, i: usize, j: usize) -> Option<T> {
        let (k, index) = A::swap(i, j);
        if k >= self.pattern.major {
            return None;
        }
        self.major_vector(k).get(index)
    }

    /// The elements (k, k), zeros included: as many as the smaller extent.
    ///
    /// As many searches as [`get`](Self::get) makes for each of them.
    ///
    /// ```
    /// let a = sparse_core::Csr::<f64>::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0)])?;
    /// assert_eq!(a.diagonal(), [1.0, 0.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    #[doc(alias("diag", "diagonal_as_csr"))]
    pub fn diagonal(&self) -> Vec<T> {
        let n = self.pattern.major.min(self.pattern.minor);
        (0..n).map(|k| self.major_vector(k).get(k).unwrap_or(T::ZERO)).collect()
    }
}

impl<T: Scalar, I: Index, O: Index> Compressed<Row, T, Host, I, O> {
    /// The entries of row `i`.
    ///
    /// ```
    /// let a = sparse_core::Csr::<f64>::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0)])?;
    /// assert_eq!((a.row(0).indices(), a.row(0).values()), (&[0, 2][..], &[1.0, 2.0][..]));
    /// for (j, value) in a.row(0) {
    ///     println!("column {j}: {value}");
    /// }
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Panics
    /// If there is no row `i`.
    #[doc(alias("outer_view", "getrow"))]
    pub fn row(&self, i: usize) -> SparseVecView<'_, T, I> {
        self.major_vector(i)
    }

    /// All rows, one after the other.
    ///
    /// ```
    /// let a = sparse_core::Csr::<f64>::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0)])?;
    /// let sums: Vec<f64> = a.rows().map(|row| row.values().iter().sum()).collect();
    /// assert_eq!(sums, [3.0, 0.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    #[doc(alias("outer_iterator", "row_iter"))]
    pub fn rows(&self) -> impl DoubleEndedIterator<Item = SparseVecView<'_, T, I>> + ExactSizeIterator {
        (0..self.pattern.major).map(|i| self.major_vector(i))
    }

    /// The number of entries of row `i`.
    ///
    /// ```
    /// let a = sparse_core::Csr::<f64>::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0)])?;
    /// assert_eq!((a.row_nnz(0), a.row_nnz(1)), (2, 0));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Panics
    /// If there is no row `i`.
    #[doc(alias("row_len", "getnnz"))]
    pub fn row_nnz(&self, i: usize) -> usize {
        self.major_nnz(i)
    }
}

impl<T: Scalar, I: Index, O: Index> Compressed<Col, T, Host, I, O> {
    /// The entries of column `j`.
    ///
    /// ```
    /// let a = sparse_core::Csc::<f64>::from_triplets(2, 3, [(0, 2, 1.0), (1, 2, 2.0)])?;
    /// assert_eq!((a.col(2).indices(), a.col(2).values()), (&[0, 1][..], &[1.0, 2.0][..]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Panics
    /// If there is no column `j`.
    #[doc(alias("outer_view", "getcol"))]
    pub fn col(&self, j: usize) -> SparseVecView<'_, T, I> {
        self.major_vector(j)
    }

    /// All columns, one after the other.
    ///
    /// ```
    /// let a = sparse_core::Csc::<f64>::from_triplets(2, 3, [(0, 2, 1.0), (1, 2, 2.0)])?;
    /// assert!(a.cols().map(|col| col.nnz()).eq([0, 0, 2]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    #[doc(alias("outer_iterator", "col_iter"))]
    pub fn cols(&self) -> impl DoubleEndedIterator<Item = SparseVecView<'_, T, I>> + ExactSizeIterator {
        (0..self.pattern.major).map(|j| self.major_vector(j))
    }

    /// The number of entries of column `j`.
    ///
    /// ```
    /// let a = sparse_core::Csc::<f64>::from_triplets(2, 3, [(0, 2, 1.0), (1, 2, 2.0)])?;
    /// assert_eq!((a.col_nnz(0), a.col_nnz(2)), (0, 2));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Panics
    /// If there is no column `j`.
    #[doc(alias("col_len", "getnnz"))]
    pub fn col_nnz(&self, j: usize) -> usize {
        self.major_nnz(j)
    }
}

impl<T: Scalar, I: Index> Coo<T, Host, I> {
    /// The value at (i, j), or `None` if nothing is stored there; entries of one coordinate are added. O(nnz).
    ///
    /// ```
    /// let a = sparse_core::Coo::<f64>::from_triplets(2, 2, [(0, 1, 5.0), (0, 1, 1.0)])?;
    /// assert_eq!((a.get(0, 1), a.get(1, 1), a.get(9, 9)), (Some(6.0), None, None));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    #[doc(alias("find_locations"))]
    pub fn get(&self, i: usize, j: usize) -> Option<T> {
        rounded_sum(self.triplets().filter(|entry| (entry.0, entry.1) == (i, j)).map(|entry| entry.2))
    }

    /// The elements (k, k), zeros included: as many as the smaller extent. O(nnz + n).
    ///
    /// ```
    /// let a = sparse_core::Coo::<f64>::from_triplets(2, 2, [(1, 1, 5.0), (1, 1, 1.0), (0, 1, 2.0)])?;
    /// assert_eq!(a.diagonal(), [0.0, 6.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    #[doc(alias = "diag")]
    pub fn diagonal(&self) -> Vec<T> {
        let mut sums: Vec<Option<T::Acc>> = vec![None; self.pattern.rows.min(self.pattern.cols)];
        for (i, _, value) in self.triplets().filter(|entry| entry.0 == entry.1) {
            let value = value.to_acc();
            sums[i] = Some(sums[i].map_or(value, |sum| sum + value));
        }
        sums.into_iter().map(|sum| sum.map_or(T::ZERO, T::from_acc)).collect()
    }
}
