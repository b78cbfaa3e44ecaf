//! ELL: every row padded to one width, stored column by column.

use super::estimate::{self, Sizes};
use super::{IndexOrder, PatternId, SparseFormat, Transfer, check_extents, check_length, check_values};
use crate::error::{Error, Result, checked_product};
use crate::index::{Index, out_of_range};
use crate::scalar::Scalar;
use crate::space::{Buffer, ContextId, Host, Space};
use std::sync::Arc;

/// The width of an ELL matrix, and a limit of its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EllLayout {
    /// Entries per row; `None` takes the longest row.
    pub width: Option<usize>,
    /// The most bytes allowed; `None` takes the larger of 256 MiB and 16 times the bytes of CSR.
    pub max_bytes: Option<u64>,
}

impl EllLayout {
    /// The width for rows of these lengths.
    ///
    /// ```
    /// # use sparse_core::{EllLayout, format::estimate::Sizes};
    /// let sizes = Sizes::of::<f64, i32, i32>();
    /// assert_eq!(EllLayout::default().resolve(&[1, 3, 2], sizes)?, 3);
    /// let narrow = EllLayout { width: Some(2), ..EllLayout::default() };
    /// assert_eq!(
    ///     narrow.resolve(&[1, 3, 2], sizes).unwrap_err().to_string(),
    ///     "ell of width 2 is not supported: the longest row has 3 entries"
    /// );
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Unsupported`], naming the bytes and the longest row, if the limit would be passed or a row is longer
    /// than the requested width.
    pub fn resolve(&self, row_lengths: &[usize], sizes: Sizes) -> Result<usize> {
        let longest = row_lengths.iter().copied().max().unwrap_or(0);
        let width = self.width.unwrap_or(longest);
        if longest > width {
            return Err(Error::unsupported(
                format!("ell of width {width}"),
                format!("the longest row has {longest} entries"),
            ));
        }
        let ell = estimate::ell(row_lengths.len(), width, sizes)?;
        estimate::check_cap(ell, row_lengths, sizes, self.max_bytes)?;
        Ok(width)
    }
}

/// The structure of an [`Ell`] matrix.
#[derive(Debug)]
pub struct EllPattern<S: Space = Host, I: Index = i32> {
    id: PatternId,
    rows: usize,
    cols: usize,
    width: usize,
    nnz: usize,
    col_idx: S::Buffer<I>,
    order: IndexOrder,
}

impl<S: Space, I: Index> EllPattern<S, I> {
    fn transfer<U: Space>(&self, transfer: &impl Transfer<S, U>) -> Result<Arc<EllPattern<U, I>>> {
        Ok(Arc::new(EllPattern {
            id: PatternId::unique(),
            rows: self.rows,
            cols: self.cols,
            width: self.width,
            nnz: self.nnz,
            col_idx: transfer.copy(S::view(&self.col_idx))?,
            order: self.order,
        }))
    }
}

/// A matrix in ELLPACK: rows are padded to one width.
///
/// Position `k` of row `i` is element `k·rows + i` of `col_idx` and `values`. Padding follows the entries of a row, has
/// the column −1 and never touches `x`.
///
/// ```
/// use sparse_core::{Ell, SparseFormat};
/// // ⎡1 2 0⎤
/// // ⎣0 0 3⎦
/// let a = Ell::<f64>::new(2, 3, 2, vec![0, 2, 1, -1], vec![1.0, 3.0, 2.0, 0.0])?;
/// assert_eq!((a.width(), a.nnz()), (2, 3));
/// # Ok::<(), sparse_core::Error>(())
/// ```
pub struct Ell<T: Scalar, S: Space = Host, I: Index = i32> {
    pattern: Arc<EllPattern<S, I>>,
    values: S::Buffer<T>,
}

impl<T: Scalar> Ell<T> {
    /// A matrix without entries, on the host, with 32-bit indices.
    ///
    /// ```
    /// # use sparse_core::{Ell, SparseFormat};
    /// assert_eq!(Ell::<f64>::zeros(2, 3)?.nnz(), 0);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::IndexOverflow`] from 2³¹ rows or columns on.
    pub fn zeros(rows: usize, cols: usize) -> Result<Self> {
        Self::new(rows, cols, 0, vec![], vec![])
    }
}

impl<T: Scalar, I: Index> Ell<T, Host, I> {
    /// A matrix from its arrays of `rows * width` elements.
    ///
    /// ```
    /// # use sparse_core::{Ell, SparseFormat};
    /// // Rows (0: 1.0, 2: 2.0) and (1: 3.0), the second one padded.
    /// let a = Ell::<f64>::new(2, 3, 2, vec![0, 1, 2, -1], vec![1.0, 3.0, 2.0, 0.0])?;
    /// assert_eq!((a.nnz(), a.width()), (3, 2));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Format`] if a length is wrong, a column is out of range, or an entry follows padding in its row;
    /// [`Error::IndexOverflow`] if an extent does not fit `I`.
    pub fn new(rows: usize, cols: usize, width: usize, col_idx: Vec<I>, values: Vec<T>) -> Result<Self> {
        check_extents::<I>(rows, cols)?;
        let slots = checked_product("rows x width", rows, width)?;
        check_length("ell", "col_idx", col_idx.len(), slots)?;
        check_values::<Host, T, I>("ell", &values, &col_idx)?;
        let mut nnz = 0;
        let mut order = IndexOrder::CANONICAL;
        let lines = if width == 0 { 0 } else { rows };
        for i in 0..lines {
            let mut before = None;
            let mut ended = false;
            for k in 0..width {
                let col = col_idx[k * rows + i];
                if col == I::PADDING {
                    ended = true;
                    continue;
                }
                if ended {
                    return Err(Error::format("ell", format_args!("row {i}: slot {k} follows padding")));
                }
                if col.as_usize() >= cols {
                    let reason = out_of_range(col, cols);
                    return Err(Error::format("ell", format_args!("row {i}: column {reason}")));
                }
                order.sorted &= before <= Some(col);
                order.unique &= before < Some(col);
                before = Some(col);
                nnz += 1;
            }
        }
        let pattern = EllPattern { id: PatternId::unique(), rows, cols, width, nnz, col_idx, order };
        Ok(Self { pattern: Arc::new(pattern), values })
    }

    /// The entries of row `i`: (column, value).
    ///
    /// ```
    /// # use sparse_core::Ell;
    /// let a = Ell::<f64>::new(2, 3, 2, vec![0, 1, 2, -1], vec![1.0, 3.0, 2.0, 0.0])?;
    /// assert!(a.row_entries(0).eq([(0, 1.0), (2, 2.0)]) && a.row_entries(1).eq([(1, 3.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    #[inline(always)]
    pub fn row_entries(&self, i: usize) -> impl Iterator<Item = (usize, T)> + '_ {
        let p = &self.pattern;
        (0..p.width).map(move |k| k * p.rows + i).map_while(|at| {
            (p.col_idx[at] != I::PADDING).then(|| (p.col_idx[at].as_usize(), self.values[at]))
        })
    }

    /// The values, padding included, to be changed in place; the pattern stays.
    ///
    /// ```
    /// # use sparse_core::Ell;
    /// let mut a = Ell::<f64>::new(1, 3, 1, vec![2], vec![1.0])?;
    /// a.values_mut()[0] = 5.0;
    /// assert!(a.row_entries(0).eq([(2, 5.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }
}

impl<T: Scalar, S: Space, I: Index> Ell<T, S, I> {
    /// A matrix from its arrays, unchecked.
    ///
    /// # Safety
    /// Both arrays have `rows * width` elements; every column is in `0..cols` or −1, and −1 is followed only by −1 in
    /// its row; `nnz` elements are not −1; `order` is true; both extents fit `I`; the arrays are in one context.
    pub unsafe fn new_unchecked(
        (rows, cols): (usize, usize),
        width: usize,
        nnz: usize,
        col_idx: S::Buffer<I>,
        values: S::Buffer<T>,
        order: IndexOrder,
    ) -> Self {
        let pattern = EllPattern { id: PatternId::unique(), rows, cols, width, nnz, col_idx, order };
        Self { pattern: Arc::new(pattern), values }
    }

    /// The same pattern with other values (padding included), perhaps of another type. Plans stay valid.
    ///
    /// ```
    /// # use sparse_core::Ell;
    /// let a = Ell::<f64>::new(1, 3, 1, vec![2], vec![1.0])?;
    /// assert!(a.with_values(vec![5.0_f32])?.row_entries(0).eq([(2, 5.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Format`] if the number of values is not `rows * width`, [`Error::WrongContext`] if they are in another
    /// context.
    pub fn with_values<U: Scalar>(&self, values: S::Buffer<U>) -> Result<Ell<U, S, I>> {
        check_values::<S, U, I>("ell", &values, &self.pattern.col_idx)?;
        Ok(Ell { pattern: self.pattern.clone(), values })
    }

    /// Elements per row, padding included.
    pub fn width(&self) -> usize {
        self.pattern.width
    }

    /// One column per element; −1 is padding.
    pub fn col_idx(&self) -> &S::Buffer<I> {
        &self.pattern.col_idx
    }

    /// One value per element, padding included.
    pub fn values(&self) -> &S::Buffer<T> {
        &self.values
    }

    /// The known order of the columns within rows: sorted, unique.
    pub fn order(&self) -> IndexOrder {
        self.pattern.order
    }
}

shares_pattern!(Ell, axis [], indices [I], pattern [rows, cols, width, col_idx]);

impl<T: Scalar, S: Space, I: Index> SparseFormat for Ell<T, S, I> {
    type Scalar = T;
    type Space = S;
    type In<U: Space> = Ell<T, U, I>;
    const FORMAT: &'static str = "ell";

    fn nrows(&self) -> usize {
        self.pattern.rows
    }

    fn ncols(&self) -> usize {
        self.pattern.cols
    }

    fn nnz(&self) -> usize {
        self.pattern.nnz
    }

    fn pattern_id(&self) -> PatternId {
        self.pattern.id
    }

    fn context(&self) -> ContextId {
        self.values.context()
    }

    fn transfer<U: Space>(&self, transfer: &impl Transfer<S, U>) -> Result<Self::In<U>> {
        Ok(Ell { pattern: self.pattern.transfer(transfer)?, values: transfer.copy(S::view(&self.values))? })
    }
}
