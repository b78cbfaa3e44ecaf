//! Products and dense copies of CSR matrices over NumPy's arrays, which are not copied.
//!
//! A program can write `indices` and `indptr` between any two calls, so each call checks them by all threads: a product
//! with a vector as it reads them (`Cpu::multiply_borrowed`), others before. None has a plan, which could belong to a
//! pattern that is no longer there.

use crate::arrays::{Arrays, slice, slice_mut};
use crate::count;
use crate::device::host;
use crate::error::exception;
use crate::types::{Position, Value, named, with_types, with_values};
use nnz::op::Op;
use nnz::{Cpu, Device, Error, Format, Result};
use numpy::{PyArray1, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;

fn op(transpose: bool) -> Op {
    if transpose { Op::Transpose } else { Op::None }
}

/// The backend of the host.
pub(crate) fn cpu(device: &Device) -> Result<&Cpu> {
    match device {
        Device::Cpu(cpu) => Ok(cpu),
        _ => Err(Error::unsupported("arrays of the host on a device", "the CPU takes them")),
    }
}

/// `op(A)·x` as a new array, with A in CSR and x of A's type.
#[pyfunction]
pub(crate) fn csr_matvec<'py>(
    py: Python<'py>,
    a: Arrays<'py>,
    x: &Bound<'py, PyUntypedArray>,
    transpose: bool,
) -> PyResult<Bound<'py, PyAny>> {
    count();
    with_types!(a.dtype()?, a.index()?, T, I => matvec::<T, I>(py, &a, x, transpose))
}

fn matvec<'py, T: Value, I: Position>(
    py: Python<'py>,
    a: &Arrays<'py>,
    x: &Bound<'py, PyUntypedArray>,
    transpose: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let (device, shape) = (host()?, a.0);
    // SAFETY: the arguments own references to the arrays, which keep NumPy from freeing or resizing them; that no other
    // thread writes them meanwhile is asked of programs, as NumPy does.
    let (slices, x) = unsafe { (a.slices::<T, I>(Format::Csr)?, slice::<T>("x", x)?) };
    let (offsets, indices, values) = slices;
    let y = new_elements(py, (if transpose { shape.1 } else { shape.0 }, 1), |y| {
        // SAFETY: as above.
        unsafe { cpu(device)?.multiply_borrowed(shape, (offsets, indices, values), op(transpose), x, y) }
    })?;
    Ok(PyArray1::from_vec(py, y).into_any())
}

/// The elements of a matrix of this shape, which `write` writes, all of them, with Python's lock released. They are not
/// cleared before.
fn new_elements<T: Value>(
    py: Python<'_>,
    (rows, columns): (usize, usize),
    write: impl FnOnce(&mut [T]) -> Result<()> + Send,
) -> PyResult<Vec<T>> {
    let len = rows.saturating_mul(columns);
    let mut elements = Vec::<T>::new();
    let reserved = elements.try_reserve_exact(len);
    reserved.map_err(|_| PyMemoryError::new_err(format!("a result of {rows} x {columns} elements")))?;
    // SAFETY: the memory is there, and every pattern of bytes is a number. Products with beta = 0 read no element
    // before they write it, and they write all; the caller of `empty` writes its elements, too.
    unsafe {
        let all = std::slice::from_raw_parts_mut(elements.as_mut_ptr(), len);
        py.detach(|| write(all)).map_err(exception)?;
        elements.set_len(len);
    }
    Ok(elements)
}

/// A new array in C order, whose elements are not set. The library reuses its memory once it is freed.
#[pyfunction]
pub(crate) fn empty(py: Python<'_>, shape: Vec<usize>, dtype: char) -> PyResult<Bound<'_, PyAny>> {
    let len = shape.iter().fold(1_usize, |len, &extent| len.saturating_mul(extent));
    with_values!(named(dtype)?, T => {
        let elements = new_elements::<T>(py, (len, 1), |_| Ok(()))?;
        Ok(PyArray1::from_vec(py, elements).reshape(shape)?.into_any())
    })
}

/// `op(A)·B` as a new array in C order, with A in CSR and B in C order, of A's type.
#[pyfunction]
pub(crate) fn csr_matmat<'py>(
    py: Python<'py>,
    a: Arrays<'py>,
    b: &Bound<'py, PyUntypedArray>,
    transpose: bool,
) -> PyResult<Bound<'py, PyAny>> {
    count();
    with_types!(a.dtype()?, a.index()?, T, I => matmat::<T, I>(py, &a, b, transpose))
}

fn matmat<'py, T: Value, I: Position>(
    py: Python<'py>,
    a: &Arrays<'py>,
    b: &Bound<'py, PyUntypedArray>,
    transpose: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let (device, shape) = (host()?, a.0);
    let (_, columns) = extents("B", b)?;
    let rows = if transpose { shape.1 } else { shape.0 };
    // SAFETY: as in `matvec`.
    let (slices, b) = unsafe { (a.slices::<T, I>(Format::Csr)?, slice::<T>("B", b)?) };
    let c = new_elements(py, (rows, columns), |c| {
        let cpu = cpu(device)?;
        if transpose {
            cpu.multiply_transposed(shape, slices, b, columns, c)
        } else {
            cpu.multiply_dense(shape, slices, b, columns, c)
        }
    })?;
    Ok(PyArray1::from_vec(py, c).reshape([rows, columns])?.into_any())
}

/// Adds the elements of a CSR matrix to an array in C order.
#[pyfunction]
pub(crate) fn csr_todense(py: Python<'_>, a: Arrays<'_>, out: &Bound<'_, PyUntypedArray>) -> PyResult<()> {
    count();
    with_types!(a.dtype()?, a.index()?, T, I => todense::<T, I>(py, &a, out))
}

fn todense<T: Value, I: Position>(
    py: Python<'_>,
    a: &Arrays<'_>,
    out: &Bound<'_, PyUntypedArray>,
) -> PyResult<()> {
    let (cpu, shape) = (cpu(host()?).map_err(exception)?, a.0);
    extents("out", out)?;
    // SAFETY: as in `matvec`, and the caller of Python gave `out` to be written.
    let (slices, out) = unsafe { (a.slices::<T, I>(Format::Csr)?, slice_mut::<T>("out", out)?) };
    let (offsets, indices, values) = slices;
    py.detach(|| cpu.add_csr_to_dense(shape, offsets, indices, values, out)).map_err(exception)
}

/// Rows and columns of an array of two dimensions in C order.
pub(crate) fn extents(name: &str, array: &Bound<'_, PyUntypedArray>) -> PyResult<(usize, usize)> {
    match *array.shape() {
        [rows, cols] if array.is_c_contiguous() => Ok((rows, cols)),
        ref shape => {
            let reason = format!("its shape is {shape:?} where two dimensions in C order are needed");
            Err(exception(Error::operands("matmul", format_args!("{name}: {reason}"))))
        }
    }
}
