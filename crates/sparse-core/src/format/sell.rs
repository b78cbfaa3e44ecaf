//! SELL-C-σ: slices of C rows, each padded to its own width; rows sorted by length within windows of σ.
//!
//! Kreutzer, Hager, Wellein, Fehske, Bishop: A unified sparse matrix data format for efficient general sparse
//! matrix-vector multiplication on modern processors with wide SIMD units. SIAM J. Sci. Comput. 36 (2014).

use super::{
    IndexOrder, PatternId, SparseFormat, Transfer, check_extents, check_length, check_offsets_row,
    check_values,
};
use crate::error::{Error, Result};
use crate::index::{Index, out_of_range};
use crate::scalar::Scalar;
use crate::space::{Buffer, ContextId, Host, Space};
use std::sync::Arc;

/// C and σ of a SELL matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SellLayout {
    /// C: rows per slice.
    pub slice_height: usize,
    /// σ: rows are sorted by length, longest first, within windows of σ rows; 1 leaves their order.
    pub sort_window: usize,
}

impl Default for SellLayout {
    fn default() -> Self {
        Self { slice_height: 32, sort_window: 4096 }
    }
}

impl SellLayout {
    /// The order in which rows are stored: position → row. Rows of equal length keep their order.
    ///
    /// ```
    /// # use sparse_core::SellLayout;
    /// let layout = SellLayout { slice_height: 2, sort_window: 3 };
    /// assert_eq!(layout.row_order(&[1, 3, 2, 9])?, [1, 2, 0, 3]); // the longest of each window first
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Format`] if C or σ is zero, or C is above 1024 and the number of rows, rounded up to a power of two.
    pub fn row_order(&self, row_lengths: &[usize]) -> Result<Vec<usize>> {
        if self.slice_height == 0 || self.sort_window == 0 {
            return Err(Error::format("sell", "the slice height and the sort window are at least 1"));
        }
        check_height(self.slice_height, row_lengths.len())?;
        let mut rows: Vec<usize> = (0..row_lengths.len()).collect();
        for window in rows.chunks_mut(self.sort_window) {
            window.sort_by_key(|&row| std::cmp::Reverse(row_lengths[row]));
        }
        Ok(rows)
    }

    /// The width of each slice for rows stored in `row_order`.
    ///
    /// ```
    /// # use sparse_core::SellLayout;
    /// let layout = SellLayout { slice_height: 2, sort_window: 3 };
    /// assert!(layout.slice_widths(&[1, 3, 2, 9], &[1, 2, 0, 3]).eq([3, 9]));
    /// ```
    pub fn slice_widths<'a>(
        &self,
        row_lengths: &'a [usize],
        row_order: &'a [usize],
    ) -> impl Iterator<Item = usize> + 'a {
        row_order
            .chunks(self.slice_height)
            .map(|slice| slice.iter().map(|&row| row_lengths[row]).max().unwrap_or(0))
    }
}

/// The greatest slice height of a matrix with fewer rows.
const MAX_SPARE_LANES: usize = 1024;

/// Fails if most lanes of a slice would have no row: products visit all lanes.
fn check_height(height: usize, rows: usize) -> Result<()> {
    let most = rows.checked_next_power_of_two().unwrap_or(rows).max(MAX_SPARE_LANES);
    if height <= most {
        return Ok(());
    }
    let reason = format_args!("the slice height is {height}; with {rows} rows it is at most {most}");
    Err(Error::format("sell", reason))
}

/// The structure of a [`Sell`] matrix.
#[derive(Debug)]
pub struct SellPattern<S: Space = Host, I: Index = i32, O: Index = i32> {
    id: PatternId,
    rows: usize,
    cols: usize,
    nnz: usize,
    slice_height: usize,
    slice_ptr: S::Buffer<O>,
    row_order: S::Buffer<I>,
    col_idx: S::Buffer<I>,
    order: IndexOrder,
}

impl<S: Space, I: Index, O: Index> SellPattern<S, I, O> {
    fn transfer<U: Space>(&self, transfer: &impl Transfer<S, U>) -> Result<Arc<SellPattern<U, I, O>>> {
        Ok(Arc::new(SellPattern {
            id: PatternId::unique(),
            rows: self.rows,
            cols: self.cols,
            nnz: self.nnz,
            slice_height: self.slice_height,
            slice_ptr: transfer.copy(S::view(&self.slice_ptr))?,
            row_order: transfer.copy(S::view(&self.row_order))?,
            col_idx: transfer.copy(S::view(&self.col_idx))?,
            order: self.order,
        }))
    }
}

/// A matrix in SELL-C-σ: slices of C rows, each padded to the length of its longest row.
///
/// Slice `s` has the rows `row_order[s·C..(s + 1)·C]`; element `k` of its lane `l` is at `slice_ptr[s] + k·C + l`.
/// Padding follows the entries of a row, has the column −1 and never touches `x`. The last slice has C lanes too; those
/// without a row have only padding.
///
/// ```
/// use sparse_core::{Sell, SparseFormat};
/// // ⎡ 0 1  0⎤
/// // ⎢10 0 20⎥   slices of two rows: the second row and the first, then the third
/// // ⎣ 5 0  0⎦
/// let (columns, values) = (vec![0, 1, 2, -1, 0, -1], vec![10.0, 1.0, 20.0, 0.0, 5.0, 0.0]);
/// let a = Sell::<f64>::new((3, 3), 2, vec![0, 4, 6], vec![1, 0, 2], columns, values)?;
/// assert_eq!((a.slice_height(), a.nnz()), (2, 4));
/// # Ok::<(), sparse_core::Error>(())
/// ```
pub struct Sell<T: Scalar, S: Space = Host, I: Index = i32, O: Index = i32> {
    pattern: Arc<SellPattern<S, I, O>>,
    values: S::Buffer<T>,
}

impl<T: Scalar> Sell<T> {
    /// A matrix without entries, on the host, with 32-bit indices.
    ///
    /// ```
    /// # use sparse_core::{Sell, SparseFormat};
    /// assert_eq!(Sell::<f64>::zeros(2, 3)?.nnz(), 0);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::IndexOverflow`] from 2³¹ rows or columns on.
    pub fn zeros(rows: usize, cols: usize) -> Result<Self> {
        let slice_height = SellLayout::default().slice_height;
        let order = (0..i32::try_new("rows", rows)?).collect();
        Self::new((rows, cols), slice_height, vec![0; rows.div_ceil(slice_height) + 1], order, vec![], vec![])
    }
}

impl<T: Scalar, I: Index, O: Index> Sell<T, Host, I, O> {
    /// A matrix from its arrays.
    ///
    /// ```
    /// # use sparse_core::{Sell, SparseFormat};
    /// // One slice of two rows, (1: 3.0) and (0: 1.0, 2: 2.0); the longer one is stored first.
    /// let a = Sell::<f64>::new((2, 3), 2, vec![0, 4], vec![1, 0], vec![0, 1, 2, -1], vec![1.0, 3.0, 2.0, 0.0])?;
    /// assert_eq!((a.nnz(), a.slice_height()), (3, 2));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Format`] if a length is wrong, `slice_ptr` does not start at 0, falls, or has a slice that is not a
    /// multiple of C, `row_order` is not a permutation, a column is out of range, an entry follows padding, or C is
    /// refused by [`SellLayout::row_order`]; [`Error::IndexOverflow`] if an extent, or the number of lanes, does not
    /// fit.
    pub fn new(
        (rows, cols): (usize, usize),
        slice_height: usize,
        slice_ptr: Vec<O>,
        row_order: Vec<I>,
        col_idx: Vec<I>,
        values: Vec<T>,
    ) -> Result<Self> {
        check_extents::<I>(rows, cols)?;
        if slice_height == 0 {
            return Err(Error::format("sell", "the slice height is at least 1"));
        }
        check_height(slice_height, rows)?;
        let slices = rows.div_ceil(slice_height);
        I::try_new("lanes of all slices", slices.saturating_mul(slice_height))?;
        check_offsets_row("sell", slices, &slice_ptr, col_idx.len())?;
        check_values::<Host, T, I>("sell", &values, &col_idx)?;
        check_permutation(rows, &row_order)?;
        let mut pattern = SellPattern {
            id: PatternId::unique(),
            rows,
            cols,
            nnz: 0,
            slice_height,
            slice_ptr,
            row_order,
            col_idx,
            order: IndexOrder::CANONICAL,
        };
        (pattern.nnz, pattern.order) = pattern.check_columns()?;
        Ok(Self { pattern: Arc::new(pattern), values })
    }

    /// The entries of the row at `position` of the row order: (column, value).
    ///
    /// ```
    /// # use sparse_core::Sell;
    /// let a = Sell::<f64>::new((2, 3), 2, vec![0, 4], vec![1, 0], vec![0, 1, 2, -1], vec![1.0, 3.0, 2.0, 0.0])?;
    /// assert!(a.stored_row_entries(0).eq([(0, 1.0), (2, 2.0)])); // row 1 stands at position 0
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    #[inline(always)]
    pub fn stored_row_entries(&self, position: usize) -> impl Iterator<Item = (usize, T)> + '_ {
        let p = &self.pattern;
        p.slots(position).map_while(|at| {
            (p.col_idx[at] != I::PADDING).then(|| (p.col_idx[at].as_usize(), self.values[at]))
        })
    }

    /// The values, padding included, to be changed in place; the pattern stays.
    ///
    /// ```
    /// # use sparse_core::Sell;
    /// let mut a = Sell::<f64>::new((1, 3), 1, vec![0, 1], vec![0], vec![2], vec![1.0])?;
    /// a.values_mut()[0] = 5.0;
    /// assert!(a.stored_row_entries(0).eq([(2, 5.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }
}

impl<I: Index, O: Index> SellPattern<Host, I, O> {
    /// The positions of the lane at `position` of the row order.
    #[inline(always)]
    pub fn slots(&self, position: usize) -> impl Iterator<Item = usize> + use<I, O> {
        let (slice, lane) = (position / self.slice_height, position % self.slice_height);
        let (start, end) = (self.slice_ptr[slice].as_usize(), self.slice_ptr[slice + 1].as_usize());
        (start + lane..end).step_by(self.slice_height)
    }

    fn check_columns(&self) -> Result<(usize, IndexOrder)> {
        let height = self.slice_height;
        let mut nnz = 0;
        let mut order = IndexOrder::CANONICAL;
        for (s, ends) in self.slice_ptr.windows(2).enumerate() {
            let slots = ends[1].as_usize() - ends[0].as_usize();
            if !slots.is_multiple_of(height) {
                return Err(Error::format(
                    "sell",
                    format_args!("slice {s}: {slots} slots are no multiple of {height}"),
                ));
            }
            let lanes = if slots == 0 { 0 } else { height };
            for position in s * height..s * height + lanes {
                nnz += self.check_lane(position, &mut order)?;
            }
        }
        Ok((nnz, order))
    }

    /// The number of entries of a lane.
    fn check_lane(&self, position: usize, order: &mut IndexOrder) -> Result<usize> {
        let row = self.row_order.get(position);
        let mut before = None;
        let mut ended = row.is_none();
        let mut entries = 0;
        for at in self.slots(position) {
            let col = self.col_idx[at];
            if col == I::PADDING {
                ended = true;
                continue;
            }
            let Some(row) = row.filter(|_| !ended) else {
                let reason = format_args!("position {position}: slot {at} follows padding");
                return Err(Error::format("sell", reason));
            };
            if col.as_usize() >= self.cols {
                let reason = out_of_range(col, self.cols);
                return Err(Error::format("sell", format_args!("row {row}: column {reason}")));
            }
            order.sorted &= before <= Some(col);
            order.unique &= before < Some(col);
            before = Some(col);
            entries += 1;
        }
        Ok(entries)
    }
}

fn check_permutation<I: Index>(rows: usize, row_order: &[I]) -> Result<()> {
    check_length("sell", "row_order", row_order.len(), rows)?;
    let mut seen = vec![false; rows];
    for (position, row) in row_order.iter().enumerate() {
        match seen.get_mut(row.as_usize()) {
            Some(seen) if !*seen => *seen = true,
            _ => {
                return Err(Error::format(
                    "sell",
                    format_args!(
                        "row_order: row {row} at position {position} is repeated or not below {rows}"
                    ),
                ));
            }
        }
    }
    Ok(())
}

impl<T: Scalar, S: Space, I: Index, O: Index> Sell<T, S, I, O> {
    /// A matrix from its arrays, unchecked.
    ///
    /// # Safety
    /// The conditions of [`Sell::new`] hold, `nnz` elements are not padding, `order` is true, and the arrays are in one
    /// context.
    #[expect(clippy::too_many_arguments, reason = "the arrays of the format")]
    pub unsafe fn new_unchecked(
        (rows, cols): (usize, usize),
        nnz: usize,
        slice_height: usize,
        slice_ptr: S::Buffer<O>,
        row_order: S::Buffer<I>,
        col_idx: S::Buffer<I>,
        values: S::Buffer<T>,
        order: IndexOrder,
    ) -> Self {
        let id = PatternId::unique();
        let pattern = SellPattern { id, rows, cols, nnz, slice_height, slice_ptr, row_order, col_idx, order };
        Self { pattern: Arc::new(pattern), values }
    }

    /// The same pattern with other values (padding included), perhaps of another type. Plans stay valid.
    ///
    /// ```
    /// # use sparse_core::Sell;
    /// let a = Sell::<f64>::new((1, 3), 1, vec![0, 1], vec![0], vec![2], vec![1.0])?;
    /// assert!(a.with_values(vec![5.0_f32])?.stored_row_entries(0).eq([(2, 5.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Format`] if the number of values is not that of all elements, padding included, [`Error::WrongContext`]
    /// if they are in another context.
    pub fn with_values<U: Scalar>(&self, values: S::Buffer<U>) -> Result<Sell<U, S, I, O>> {
        check_values::<S, U, I>("sell", &values, &self.pattern.col_idx)?;
        Ok(Sell { pattern: self.pattern.clone(), values })
    }

    /// The structure, shared.
    pub fn pattern(&self) -> &Arc<SellPattern<S, I, O>> {
        &self.pattern
    }

    /// C: rows per slice.
    pub fn slice_height(&self) -> usize {
        self.pattern.slice_height
    }

    /// The first element of each slice, and the number of elements.
    pub fn slice_ptr(&self) -> &S::Buffer<O> {
        &self.pattern.slice_ptr
    }

    /// The stored order of the rows: position → row.
    pub fn row_order(&self) -> &S::Buffer<I> {
        &self.pattern.row_order
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

shares_pattern!(Sell, axis [], indices [I, O], pattern [rows, cols, slice_height, slice_ptr, row_order, col_idx]);

impl<T: Scalar, S: Space, I: Index, O: Index> SparseFormat for Sell<T, S, I, O> {
    type Scalar = T;
    type Space = S;
    type In<U: Space> = Sell<T, U, I, O>;
    const FORMAT: &'static str = "sell";

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
        Ok(Sell { pattern: self.pattern.transfer(transfer)?, values: transfer.copy(S::view(&self.values))? })
    }
}
