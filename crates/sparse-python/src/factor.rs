//! Factors of matrices, for direct solution on the host.

use crate::arrays::{Arrays, slice, slice_mut};
use crate::count;
use crate::error::exception;
use crate::product::extents;
use crate::types::{Value, dtype_of, op_of, with_values};
use nnz::op::Op;
use nnz::solvers::Factorization;
use nnz::{DenseView, DenseViewMut, Error, Format, Result, Vector};
use numpy::PyUntypedArray;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::sync::{PoisonError, RwLock};

/// The factors of a square matrix in CSC.
#[pyclass(frozen, module = "nnz._native")]
pub(crate) struct Factors {
    matrix: nnz::Matrix,
    factors: RwLock<Factorization>,
}

/// A singular matrix is SciPy's `RuntimeError`.
fn scipys_exception(error: Error) -> PyErr {
    match error {
        Error::Singular { .. } => PyRuntimeError::new_err(error.to_string()),
        other => exception(other),
    }
}

#[pymethods]
impl Factors {
    /// The factors of a matrix in CSC, with its rows in order and without duplicates.
    #[staticmethod]
    fn of<'py>(py: Python<'py>, csc: Arrays<'py>) -> PyResult<Self> {
        count();
        let matrix = csc.to_matrix(py, Format::Csc)?;
        let factors = py.detach(|| matrix.factorize()).map_err(scipys_exception)?;
        Ok(Self { matrix, factors: RwLock::new(factors) })
    }

    /// The factorization: `cholesky` or `lu`.
    #[getter]
    fn method(&self) -> &'static str {
        self.factors.read().unwrap_or_else(PoisonError::into_inner).choice().algorithm
    }

    /// Factorizes other values of the same pattern.
    fn update<'py>(&self, py: Python<'py>, values: &Bound<'py, PyUntypedArray>) -> PyResult<()> {
        count();
        with_values!(self.matrix.dtype(), T => {
            // SAFETY: as in `Plan::run`.
            let values = unsafe { slice::<T>("values", values)? };
            py.detach(|| self.refactor(values))
        })
        .map_err(scipys_exception)
    }

    /// Writes X of op(A)·X = B to `out`; both have one type, and two dimensions in C order.
    fn solve<'py>(
        &self,
        py: Python<'py>,
        op: &str,
        b: &Bound<'py, PyUntypedArray>,
        out: &Bound<'py, PyUntypedArray>,
    ) -> PyResult<()> {
        count();
        let op = op_of(op)?;
        let (dtype, extents) = (dtype_of("b", b)?, [extents("b", b)?, extents("out", out)?]);
        with_values!(dtype, T => {
            // SAFETY: as in `Plan::run`.
            let (b, out) = unsafe { (slice::<T>("b", b)?, slice_mut::<T>("out", out)?) };
            py.detach(|| self.apply(op, b, out, extents))
        })
        .map_err(exception)
    }
}

impl Factors {
    fn refactor<T: Value>(&self, values: &[T]) -> Result<()> {
        let values = Vector::from_slice(self.matrix.device(), values)?;
        let matrix = self.matrix.with_values(&values)?;
        matrix.refactor(&mut self.factors.write().unwrap_or_else(PoisonError::into_inner))
    }

    fn apply<T: Value>(&self, op: Op, b: &[T], x: &mut [T], extents: [(usize, usize); 2]) -> Result<()> {
        let [(b_rows, b_columns), (x_rows, x_columns)] = extents;
        let b = DenseView::row_major(b, b_rows, b_columns)?;
        let x = DenseViewMut::row_major(x, x_rows, x_columns)?;
        self.factors.read().unwrap_or_else(PoisonError::into_inner).apply(op, b, x)
    }
}
