//! Dense matrices: views with rows, columns, leading dimension and order, and owned ones.

mod layout;
mod view;

pub use layout::Order;
pub(super) use layout::{DenseLayout, layout_accessors};
pub use view::{DenseView, DenseViewMut};

use crate::backend::zeroed_vec;
use crate::error::{Result, check_allocation, checked_product};
use crate::scalar::Scalar;
use crate::space::{Buffer, Element, Host, Space};

/// A dense matrix that owns its memory, without padding.
///
/// Two matrices are equal if their shapes and elements are equal; their memory orders may differ.
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
    /// [`Error::Format`](crate::Error::Format) if `data` does not have `rows * cols` elements.
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
    /// [`Error::IndexOverflow`](crate::Error::IndexOverflow) if the matrix has more bytes than a vector can have;
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) if the host cannot allocate it.
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
