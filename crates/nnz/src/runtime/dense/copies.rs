//! Copies of a dense matrix: in another order, its columns and its rows.

use super::{DenseMatrix, Vector, line_length};
use sparse_core::{DenseView, DenseViewMut, Error, Order, Result, with_dtype};
use std::ops::Range;

/// Copies.
impl DenseMatrix {
    /// The same matrix with its elements in `order`, without padding. Converted on the host, unless it already has that
    /// layout.
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
            // The loops below would visit every row or column of a matrix without elements.
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

    /// Column `j` in the memory of the matrix's device; a row-major matrix is copied through the host.
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
    /// [`Shape`](Error::Shape) if there is no column `j`; an error of the device's runtime.
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

    /// Copies `x` to column `j`; through the host unless the matrix is column-major and `x` is on its device.
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
    /// [`Shape`](Error::Shape) if the range ends beyond the last row; an error of the device's runtime.
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
        // The last line, without elements, may begin beyond the end.
        let first = if len == 0 { 0 } else { line * self.leading_dimension + start };
        first..first + len
    }

    fn check_column(&self, j: usize) -> Result<()> {
        if j < self.cols {
            return Ok(());
        }
        Err(Error::shape("column", format_args!("{j} is not below {}, the number of columns", self.cols)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;
    use sparse_core::DType;

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
