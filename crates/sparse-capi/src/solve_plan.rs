//! Plans of solutions, for many right-hand sides and for other values.

use crate::Matrix;
use crate::failure::{Status, reported};
use crate::pointers::{boxed, dropped, given, put};
use crate::product::{Solution, SolverOptions, solve_by};
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// `nnz_solve_plan`: a solver of a matrix, which one thread runs at a time.
#[derive(Debug)]
pub struct SolvePlan(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    solver: nnz::Solver,
    /// The matrix that was given last.
    matrix: nnz::Matrix,
}

impl SolvePlan {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A run that panicked leaves vectors behind that the next one writes before it reads.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `nnz_plan_solve`.
///
/// # Safety
/// `matrix` is null or alive; `options` is null or may be read; `plan` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_plan_solve(
    matrix: *const Matrix,
    options: *const SolverOptions,
    plan: *mut *mut SolvePlan,
) -> Status {
    // SAFETY: the caller promises what is asked.
    reported(|| unsafe {
        put("plan", plan, || {
            let matrix = given("matrix", matrix)?.0.clone();
            let solver = matrix.solver(&given("options", options)?.to_rust()?)?;
            Ok(boxed(SolvePlan(Mutex::new(Inner { solver, matrix }))))
        })
    })
}

/// `nnz_run_solve`.
///
/// # Safety
/// The pointers are what `nnz.h` asks for, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_run_solve(
    plan: *const SolvePlan,
    b: *const c_void,
    x: *mut c_void,
    solution: *mut Solution,
) -> Status {
    // SAFETY: the caller promises what is asked.
    reported(|| unsafe {
        put("solution", solution, || {
            let mut plan = given("plan", plan)?.lock();
            let Inner { solver, matrix } = &mut *plan;
            solve_by(solver, matrix, b, x)
        })
    })
}

/// `nnz_update_solve`.
///
/// # Safety
/// `plan` and `matrix` are null or alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_update_solve(plan: *const SolvePlan, matrix: *const Matrix) -> Status {
    // SAFETY: the caller promises what is asked.
    reported(|| unsafe {
        let (mut plan, matrix) = (given("plan", plan)?.lock(), &given("matrix", matrix)?.0);
        plan.solver.update(matrix)?;
        plan.matrix = matrix.clone();
        Ok(())
    })
}

/// `nnz_release_solve_plan`.
///
/// # Safety
/// `plan` is null or came from this library, and is used no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_release_solve_plan(plan: *mut SolvePlan) {
    // SAFETY: the caller promises what is asked.
    unsafe { dropped(plan) }
}
