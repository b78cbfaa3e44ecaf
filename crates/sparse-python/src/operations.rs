//! Operations on matrices on devices, whose results are matrices there or vectors of the host.

use crate::arrays::slice;
use crate::count;
use crate::error::{exception, format_named, wrong_type};
use crate::matrix::Matrix;
use crate::operand::{Input, Operand};
use crate::types::{Value, factor, index_of, named, with_values};
use nnz::{Each, IndexType, Reduction, Result, Selection, Vector};
use numpy::{PyArray1, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyRange, PyRangeMethods};
use std::path::PathBuf;

/// The matrix that `make` makes, without Python's lock.
fn made(py: Python<'_>, make: impl FnOnce() -> Result<nnz::Matrix> + Send) -> PyResult<Matrix> {
    count();
    py.detach(make).map(Matrix).map_err(exception)
}

/// The vector that `make` makes, without Python's lock, as an array of NumPy.
fn vector<'py>(py: Python<'py>, make: impl FnOnce() -> Result<Vector> + Send) -> PyResult<Bound<'py, PyAny>> {
    count();
    let vector = py.detach(make).map_err(exception)?;
    with_values!(vector.dtype(), T => {
        let elements = py.detach(|| vector.to_vec::<T>()).map_err(exception)?;
        Ok(PyArray1::from_vec(py, elements).into_any())
    })
}

/// The matrix in another format.
#[pyfunction]
pub(crate) fn convert(py: Python<'_>, a: &Matrix, format: &str) -> PyResult<Matrix> {
    let format = format_named(format)?;
    made(py, || a.0.to_format(format))
}

/// A copy on the same device.
#[pyfunction]
pub(crate) fn copy(py: Python<'_>, a: &Matrix) -> PyResult<Matrix> {
    made(py, || a.0.copy())
}

/// The matrix without entries that are zero.
#[pyfunction]
pub(crate) fn prune(py: Python<'_>, a: &Matrix) -> PyResult<Matrix> {
    made(py, || a.0.prune(None))
}

/// The matrix with values of another type, by NumPy's character.
#[pyfunction]
pub(crate) fn cast(py: Python<'_>, a: &Matrix, dtype: char) -> PyResult<Matrix> {
    let dtype = named(dtype)?;
    made(py, || a.0.cast(dtype))
}

/// alpha·A.
#[pyfunction]
pub(crate) fn scale(py: Python<'_>, a: &Matrix, alpha: &Bound<'_, PyComplex>) -> PyResult<Matrix> {
    let alpha = factor(alpha);
    made(py, || a.0.scaled(alpha))
}

/// diag(rows)·A·diag(columns), each where it is given.
#[pyfunction]
#[pyo3(signature = (a, rows=None, columns=None))]
pub(crate) fn scale_lines<'py>(
    py: Python<'py>,
    a: &Matrix,
    rows: Option<Operand<'py>>,
    columns: Option<Operand<'py>>,
) -> PyResult<Matrix> {
    with_values!(a.0.dtype(), T => {
        // SAFETY: as in `Plan::run`.
        let (rows, columns) = unsafe {
            let rows = rows.as_ref().map(|rows| rows.input::<T>("rows")).transpose()?;
            (rows, columns.as_ref().map(|columns| columns.input::<T>("columns")).transpose()?)
        };
        made(py, || scaled_by(&a.0, rows.as_ref(), columns.as_ref()))
    })
}

fn scaled_by<T: Value>(
    a: &nnz::Matrix,
    rows: Option<&Input<'_, T>>,
    columns: Option<&Input<'_, T>>,
) -> Result<nnz::Matrix> {
    // SAFETY: as in `Plan::run`.
    let on_device = |factors: &Input<'_, T>| Ok(unsafe { factors.matrix(a.device())? }.into_values());
    let (rows, columns) = (rows.map(on_device).transpose()?, columns.map(on_device).transpose()?);
    a.scaled_by(rows.as_ref(), columns.as_ref())
}

/// alpha·A + beta·B.
#[pyfunction]
pub(crate) fn add(
    py: Python<'_>,
    a: &Matrix,
    b: &Matrix,
    alpha: &Bound<'_, PyComplex>,
    beta: &Bound<'_, PyComplex>,
) -> PyResult<Matrix> {
    let (alpha, beta) = (factor(alpha), factor(beta));
    made(py, || a.0.add(&b.0, alpha, beta))
}

/// The products of the elements of A and B.
#[pyfunction]
pub(crate) fn multiply_elements(py: Python<'_>, a: &Matrix, b: &Matrix) -> PyResult<Matrix> {
    made(py, || a.0.multiply(&b.0))
}

/// A·B of two matrices, both in CSR or both in CSC.
#[pyfunction]
pub(crate) fn multiply_sparse(py: Python<'_>, a: &Matrix, b: &Matrix) -> PyResult<Matrix> {
    made(py, || a.0.matmul_sparse(&b.0))
}

/// The matrix that is made of `blocks` by `vstack`, `hstack`, `block_diag`, or of two by `kron`.
#[pyfunction]
pub(crate) fn combine(py: Python<'_>, by: &str, blocks: Vec<Py<Matrix>>) -> PyResult<Matrix> {
    let blocks: Vec<&nnz::Matrix> = blocks.iter().map(|block| &block.get().0).collect();
    match (by, &blocks[..]) {
        ("vstack", all) => made(py, || nnz::Matrix::vstack(all)),
        ("hstack", all) => made(py, || nnz::Matrix::hstack(all)),
        ("block_diag", all) => made(py, || nnz::Matrix::block_diag(all)),
        ("kron", &[a, b]) => made(py, || a.kron(b)),
        (by, _) => Err(PyValueError::new_err(format!("there is no {by} of {} matrices", blocks.len()))),
    }
}

/// Writes A·B to an .npz file chunk by chunk, each of which takes at most `memory_limit` bytes of the device.
#[pyfunction]
#[pyo3(signature = (a, b, path, memory_limit=None))]
pub(crate) fn multiply_sparse_to_npz(
    py: Python<'_>,
    a: &Matrix,
    b: &Matrix,
    path: PathBuf,
    memory_limit: Option<u64>,
) -> PyResult<()> {
    count();
    py.detach(|| a.0.matmul_to_npz(&b.0, memory_limit, &path)).map_err(exception)
}

/// Chosen rows or columns.
#[derive(FromPyObject)]
pub(crate) enum Lines<'py> {
    /// Those of a range, whose step may be negative.
    Range(Bound<'py, PyRange>),
    /// Those of an array of int64.
    List(Bound<'py, PyUntypedArray>),
}

/// The elements in chosen rows and columns, in their order; None stands for all.
#[pyfunction]
#[pyo3(signature = (a, rows=None, columns=None))]
pub(crate) fn select<'py>(
    py: Python<'py>,
    a: &Matrix,
    rows: Option<Lines<'py>>,
    columns: Option<Lines<'py>>,
) -> PyResult<Matrix> {
    let (all_rows, all_columns) = a.0.shape();
    let (rows, columns) = (chosen("rows", rows, all_rows)?, chosen("columns", columns, all_columns)?);
    made(py, || a.0.select(rows, columns))
}

fn chosen(name: &str, lines: Option<Lines<'_>>, extent: usize) -> PyResult<Selection<'static>> {
    match lines {
        None => Ok((0..extent).into()),
        Some(Lines::Range(range)) => of_range(&range),
        Some(Lines::List(indices)) => Ok(Selection::List(of_list(name, &indices)?.into())),
    }
}

fn of_range(range: &Bound<'_, PyRange>) -> PyResult<Selection<'static>> {
    let (start, step, len) = (range.start()?, range.step()?, range.len()?);
    match usize::try_from(start) {
        Ok(start) if step == 1 => Ok((start..start + len).into()),
        _ => Ok(Selection::List((0..len as isize).map(|k| number(start + k * step)).collect())),
    }
}

/// A negative index is out of every range, and is reported with the rest.
fn number(index: impl TryInto<usize>) -> usize {
    index.try_into().unwrap_or(usize::MAX)
}

fn of_list(name: &str, indices: &Bound<'_, PyUntypedArray>) -> PyResult<Vec<usize>> {
    if index_of(name, indices)? != IndexType::I64 {
        return Err(wrong_type(name, &indices.dtype(), "int64"));
    }
    // SAFETY: the argument owns a reference to the array, which is copied at once.
    let indices = unsafe { slice::<i64>(name, indices)? };
    Ok(indices.iter().map(|&index| number(index)).collect())
}

/// A number for each row, or for each column.
#[pyfunction]
pub(crate) fn reduce<'py>(
    py: Python<'py>,
    a: &Matrix,
    of_rows: bool,
    by: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let by = by.parse::<Reduction>().map_err(exception)?;
    let each = if of_rows { Each::Row } else { Each::Column };
    vector(py, || a.0.reduce(each, by))
}

/// The elements (i, i + k), from the first row that has one.
#[pyfunction]
pub(crate) fn diagonal<'py>(py: Python<'py>, a: &Matrix, k: isize) -> PyResult<Bound<'py, PyAny>> {
    vector(py, || a.0.diagonal(k))
}
