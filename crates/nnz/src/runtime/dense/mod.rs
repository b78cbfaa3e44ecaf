//! Dense matrices whose type and device are known at run time.

mod copies;

use super::Vector;
use super::dispatch::backend::RuntimeBackend;
use super::dispatch::operand_errors::Operand;
use crate::Device;
use sparse_core::backend::SpaceOf;
use sparse_core::error::checked_product;
use sparse_core::{ContextId, DType, DenseView, DenseViewMut, Error, Order, Result, Scalar};
use std::fmt::{Debug, Formatter};

/// A dense matrix in the memory of a [`Device`], of a type that is known at run time: a [`Vector`] with a shape.
///
/// Element (i, j) is at `i·ld + j` (row-major) or `j·ld + i` (column-major), with ld the leading dimension.
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
/// A clone is independent, as that of a [`Vector`].
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
        // A view of `()` elements, which take no memory, makes the same checks.
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
