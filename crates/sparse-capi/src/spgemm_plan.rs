//! Plans of products of two sparse matrices.

use crate::Matrix;
use crate::derived::check_factors;
use crate::failure::{Status, reported};
use crate::pointers::{boxed, dropped, given, put, put_matrix};
use nnz::{MatrixSpgemmPlan, PlanOptions};
use std::sync::{Mutex, PoisonError};

/// `nnz_spgemm_plan`: a plan of a product, which one thread runs at a time.
#[derive(Debug)]
pub struct SpgemmPlan(Mutex<MatrixSpgemmPlan>);

/// `nnz_plan_spgemm`.
///
/// # Safety
/// `a` and `b` are null or alive; `plan` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_plan_spgemm(
    a: *const Matrix,
    b: *const Matrix,
    plan: *mut *mut SpgemmPlan,
) -> Status {
    // SAFETY: the caller promises what is asked.
    reported(|| unsafe {
        put("plan", plan, || {
            let (a, b) = (&given("a", a)?.0, &given("b", b)?.0);
            check_factors(a, b)?;
            Ok(boxed(SpgemmPlan(Mutex::new(a.plan_spgemm(b, &PlanOptions::default())?))))
        })
    })
}

/// `nnz_run_spgemm`.
///
/// # Safety
/// `plan`, `a` and `b` are null or alive; `made` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_run_spgemm(
    plan: *const SpgemmPlan,
    a: *const Matrix,
    b: *const Matrix,
    made: *mut *mut Matrix,
) -> Status {
    // SAFETY: the caller promises what is asked.
    unsafe {
        put_matrix(made, || {
            let (plan, a, b) = (given("plan", plan)?, given("a", a)?, given("b", b)?);
            // A run that panicked leaves workspace behind that the next one writes before it reads.
            let mut plan = plan.0.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(plan.run(&a.0, &b.0)?)
        })
    }
}

/// `nnz_release_spgemm_plan`.
///
/// # Safety
/// `plan` is null or came from this library, and is used no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_release_spgemm_plan(plan: *mut SpgemmPlan) {
    // SAFETY: the caller promises what is asked.
    unsafe { dropped(plan) }
}
