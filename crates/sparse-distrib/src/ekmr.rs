//! EKMR: arrays of three and four dimensions as matrices (extended Karnaugh map representation).
//!
//! | array | matrix |
//! |---|---|
//! | `A[k][i][j]` | EKMR(3): `A'[i][j·n_k + k]`, of n_i rows and n_j·n_k columns |
//! | `A[l][k][i][j]` | EKMR(4): `A'[i·n_l + l][j·n_k + k]`, of n_i·n_l rows and n_j·n_k columns |
//!
//! The last two dimensions stay rows and columns; the others vary fastest within them. So an operation on an array of
//! more dimensions is one on a matrix, and [`Partition`](crate::Partition) divides it.
//!
//! Source: Lin, Liu, Chung: Efficient representation scheme for multidimensional array operations. IEEE Trans.
//! Computers 51 (2002); distribution: Lin, Chung, Liu: Efficient data distribution schemes for EKMR-based sparse
//! arrays on distributed memory multicomputers. J. Supercomputing 34 (2005).

use sparse_core::error::checked_product;
use sparse_core::{Dense, DenseView, Element, Error, Order, Result};

/// The dimensions of an array of `N` dimensions that make the rows and the columns of a matrix.
///
/// ```
/// use sparse_distrib::ekmr::EKMR3;
///
/// let shape = [4, 2, 3]; // A[k][i][j]
/// assert_eq!(EKMR3.shape(shape)?, (2, 12));
/// assert_eq!(EKMR3.position(shape, [3, 1, 2]), (1, 2 * 4 + 3));
/// assert_eq!(EKMR3.index(shape, (1, 11)), [3, 1, 2]);
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ekmr<const N: usize> {
    /// The dimensions of a row, the slowest first.
    rows: &'static [usize],
    /// The dimensions of a column, the slowest first.
    cols: &'static [usize],
}

/// `A[k][i][j]` as `A'[i][j·n_k + k]`.
pub const EKMR3: Ekmr<3> = Ekmr { rows: &[1], cols: &[2, 0] };

/// `A[l][k][i][j]` as `A'[i·n_l + l][j·n_k + k]`.
pub const EKMR4: Ekmr<4> = Ekmr { rows: &[2, 0], cols: &[3, 1] };

impl<const N: usize> Ekmr<N> {
    /// (rows, columns) of the matrix.
    ///
    /// # Errors
    /// [`Error::IndexOverflow`] if a product does not fit `usize`.
    pub fn shape(&self, shape: [usize; N]) -> Result<(usize, usize)> {
        let product = |what: &str, dimensions: &[usize]| {
            dimensions.iter().try_fold(1, |product, &d| checked_product(what, product, shape[d]))
        };
        Ok((product("the rows of the matrix", self.rows)?, product("the columns of the matrix", self.cols)?))
    }

    /// (row, column) of the element `index` of an array of this shape.
    pub fn position(&self, shape: [usize; N], index: [usize; N]) -> (usize, usize) {
        let combine =
            |dimensions: &[usize]| dimensions.iter().fold(0, |position, &d| position * shape[d] + index[d]);
        (combine(self.rows), combine(self.cols))
    }

    /// The index in the array of element (row, column): the inverse of [`position`](Self::position).
    ///
    /// # Panics
    /// If the array has no elements: there is none to name.
    pub fn index(&self, shape: [usize; N], (row, col): (usize, usize)) -> [usize; N] {
        let mut index = [0; N];
        for (dimensions, mut rest) in [(self.rows, row), (self.cols, col)] {
            for &d in dimensions.iter().rev() {
                index[d] = rest % shape[d];
                rest /= shape[d];
            }
        }
        index
    }

    /// The matrix as a view of the array's memory, or `None` where the strides do not allow it.
    ///
    /// They do where, in each group of dimensions, the stride of one is the length times the stride of the next, and
    /// rows or columns are contiguous: an array stored as `[i][j][k]` is EKMR(3), one stored as `[k][i][j]` is it only
    /// where n_k or n_j is 1.
    ///
    /// ```
    /// use sparse_distrib::ekmr::{ArrayView, EKMR3};
    ///
    /// let elements: Vec<f64> = (0..24).map(f64::from).collect();
    /// // n_k = 4, n_i = 2, n_j = 3; stored as [i][j][k].
    /// let array = ArrayView::new(&elements, [4, 2, 3], [1, 12, 4])?;
    /// let matrix = EKMR3.view(array)?.unwrap();
    /// assert_eq!(matrix.at(1, 2 * 4 + 3), array.at([3, 1, 2]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::IndexOverflow`] if a product does not fit `usize`.
    pub fn view<'a, T: Element>(&self, array: ArrayView<'a, T, N>) -> Result<Option<DenseView<'a, T>>> {
        let (rows, cols) = self.shape(array.shape)?;
        if rows == 0 || cols == 0 {
            return DenseView::row_major(&[], rows, cols).map(Some);
        }
        let (Some(row_stride), Some(col_stride)) = (array.fused(self.rows), array.fused(self.cols)) else {
            return Ok(None);
        };
        // A single row or column has no stride of its own.
        let row_stride = if rows == 1 { cols.saturating_mul(col_stride) } else { row_stride };
        let col_stride = if cols == 1 { 1 } else { col_stride };
        let (ld, order) = if col_stride == 1 && row_stride >= cols {
            (row_stride, Order::RowMajor)
        } else if (row_stride == 1 || rows == 1) && col_stride >= rows {
            (col_stride, Order::ColMajor)
        } else {
            return Ok(None);
        };
        DenseView::new(array.data, rows, cols, ld, order).map(Some)
    }

    /// The matrix as a row-major copy.
    ///
    /// ```
    /// use sparse_distrib::ekmr::{ArrayView, EKMR4};
    ///
    /// let elements: Vec<f64> = (0..16).map(f64::from).collect();
    /// let array = ArrayView::c_order(&elements, [2, 2, 2, 2])?; // A[l][k][i][j]
    /// let matrix = EKMR4.to_dense(array)?;
    /// assert_eq!(matrix.at(1 * 2 + 1, 0 * 2 + 1), array.at([1, 1, 1, 0]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::IndexOverflow`] if a product does not fit `usize`.
    pub fn to_dense<T: Element>(&self, array: ArrayView<'_, T, N>) -> Result<Dense<T>> {
        let (rows, cols) = self.shape(array.shape)?;
        let elements = (0..rows)
            .flat_map(|row| (0..cols).map(move |col| (row, col)))
            .map(|position| array.at(self.index(array.shape, position)))
            .collect();
        Dense::new(elements, rows, cols, Order::RowMajor)
    }
}

/// A shared view of an array of `N` dimensions with a stride for each, in elements.
#[derive(Debug, Clone, Copy)]
pub struct ArrayView<'a, T, const N: usize> {
    data: &'a [T],
    shape: [usize; N],
    strides: [usize; N],
}

impl<'a, T: Element, const N: usize> ArrayView<'a, T, N> {
    /// A view whose element `index` is at the sum of `index[d] · strides[d]`.
    ///
    /// # Errors
    /// [`Error::Format`] if `data` ends before the last element.
    pub fn new(data: &'a [T], shape: [usize; N], strides: [usize; N]) -> Result<Self> {
        let is_empty = shape.contains(&0);
        let last = shape.iter().zip(strides).try_fold(0_usize, |last, (&n, stride)| {
            last.checked_add(n.saturating_sub(1).checked_mul(stride)?)
        });
        if is_empty || last.is_some_and(|last| last < data.len()) {
            return Ok(Self { data, shape, strides });
        }
        let reason = format!(
            "{} elements do not hold an array of shape {shape:?} with strides {strides:?}; its last stands at {}",
            data.len(),
            last.map_or("a position beyond usize".into(), |last| last.to_string())
        );
        Err(Error::format("array", reason))
    }

    /// A view of an array without padding whose last dimension varies fastest, as of NumPy and C.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn c_order(data: &'a [T], shape: [usize; N]) -> Result<Self> {
        let mut strides = [1_usize; N];
        for d in (1..N).rev() {
            strides[d - 1] = strides[d].saturating_mul(shape[d]);
        }
        Self::new(data, shape, strides)
    }

    /// The lengths of the dimensions.
    pub fn shape(&self) -> [usize; N] {
        self.shape
    }

    /// The distances between neighbours along each dimension, in elements.
    pub fn strides(&self) -> [usize; N] {
        self.strides
    }

    /// The element `index`.
    ///
    /// # Panics
    /// If it lies after the last.
    pub fn at(&self, index: [usize; N]) -> T {
        self.data[index.iter().zip(self.strides).map(|(i, stride)| i * stride).sum::<usize>()]
    }

    /// The stride of a group of dimensions, the slowest first, where one stride serves them all.
    fn fused(&self, dimensions: &[usize]) -> Option<usize> {
        let mut longer = dimensions.iter().rev().filter(|&&d| self.shape[d] != 1);
        let Some(&fastest) = longer.next() else {
            return Some(1);
        };
        let stride = self.strides[fastest];
        let mut next = stride.checked_mul(self.shape[fastest])?;
        for &d in longer {
            if self.strides[d] != next {
                return None;
            }
            next = next.checked_mul(self.shape[d])?;
        }
        Some(stride)
    }
}
