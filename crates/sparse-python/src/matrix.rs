//! Matrices that own their arrays: batches, and matrices in the memory of a device.

use crate::arrays::{Arrays, to_python};
use crate::count;
use crate::device::{host, open};
use crate::device_array::{DeviceArray, Shared, accelerator, of_buffer};
use crate::dlpack::Element;
use crate::error::{exception, format_named};
use crate::operand::{Input, Operand, Output, index_type, one_index_type, value_type};
use crate::types::{Position, Value, char_of, op_of, with_types, with_values};
use nnz::op::Op;
use nnz::{
    Accelerator, Col, CompressOptions, Coo, Csc, Csr, DenseMatrix, Device, Error, Format, IndexType, Order,
    Result, Row, c64,
};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::Arc;

/// A matrix or a batch on a device.
#[pyclass(frozen, module = "nnz._native")]
pub(crate) struct Matrix(pub(crate) nnz::Matrix);

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

    /// A matrix of CSR or CSC over arrays on a GPU, which are checked there and not copied.
    #[staticmethod]
    fn from_device_arrays(
        py: Python<'_>,
        format: &str,
        shape: (usize, usize),
        indptr: &DeviceArray,
        indices: &DeviceArray,
        data: &DeviceArray,
    ) -> PyResult<Self> {
        count();
        let (format, arrays) = (format_named(format)?, [&indptr.0, &indices.0, &data.0]);
        let index = one_index_type(index_type("indptr", arrays[0])?, index_type("indices", arrays[1])?)?;
        with_types!(value_type("data", arrays[2])?, index, T, I => {
            py.detach(|| over_device_arrays::<T, I>(format, shape, arrays))
        })
        .map(Self)
        .map_err(exception)
    }

    /// The three arrays of a matrix on a GPU where they lie.
    fn device_arrays(&self, py: Python<'_>) -> PyResult<(DeviceArray, DeviceArray, DeviceArray)> {
        count();
        with_types!(self.0.dtype(), self.0.index_type(), T, I => py.detach(|| device_arrays::<T, I>(&self.0)))
            .map_err(exception)
    }

    /// Writes op(A)·B to `out`, with the one operand as B.
    #[pyo3(signature = (inputs, out, op="N"))]
    fn multiply<'py>(
        &self,
        py: Python<'py>,
        inputs: [Operand<'py>; 1],
        out: Operand<'py>,
        op: &str,
    ) -> PyResult<()> {
        count();
        let op = op_of(op)?;
        with_values!(self.0.dtype(), T => {
            // SAFETY: as in `Plan::run`.
            let (b, out) = unsafe { (inputs[0].input::<T>("B")?, out.output::<T>("out")?) };
            py.detach(|| multiply(op, &self.0, &b, out))
        })
        .map_err(exception)
    }

    /// Writes all elements of the matrix, or with `values` for its own, to an array in C order.
    #[pyo3(signature = (out, values=None))]
    fn todense<'py>(&self, py: Python<'py>, out: Operand<'py>, values: Option<Operand<'py>>) -> PyResult<()> {
        count();
        with_values!(self.0.dtype(), T => {
            // SAFETY: as in `Plan::run`.
            let (out, values) = unsafe {
                let values = values.as_ref().map(|values| values.input::<T>("values")).transpose()?;
                (out.output::<T>("out")?, values)
            };
            py.detach(|| todense(&self.0, out, values))
        })
        .map_err(exception)
    }

    /// A batch of CSR from an array of three dimensions in C order: the elements that are not zero, or above
    /// `tolerance`. An array on a GPU stays where it lies, and so does the batch.
    #[staticmethod]
    #[pyo3(signature = (stack, tolerance, wide, device))]
    fn compress<'py>(
        py: Python<'py>,
        stack: Operand<'py>,
        tolerance: Option<f64>,
        wide: bool,
        device: &str,
    ) -> PyResult<Self> {
        count();
        let (host, device) = (host()?, py.detach(|| open(device))?);
        let index_type = if wide { IndexType::I64 } else { IndexType::I32 };
        let options = CompressOptions { tolerance, index_type, ..CompressOptions::new(Format::BatchCsr) };
        with_values!(stack.dtype("stack")?, T => {
            // SAFETY: as in `Plan::run`.
            let (stack, extents) = unsafe { stack.stack::<T>("stack")? };
            py.detach(|| compressed(&stack, extents, options, (host, &device)))
        })
        .map(Self)
        .map_err(exception)
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
        char_of(self.0.dtype())
    }

    /// A member of a batch.
    fn member(&self, py: Python<'_>, k: usize) -> PyResult<Self> {
        count();
        py.detach(|| self.0.member(k)).map(Self).map_err(exception)
    }

    /// The batch of these members, which are one or more, in their order; by way of the host.
    fn choose_members(&self, py: Python<'_>, members: Vec<usize>) -> PyResult<Self> {
        count();
        let host = host()?;
        py.detach(|| {
            let batch = self.0.to_device(host)?;
            let members = members.into_iter().map(|k| batch.member(k)).collect::<Result<Vec<_>>>()?;
            nnz::Matrix::from_members(&members)?.to_device(self.0.device())
        })
        .map(Self)
        .map_err(exception)
    }

    /// The matrix in CSR with the members of a batch as blocks on its diagonal.
    fn to_block_diagonal(&self, py: Python<'_>) -> PyResult<Self> {
        count();
        py.detach(|| self.0.to_block_diagonal()).map(Self).map_err(exception)
    }

    /// The batch of the `members` blocks, all of one shape, on the diagonal of a matrix in CSR.
    fn to_batch(&self, py: Python<'_>, members: usize) -> PyResult<Self> {
        count();
        py.detach(|| self.0.to_batch(members)).map(Self).map_err(exception)
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
}

/// The matrix over arrays of a GPU, which it keeps.
fn over_device_arrays<T: Value, I: Position>(
    format: Format,
    shape: (usize, usize),
    [indptr, indices, data]: [&Arc<Shared>; 3],
) -> Result<nnz::Matrix> {
    let device = data.device();
    let (gpu, _) = accelerator(device)?;
    // SAFETY: the matrix keeps the arrays; that nobody writes the indices is asked of programs, and whoever writes the
    // others does it in order with the stream.
    let (offsets, indices, values) =
        unsafe { (indptr.lend::<I>(device)?, indices.lend::<I>(device)?, data.lend::<T>(device)?) };
    match format {
        Format::Csr => {
            nnz::Matrix::wrap(device, gpu.compressed::<Row, T, I, I>(shape, offsets, indices, values)?)
        }
        Format::Csc => {
            nnz::Matrix::wrap(device, gpu.compressed::<Col, T, I, I>(shape, offsets, indices, values)?)
        }
        other => Err(Error::unsupported(format_args!("{other} over arrays of a GPU"), "csr and csc have it")),
    }
}

/// The arrays of a matrix on a GPU, which keep it.
fn device_arrays<T: Value, I: Position>(
    matrix: &nnz::Matrix,
) -> Result<(DeviceArray, DeviceArray, DeviceArray)> {
    let device = matrix.device();
    let indices = |buffer| array_of::<I>(matrix, buffer, if size_of::<I>() == 4 { 'i' } else { 'l' });
    let values = |buffer| array_of::<T>(matrix, buffer, char_of(T::DTYPE));
    accelerator(device)?;
    if let Some(csr) = matrix.downcast_ref::<Csr<T, Accelerator, I, I>>() {
        return Ok((indices(csr.offsets())?, indices(csr.indices())?, values(csr.values())?));
    }
    if let Some(csc) = matrix.downcast_ref::<Csc<T, Accelerator, I, I>>() {
        return Ok((indices(csc.offsets())?, indices(csc.indices())?, values(csc.values())?));
    }
    if let Some(coo) = matrix.downcast_ref::<Coo<T, Accelerator, I>>() {
        return Ok((indices(coo.row_idx())?, indices(coo.col_idx())?, values(coo.values())?));
    }
    let reason = "csr, csc and coo with indices and offsets of one type have them";
    Err(Error::unsupported(format_args!("the arrays of {matrix:?}"), reason))
}

fn array_of<T: nnz::Element>(
    matrix: &nnz::Matrix,
    buffer: &<Accelerator as nnz::Space>::Buffer<T>,
    char: char,
) -> Result<DeviceArray> {
    let len = nnz::space::Buffer::len(buffer);
    of_buffer(matrix.device(), buffer, (vec![len], Element::of_known(char)), Box::new(matrix.clone()))
}

fn multiply<T: Value>(op: Op, a: &nnz::Matrix, b: &Input<'_, T>, mut out: Output<'_, T>) -> Result<()> {
    let (device, zero) = (a.device(), c64::new(0.0, 0.0));
    // SAFETY: as in `plan::State::run`.
    let (b, mut result) = unsafe { (b.matrix(device)?, out.vector(device, zero)?) };
    let (rows, columns) = out.extents();
    if columns == 1 {
        a.spmv(op, 1.0, b.values(), zero, &mut result)?;
    } else {
        let mut c = DenseMatrix::new(result, rows, columns, columns, Order::RowMajor)?;
        a.spmm(op, 1.0, &b, zero, &mut c)?;
        result = c.into_values();
    }
    out.store(&result)
}

fn todense<T: Value>(
    matrix: &nnz::Matrix,
    mut out: Output<'_, T>,
    values: Option<Input<'_, T>>,
) -> Result<()> {
    // SAFETY: as in `plan::State::run`.
    let (changed, result) = unsafe {
        let changed = values.map(|values| values.lent_to(matrix)).transpose()?;
        (changed, out.vector(matrix.device(), c64::new(0.0, 0.0))?)
    };
    let (rows, columns) = out.extents();
    let mut dense = DenseMatrix::new(result, rows, columns, columns, Order::RowMajor)?;
    changed.as_ref().unwrap_or(matrix).to_dense_into(&mut dense)?;
    out.store(dense.values())
}

/// The batch of the elements of a stack of (matrices, rows), on a device.
fn compressed<T: Value>(
    stack: &Input<'_, T>,
    extents: (usize, usize),
    options: CompressOptions,
    (host, device): (&Device, &Device),
) -> Result<nnz::Matrix> {
    let options = CompressOptions { stack: Some(extents), ..options };
    let place = if matches!(stack, Input::Host(..)) { host } else { device };
    // SAFETY: the elements of the host outlive the call; the caller of Python keeps those of a GPU until their owner's
    // stream waits for this one.
    let dense = unsafe { stack.matrix(place)? };
    dense.plan_compress(&options)?.run(&dense)?.to_device(device)
}
