//! Views of dense matrices, shared and exclusive.

use super::layout::{DenseLayout, Order, layout_accessors};
use crate::error::{Error, Result};
use crate::space::{Element, Host, Space, View, ViewMut};
use std::ops::Range;

/// A shared view of a dense matrix.
#[derive(Debug)]
pub struct DenseView<'a, T: Element, S: Space = Host> {
    pub(in crate::format) data: S::View<'a, T>,
    pub(in crate::format) layout: DenseLayout,
}

impl<T: Element, S: Space> Clone for DenseView<'_, T, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Element, S: Space> Copy for DenseView<'_, T, S> {}

impl<'a, T: Element, S: Space> DenseView<'a, T, S> {
    /// A view of `data`; element (i, j) is at `i·ld + j` (row-major) or `j·ld + i` (column-major).
    ///
    /// ```
    /// # use sparse_core::{DenseView, Order};
    /// let padded = [1.0, 2.0, 0.0, 3.0, 4.0, 0.0];
    /// let a = DenseView::<f64>::new(&padded, 2, 2, 3, Order::RowMajor)?;
    /// assert_eq!((a.at(1, 0), a.position(1, 0)), (3.0, 3));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Format`] if `ld` is below the length of a row (column-major: of a column) or `data` is too short;
    /// [`Error::IndexOverflow`] if the size does not fit `usize`.
    pub fn new(data: S::View<'a, T>, rows: usize, cols: usize, ld: usize, order: Order) -> Result<Self> {
        let layout = DenseLayout::checked(rows, cols, ld, order, data.len())?;
        Ok(Self { data, layout })
    }

    layout_accessors!();

    /// The underlying memory, padding included.
    pub fn data(&self) -> S::View<'a, T> {
        self.data
    }

    /// A range of columns, without a copy.
    ///
    /// ```
    /// # use sparse_core::DenseView;
    /// let a = DenseView::<f64>::row_major(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2, 3)?.columns(1..3)?;
    /// assert_eq!((a.shape(), a.at(1, 0)), ((2, 2), 5.0));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] if the range ends beyond the last column.
    pub fn columns(self, columns: Range<usize>) -> Result<Self> {
        if columns.start > columns.end || columns.end > self.ncols() {
            let reason = format_args!("columns {columns:?} are not all among the {} there are", self.ncols());
            return Err(Error::shape("columns", reason));
        }
        let empty = self.nrows() == 0 || columns.is_empty();
        let start = if empty { 0 } else { self.position(0, columns.start) };
        let data = S::slice(self.data, start..self.data.len());
        Self::new(data, self.nrows(), columns.len(), self.leading_dimension(), self.order())
    }

    /// The transpose, without a copy.
    ///
    /// ```
    /// # use sparse_core::DenseView;
    /// let a = DenseView::<f64>::row_major(&[1.0, 2.0, 3.0], 1, 3)?.transposed();
    /// assert_eq!((a.shape(), a.at(2, 0)), ((3, 1), 3.0));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    #[must_use]
    pub fn transposed(self) -> Self {
        Self { data: self.data, layout: self.layout.transposed() }
    }
}

impl<'a, T: Element> DenseView<'a, T, Host> {
    /// A row-major view without padding.
    ///
    /// ```
    /// # use sparse_core::DenseView;
    /// assert_eq!(DenseView::<f64>::row_major(&[1.0, 2.0, 3.0, 4.0], 2, 2)?.at(0, 1), 2.0);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn row_major(data: &'a [T], rows: usize, cols: usize) -> Result<Self> {
        Self::new(data, rows, cols, cols, Order::RowMajor)
    }

    /// A column-major view without padding.
    ///
    /// ```
    /// # use sparse_core::DenseView;
    /// assert_eq!(DenseView::<f64>::col_major(&[1.0, 2.0, 3.0, 4.0], 2, 2)?.at(0, 1), 3.0);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn col_major(data: &'a [T], rows: usize, cols: usize) -> Result<Self> {
        Self::new(data, rows, cols, rows, Order::ColMajor)
    }

    /// Element (row, col).
    ///
    /// # Panics
    /// If there is no such row or column; use [`shape`](Self::shape) to stay inside.
    #[inline(always)]
    pub fn at(&self, row: usize, col: usize) -> T {
        self.data[self.layout.position_inside(row, col)]
    }
}

/// An exclusive view of a dense matrix. Padding is never written.
#[derive(Debug)]
pub struct DenseViewMut<'a, T: Element, S: Space = Host> {
    pub(super) data: S::ViewMut<'a, T>,
    pub(super) layout: DenseLayout,
}

impl<'a, T: Element, S: Space> DenseViewMut<'a, T, S> {
    /// A view of `data`; as [`DenseView::new`].
    ///
    /// ```
    /// use sparse_core::{DenseViewMut, Order};
    ///
    /// let mut data = [0.0; 6];
    /// let mut c = DenseViewMut::<f64>::new(&mut data, 2, 2, 3, Order::RowMajor)?;
    /// *c.at_mut(1, 0) = 5.0; // one element of padding behind each row
    /// assert_eq!(data, [0.0, 0.0, 0.0, 5.0, 0.0, 0.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`DenseView::new`].
    pub fn new(data: S::ViewMut<'a, T>, rows: usize, cols: usize, ld: usize, order: Order) -> Result<Self> {
        let layout = DenseLayout::checked(rows, cols, ld, order, data.len())?;
        Ok(Self { data, layout })
    }

    layout_accessors!();

    /// The underlying memory, padding included.
    pub fn data_mut(&mut self) -> S::ViewMut<'_, T> {
        S::reborrow(&mut self.data)
    }

    /// The underlying memory, for the view's whole life.
    pub fn into_data(self) -> S::ViewMut<'a, T> {
        self.data
    }

    /// A shared view.
    pub fn as_view(&self) -> DenseView<'_, T, S> {
        DenseView { data: S::as_shared(&self.data), layout: self.layout }
    }

    /// Lends the view for a shorter time.
    ///
    /// ```
    /// # use sparse_core::DenseViewMut;
    /// let mut data = [0.0; 4];
    /// let mut a = DenseViewMut::<f64>::row_major(&mut data, 2, 2)?;
    /// *a.reborrow().transposed().at_mut(0, 1) = 5.0;
    /// assert_eq!(a.as_view().at(1, 0), 5.0);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn reborrow(&mut self) -> DenseViewMut<'_, T, S> {
        DenseViewMut { layout: self.layout, data: S::reborrow(&mut self.data) }
    }

    /// The transpose, without a copy.
    #[must_use]
    pub fn transposed(self) -> Self {
        Self { layout: self.layout.transposed(), data: self.data }
    }
}

impl<'a, T: Element> DenseViewMut<'a, T, Host> {
    /// A row-major view without padding.
    ///
    /// ```
    /// # use sparse_core::DenseViewMut;
    /// let mut data = [0.0; 4];
    /// *DenseViewMut::<f64>::row_major(&mut data, 2, 2)?.at_mut(0, 1) = 5.0;
    /// assert_eq!(data, [0.0, 5.0, 0.0, 0.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`DenseView::new`].
    pub fn row_major(data: &'a mut [T], rows: usize, cols: usize) -> Result<Self> {
        Self::new(data, rows, cols, cols, Order::RowMajor)
    }

    /// A column-major view without padding.
    ///
    /// ```
    /// # use sparse_core::DenseViewMut;
    /// let mut data = [0.0; 4];
    /// *DenseViewMut::<f64>::col_major(&mut data, 2, 2)?.at_mut(0, 1) = 5.0;
    /// assert_eq!(data, [0.0, 0.0, 5.0, 0.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`DenseView::new`].
    pub fn col_major(data: &'a mut [T], rows: usize, cols: usize) -> Result<Self> {
        Self::new(data, rows, cols, rows, Order::ColMajor)
    }

    /// Element (row, col).
    ///
    /// # Panics
    /// If there is no such row or column; use [`shape`](Self::shape) to stay inside.
    #[inline(always)]
    pub fn at_mut(&mut self, row: usize, col: usize) -> &mut T {
        &mut self.data[self.layout.position_inside(row, col)]
    }
}
