//! ndarray: dense matrices, by reference where one stride is 1.

use crate::error::{Error, Result};
use crate::format::{Dense, DenseView, Order};
use crate::space::Element;
use ndarray::{Array2, ArrayView2, ShapeBuilder, ShapeError};

/// The error where ndarray refuses a shape: more elements than `isize` counts.
fn refused(error: ShapeError) -> Error {
    Error::unsupported("this dense matrix in ndarray", error)
}

/// A conversion by reference, without a copy.
impl<'a, T: Element> TryFrom<DenseView<'a, T>> for ArrayView2<'a, T> {
    type Error = Error;

    fn try_from(view: DenseView<'a, T>) -> Result<Self> {
        let strides = match view.order() {
            Order::RowMajor => (view.leading_dimension(), 1),
            Order::ColMajor => (1, view.leading_dimension()),
        };
        Self::from_shape(view.shape().strides(strides), view.data()).map_err(refused)
    }
}

/// A conversion by reference, of an array in C or Fortran order without gaps; `as_standard_layout` makes one of any.
impl<'a, T: Element> TryFrom<ArrayView2<'a, T>> for DenseView<'a, T> {
    type Error = Error;

    fn try_from(array: ArrayView2<'a, T>) -> Result<Self> {
        let (rows, cols) = array.dim();
        if let Some(data) = array.to_slice() {
            return Self::row_major(data, rows, cols);
        }
        let data = array.reversed_axes().to_slice().ok_or_else(|| {
            Error::unsupported(
                "a view of this array",
                "its rows and columns have gaps; `as_standard_layout` copies it to one without",
            )
        })?;
        Self::col_major(data, rows, cols)
    }
}

/// Without a copy.
impl<T: Element> TryFrom<Dense<T>> for Array2<T> {
    type Error = Error;

    fn try_from(dense: Dense<T>) -> Result<Self> {
        let shape = dense.shape().set_f(dense.order() == Order::ColMajor);
        Self::from_shape_vec(shape, dense.into_data()).map_err(refused)
    }
}

/// A row-major copy.
impl<T: Element> TryFrom<Array2<T>> for Dense<T> {
    type Error = Error;

    fn try_from(array: Array2<T>) -> Result<Self> {
        let (rows, cols) = array.dim();
        Self::new(array.into_iter().collect(), rows, cols, Order::RowMajor)
    }
}
