//! Dense matrices: views with rows, columns, leading dimension and order, and owned ones.

use crate::backend::zeroed_vec;
use crate::error::{Error, Result, check_allocation, checked_product};
use crate::scalar::Scalar;
use crate::space::{Buffer, Element, Host, Space, View, ViewMut};
use std::ops::Range;

/// The memory order of a dense matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Order {
    /// Elements of a row are contiguous: C order.
    #[default]
    RowMajor,
    /// Elements of a column are contiguous: Fortran order.
    ColMajor,
}

impl Order {
    /// The order of the transpose.
    ///
    /// ```
    /// # use sparse_core::Order;
    /// assert_eq!(Order::RowMajor.transposed(), Order::ColMajor);
    /// ```
    #[must_use]
    pub fn transposed(self) -> Self {
        match self {
            Self::RowMajor => Self::ColMajor,
            Self::ColMajor => Self::RowMajor,
        }
    }
}

/// The position of element (i, j) of a dense matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DenseLayout {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) leading_dimension: usize,
    pub(super) order: Order,
}

impl DenseLayout {
    pub(super) fn checked(rows: usize, cols: usize, ld: usize, order: Order, len: usize) -> Result<Self> {
        let layout = Self { rows, cols, leading_dimension: ld, order };
        let (_, minor) = layout.major_minor();
        if ld < minor {
            let line = if order == Order::RowMajor { "row" } else { "column" };
            let reason = format_args!("the leading dimension {ld} is below {minor}, the length of a {line}");
            return Err(Error::format("dense", reason));
        }
        let needed = layout.required_len()?;
        if len < needed {
            return Err(Error::format(
                "dense",
                format_args!("{len} elements where {rows} x {cols} needs {needed}"),
            ));
        }
        Ok(layout)
    }

    pub(super) fn major_minor(&self) -> (usize, usize) {
        match self.order {
            Order::RowMajor => (self.rows, self.cols),
            Order::ColMajor => (self.cols, self.rows),
        }
    }

    pub(super) fn required_len(&self) -> Result<usize> {
        let (major, minor) = self.major_minor();
        if major == 0 || minor == 0 {
            return Ok(0);
        }
        let before_last = checked_product("rows x leading dimension", major - 1, self.leading_dimension)?;
        before_last.checked_add(minor).ok_or_else(|| Error::IndexOverflow {
            what: "dense size".into(),
            value: before_last as u128 + minor as u128,
            target: "usize",
        })
    }

    #[inline(always)]
    pub(super) fn position(&self, row: usize, col: usize) -> usize {
        match self.order {
            Order::RowMajor => row * self.leading_dimension + col,
            Order::ColMajor => col * self.leading_dimension + row,
        }
    }

    /// As [`position`](Self::position); panics for an element that the matrix has not, which may be another's.
    #[inline(always)]
    fn position_inside(&self, row: usize, col: usize) -> usize {
        let (rows, cols) = (self.rows, self.cols);
        assert!(row < rows && col < cols, "element ({row}, {col}) of a {rows} x {cols} matrix");
        self.position(row, col)
    }

    pub(super) fn transposed(self) -> Self {
        Self { rows: self.cols, cols: self.rows, order: self.order.transposed(), ..self }
    }
}

macro_rules! layout_accessors {
    () => {
        /// The number of rows.
        #[doc(alias = "m")]
        pub fn nrows(&self) -> usize {
            self.layout.rows
        }

        /// The number of columns.
        #[doc(alias = "n")]
        pub fn ncols(&self) -> usize {
            self.layout.cols
        }

        /// (rows, columns).
        #[doc(alias = "dim")]
        pub fn shape(&self) -> (usize, usize) {
            (self.layout.rows, self.layout.cols)
        }

        /// The distance between the first elements of two neighbouring rows (row-major) or columns (column-major).
        pub fn leading_dimension(&self) -> usize {
            self.layout.leading_dimension
        }

        /// The memory order.
        pub fn order(&self) -> Order {
            self.layout.order
        }

        /// The position of element (row, col), counted from the start of the view.
        #[inline(always)]
        pub fn position(&self, row: usize, col: usize) -> usize {
            self.layout.position(row, col)
        }

        /// (rows, columns) if row-major, (columns, rows) if column-major.
        pub fn major_minor(&self) -> (usize, usize) {
            self.layout.major_minor()
        }
    };
}

pub(super) use layout_accessors;

/// A shared view of a dense matrix.
#[derive(Debug)]
pub struct DenseView<'a, T: Element, S: Space = Host> {
    pub(super) data: S::View<'a, T>,
    pub(super) layout: DenseLayout,
}

impl<T: Element, S: Space> Clone for DenseView<'_, T, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Element, S: Space> Copy for DenseView<'_, T, S> {}

impl<'a, T: Element, S: Space> DenseView<'a, T, S> {
    /// A view of `data`; element (i, j) stands at `i·ld + j` (row-major) or `j·ld + i` (column-major).
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

    /// Some neighbouring columns, without a copy.
    ///
    /// ```
    /// # use sparse_core::DenseView;
    /// let a = DenseView::<f64>::row_major(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2, 3)?.columns(1..3)?;
    /// assert_eq!((a.shape(), a.at(1, 0)), ((2, 2), 5.0));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] if there are not so many columns.
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
    data: S::ViewMut<'a, T>,
    layout: DenseLayout,
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

/// A dense matrix that owns its memory, without padding.
///
/// Two matrices are equal if their shapes and elements are, whatever their orders.
pub struct Dense<T: Element, S: Space = Host> {
    data: S::Buffer<T>,
    layout: DenseLayout,
}

impl<T: Element, S: Space> Dense<T, S> {
    /// A matrix of `data`, without padding.
    ///
    /// ```
    /// # use sparse_core::{Dense, Order};
    /// let a = Dense::<f64>::new(vec![1.0, 2.0, 3.0, 4.0], 2, 2, Order::ColMajor)?;
    /// assert_eq!(a.at(0, 1), 3.0);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Format`] if `data` has not `rows * cols` elements.
    pub fn new(data: S::Buffer<T>, rows: usize, cols: usize, order: Order) -> Result<Self> {
        super::check_length("dense", "data", data.len(), checked_product("rows x columns", rows, cols)?)?;
        let ld = if order == Order::RowMajor { cols } else { rows };
        let layout = DenseLayout::checked(rows, cols, ld, order, data.len())?;
        Ok(Self { data, layout })
    }

    layout_accessors!();

    /// The elements.
    pub fn data(&self) -> &S::Buffer<T> {
        &self.data
    }

    /// The elements, without the shape.
    pub fn into_data(self) -> S::Buffer<T> {
        self.data
    }

    /// A shared view.
    pub fn as_view(&self) -> DenseView<'_, T, S> {
        DenseView { data: S::view(&self.data), layout: self.layout }
    }

    /// An exclusive view.
    ///
    /// ```
    /// # use sparse_core::{Dense, Order};
    /// let mut a = Dense::<f64>::zeros(2, 2, Order::RowMajor)?;
    /// *a.as_view_mut().at_mut(1, 1) = 5.0;
    /// assert_eq!(a.into_data(), [0.0, 0.0, 0.0, 5.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn as_view_mut(&mut self) -> DenseViewMut<'_, T, S> {
        DenseViewMut { data: S::view_mut(&mut self.data), layout: self.layout }
    }
}

impl<T: Scalar> Dense<T, Host> {
    /// A matrix of zeros.
    ///
    /// ```
    /// # use sparse_core::{Dense, Order};
    /// assert_eq!(Dense::<f64>::zeros(2, 2, Order::RowMajor)?.data(), &[0.0; 4]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::IndexOverflow`] if the matrix has more bytes than a vector can have; [`Error::OutOfMemory`] if it has
    /// more than the memory.
    pub fn zeros(rows: usize, cols: usize, order: Order) -> Result<Self> {
        let len = checked_product("rows x columns", rows, cols)?;
        check_allocation::<T>("a dense matrix", len)?;
        Self::new(zeroed_vec(len)?, rows, cols, order)
    }
}

impl<T: Element> Dense<T, Host> {
    /// Element (row, col).
    ///
    /// ```
    /// use sparse_core::{Dense, Order};
    /// let a = Dense::new(vec![1.0, 2.0, 3.0, 4.0], 2, 2, Order::RowMajor)?;
    /// assert_eq!(a.at(0, 1), 2.0);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Panics
    /// If there is no such row or column; use [`shape`](Self::shape) to stay inside.
    #[inline(always)]
    pub fn at(&self, row: usize, col: usize) -> T {
        self.data[self.layout.position_inside(row, col)]
    }
}

impl<T: Element, S: Space> Clone for Dense<T, S>
where
    S::Buffer<T>: Clone,
{
    fn clone(&self) -> Self {
        Self { data: self.data.clone(), layout: self.layout }
    }
}

impl<T: Element> PartialEq for Dense<T, Host> {
    fn eq(&self, other: &Self) -> bool {
        if self.layout == other.layout {
            return self.data == other.data;
        }
        let (rows, cols) = self.shape();
        self.shape() == other.shape() && (0..rows).all(|i| (0..cols).all(|j| self.at(i, j) == other.at(i, j)))
    }
}
