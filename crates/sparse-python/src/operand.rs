//! Operands of products: arrays of NumPy, and arrays on a GPU.

use crate::arrays::{slice, slice_mut};
use crate::device_array::{DeviceArray, Shared};
use crate::error::wrong_type;
use crate::types::{Value, char_of, dtype_of};
use nnz::{
    Accelerator, Csc, Csr, DType, DenseMatrix, Device, Error, Host, HostCsr, IndexType, Matrix, Order,
    Result, Space, Vector, c64,
};
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// An array of one or two dimensions in C order.
#[derive(FromPyObject)]
pub(crate) enum Operand<'py> {
    Device(Bound<'py, DeviceArray>),
    Host(Bound<'py, PyUntypedArray>),
}

/// Elements on a GPU.
type Elements<T> = <Accelerator as Space>::Buffer<T>;

/// Rows and columns; of one dimension a column.
type Extents = (usize, usize);

impl Operand<'_> {
    fn extents(&self, name: &str) -> PyResult<Extents> {
        match *self.shape() {
            [rows] if self.is_in_order() => Ok((rows, 1)),
            [rows, columns] if self.is_in_order() => Ok((rows, columns)),
            _ => Err(self.wrong_shape(name, "one or two")),
        }
    }

    fn shape(&self) -> &[usize] {
        match self {
            Self::Device(array) => &array.get().0.shape,
            Self::Host(array) => array.shape(),
        }
    }

    fn is_in_order(&self) -> bool {
        match self {
            Self::Device(_) => true,
            Self::Host(array) => array.is_c_contiguous(),
        }
    }

    fn wrong_shape(&self, name: &str, dimensions: &str) -> PyErr {
        let shape = self.shape();
        let right = format!("{dimensions} dimensions in C order");
        PyValueError::new_err(format!("{name} has shape {shape:?} where {right} are needed"))
    }

    /// The type of the elements, which are values.
    pub(crate) fn dtype(&self, name: &str) -> PyResult<DType> {
        match self {
            Self::Device(array) => value_type(name, &array.get().0),
            Self::Host(array) => dtype_of(name, array),
        }
    }

    fn check_type<T: Value>(&self, name: &str) -> PyResult<()> {
        let (found, right) = (char_of(self.dtype(name)?), char_of(T::DTYPE));
        if found == right {
            return Ok(());
        }
        Err(wrong_type(name, &format_args!("'{found}'"), &format!("the type of the matrix, '{right}',")))
    }

    /// The operand to be read.
    ///
    /// # Safety
    /// Nobody writes the elements, or frees them, as long as the operand is used.
    pub(crate) unsafe fn input<T: Value>(&self, name: &str) -> PyResult<Input<'_, T>> {
        let extents = self.extents(name)?;
        // SAFETY: the caller promises the same.
        unsafe { self.elements(name, extents) }
    }

    /// The array of three dimensions to be read, as one matrix above the other, with their number and the rows of each.
    ///
    /// # Safety
    /// As for [`input`](Self::input).
    pub(crate) unsafe fn stack<T: Value>(&self, name: &str) -> PyResult<(Input<'_, T>, Extents)> {
        match *self.shape() {
            [count, rows, columns] if self.is_in_order() => {
                // SAFETY: the caller promises the same.
                Ok((unsafe { self.elements(name, (count * rows, columns))? }, (count, rows)))
            }
            _ => Err(self.wrong_shape(name, "three")),
        }
    }

    /// The elements to be read, with these extents.
    ///
    /// # Safety
    /// As for [`input`](Self::input).
    unsafe fn elements<T: Value>(&self, name: &str, extents: Extents) -> PyResult<Input<'_, T>> {
        self.check_type::<T>(name)?;
        Ok(match self {
            Self::Device(array) => Input::Device(&array.get().0, extents),
            // SAFETY: the caller promises the same.
            Self::Host(array) => Input::Host(unsafe { slice(name, array)? }, extents),
        })
    }

    /// The operand to be written.
    ///
    /// # Safety
    /// Nobody else uses the elements as long as the operand is used.
    pub(crate) unsafe fn output<T: Value>(&self, name: &str) -> PyResult<Output<'_, T>> {
        self.check_type::<T>(name)?;
        let extents = self.extents(name)?;
        Ok(match self {
            Self::Device(array) => Output::Device(&array.get().0, extents),
            // SAFETY: the caller promises the same.
            Self::Host(array) => Output::Host(unsafe { slice_mut(name, array)? }, extents),
        })
    }
}

/// Elements that are read.
pub(crate) enum Input<'a, T> {
    Host(&'a [T], Extents),
    Device(&'a Shared, Extents),
}

impl<T: Value> Input<'_, T> {
    /// The elements on a device: where they lie, or copied there.
    ///
    /// # Safety
    /// The elements outlive the vector, and on a GPU all work that uses it.
    unsafe fn vector(&self, device: &Device) -> Result<Vector> {
        match (self, device) {
            // SAFETY: the caller promises that the slice outlives the vector, which nobody writes.
            (Self::Host(elements, _), Device::Cpu(_)) => unsafe {
                Vector::borrow(device, std::ptr::from_ref(*elements).cast_mut())
            },
            (Self::Host(elements, _), _) => Vector::from_slice(device, elements),
            // SAFETY: the caller promises the same.
            (Self::Device(array, _), _) => unsafe { Vector::wrap(device, array.borrow::<T>(device, None)?) },
        }
    }

    /// As [`vector`](Self::vector), with rows and columns.
    ///
    /// # Safety
    /// As for [`vector`](Self::vector).
    pub(crate) unsafe fn matrix(&self, device: &Device) -> Result<DenseMatrix> {
        let (Self::Host(_, (rows, columns)) | Self::Device(_, (rows, columns))) = *self;
        // SAFETY: the caller promises the same.
        DenseMatrix::new(unsafe { self.vector(device)? }, rows, columns, columns, Order::RowMajor)
    }

    /// The matrix with these values, copied; its plans stay valid.
    pub(crate) fn as_values_of(&self, matrix: &Matrix) -> Result<Matrix> {
        // SAFETY: the values are copied, on a GPU in order with its stream.
        matrix.with_values(&unsafe { self.vector(matrix.device())? })
    }

    /// The matrix with these values where they lie; plans of [`lendable`] stay valid. Formats of the host other than
    /// CSR get a copy of the values.
    ///
    /// # Safety
    /// Matrix and values outlive the result, on a GPU also all work that uses it.
    pub(crate) unsafe fn lent_to(&self, matrix: &Matrix) -> Result<Matrix> {
        // SAFETY: the caller promises the same.
        let lent = unsafe {
            match self {
                Self::Host(values, _) => over_pattern(matrix, Some(*values))?,
                Self::Device(array, _) => with_shared(matrix, array.borrow::<T>(matrix.device(), None)?)?,
            }
        };
        match (lent, self) {
            (Some(matrix), _) => Ok(matrix),
            (None, Self::Host(..)) => self.as_values_of(matrix),
            (None, Self::Device(..)) => {
                let what = format_args!("values where they lie for {matrix:?}");
                Err(Error::unsupported(what, "csr and csc have them"))
            }
        }
    }
}

/// A matrix whose plans take any that [`Input::lent_to`] makes of the given one.
///
/// # Safety
/// The given matrix outlives the result.
pub(crate) unsafe fn lendable<T: Value>(matrix: &Matrix) -> Result<Matrix> {
    // SAFETY: the caller promises the same.
    Ok(unsafe { over_pattern::<T>(matrix, None)? }.unwrap_or_else(|| matrix.clone()))
}

/// CSR of the host over the pattern of a matrix, with these values or its own; `None` for other matrices.
///
/// # Safety
/// Matrix and values outlive the result.
unsafe fn over_pattern<T: Value>(matrix: &Matrix, values: Option<&[T]>) -> Result<Option<Matrix>> {
    macro_rules! over {
        ($($index:ident)+) => {$(
            if let Some(pattern) = matrix.downcast_ref::<Csr<T, Host, $index, $index>>() {
                // SAFETY: the caller's promise.
                let csr = unsafe { HostCsr::borrow_pattern(pattern, values.unwrap_or(pattern.values()))? };
                return Matrix::wrap(matrix.device(), csr).map(Some);
            }
        )+};
    }
    over!(i32 i64);
    Ok(None)
}

/// A matrix on a GPU with values that lie there; `None` for formats without an array of values.
fn with_shared<T: Value>(matrix: &Matrix, values: Elements<T>) -> Result<Option<Matrix>> {
    macro_rules! shared {
        ($($format:ident $index:ident)+) => {$(
            if let Some(typed) = matrix.downcast_ref::<$format<T, Accelerator, $index, $index>>() {
                return Matrix::wrap(matrix.device(), typed.with_values(values)?).map(Some);
            }
        )+};
    }
    shared!(Csr i32 Csr i64 Csc i32 Csc i64);
    Ok(None)
}

/// Elements that are written.
pub(crate) enum Output<'a, T> {
    Host(&'a mut [T], Extents),
    Device(&'a Shared, Extents),
}

impl<T: Value> Output<'_, T> {
    pub(crate) fn extents(&self) -> Extents {
        let (Self::Host(_, extents) | Self::Device(_, extents)) = *self;
        extents
    }

    /// The elements on a device: where they lie, or a copy there, which need not be made if `beta` is zero.
    ///
    /// # Safety
    /// The elements outlive the vector, and on a GPU all work that uses it.
    pub(crate) unsafe fn vector(&mut self, device: &Device, beta: c64) -> Result<Vector> {
        match (self, device) {
            // SAFETY: the caller promises that the slice outlives the vector.
            (Self::Host(elements, _), Device::Cpu(_)) => unsafe {
                Vector::borrow(device, std::ptr::from_mut(*elements))
            },
            (Self::Host(elements, _), _) if beta == c64::new(0.0, 0.0) => {
                Vector::zeros(device, T::DTYPE, elements.len())
            }
            (Self::Host(elements, _), _) => Vector::from_slice(device, elements),
            // SAFETY: the caller promises the same.
            (Self::Device(array, _), _) => unsafe { Vector::wrap(device, array.borrow::<T>(device, None)?) },
        }
    }

    /// Brings the result back where the device had a copy.
    pub(crate) fn store(self, result: &Vector) -> Result<()> {
        if let (Self::Host(elements, _), Device::Accelerator(..)) = (self, result.device()) {
            elements.copy_from_slice(&result.to_vec::<T>()?);
        }
        Ok(())
    }
}

/// The type of indices of this size, for errors that meet two of them.
pub(crate) fn one_index_type(offsets: IndexType, indices: IndexType) -> PyResult<IndexType> {
    if offsets == indices {
        return Ok(offsets);
    }
    let reason = format!(
        "the row pointers are {offsets} and the indices {indices}: both have to be of one type. int32 holds them if there are \
         fewer than 2**31 entries, rows and columns; otherwise both are int64"
    );
    Err(pyo3::exceptions::PyTypeError::new_err(reason))
}

/// The type of an array on a GPU, as values or as indices.
pub(crate) fn value_type(name: &str, array: &Shared) -> PyResult<DType> {
    match array.element.char {
        'e' => Ok(DType::F16),
        'f' => Ok(DType::F32),
        'd' => Ok(DType::F64),
        'F' => Ok(DType::C32),
        'D' => Ok(DType::C64),
        other => {
            let right = "float16, float32, float64, complex64 or complex128";
            Err(wrong_type(name, &format_args!("'{other}'"), right))
        }
    }
}

/// See [`value_type`].
pub(crate) fn index_type(name: &str, array: &Shared) -> PyResult<IndexType> {
    match array.element.char {
        'i' => Ok(IndexType::I32),
        'l' => Ok(IndexType::I64),
        other => Err(wrong_type(name, &format_args!("'{other}'"), "int32 or int64")),
    }
}
