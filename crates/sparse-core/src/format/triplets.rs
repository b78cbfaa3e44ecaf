//! Matrices from (row, column, value) triplets, all at once or one by one.

use super::coo::check_index;
use super::{Axis, Compressed, Coo, CooPattern, PatternId};
use crate::backend::vec_with_capacity;
use crate::checks::check_size;
use crate::error::Result;
use crate::index::Index;
use crate::op::{Duplicates, Operations};
use crate::reference::Reference;
use crate::scalar::Scalar;
use crate::space::Host;
use std::sync::Arc;

impl<A: Axis, T: Scalar, I: Index, O: Index> Compressed<A, T, Host, I, O> {
    /// A matrix from triplets in any order; those of one coordinate are added.
    ///
    /// The result is sorted and without duplicates. Zeros are stored. O(n · log n) of n triplets. Other policies for
    /// duplicates: [`Coo::from_triplets`] and [`Operations::convert`].
    ///
    /// ```
    /// let a = sparse_core::Csr::<f64>::from_triplets(2, 3, [(1, 2, 1.0), (0, 0, 4.0), (1, 2, 0.5)])?;
    /// assert!(a.triplets().eq([(0, 0, 4.0), (1, 2, 1.5)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Format`](crate::Error::Format) if a coordinate is out of range; [`IndexOverflow`](crate::Error::IndexOverflow)
    /// if an extent does not fit `I` or nnz does not fit `O`.
    #[doc(alias("try_new_from_triplets", "csr_array", "csc_array"))]
    pub fn from_triplets(
        nrows: usize,
        ncols: usize,
        triplets: impl IntoIterator<Item = (usize, usize, T)>,
    ) -> Result<Self> {
        let coo = Coo::<T, Host, I>::from_triplets(nrows, ncols, triplets)?;
        Reference.convert(&coo, &Duplicates::Sum)
    }

    /// A matrix of some diagonals: `(k, values)` is the diagonal `a[i, i + k]`, below the main one for a negative k.
    ///
    /// Zeros are stored; a diagonal that is given twice counts as the sum.
    ///
    /// ```
    /// use sparse_core::Csr;
    /// let second_difference =
    ///     Csr::<f64>::from_diagonals(3, 3, &[(0, &[2.0; 3]), (1, &[-1.0; 2]), (-1, &[-1.0; 2])])?;
    /// assert_eq!(second_difference.values(), &[2.0, -1.0, -1.0, 2.0, -1.0, -1.0, 2.0]);
    /// let error = Csr::<f64>::from_diagonals(3, 3, &[(1, &[1.0; 3])]).unwrap_err();
    /// assert_eq!(error.to_string(), "from_diagonals: the length of diagonal 1 is 3 where 2 is needed");
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](crate::Error::Shape) for a diagonal of another length than the matrix has there;
    /// [`IndexOverflow`](crate::Error::IndexOverflow) as [`from_triplets`](Self::from_triplets).
    #[doc(alias("diags", "diags_array", "spdiags", "tridiagonal"))]
    pub fn from_diagonals(nrows: usize, ncols: usize, diagonals: &[(isize, &[T])]) -> Result<Self> {
        for &(k, values) in diagonals {
            let (row, column) = diagonal_start(k);
            let length = nrows.saturating_sub(row).min(ncols.saturating_sub(column));
            check_size("from_diagonals", &format!("the length of diagonal {k}"), length, values.len())?;
        }
        let entries = diagonals.iter().flat_map(|&(k, values)| {
            let (row, column) = diagonal_start(k);
            values.iter().enumerate().map(move |(i, &value)| (row + i, column + i, value))
        });
        Self::from_triplets(nrows, ncols, entries)
    }
}

/// The row and the column of the first element of a diagonal.
fn diagonal_start(k: isize) -> (usize, usize) {
    let distance = k.unsigned_abs();
    if k < 0 { (distance, 0) } else { (0, distance) }
}

impl<T: Scalar, I: Index> Coo<T, Host, I> {
    /// A matrix without entries that can take `capacity` of them before it allocates again.
    ///
    /// ```
    /// let mut a = sparse_core::Coo::<f64>::with_capacity(2, 3, 1)?;
    /// a.push(1, 2, 5.0)?;
    /// assert_eq!((a.shape(), a.nnz()), ((2, 3), 1));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`IndexOverflow`](crate::Error::IndexOverflow) if an extent does not fit `I`;
    /// [`OutOfMemory`](crate::Error::OutOfMemory) if the host cannot allocate the capacity.
    pub fn with_capacity(nrows: usize, ncols: usize, capacity: usize) -> Result<Self> {
        let (rows, columns) = (vec_with_capacity(capacity)?, vec_with_capacity(capacity)?);
        Self::new(nrows, ncols, rows, columns, vec_with_capacity(capacity)?)
    }

    /// Adds an entry after the last. Coordinates may repeat: such entries count as their sum.
    ///
    /// O(1) on average. The pattern becomes another one: plans made before do not fit any more. A pattern that is
    /// shared with a clone is copied first, and the clone stays as it is.
    ///
    /// ```
    /// let mut a = sparse_core::Coo::<f64>::zeros(2, 2)?;
    /// a.push(0, 1, 5.0)?;
    /// a.push(0, 1, 1.0)?;
    /// assert_eq!((a.nnz(), a.get(0, 1)), (2, Some(6.0)));
    /// assert_eq!(a.push(2, 0, 1.0).unwrap_err().to_string(), "coo: entry 2: row 2 is not below 2");
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Format`](crate::Error::Format) if the coordinate is out of range; the matrix stays as it was.
    #[doc(alias("add_triplet"))]
    pub fn push(&mut self, i: usize, j: usize, value: T) -> Result<()> {
        self.extend([(i, j, value)])
    }

    /// Adds entries after the last, as [`push`](Self::push) does.
    ///
    /// ```
    /// let mut a = sparse_core::Coo::<f64>::zeros(3, 3)?;
    /// a.extend((0..3).map(|k| (k, k, 1.0)))?;
    /// assert_eq!(a.diagonal(), [1.0, 1.0, 1.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Format`](crate::Error::Format) if a coordinate is out of range; the entries before it are added.
    pub fn extend(&mut self, triplets: impl IntoIterator<Item = (usize, usize, T)>) -> Result<()> {
        let pattern = Arc::make_mut(&mut self.pattern);
        pattern.id = PatternId::unique();
        for (i, j, value) in triplets {
            pattern.push(i, j)?;
            self.values.push(value);
        }
        Ok(())
    }
}

impl<I: Index> CooPattern<Host, I> {
    /// Adds a coordinate after the last.
    fn push(&mut self, i: usize, j: usize) -> Result<()> {
        let k = self.row_idx.len();
        check_index(k, "row", i, i, self.rows)?;
        check_index(k, "column", j, j, self.cols)?;
        let next = (I::cast(i), I::cast(j));
        if let (Some(&row), Some(&col)) = (self.row_idx.last(), self.col_idx.last()) {
            self.order.major_sorted &= row <= next.0;
            self.order.sorted &= (row, col) <= next;
            self.order.unique &= (row, col) < next;
        }
        self.row_idx.push(next.0);
        self.col_idx.push(next.1);
        Ok(())
    }
}

/// A copy with the id of the original, for [`Arc::make_mut`].
impl<I: Index> Clone for CooPattern<Host, I> {
    fn clone(&self) -> Self {
        let (row_idx, col_idx) = (self.row_idx.clone(), self.col_idx.clone());
        Self { row_idx, col_idx, ..*self }
    }
}

/// The smallest matrix that has all coordinates.
///
/// ```
/// let a: sparse_core::Coo<f64> = [(0, 4, 1.0), (2, 0, 2.0)].into_iter().collect();
/// assert_eq!((a.shape(), a.nnz()), ((3, 5), 2));
/// ```
///
/// # Panics
/// If an index is not below the largest value of `I`; [`Coo::from_triplets`] returns an error instead.
impl<T: Scalar, I: Index> FromIterator<(usize, usize, T)> for Coo<T, Host, I> {
    fn from_iter<Triplets: IntoIterator<Item = (usize, usize, T)>>(triplets: Triplets) -> Self {
        let triplets: Vec<_> = triplets.into_iter().collect();
        let extent =
            |indices: &mut dyn Iterator<Item = usize>| indices.max().map_or(0, |i| i.saturating_add(1));
        let rows = extent(&mut triplets.iter().map(|entry| entry.0));
        let cols = extent(&mut triplets.iter().map(|entry| entry.1));
        Self::from_triplets(rows, cols, triplets).unwrap_or_else(|error| panic!("{error}"))
    }
}
