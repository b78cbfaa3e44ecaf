//! COO: coordinates and values, in any order, perhaps repeated.

use super::{IndexOrder, PatternId, SparseFormat, Transfer, check_extents, check_length, check_values};
use crate::error::{Error, Result};
use crate::index::{Index, out_of_range};
use crate::scalar::Scalar;
use crate::space::{Buffer, ContextId, Host, Space};
use std::fmt::Display;
use std::sync::Arc;

/// The structure of a [`Coo`] matrix.
#[derive(Debug)]
pub struct CooPattern<S: Space = Host, I: Index = i32> {
    pub(super) id: PatternId,
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) row_idx: S::Buffer<I>,
    pub(super) col_idx: S::Buffer<I>,
    pub(super) order: IndexOrder,
}

impl<S: Space, I: Index> CooPattern<S, I> {
    fn transfer<U: Space>(&self, transfer: &impl Transfer<S, U>) -> Result<Arc<CooPattern<U, I>>> {
        Ok(Arc::new(CooPattern {
            id: PatternId::unique(),
            rows: self.rows,
            cols: self.cols,
            row_idx: transfer.copy(S::view(&self.row_idx))?,
            col_idx: transfer.copy(S::view(&self.col_idx))?,
            order: self.order,
        }))
    }
}

/// A matrix in coordinates: entry `k` is `values[k]` at (`row_idx[k]`, `col_idx[k]`).
///
/// Entries are in any order, and coordinates may repeat.
///
/// ```
/// use sparse_core::Coo;
/// // ⎡5 0⎤
/// // ⎣0 7⎦
/// let a = Coo::<f64>::new(2, 2, vec![0, 1], vec![0, 1], vec![5.0, 7.0])?;
/// assert_eq!((a.row_idx()[1], a.col_idx()[1], a.values()[1]), (1, 1, 7.0));
/// # Ok::<(), sparse_core::Error>(())
/// ```
pub struct Coo<T: Scalar, S: Space = Host, I: Index = i32> {
    pub(super) pattern: Arc<CooPattern<S, I>>,
    pub(super) values: S::Buffer<T>,
}

impl<T: Scalar> Coo<T> {
    /// A matrix without entries, on the host, with 32-bit indices.
    ///
    /// ```
    /// # use sparse_core::{Coo, SparseFormat};
    /// assert_eq!(Coo::<f64>::zeros(2, 3)?.nnz(), 0);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::IndexOverflow`] from 2³¹ rows or columns on.
    pub fn zeros(rows: usize, cols: usize) -> Result<Self> {
        Self::new(rows, cols, vec![], vec![], vec![])
    }
}

impl<T: Scalar, I: Index> Coo<T, Host, I> {
    /// A matrix from coordinates in any order, which is found out and remembered.
    ///
    /// ```
    /// # use sparse_core::Coo;
    /// let a = Coo::<f64>::new(2, 3, vec![1, 0], vec![0, 2], vec![5.0, 6.0])?;
    /// assert!(a.triplets().eq([(1, 0, 5.0), (0, 2, 6.0)]) && !a.order().sorted);
    /// let error = Coo::<f64>::new(2, 3, vec![1, 2], vec![0, 0], vec![5.0, 6.0]).unwrap_err();
    /// assert_eq!(error.to_string(), "coo: entry 1: row 2 is not below 2");
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Format`] if lengths differ or a coordinate is out of range; [`Error::IndexOverflow`] if an extent does
    /// not fit `I`.
    pub fn new(rows: usize, cols: usize, row_idx: Vec<I>, col_idx: Vec<I>, values: Vec<T>) -> Result<Self> {
        check_extents::<I>(rows, cols)?;
        check_length("coo", "col_idx", col_idx.len(), row_idx.len())?;
        check_values::<Host, T, I>("coo", &values, &row_idx)?;
        for (k, (&i, &j)) in row_idx.iter().zip(&col_idx).enumerate() {
            check_index(k, "row", i, i.as_usize(), rows)?;
            check_index(k, "column", j, j.as_usize(), cols)?;
        }
        let order = order_of(&row_idx, &col_idx);
        let pattern = CooPattern { id: PatternId::unique(), rows, cols, row_idx, col_idx, order };
        Ok(Self { pattern: Arc::new(pattern), values })
    }

    /// A matrix from (row, column, value) triplets.
    ///
    /// ```
    /// # use sparse_core::{Coo, SparseFormat};
    /// let a = Coo::<f64>::from_triplets(2, 2, [(0, 1, 1.0), (0, 1, 2.0)])?; // they may repeat
    /// assert_eq!(a.nnz(), 2);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn from_triplets(
        rows: usize,
        cols: usize,
        triplets: impl IntoIterator<Item = (usize, usize, T)>,
    ) -> Result<Self> {
        let (mut row_idx, mut col_idx, mut values) = (vec![], vec![], vec![]);
        for (i, j, value) in triplets {
            row_idx.push(I::try_new("row index", i)?);
            col_idx.push(I::try_new("column index", j)?);
            values.push(value);
        }
        Self::new(rows, cols, row_idx, col_idx, values)
    }

    /// The values, to be changed in place; the pattern stays.
    ///
    /// ```
    /// # use sparse_core::Coo;
    /// let mut a = Coo::<f64>::from_triplets(2, 2, [(0, 1, 1.0)])?;
    /// a.values_mut()[0] = 5.0;
    /// assert!(a.triplets().eq([(0, 1, 5.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// All entries as (row, column, value), in storage order.
    ///
    /// ```
    /// # use sparse_core::Coo;
    /// let a = Coo::<f64>::new(2, 2, vec![1, 0], vec![0, 1], vec![5.0, 6.0])?;
    /// assert!(a.triplets().eq([(1, 0, 5.0), (0, 1, 6.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn triplets(&self) -> impl Iterator<Item = (usize, usize, T)> + '_ {
        let p = &self.pattern;
        let coordinates = p.row_idx.iter().zip(&p.col_idx).map(|(i, j)| (i.as_usize(), j.as_usize()));
        coordinates.zip(&self.values).map(|((i, j), &value)| (i, j, value))
    }

    /// The arrays (row_idx, col_idx, values).
    ///
    /// ```
    /// # use sparse_core::Coo;
    /// let a = Coo::<f64>::from_triplets(2, 3, [(1, 2, 5.0)])?;
    /// assert_eq!(a.into_parts(), (vec![1], vec![2], vec![5.0]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn into_parts(self) -> (Vec<I>, Vec<I>, Vec<T>) {
        let values = self.values;
        match Arc::try_unwrap(self.pattern) {
            Ok(pattern) => (pattern.row_idx, pattern.col_idx, values),
            Err(shared) => (shared.row_idx.clone(), shared.col_idx.clone(), values),
        }
    }
}

/// An error unless the index of entry `k`, which is at `position`, is below the extent.
pub(super) fn check_index(
    k: usize,
    what: &str,
    index: impl Display + PartialOrd + Default,
    position: usize,
    extent: usize,
) -> Result<()> {
    if position < extent {
        return Ok(());
    }
    Err(Error::format("coo", format_args!("entry {k}: {what} {}", out_of_range(index, extent))))
}

fn order_of<I: Index>(row_idx: &[I], col_idx: &[I]) -> IndexOrder {
    let mut order = IndexOrder::CANONICAL;
    for (i, j) in row_idx.windows(2).zip(col_idx.windows(2)) {
        order.major_sorted &= i[0] <= i[1];
        order.sorted &= (i[0], j[0]) <= (i[1], j[1]);
        order.unique &= (i[0], j[0]) != (i[1], j[1]);
    }
    order.unique &= order.sorted;
    order
}

impl<T: Scalar, S: Space, I: Index> Coo<T, S, I> {
    /// A matrix from its arrays, unchecked.
    ///
    /// # Safety
    /// The three arrays have one length; row indices are in `0..rows`, column indices in `0..cols`; `order` is true of
    /// them; both extents fit `I`; the arrays are in one context.
    pub unsafe fn new_unchecked(
        rows: usize,
        cols: usize,
        row_idx: S::Buffer<I>,
        col_idx: S::Buffer<I>,
        values: S::Buffer<T>,
        order: IndexOrder,
    ) -> Self {
        let pattern = CooPattern { id: PatternId::unique(), rows, cols, row_idx, col_idx, order };
        Self { pattern: Arc::new(pattern), values }
    }

    /// The same pattern with other values, perhaps of another type. Plans stay valid.
    ///
    /// ```
    /// # use sparse_core::Coo;
    /// let a = Coo::<f64>::from_triplets(2, 3, [(1, 2, 5.0)])?;
    /// assert!(a.with_values(vec![7.0_f32])?.triplets().eq([(1, 2, 7.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Format`] if the number of values is not nnz, [`Error::WrongContext`] if they are in another context.
    pub fn with_values<U: Scalar>(&self, values: S::Buffer<U>) -> Result<Coo<U, S, I>> {
        check_values::<S, U, I>("coo", &values, &self.pattern.row_idx)?;
        Ok(Coo { pattern: self.pattern.clone(), values })
    }

    /// One row per entry.
    pub fn row_idx(&self) -> &S::Buffer<I> {
        &self.pattern.row_idx
    }

    /// One column per entry.
    pub fn col_idx(&self) -> &S::Buffer<I> {
        &self.pattern.col_idx
    }

    /// The stored values.
    pub fn values(&self) -> &S::Buffer<T> {
        &self.values
    }

    /// The known order of the entries: sorted, unique.
    pub fn order(&self) -> IndexOrder {
        self.pattern.order
    }
}

shares_pattern!(Coo, axis [], indices [I], pattern [rows, cols, row_idx, col_idx]);

impl<T: Scalar, S: Space, I: Index> SparseFormat for Coo<T, S, I> {
    type Scalar = T;
    type Space = S;
    type In<U: Space> = Coo<T, U, I>;
    const FORMAT: &'static str = "coo";

    fn nrows(&self) -> usize {
        self.pattern.rows
    }

    fn ncols(&self) -> usize {
        self.pattern.cols
    }

    fn nnz(&self) -> usize {
        self.pattern.row_idx.len()
    }

    fn pattern_id(&self) -> PatternId {
        self.pattern.id
    }

    fn context(&self) -> ContextId {
        self.values.context()
    }

    fn transfer<U: Space>(&self, transfer: &impl Transfer<S, U>) -> Result<Self::In<U>> {
        Ok(Coo { pattern: self.pattern.transfer(transfer)?, values: transfer.copy(S::view(&self.values))? })
    }
}
