//! Matrix Market and `.npz` files.

use crate::arrays::{Arrays, to_python};
use crate::count;
use crate::device::host;
use crate::error::{exception, format_named};
use nnz::{Matrix, io::MatrixFile};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::path::PathBuf;

/// Shape and arrays of a matrix in a file, as CSR or as coordinates.
#[pyfunction]
pub(crate) fn read(
    py: Python<'_>,
    path: PathBuf,
    csr: bool,
) -> PyResult<((usize, usize), Bound<'_, PyTuple>)> {
    count();
    let device = host()?;
    let matrix = py.detach(|| {
        let file = MatrixFile::open(&path)?;
        let dtype = file.value_type()?;
        if csr { Matrix::read_csr(device, &file, dtype) } else { Matrix::read_coo(device, &file, dtype) }
    });
    let matrix = matrix.map_err(exception)?;
    Ok((matrix.shape(), to_python(py, matrix)?))
}

/// Writes a matrix of CSR, CSC or coordinates to a file, whose name says the kind: `.mtx`, `.mtx.gz`, `.npz`.
#[pyfunction]
pub(crate) fn write<'py>(py: Python<'py>, path: PathBuf, format: &str, arrays: Arrays<'py>) -> PyResult<()> {
    count();
    let matrix = arrays.to_matrix(py, format_named(format)?)?;
    py.detach(|| matrix.write(&path)).map_err(exception)
}
