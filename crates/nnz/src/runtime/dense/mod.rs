//! Dense matrices whose type and device are known at run time.

use super::Vector;
use super::backend::RuntimeBackend;
use super::operand_errors::Operand;
use crate::Device;
use sparse_core::backend::SpaceOf;
use sparse_core::error::checked_product;
use sparse_core::{ContextId, DType, DenseView, DenseViewMut, Error, Order, Result, Scalar, with_dtype};
use std::fmt::{Debug, Formatter};
use std::ops::Range;

/// A dense matrix in the memory of a [`Device`], of a type that is known at run time: a [`Vector`] with a shape.
///
/// Element (i, j) stands at `i·ld + j` (row-major) or `j·ld + i` (column-major), with ld the leading dimension.
///
/// ```
/// use nnz::prelude::*;
/// let device = Device::host()?;
/// let b = DenseMatrix::from_vec(&device, vec![1.0, 0.0, 0.0, 2.0], 2, 2, Order::RowMajor)?;
/// let a = b.to_sparse(Format::Csr, None)?;
/// assert_eq!((a.nnz(), a.to_dense()?.values().to_vec::<f64>()?), (2, vec![1.0, 0.0, 0.0, 2.0]));
/// # Ok::<(), Error>(())
/// ```
///
/// A clone is a matrix of its own, as that of a [`Vector`] is.
#[derive(Clone)]
pub struct DenseMatrix {
    values: Vector,
    rows: usize,
    cols: usize,
    leading_dimension: usize,
    order: Order,
}

impl DenseMatrix {
    /// A matrix of `values`, without padding; on the CPU without a copy.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let b = DenseMatrix::from_vec(&Device::host()?, vec![1.0, 2.0, 3.0, 4.0], 2, 2, Order::RowMajor)?;
    /// assert_eq!((b.nrows(), b.ncols(), b.dtype()), (2, 2, DType::F64));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Format`](Error::Format) if there are not `rows * cols` values; those of [`Vector::from_vec`].
    pub fn from_vec<T: Scalar>(
        device: &Device,
        values: Vec<T>,
        rows: usize,
        cols: usize,
        order: Order,
    ) -> Result<Self> {
        let (found, needed) = (values.len(), checked_product("rows x columns", rows, cols)?);
        if found != needed {
            let reason = format!("{found} elements where {rows} x {cols} needs {needed}");
            return Err(Error::format("dense", reason));
        }
        Self::new(Vector::from_vec(device, values)?, rows, cols, line_length(rows, cols, order), order)
    }

    /// A matrix of zeros, without padding.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let c = DenseMatrix::zeros(&Device::host()?, DType::F32, 2, 3, Order::ColMajor)?;
    /// assert_eq!((c.nrows(), c.ncols(), c.leading_dimension()), (2, 3, 2));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`IndexOverflow`](Error::IndexOverflow) if `rows * cols` does not fit `usize`; those of [`Vector::zeros`].
    pub fn zeros(device: &Device, dtype: DType, rows: usize, cols: usize, order: Order) -> Result<Self> {
        let values = Vector::zeros(device, dtype, checked_product("rows x columns", rows, cols)?)?;
        Self::new(values, rows, cols, line_length(rows, cols, order), order)
    }

    /// A matrix of a vector's elements, lines `leading_dimension` elements apart.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let values = Vector::from_slice(&Device::host()?, &[1.0, 2.0, 0.0, 3.0, 4.0, 0.0])?;
    /// let b = DenseMatrix::new(values, 2, 2, 3, Order::RowMajor)?;
    /// assert_eq!(b.leading_dimension(), 3);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Format`](Error::Format) if the leading dimension is below the length of a row (column-major: of a column), or
    /// there are too few elements.
    pub fn new(
        values: Vector,
        rows: usize,
        cols: usize,
        leading_dimension: usize,
        order: Order,
    ) -> Result<Self> {
        // The check is the same for all types; elements of this one take no memory.
        let elements = vec![(); values.len()];
        DenseView::<()>::new(&elements, rows, cols, leading_dimension, order)?;
        Ok(Self { values, rows, cols, leading_dimension, order })
    }

    /// The number of rows.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let b = DenseMatrix::zeros(&Device::host()?, DType::F32, 2, 3, Order::ColMajor)?;
    /// assert_eq!(b.nrows(), 2);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn nrows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let b = DenseMatrix::zeros(&Device::host()?, DType::F32, 2, 3, Order::ColMajor)?;
    /// assert_eq!(b.ncols(), 3);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn ncols(&self) -> usize {
        self.cols
    }

    /// (rows, columns)
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let b = DenseMatrix::zeros(&Device::host()?, DType::F32, 2, 3, Order::ColMajor)?;
    /// assert_eq!(b.shape(), (2, 3));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn shape(&self) -> (usize, usize) {
        (self.rows, self.cols)
    }

    /// The distance between the first elements of two neighbouring rows (row-major) or columns (column-major).
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let b = DenseMatrix::zeros(&Device::host()?, DType::F32, 2, 3, Order::ColMajor)?;
    /// assert_eq!(b.leading_dimension(), 2);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn leading_dimension(&self) -> usize {
        self.leading_dimension
    }

    /// The order of elements in memory: row-major or column-major.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let b = DenseMatrix::zeros(&Device::host()?, DType::F32, 2, 3, Order::ColMajor)?;
    /// assert_eq!(b.order(), Order::ColMajor);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn order(&self) -> Order {
        self.order
    }

    /// The type of the elements.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let b = DenseMatrix::zeros(&Device::host()?, DType::F32, 2, 3, Order::ColMajor)?;
    /// assert_eq!(b.dtype(), DType::F32);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn dtype(&self) -> DType {
        self.values.dtype()
    }

    /// The device in whose memory the elements are.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let b = DenseMatrix::zeros(&Device::host()?, DType::F32, 2, 3, Order::ColMajor)?;
    /// assert_eq!(b.device().caps().backend, "cpu");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn device(&self) -> &Device {
        self.values.device()
    }

    /// The elements in memory, padding included.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let b = DenseMatrix::zeros(&Device::host()?, DType::F32, 2, 3, Order::ColMajor)?;
    /// assert_eq!(b.values().len(), 6);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn values(&self) -> &Vector {
        &self.values
    }

    /// The elements in memory, without the shape.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let b = DenseMatrix::zeros(&Device::host()?, DType::F32, 2, 3, Order::ColMajor)?;
    /// assert_eq!(b.into_values().to_vec::<f32>()?, [0.0; 6]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn into_values(self) -> Vector {
        self.values
    }

    /// A copy with the elements as another type; see [`Vector::cast`].
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let b = DenseMatrix::zeros(&Device::host()?, DType::F32, 2, 3, Order::ColMajor)?;
    /// assert_eq!(b.cast(DType::C64)?.dtype(), DType::C64);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Vector::cast`].
    pub fn cast(&self, dtype: DType) -> Result<Self> {
        self.with_values(self.values.cast(dtype)?)
    }

    /// A copy in the memory of `device`; see [`Vector::to_device`].
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let b = DenseMatrix::zeros(&Device::host()?, DType::F32, 2, 3, Order::ColMajor)?;
    /// assert_eq!(b.to_device(b.device())?.order(), Order::ColMajor);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Vector::to_device`].
    pub fn to_device(&self, device: &Device) -> Result<Self> {
        self.with_values(self.values.to_device(device)?)
    }

    /// The same matrix with its elements in `order`, without padding; by way of the host unless it is so already.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let b = DenseMatrix::from_vec(&Device::host()?, vec![1.0, 2.0, 3.0, 4.0], 2, 2, Order::RowMajor)?;
    /// assert_eq!(b.to_order(Order::ColMajor)?.values().to_vec::<f64>()?, [1.0, 3.0, 2.0, 4.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// An error of the device's runtime.
    pub fn to_order(&self, order: Order) -> Result<Self> {
        let (rows, cols) = (self.rows, self.cols);
        let len = rows * cols;
        if len == 0 {
            // It may have very many rows or columns, which are not visited.
            return Self::zeros(self.device(), self.dtype(), rows, cols, order);
        }
        if order == self.order && self.values.len() == len {
            return Ok(self.clone());
        }
        with_dtype!(self.dtype(), T => {
            let values = self.values.to_vec::<T>()?;
            let view = DenseView::<T>::new(&values, rows, cols, self.leading_dimension, self.order)?;
            let elements: Vec<T> = match order {
                Order::RowMajor => (0..rows).flat_map(|i| (0..cols).map(move |j| view.at(i, j))).collect(),
                Order::ColMajor => (0..cols).flat_map(|j| (0..rows).map(move |i| view.at(i, j))).collect(),
            };
            Self::from_vec(self.device(), elements, rows, cols, order)
        })
    }

    /// Column `j` in the memory of the matrix's device; of a row-major matrix by way of the host.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let mut b = DenseMatrix::from_vec(&Device::host()?, vec![1.0, 2.0, 3.0, 4.0], 2, 2, Order::RowMajor)?;
    /// assert_eq!(b.column(1)?.to_vec::<f64>()?, [2.0, 4.0]);
    /// b.set_column(0, &b.column(1)?)?;
    /// assert_eq!(b.values().to_vec::<f64>()?, [2.0, 2.0, 4.0, 4.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) if there are not so many columns; what the device's runtime reports.
    pub fn column(&self, j: usize) -> Result<Vector> {
        self.check_column(j)?;
        if self.order == Order::ColMajor {
            let mut column = Vector::zeros(self.device(), self.dtype(), self.rows)?;
            column.copy_from(0, &self.values, self.elements(j, 0, self.rows))?;
            return Ok(column);
        }
        with_dtype!(self.dtype(), T => {
            let copy;
            let values = match self.values.as_slice::<T>() {
                Some(values) => values,
                None => {
                    copy = self.values.to_vec::<T>()?;
                    &copy
                }
            };
            let view = DenseView::<T>::new(values, self.rows, self.cols, self.leading_dimension, self.order)?;
            Vector::from_vec(self.device(), (0..self.rows).map(|i| view.at(i, j)).collect::<Vec<T>>())
        })
    }

    /// Makes `x` column `j`; through the host unless the matrix is column-major and `x` on its device.
    ///
    /// # Errors
    /// As [`column`](Self::column); [`Shape`](Error::Shape) and [`Operands`](Error::Operands) if `x` is not as long as
    /// a column, or of another type.
    pub fn set_column(&mut self, j: usize, x: &Vector) -> Result<()> {
        self.check_column(j)?;
        if x.len() != self.rows {
            let reason = format!("the length of x is {} where {} is needed", x.len(), self.rows);
            return Err(Error::shape("set_column", reason));
        }
        let (rows, cols, ld, order) = (self.rows, self.cols, self.leading_dimension, self.order);
        if order == Order::ColMajor && x.context() == self.values.context() {
            return self.values.copy_from(self.elements(j, 0, rows).start, x, 0..rows);
        }
        with_dtype!(self.dtype(), T => {
            let x = x.to_vec::<T>()?;
            let write = |values: &mut [T]| -> Result<()> {
                let mut view = DenseViewMut::<T>::new(values, rows, cols, ld, order)?;
                x.iter().enumerate().for_each(|(i, &value)| *view.at_mut(i, j) = value);
                Ok(())
            };
            match self.values.as_mut_slice::<T>() {
                Some(values) => write(values),
                None => {
                    let mut values = self.values.to_vec::<T>()?;
                    write(&mut values)?;
                    self.values = Vector::from_vec(self.values.device(), values)?;
                    Ok(())
                }
            }
        })
    }

    /// The rows `range` in the same order, without padding, copied within the memory of the matrix's device.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let b = DenseMatrix::from_vec(&Device::host()?, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3, 2, Order::ColMajor)?;
    /// assert_eq!(b.rows(1..3)?.values().to_vec::<f64>()?, [2.0, 3.0, 5.0, 6.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) if there are not so many rows; what the device's runtime reports.
    pub fn rows(&self, range: Range<usize>) -> Result<Self> {
        if range.start > range.end || range.end > self.rows {
            let reason = format_args!("{range:?} are not among the {} rows", self.rows);
            return Err(Error::shape("rows", reason));
        }
        let (rows, cols) = (range.len(), self.cols);
        let mut values = Vector::zeros(self.device(), self.dtype(), rows * cols)?;
        match self.order {
            _ if values.is_empty() => (),
            Order::RowMajor if self.leading_dimension == cols => {
                values.copy_from(0, &self.values, range.start * cols..range.end * cols)?;
            }
            Order::RowMajor => {
                for (i, row) in range.enumerate() {
                    values.copy_from(i * cols, &self.values, self.elements(row, 0, cols))?;
                }
            }
            Order::ColMajor => {
                for j in 0..cols {
                    values.copy_from(j * rows, &self.values, self.elements(j, range.start, rows))?;
                }
            }
        }
        Self::new(values, rows, cols, line_length(rows, cols, self.order), self.order)
    }

    /// The positions of `len` elements of a row (row-major) or column (column-major), from `start` on.
    fn elements(&self, line: usize, start: usize, len: usize) -> Range<usize> {
        // The last line of none may begin behind the end.
        let first = if len == 0 { 0 } else { line * self.leading_dimension + start };
        first..first + len
    }

    fn check_column(&self, j: usize) -> Result<()> {
        if j < self.cols {
            return Ok(());
        }
        Err(Error::shape("column", format_args!("{j} is not below {}, the number of columns", self.cols)))
    }

    fn with_values(&self, values: Vector) -> Result<Self> {
        Self::new(values, self.rows, self.cols, self.leading_dimension, self.order)
    }

    pub(crate) fn as_operand(&self, name: &'static str) -> Operand<'_> {
        self.values.as_operand(name)
    }

    /// A view, if the elements are `T` in this context.
    pub(crate) fn view_in<B: RuntimeBackend, T: Scalar>(
        &self,
        context: ContextId,
    ) -> Option<Result<DenseView<'_, T, SpaceOf<B>>>> {
        let view = self.values.view_in::<B, T>(context)?;
        Some(DenseView::new(view, self.rows, self.cols, self.leading_dimension, self.order))
    }

    /// As [`view_in`](Self::view_in), exclusively.
    pub(crate) fn view_mut_in<B: RuntimeBackend, T: Scalar>(
        &mut self,
        context: ContextId,
    ) -> Option<Result<DenseViewMut<'_, T, SpaceOf<B>>>> {
        let (rows, cols, leading_dimension, order) =
            (self.rows, self.cols, self.leading_dimension, self.order);
        let view = self.values.view_mut_in::<B, T>(context)?;
        Some(view.and_then(|view| DenseViewMut::new(view, rows, cols, leading_dimension, order)))
    }
}

impl Debug for DenseMatrix {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Self { values, rows, cols, order, .. } = self;
        write!(f, "DenseMatrix({rows} x {cols} of {}, {order:?}, on {})", values.dtype(), values.device())
    }
}

/// The elements of a row (row-major) or column (column-major).
fn line_length(rows: usize, cols: usize, order: Order) -> usize {
    if order == Order::RowMajor { cols } else { rows }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_columns_of_both_orders_are_those_of_the_elements() {
        let device: Device = "cpu".parse().unwrap();
        for order in [Order::RowMajor, Order::ColMajor] {
            // 3 x 2 with a leading dimension of 4; the padding is -1.
            let mut values = vec![-1.0; 12];
            let element = |i: usize, j: usize| (10 * i + j) as f64;
            for (i, j) in (0..3).flat_map(|i| [(i, 0), (i, 1)]) {
                values[if order == Order::RowMajor { 4 * i + j } else { 4 * j + i }] = element(i, j);
            }
            let values = Vector::from_vec(&device, values).unwrap();
            let b = DenseMatrix::new(values, 3, 2, 4, order).unwrap();
            let rows = b.rows(1..3).unwrap().to_order(Order::RowMajor).unwrap();
            assert_eq!(rows.values().to_vec::<f64>().unwrap(), [10.0, 11.0, 20.0, 21.0]);
            assert_eq!(b.rows(2..2).unwrap().shape(), (0, 2));
            assert!(b.rows(2..4).is_err() && b.rows(Range { start: 2, end: 1 }).is_err());
            assert_eq!(b.column(1).unwrap().to_vec::<f64>().unwrap(), [1.0, 11.0, 21.0]);
            let mut c = b.clone();
            c.set_column(0, &b.column(1).unwrap()).unwrap();
            let changed = c.to_order(Order::RowMajor).unwrap().values().to_vec::<f64>().unwrap();
            assert_eq!(changed, [1.0, 1.0, 11.0, 11.0, 21.0, 21.0]);
        }
    }

    #[test]
    fn columns_without_elements_are_not_visited() {
        let device: Device = "cpu".parse().unwrap();
        let many = 10_usize.pow(12);
        let b = DenseMatrix::zeros(&device, DType::F64, 0, many, Order::RowMajor).unwrap();
        assert_eq!(b.to_order(Order::ColMajor).unwrap().shape(), (0, many));
        let c = DenseMatrix::zeros(&device, DType::F64, 0, many, Order::ColMajor).unwrap();
        assert_eq!(c.rows(0..0).unwrap().shape(), (0, many));
    }
}
