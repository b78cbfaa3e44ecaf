//! Operations on NumPy's arrays that make a matrix: conversions, sorting, sparse products.

use crate::arrays::{Arrays, to_python};
use crate::count;
use crate::error::exception;
use nnz::{Format, Matrix, Result};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// The arrays of what `make` makes of a matrix.
fn made<'py>(
    py: Python<'py>,
    matrix: Matrix,
    make: impl FnOnce(Matrix) -> Result<Matrix> + Send,
) -> PyResult<Bound<'py, PyTuple>> {
    count();
    to_python(py, py.detach(|| make(matrix)).map_err(exception)?)
}

/// `indptr`, `indices` and `data` of CSR (of CSC, if `csc`) from rows, columns and values, with duplicates summed.
#[pyfunction]
pub(crate) fn coo_to_compressed<'py>(
    py: Python<'py>,
    coo: Arrays<'py>,
    csc: bool,
) -> PyResult<Bound<'py, PyTuple>> {
    let format = if csc { Format::Csc } else { Format::Csr };
    made(py, coo.to_unordered_coo(py)?, |coo| coo.to_format(format))
}

/// The arrays of CSC from those of CSR, and with rows and columns exchanged the other way.
#[pyfunction]
pub(crate) fn csr_to_csc<'py>(py: Python<'py>, csr: Arrays<'py>) -> PyResult<Bound<'py, PyTuple>> {
    made(py, csr.to_matrix(py, Format::Csr)?, |csr| csr.to_format(Format::Csc))
}

/// The arrays of CSR with ascending columns in each row; duplicates stay.
#[pyfunction]
pub(crate) fn csr_sort<'py>(py: Python<'py>, csr: Arrays<'py>) -> PyResult<Bound<'py, PyTuple>> {
    made(py, csr.to_matrix(py, Format::Csr)?, |csr| csr.sort())
}

/// The arrays of A·B of two matrices in CSR.
#[pyfunction]
pub(crate) fn csr_multiply<'py>(
    py: Python<'py>,
    a: Arrays<'py>,
    b: Arrays<'py>,
) -> PyResult<Bound<'py, PyTuple>> {
    let b = b.to_matrix(py, Format::Csr)?;
    made(py, a.to_matrix(py, Format::Csr)?, |a| a.matmul_sparse(&b))
}
