//! Iterative solvers, and preconditioners for them.

use crate::count;
use crate::error::exception;
use crate::exclusive::Exclusive;
use crate::matrix::Matrix;
use crate::operand::{Input, Operand, Output};
use crate::signals::Signals;
use crate::types::{Value, char_of, with_values};
use nnz::solvers::{Breakdown, LeastSquaresOptions, Outcome, Solution, SolverOptions};
use nnz::{DType, Device, Method, PreconditionerKind, Result, SolveOptions, c64};
use pyo3::prelude::*;
use std::ops::ControlFlow;

/// An approximate inverse of a matrix, on its device.
#[pyclass(frozen, module = "nnz._native")]
pub(crate) struct Preconditioner(nnz::Preconditioner);

#[pymethods]
impl Preconditioner {
    /// The preconditioner of a matrix: `jacobi`, `block-jacobi:8`, `ilu0` or `ic0`.
    #[staticmethod]
    fn of(py: Python<'_>, matrix: &Matrix, by: &str) -> PyResult<Self> {
        count();
        let by = by.parse::<PreconditionerKind>().map_err(exception)?;
        py.detach(|| matrix.0.preconditioner(by)).map(Self).map_err(exception)
    }

    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.0.nrows(), self.0.nrows())
    }

    /// NumPy's character of the type of the values.
    #[getter]
    fn dtype(&self) -> char {
        char_of(self.0.dtype())
    }

    #[getter]
    fn device(&self) -> String {
        self.0.device().to_string()
    }

    /// Takes other values of the same pattern.
    fn update(&self, py: Python<'_>, matrix: &Matrix) -> PyResult<()> {
        count();
        let mut shared = self.0.clone();
        py.detach(|| shared.update(&matrix.0)).map_err(exception)
    }

    /// Writes K⁻¹·r to `out`, with the one operand as r.
    fn apply<'py>(&self, py: Python<'py>, inputs: [Operand<'py>; 1], out: Operand<'py>) -> PyResult<()> {
        count();
        with_values!(self.0.dtype(), T => {
            // SAFETY: as in `Plan::run`.
            let (r, out) = unsafe { (inputs[0].input::<T>("r")?, out.output::<T>("out")?) };
            py.detach(|| apply(&self.0, &r, out))
        })
        .map_err(exception)
    }
}

fn apply<T: Value>(
    preconditioner: &nnz::Preconditioner,
    r: &Input<'_, T>,
    mut out: Output<'_, T>,
) -> Result<()> {
    let (device, zero) = (preconditioner.device(), c64::new(0.0, 0.0));
    // SAFETY: as in `Plan::run`.
    let (r, mut result) = unsafe { (r.matrix(device)?.into_values(), out.vector(device, zero)?) };
    preconditioner.apply_into(&r, &mut result)?;
    out.store(&result)
}

/// The stopping criteria ‖b − A·x‖ ≤ max(rtol·‖b‖, atol), the most iterations, and the cycle of GMRES.
#[derive(FromPyObject, Clone, Copy)]
pub(crate) struct Limits(f64, f64, Option<usize>, usize);

/// b, where x begins, if not at 0, and the array that takes it.
#[derive(FromPyObject)]
pub(crate) struct Vectors<'py>(Operand<'py>, Option<Operand<'py>>, Operand<'py>);

/// A solver of one matrix, whose plan and vectors serve many right-hand sides.
#[pyclass(frozen, module = "nnz._native")]
pub(crate) struct Solver {
    solver: Exclusive<nnz::Solver>,
    shape: (usize, usize),
    dtype: DType,
    device: Device,
}

/// The name of a [`Solver`] in errors.
const SOLVER: &str = "the solver";

#[pymethods]
impl Solver {
    /// The solver of a matrix by `cg`, `enqueued-cg`, `bicgstab`, `gmres` or `minres`.
    #[staticmethod]
    #[pyo3(signature = (a, method, limits, preconditioner=None))]
    fn of(
        py: Python<'_>,
        a: &Matrix,
        method: &str,
        limits: Limits,
        preconditioner: Option<&Preconditioner>,
    ) -> PyResult<Self> {
        count();
        let options = limits.options(method.parse().map_err(exception)?, limits.0);
        let solver = py.detach(|| solver_of(&a.0, &options, preconditioner)).map_err(exception)?;
        let (shape, dtype, device) = (a.0.shape(), a.0.dtype(), a.0.device().clone());
        Ok(Self { solver: Exclusive::new(solver), shape, dtype, device })
    }

    #[getter]
    fn shape(&self) -> (usize, usize) {
        self.shape
    }

    /// NumPy's character of the type of the values.
    #[getter]
    fn dtype(&self) -> char {
        char_of(self.dtype)
    }

    #[getter]
    fn device(&self) -> String {
        self.device.to_string()
    }

    /// Takes other values of the same pattern.
    fn update(&self, py: Python<'_>, a: &Matrix) -> PyResult<()> {
        count();
        Signals::watch(py, |look| self.solver.lock(SOLVER, look)?.update(&a.0).map_err(exception))
    }

    /// Solves A·x = b: (converged, iterations).
    fn solve<'py>(&self, py: Python<'py>, vectors: Vectors<'py>) -> PyResult<(bool, usize)> {
        count();
        let Vectors(b, x0, out) = vectors;
        with_values!(self.dtype, T => {
            // SAFETY: as in `Plan::run`.
            let (b, x0, out) = unsafe {
                let x0 = x0.as_ref().map(|x0| x0.input::<T>("x0")).transpose()?;
                (b.input::<T>("b")?, x0, out.output::<T>("out")?)
            };
            Signals::watch(py, |look| {
                let mut solver = self.solver.lock(SOLVER, look)?;
                let solve = |b: &_, x: &mut _, _| solver.solve_from(b, x, |_| look());
                run(&self.device, &b, x0.as_ref(), out, solve).map_err(exception)
            })
        })
    }
}

/// Solves A·x = b once: (converged, iterations).
#[pyfunction]
#[pyo3(signature = (a, method, vectors, limits, preconditioner=None))]
pub(crate) fn solve<'py>(
    py: Python<'py>,
    a: &Matrix,
    method: &str,
    vectors: Vectors<'py>,
    limits: Limits,
    preconditioner: Option<&Preconditioner>,
) -> PyResult<(bool, usize)> {
    count();
    let Vectors(b, x0, out) = vectors;
    let method = method.parse().map_err(exception)?;
    with_values!(a.0.dtype(), T => {
        // SAFETY: as in `Plan::run`.
        let (b, x0, out) = unsafe {
            let x0 = x0.as_ref().map(|x0| x0.input::<T>("x0")).transpose()?;
            (b.input::<T>("b")?, x0, out.output::<T>("out")?)
        };
        Signals::watch(py, |look| {
            run(a.0.device(), &b, x0.as_ref(), out, |b, x, norm| {
                let options = limits.options(method, limits.0.max(limits.1 / norm));
                solver_of(&a.0, &options, preconditioner)?.solve_from(b, x, |_| look())
            })
            .map_err(exception)
        })
    })
}

impl Limits {
    fn options(self, method: Method, tolerance: f64) -> SolveOptions {
        let Self(_, _, max_iterations, restart) = self;
        let solver = SolverOptions { tolerance, max_iterations, restart, ..SolverOptions::default() };
        SolveOptions { solver, ..SolveOptions::new(method) }
    }
}

fn solver_of(
    a: &nnz::Matrix,
    options: &SolveOptions,
    preconditioner: Option<&Preconditioner>,
) -> Result<nnz::Solver> {
    match preconditioner {
        Some(of) => a.solver_with(options, &of.0),
        None => a.solver(options),
    }
}

/// Calls `solve` with b, the x to begin with, and ‖b‖, and stores x: (converged, iterations).
fn run<T: Value>(
    device: &Device,
    b: &Input<'_, T>,
    x0: Option<&Input<'_, T>>,
    mut out: Output<'_, T>,
    solve: impl FnOnce(&nnz::Vector, &mut nnz::Vector, f64) -> Result<Solution>,
) -> Result<(bool, usize)> {
    let zero = c64::new(0.0, 0.0);
    // SAFETY: as in `Plan::run`.
    let (b, mut x) = unsafe { (b.matrix(device)?.into_values(), out.vector(device, zero)?) };
    let norm = b.nrm2()?;
    match x0 {
        // SAFETY: as above.
        Some(x0) if norm != 0.0 => x.axpby(1.0, unsafe { x0.matrix(device)? }.values(), zero)?,
        _ => x.axpby(zero, &b, zero)?,
    }
    // A NaN is no zero: the method says that it cannot begin.
    let found = if norm == 0.0 {
        (true, 0)
    } else {
        let solution = solve(&b, &mut x, norm)?;
        (solution.converged(), solution.iterations)
    };
    out.store(&x)?;
    Ok(found)
}

/// `damp`, the stopping criteria `atol`, `btol` and `conlim`, and the most iterations of LSQR.
#[derive(FromPyObject, Clone, Copy)]
pub(crate) struct LeastSquaresLimits(f64, f64, f64, f64, Option<usize>);

impl LeastSquaresLimits {
    fn options(self) -> SolveOptions {
        let Self(damp, atol, btol, condition_limit, max_iterations) = self;
        let least_squares = LeastSquaresOptions { damp, atol: Some(atol), btol: Some(btol), condition_limit };
        let options = SolverOptions { max_iterations, least_squares, ..SolverOptions::default() };
        SolveOptions { solver: options, ..SolveOptions::new(Method::Lsqr) }
    }
}

/// The results of SciPy's `lsqr` beside x: `istop` (`None` for an outcome that SciPy has no number for), `itn`,
/// `r1norm`, `r2norm`, `anorm`, `acond`, `arnorm` and `xnorm`.
type LeastSquaresFound = (Option<u8>, usize, f64, f64, f64, f64, f64, f64);

/// Minimizes ‖b − A·x‖² + damp²·‖x − x₀‖² from the x₀ that `x` has, which takes the solution.
#[pyfunction]
pub(crate) fn lsqr<'py>(
    py: Python<'py>,
    a: &Matrix,
    b: Operand<'py>,
    x: Operand<'py>,
    limits: LeastSquaresLimits,
) -> PyResult<LeastSquaresFound> {
    count();
    with_values!(a.0.dtype(), T => {
        // SAFETY: as in `Plan::run`.
        let (b, x) = unsafe { (b.input::<T>("b")?, x.output::<T>("x")?) };
        Signals::watch(py, |look| minimize(&a.0, &b, x, limits, look).map_err(exception))
    })
}

fn minimize<T: Value>(
    a: &nnz::Matrix,
    b: &Input<'_, T>,
    mut out: Output<'_, T>,
    limits: LeastSquaresLimits,
    look: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<LeastSquaresFound> {
    // SAFETY: as in `Plan::run`.
    let (b, mut x) = unsafe { (b.matrix(a.device())?.into_values(), out.vector(a.device(), c64::ONE)?) };
    let mut moved = nnz::Vector::zeros(a.device(), a.dtype(), x.len())?;
    moved.axpby(-1.0, &x, 0.0)?;
    let found = a.solve_from(&b, &mut x, &limits.options(), |_| look())?;
    moved.axpby(1.0, &x, 1.0)?;
    let damped = found.residual.hypot(limits.0 * moved.nrm2()?);
    let (norm, condition) = found.estimates.map_or((0.0, 0.0), |of| (of.norm, of.condition));
    let (istop, normal_residual) = (istop(&found), found.normal_residual.unwrap_or(f64::NAN));
    let norm_x = x.nrm2()?;
    out.store(&x)?;
    Ok((istop, found.iterations, found.residual, damped, norm, condition, normal_residual, norm_x))
}

/// The `istop` of SciPy's `lsqr`, if it has one for the outcome.
fn istop(found: &Solution) -> Option<u8> {
    match found.outcome {
        // x₀ is a solution.
        Outcome::Converged | Outcome::LeastSquares if found.iterations == 0 => Some(0),
        Outcome::Converged => Some(1),
        Outcome::LeastSquares => Some(2),
        Outcome::Breakdown(Breakdown::IllConditioned) => Some(3),
        Outcome::IterationLimit => Some(7),
        _ => None,
    }
}
