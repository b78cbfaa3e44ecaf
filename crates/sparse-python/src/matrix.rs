//! Matrices that own their arrays: batches, and matrices in the memory of a device.

use crate::arrays::{Arrays, slice, to_python};
use crate::count;
use crate::device::{host, open};
use crate::error::{exception, format_named};
use crate::types::{Value, dtype_of, with_values};
use nnz::{CompressOptions, DType, DenseMatrix, Device, Error, Format, IndexType, Order, Vector};
use numpy::{PyArray1, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// A matrix or a batch on a device.
#[pyclass(frozen, module = "nnz._native")]
pub(crate) struct Matrix(nnz::Matrix);

#[pymethods]
impl Matrix {
    /// A matrix on a device from the arrays of CSR, CSC or coordinates.
    #[staticmethod]
    fn from_arrays<'py>(py: Python<'py>, format: &str, arrays: Arrays<'py>, device: &str) -> PyResult<Self> {
        count();
        let device = py.detach(|| open(device))?;
        let matrix = arrays.to_matrix(py, format_named(format)?)?;
        py.detach(|| matrix.to_device(&device)).map(Self).map_err(exception)
    }

    /// A batch of CSR from an array of three dimensions in C order: the elements that are not zero, or above `tolerance`.
    #[staticmethod]
    #[pyo3(signature = (stack, tolerance, wide, device))]
    fn compress<'py>(
        py: Python<'py>,
        stack: &Bound<'py, PyUntypedArray>,
        tolerance: Option<f64>,
        wide: bool,
        device: &str,
    ) -> PyResult<Self> {
        count();
        let device = py.detach(|| open(device))?;
        let index_type = if wide { IndexType::I64 } else { IndexType::I32 };
        let options = CompressOptions { tolerance, index_type, ..CompressOptions::to(Format::BatchCsr) };
        with_values!(dtype_of("stack", stack)?, T => compressed::<T>(py, stack, options, &device)).map(Self)
    }

    #[getter]
    fn shape(&self) -> (usize, usize) {
        self.0.shape()
    }

    #[getter]
    fn nnz(&self) -> usize {
        self.0.nnz()
    }

    #[getter]
    fn nbytes(&self) -> usize {
        self.0.bytes()
    }

    #[getter]
    fn format(&self) -> String {
        self.0.format().to_string()
    }

    #[getter]
    fn device(&self) -> String {
        self.0.device().to_string()
    }

    /// The number of members of a batch.
    #[getter]
    fn members(&self) -> Option<usize> {
        self.0.members()
    }

    /// (rows, columns) of each member.
    #[getter]
    fn member_shape(&self) -> (usize, usize) {
        self.0.member_shape()
    }

    /// NumPy's character of the type of the values.
    #[getter]
    fn dtype(&self) -> char {
        match self.0.dtype() {
            DType::F32 => 'f',
            DType::C32 => 'F',
            DType::C64 => 'D',
            DType::F64 => 'd',
            DType::F16 | DType::Bf16 => 'e',
        }
    }

    /// A member of a batch.
    fn member(&self, py: Python<'_>, k: usize) -> PyResult<Self> {
        count();
        py.detach(|| self.0.member(k)).map(Self).map_err(exception)
    }

    /// A copy on another device.
    fn to_device(&self, py: Python<'_>, device: &str) -> PyResult<Self> {
        count();
        let device = py.detach(|| open(device))?;
        py.detach(|| self.0.to_device(&device)).map(Self).map_err(exception)
    }

    /// The transpose.
    fn transpose(&self, py: Python<'_>) -> PyResult<Self> {
        count();
        py.detach(|| self.0.transpose()).map(Self).map_err(exception)
    }

    /// The arrays, on the host.
    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        count();
        to_python(py, self.0.clone())
    }

    /// A·x as a new array of the host; of a batch, with x of all members one behind the other.
    fn matvec<'py>(&self, py: Python<'py>, x: &Bound<'py, PyUntypedArray>) -> PyResult<Bound<'py, PyAny>> {
        count();
        with_values!(dtype_of("x", x)?, T => self.matvec_typed::<T>(py, x))
    }

    /// A·B as a new array of the host in C order, with B in C order.
    fn matmat<'py>(&self, py: Python<'py>, b: &Bound<'py, PyUntypedArray>) -> PyResult<Bound<'py, PyAny>> {
        count();
        with_values!(dtype_of("B", b)?, T => self.matmat_typed::<T>(py, b))
    }
}

impl Matrix {
    fn matvec_typed<'py, T: Value>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyUntypedArray>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: the argument owns a reference to the array; that no other thread writes it meanwhile is asked of
        // programs, as NumPy does.
        let x = unsafe { slice::<T>("x", x)? };
        let product = || self.0.matvec(&Vector::from_slice(self.0.device(), x)?)?.to_vec::<T>();
        let y = py.detach(product).map_err(exception)?;
        Ok(PyArray1::from_vec(py, y).into_any())
    }

    fn matmat_typed<'py, T: Value>(
        &self,
        py: Python<'py>,
        b: &Bound<'py, PyUntypedArray>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let &[rows, columns] = b.shape() else { return Err(dimensions("B", b, "two")) };
        // SAFETY: as in `matvec_typed`.
        let elements = unsafe { slice::<T>("B", b)? };
        let product = || {
            let b = Vector::from_slice(self.0.device(), elements)?;
            let b = DenseMatrix::new(b, rows, columns, columns, Order::RowMajor)?;
            let product = match self.0.members() {
                Some(_) => self.0.to_block_diagonal()?.matmul(&b),
                None => self.0.matmul(&b),
            };
            product?.into_values().to_vec::<T>()
        };
        let c = PyArray1::from_vec(py, py.detach(product).map_err(exception)?);
        Ok(c.reshape((self.0.nrows(), columns))?.into_any())
    }
}

/// The batch of the elements of a stack of matrices.
fn compressed<T: Value>(
    py: Python<'_>,
    stack: &Bound<'_, PyUntypedArray>,
    options: CompressOptions,
    device: &Device,
) -> PyResult<nnz::Matrix> {
    let &[count, rows, cols] = stack.shape() else { return Err(dimensions("stack", stack, "three")) };
    let options = CompressOptions { stack: Some((count, rows)), ..options };
    // SAFETY: as in `Matrix::matvec_typed`.
    let elements = unsafe { slice::<T>("stack", stack)? };
    let host = host()?;
    py.detach(|| {
        // SAFETY: the vector is only read, and dropped before the slice.
        let elements = unsafe { Vector::borrow(host, std::ptr::from_ref(elements).cast_mut())? };
        let dense = DenseMatrix::new(elements, count * rows, cols, cols, Order::RowMajor)?;
        dense.plan_compress(&options)?.run(&dense)?.to_device(device)
    })
    .map_err(exception)
}

fn dimensions(name: &str, array: &Bound<'_, PyUntypedArray>, needed: &str) -> PyErr {
    let shape = array.shape();
    exception(Error::shape(
        "array",
        format_args!("{name} has shape {shape:?} where {needed} dimensions are needed"),
    ))
}
