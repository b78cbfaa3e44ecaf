//! Matrices made of other matrices.

use crate::failure::{Failure, Status};
use crate::memory::list;
use crate::names::{self, MatrixFormat, Type};
use crate::pointers::{given, put_matrix};
use crate::{Complex, Matrix};

/// `nnz_convert`.
///
/// # Safety
/// `matrix` is null or alive; `made` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_convert(
    matrix: *const Matrix,
    format: MatrixFormat,
    made: *mut *mut Matrix,
) -> Status {
    // SAFETY: the caller promises what is asked.
    unsafe { put_matrix(made, || Ok(given("matrix", matrix)?.0.to_format(names::format(format)?)?)) }
}

/// `nnz_cast`.
///
/// # Safety
/// `matrix` is null or alive; `made` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_cast(matrix: *const Matrix, scalar: Type, made: *mut *mut Matrix) -> Status {
    // SAFETY: the caller promises what is asked.
    unsafe { put_matrix(made, || Ok(given("matrix", matrix)?.0.cast(names::dtype(scalar)?)?)) }
}

/// `nnz_transpose`.
///
/// # Safety
/// `matrix` is null or alive; `made` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_transpose(matrix: *const Matrix, made: *mut *mut Matrix) -> Status {
    // SAFETY: the caller promises what is asked.
    unsafe { put_matrix(made, || Ok(given("matrix", matrix)?.0.transpose()?)) }
}

/// `nnz_spgemm`.
///
/// # Safety
/// `a` and `b` are null or alive; `made` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_spgemm(a: *const Matrix, b: *const Matrix, made: *mut *mut Matrix) -> Status {
    // SAFETY: the caller promises what is asked.
    unsafe {
        put_matrix(made, || {
            let (a, b) = (&given("a", a)?.0, &given("b", b)?.0);
            check_factors(a, b)?;
            Ok(a.matmul_sparse(b)?)
        })
    }
}

/// `nnz_add`.
///
/// # Safety
/// `a` and `b` are null or alive; `made` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_add(
    alpha: Complex,
    a: *const Matrix,
    beta: Complex,
    b: *const Matrix,
    made: *mut *mut Matrix,
) -> Status {
    // SAFETY: the caller promises what is asked.
    unsafe {
        put_matrix(made, || {
            let (a, b) = (&given("a", a)?.0, &given("b", b)?.0);
            check_types(a, b)?;
            Ok(a.add(b, alpha, beta)?)
        })
    }
}

fn check_types(a: &nnz::Matrix, b: &nnz::Matrix) -> Result<(), Failure> {
    if a.dtype() == b.dtype() {
        return Ok(());
    }
    let types = format!("a is {}, b is {}", a.dtype(), b.dtype());
    Err(Failure::unsupported(format!("{types}: nnz_cast makes them one type")))
}

/// An error unless the factors of a sparse product have one type and one format.
pub(crate) fn check_factors(a: &nnz::Matrix, b: &nnz::Matrix) -> Result<(), Failure> {
    check_types(a, b)?;
    if a.format() == b.format() {
        return Ok(());
    }
    let formats = format!("a is {}, b is {}", a.format(), b.format());
    Err(Failure::unsupported(format!("{formats}: nnz_convert makes them one format")))
}

/// `nnz_select`.
///
/// # Safety
/// The pointers are what `nnz.h` asks for, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_select(
    matrix: *const Matrix,
    row_count: usize,
    rows: *const usize,
    col_count: usize,
    cols: *const usize,
    made: *mut *mut Matrix,
) -> Status {
    // SAFETY: the caller promises what is asked.
    unsafe {
        put_matrix(made, || {
            let matrix = given("matrix", matrix)?;
            let (rows, cols) = (list("rows", rows, row_count)?, list("cols", cols, col_count)?);
            Ok(matrix.0.select(rows, cols)?)
        })
    }
}
