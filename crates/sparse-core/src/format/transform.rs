//! Copies and views of matrices on the host with other values, fewer entries or the axes exchanged.

use super::{Axis, Compressed, CompressedPattern, CompressedRef, Coo, CooPattern, PatternId};
use crate::index::Index;
use crate::scalar::{Accumulator, Scalar};
use crate::space::Host;
use std::marker::PhantomData;
use std::sync::Arc;

/// Multiplies in the accumulator's type and rounds once.
fn scale<T: Scalar>(values: &mut [T], factor: T::Acc) {
    for value in values {
        *value = T::from_acc(value.to_acc().times(factor));
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Compressed<A, T, Host, I, O> {
    /// The same pattern with `f` of each stored value, perhaps of another type. O(nnz).
    ///
    /// Zeros that are not stored stay zero. Plans stay valid.
    ///
    /// ```
    /// let a = sparse_core::Csr::<f64>::from_triplets(2, 2, [(0, 1, -5.0)])?;
    /// let b = a.map_values(|value| value.abs() as f32);
    /// assert_eq!((b.get(0, 1), b.get(0, 0)), (Some(5.0), None));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    #[doc(alias("map", "map_inplace"))]
    pub fn map_values<U: Scalar>(&self, f: impl FnMut(T) -> U) -> Compressed<A, U, Host, I, O> {
        let values = self.values.iter().copied().map(f).collect();
        Compressed { pattern: self.pattern.clone(), values, axis: PhantomData }
    }

    /// Multiplies each stored value by `factor`. O(nnz).
    ///
    /// ```
    /// let mut a = sparse_core::Csr::<f64>::from_triplets(2, 2, [(0, 1, 5.0)])?;
    /// a.scale(2.0);
    /// assert_eq!(a.get(0, 1), Some(10.0));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    #[doc(alias = "mul_assign")]
    pub fn scale(&mut self, factor: T::Acc) {
        scale(&mut self.values, factor);
    }

    /// A copy with the entries for which `keep(row, column, value)` is true, in their order. O(rows or columns + nnz).
    ///
    /// ```
    /// let a = sparse_core::Csr::<f64>::from_triplets(2, 2, [(0, 1, 5.0), (1, 1, 0.0)])?;
    /// let b = a.filter(|_, _, value| value != 0.0);
    /// assert!(b.triplets().eq([(0, 1, 5.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    #[doc(alias("prune", "eliminate_zeros", "retain"))]
    #[must_use]
    pub fn filter(&self, mut keep: impl FnMut(usize, usize, T) -> bool) -> Self {
        let CompressedPattern { major, minor, order, .. } = *self.pattern;
        let mut offsets = Vec::with_capacity(major + 1);
        offsets.push(O::default());
        let (mut indices, mut values) = (vec![], vec![]);
        for k in 0..major {
            for (index, value) in self.major_entries(k) {
                let (i, j) = A::swap(k, index);
                if keep(i, j, value) {
                    indices.push(I::cast(index));
                    values.push(value);
                }
            }
            offsets.push(O::cast(indices.len()));
        }
        let id = PatternId::unique();
        let pattern = Arc::new(CompressedPattern { id, major, minor, offsets, indices, order });
        Self { pattern, values, axis: PhantomData }
    }

    /// A copy of the entries on the diagonal and above. O(rows or columns + nnz).
    ///
    /// ```
    /// let a = sparse_core::Csr::<f64>::from_triplets(2, 2, [(0, 0, 1.0), (0, 1, 2.0), (1, 0, 3.0)])?;
    /// assert!(a.upper_triangle().triplets().eq([(0, 0, 1.0), (0, 1, 2.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    #[doc(alias("triu", "triangular_upper"))]
    #[must_use]
    pub fn upper_triangle(&self) -> Self {
        self.filter(|i, j, _| i <= j)
    }

    /// A copy of the entries on the diagonal and below. O(rows or columns + nnz).
    ///
    /// ```
    /// let a = sparse_core::Csr::<f64>::from_triplets(2, 2, [(0, 0, 1.0), (0, 1, 2.0), (1, 0, 3.0)])?;
    /// assert!(a.lower_triangle().triplets().eq([(0, 0, 1.0), (1, 0, 3.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    #[doc(alias("tril", "triangular_lower"))]
    #[must_use]
    pub fn lower_triangle(&self) -> Self {
        self.filter(|i, j, _| i >= j)
    }

    /// The transpose, borrowed: CSR of A is CSC of Aᵀ. O(1).
    ///
    /// [`into_transpose`](Self::into_transpose) gives one that owns its arrays.
    ///
    /// ```
    /// let a = sparse_core::Csr::<f64>::from_triplets(2, 3, [(0, 2, 5.0)])?;
    /// assert!(a.transpose().triplets().eq([(2, 0, 5.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    #[doc(alias("transpose_view", "T"))]
    #[must_use]
    pub fn transpose(&self) -> CompressedRef<'_, A::Other, T, Host, I, O> {
        self.as_ref().transpose()
    }
}

impl<'a, A: Axis, T: Scalar, I: Index, O: Index> CompressedRef<'a, A, T, Host, I, O> {
    /// The transpose of the same arrays. O(1).
    ///
    /// ```
    /// let a = sparse_core::Csr::<f64>::from_triplets(2, 3, [(0, 2, 5.0)])?;
    /// assert!(a.as_ref().transpose().transpose().triplets().eq(a.triplets()));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    #[must_use]
    pub fn transpose(self) -> CompressedRef<'a, A::Other, T, Host, I, O> {
        let Self { major, minor, offsets, indices, values, .. } = self;
        CompressedRef { major, minor, offsets, indices, values, axis: PhantomData }
    }
}

impl<T: Scalar, I: Index> Coo<T, Host, I> {
    /// The same pattern with `f` of each stored value, perhaps of another type. O(nnz).
    ///
    /// Zeros that are not stored stay zero. Entries of one coordinate are mapped each by itself. Plans stay valid.
    ///
    /// ```
    /// let a = sparse_core::Coo::<f64>::from_triplets(2, 2, [(0, 1, -5.0)])?;
    /// assert_eq!(a.map_values(f64::abs).get(0, 1), Some(5.0));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    #[doc(alias = "map")]
    pub fn map_values<U: Scalar>(&self, f: impl FnMut(T) -> U) -> Coo<U, Host, I> {
        let values = self.values.iter().copied().map(f).collect();
        Coo { pattern: self.pattern.clone(), values }
    }

    /// Multiplies each stored value by `factor`. O(nnz).
    ///
    /// ```
    /// let mut a = sparse_core::Coo::<f64>::from_triplets(2, 2, [(0, 1, 5.0)])?;
    /// a.scale(2.0);
    /// assert_eq!(a.get(0, 1), Some(10.0));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn scale(&mut self, factor: T::Acc) {
        scale(&mut self.values, factor);
    }

    /// A copy with the entries for which `keep(row, column, value)` is true, in their order. O(nnz).
    ///
    /// ```
    /// let a = sparse_core::Coo::<f64>::from_triplets(2, 2, [(0, 1, 5.0), (1, 1, 0.0)])?;
    /// assert!(a.filter(|_, _, value| value != 0.0).triplets().eq([(0, 1, 5.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    #[doc(alias("prune", "eliminate_zeros", "retain"))]
    #[must_use]
    pub fn filter(&self, mut keep: impl FnMut(usize, usize, T) -> bool) -> Self {
        let CooPattern { rows, cols, order, .. } = *self.pattern;
        let (mut row_idx, mut col_idx, mut values) = (vec![], vec![], vec![]);
        for (i, j, value) in self.triplets().filter(|&(i, j, value)| keep(i, j, value)) {
            row_idx.push(I::cast(i));
            col_idx.push(I::cast(j));
            values.push(value);
        }
        let pattern = CooPattern { id: PatternId::unique(), rows, cols, row_idx, col_idx, order };
        Self { pattern: Arc::new(pattern), values }
    }

    /// A copy of the entries on the diagonal and above. O(nnz).
    ///
    /// ```
    /// let a = sparse_core::Coo::<f64>::from_triplets(2, 2, [(1, 0, 3.0), (0, 1, 2.0)])?;
    /// assert!(a.upper_triangle().triplets().eq([(0, 1, 2.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    #[doc(alias = "triu")]
    #[must_use]
    pub fn upper_triangle(&self) -> Self {
        self.filter(|i, j, _| i <= j)
    }

    /// A copy of the entries on the diagonal and below. O(nnz).
    ///
    /// ```
    /// let a = sparse_core::Coo::<f64>::from_triplets(2, 2, [(1, 0, 3.0), (0, 1, 2.0)])?;
    /// assert!(a.lower_triangle().triplets().eq([(1, 0, 3.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    #[doc(alias = "tril")]
    #[must_use]
    pub fn lower_triangle(&self) -> Self {
        self.filter(|i, j, _| i >= j)
    }
}
