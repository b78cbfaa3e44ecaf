//! Products and solutions in the caller's memory.

use crate::failure::Failure;
use crate::memory::{Array, Dense, check_apart};
use crate::names::{self, PreconditionedBy, SolveMethod};
use nnz::op::{Op, Sampling, Triangular};
use nnz::solvers;
use nnz::{Matrix, SolveOptions, Solver, Vector, c64};
use std::ffi::{c_int, c_void};
use std::ops::ControlFlow;

/// `nnz_complex` of `nnz.h`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Complex {
    /// The real part.
    pub re: f64,
    /// The imaginary part.
    pub im: f64,
}

impl From<Complex> for c64 {
    fn from(number: Complex) -> Self {
        Self::new(number.re, number.im)
    }
}

/// `nnz_solve_options` of `nnz.h`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SolverOptions {
    /// The method.
    pub method: SolveMethod,
    /// The preconditioner.
    pub preconditioner: PreconditionedBy,
    /// The rows of a block of block Jacobi's preconditioner; 0 stands for 8.
    pub block_rows: usize,
    /// The bound of ‖b − A·x‖ / ‖b‖; 0 stands for 1e-10.
    pub tolerance: f64,
    /// The most iterations; 0 stands for the default of the method.
    pub max_iterations: usize,
    /// The iterations of a cycle of GMRES; 0 stands for 20.
    pub restart: usize,
    /// The factor of ‖x‖ that LSQR and LSMR minimize with ‖b − A·x‖.
    pub damp: f64,
}

/// Rows of a block where none are given.
const BLOCK_ROWS: usize = 8;

/// The value that stands for `default` if it is 0.
fn or_default(value: usize, default: usize) -> usize {
    if value == 0 { default } else { value }
}

impl SolverOptions {
    pub(crate) fn to_rust(self) -> Result<SolveOptions, Failure> {
        let mut options = solvers::SolverOptions::default();
        if self.tolerance != 0.0 {
            options.tolerance = self.tolerance;
        }
        if self.max_iterations != 0 {
            options.max_iterations = Some(self.max_iterations);
        }
        options.restart = or_default(self.restart, options.restart);
        options.least_squares.damp = self.damp;
        let block_rows = or_default(self.block_rows, BLOCK_ROWS);
        Ok(SolveOptions {
            method: names::method(self.method)?,
            preconditioner: names::preconditioner(self.preconditioner, block_rows)?,
            solver: options,
        })
    }
}

/// `nnz_solution` of `nnz.h`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Solution {
    /// 1 if the tolerance was met, else 0.
    pub converged: c_int,
    /// The number of iterations.
    pub iterations: usize,
    /// ‖b − A·x‖ / ‖b‖.
    pub relative_residual: f64,
}

/// `y ← alpha·op(A)·x + beta·y`.
///
/// # Safety
/// The arrays are what `nnz.h` asks for.
pub(crate) unsafe fn spmv(
    matrix: &Matrix,
    op: Op,
    (alpha, x): (c64, *const c_void),
    (beta, y): (c64, *mut c_void),
) -> Result<(), Failure> {
    let ((rows, cols), dtype) = (matrix.shape_of(op), matrix.dtype());
    let operand = Array { name: "x", pointer: x, len: cols };
    let result = Array { name: "y", pointer: y, len: rows };
    // SAFETY: the caller promises what is asked. They are used after the check that they do not overlap.
    let (x, mut y) =
        unsafe { (operand.as_vector(matrix.device(), dtype)?, result.as_vector(matrix.device(), dtype)?) };
    check_apart(matrix, &[operand], result, dtype.bytes())?;
    Ok(matrix.spmv(op, alpha, &x, beta, &mut y)?)
}

/// `C ← alpha·op(A)·B + beta·C`, where B and C have `columns` columns.
///
/// # Safety
/// The arrays are what `nnz.h` asks for.
pub(crate) unsafe fn spmm(
    matrix: &Matrix,
    (op, columns): (Op, usize),
    (alpha, b): (c64, Dense<'_>),
    (beta, c): (c64, Dense<'_>),
) -> Result<(), Failure> {
    let ((rows, cols), dtype) = (matrix.shape_of(op), matrix.dtype());
    let (operand, result) = (b.elements(cols, columns)?, c.elements(rows, columns)?);
    let memory = (matrix.device(), dtype);
    // SAFETY: the caller promises what is asked. They are used after the check that they do not overlap.
    let (b, mut c) =
        unsafe { (b.as_matrix(memory, (cols, columns))?, c.as_matrix(memory, (rows, columns))?) };
    check_apart(matrix, &[operand], result, dtype.bytes())?;
    Ok(matrix.spmm(op, alpha, &b, beta, &mut c)?)
}

/// op(A)·X = B, where X and B have `columns` columns.
///
/// # Safety
/// The arrays are what `nnz.h` asks for.
pub(crate) unsafe fn trisolve(
    matrix: &Matrix,
    (system, columns): (Triangular, usize),
    (b, x): (Dense<'_>, Dense<'_>),
) -> Result<(), Failure> {
    let (rows, dtype) = (matrix.nrows(), matrix.dtype());
    let (operand, result) = (b.elements(rows, columns)?, x.elements(rows, columns)?);
    let memory = (matrix.device(), dtype);
    // SAFETY: the caller promises what is asked. They are used after the check that they do not overlap.
    let (b, mut x) =
        unsafe { (b.as_matrix(memory, (rows, columns))?, x.as_matrix(memory, (rows, columns))?) };
    check_apart(matrix, &[operand], result, dtype.bytes())?;
    Ok(matrix.solve_triangular_into(system, &b, &mut x)?)
}

/// `C ← alpha·A ∘ (U·Vᵀ) + beta·C`, where U and V have `inner` columns and C is an array of values.
///
/// # Safety
/// The arrays are what `nnz.h` asks for.
pub(crate) unsafe fn sddmm(
    matrix: &Matrix,
    (sampling, inner): (Sampling, usize),
    (alpha, u, v): (c64, Dense<'_>, Dense<'_>),
    (beta, c): (c64, *mut c_void),
) -> Result<(), Failure> {
    let ((rows, cols), dtype) = (matrix.shape(), matrix.dtype());
    let (left, right) = (u.elements(rows, inner)?, v.elements(cols, inner)?);
    let result = Array { name: "C", pointer: c, len: matrix.nnz() };
    let memory = (matrix.device(), dtype);
    // SAFETY: the caller promises what is asked. They are used after the check that they do not overlap.
    let (u, v, mut c) = unsafe {
        let (u, v) = (u.as_matrix(memory, (rows, inner))?, v.as_matrix(memory, (cols, inner))?);
        (u, v, result.as_vector(matrix.device(), dtype)?)
    };
    check_apart(matrix, &[left, right], result, dtype.bytes())?;
    Ok(matrix.sddmm_into(sampling, alpha, (&u, &v), beta, &mut c)?)
}

/// Writes all elements of a matrix.
///
/// # Safety
/// The array is what `nnz.h` asks for.
pub(crate) unsafe fn to_dense(matrix: &Matrix, dense: Dense<'_>) -> Result<(), Failure> {
    let dtype = matrix.dtype();
    let result = dense.elements(matrix.nrows(), matrix.ncols())?;
    // SAFETY: the caller promises what is asked. They are used after the check that they do not overlap.
    let mut dense = unsafe { dense.as_matrix((matrix.device(), dtype), matrix.shape())? };
    check_apart(matrix, &[], result, dtype.bytes())?;
    Ok(matrix.to_dense_into(&mut dense)?)
}

/// Solves A·x = b, from the x that is there unless by factors.
///
/// # Safety
/// The arrays are what `nnz.h` asks for.
pub(crate) unsafe fn solve(
    matrix: &Matrix,
    options: &SolverOptions,
    b: *const c_void,
    x: *mut c_void,
) -> Result<Solution, Failure> {
    // SAFETY: the caller promises what is asked.
    let vectors = unsafe { vectors_of_system(matrix, b, x)? };
    run(&mut matrix.solver(&options.to_rust()?)?, vectors)
}

/// Solves A·x = b by the solver of `matrix`.
///
/// # Safety
/// The arrays are what `nnz.h` asks for.
pub(crate) unsafe fn solve_by(
    solver: &mut Solver,
    matrix: &Matrix,
    b: *const c_void,
    x: *mut c_void,
) -> Result<Solution, Failure> {
    // SAFETY: the caller promises what is asked.
    run(solver, unsafe { vectors_of_system(matrix, b, x)? })
}

/// b and x as vectors; an error if they cannot be used.
///
/// # Safety
/// The arrays are what `nnz.h` asks for, as long as the vectors are used.
unsafe fn vectors_of_system(
    matrix: &Matrix,
    b: *const c_void,
    x: *mut c_void,
) -> Result<(Vector, Vector), Failure> {
    let (device, dtype) = (matrix.device(), matrix.dtype());
    let operand = Array { name: "b", pointer: b, len: matrix.nrows() };
    let result = Array { name: "x", pointer: x, len: matrix.ncols() };
    // SAFETY: the caller promises what is asked. They are used after the check that they do not overlap.
    let vectors = unsafe { (operand.as_vector(device, dtype)?, result.as_vector(device, dtype)?) };
    check_apart(matrix, &[operand], result, dtype.bytes())?;
    Ok(vectors)
}

fn run(solver: &mut Solver, (b, mut x): (Vector, Vector)) -> Result<Solution, Failure> {
    let found = solver.solve_from(&b, &mut x, |_| ControlFlow::Continue(()))?;
    let solvers::Solution { iterations, relative_residual, .. } = found;
    Ok(Solution { converged: found.converged().into(), iterations, relative_residual })
}
