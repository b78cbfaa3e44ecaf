//! Iterative solvers.

use crate::arrays::{Arrays, slice, slice_mut};
use crate::count;
use crate::device::host;
use crate::error::exception;
use crate::types::{Value, with_values};
use nnz::{Format, Matrix, Method, SolveOptions, Vector, solvers};
use numpy::PyUntypedArray;
use pyo3::prelude::*;
use std::ops::ControlFlow;

/// The stopping criteria: ‖b − A·x‖ / ‖b‖, the most iterations, and the cycle of GMRES.
#[derive(FromPyObject, Clone, Copy)]
pub(crate) struct Limits(f64, Option<usize>, usize);

/// Solves A·x = b with A in CSR, from the x that is there: (converged, iterations, relative residual).
#[pyfunction]
pub(crate) fn solve<'py>(
    py: Python<'py>,
    a: Arrays<'py>,
    method: &str,
    b: &Bound<'py, PyUntypedArray>,
    x: &Bound<'py, PyUntypedArray>,
    limits: Limits,
) -> PyResult<(bool, usize, f64)> {
    count();
    let Limits(tolerance, max_iterations, restart) = limits;
    let options = solvers::Options { tolerance, max_iterations, restart, ..solvers::Options::default() };
    let options = SolveOptions { options, ..SolveOptions::by(method.parse::<Method>().map_err(exception)?) };
    let matrix = a.to_matrix(py, Format::Csr)?;
    with_values!(matrix.dtype(), T => solve_typed::<T>(py, &matrix, &options, b, x))
}

fn solve_typed<T: Value>(
    py: Python<'_>,
    a: &Matrix,
    options: &SolveOptions,
    b: &Bound<'_, PyUntypedArray>,
    x: &Bound<'_, PyUntypedArray>,
) -> PyResult<(bool, usize, f64)> {
    let device = host()?;
    // SAFETY: the arguments own references to the arrays; that no other thread uses `x` or writes `b` meanwhile is
    // asked of programs, as NumPy does.
    let (b, x) = unsafe { (slice::<T>("b", b)?, slice_mut::<T>("x", x)?) };
    let solution = py.detach(|| {
        let (b, mut solution) = (Vector::from_slice(device, b)?, Vector::from_slice(device, x)?);
        let found = a.solve_from(&b, &mut solution, options, |_| ControlFlow::Continue(()))?;
        x.copy_from_slice(&solution.to_vec::<T>()?);
        Ok(found)
    });
    let found = solution.map_err(exception)?;
    Ok((found.converged(), found.iterations, found.relative_residual))
}
