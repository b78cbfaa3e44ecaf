//! SpMV and SpMM: the plain routines, which take CSR as it is, and the inspector-executor, which analyses it before.

use super::functions::{FROM_ZERO, GENERAL, Handle, LOWER, PLAIN, ROW_MAJOR};
use super::library::Mkl;
use super::matrix::{SparseMatrix, available, check};
use crate::product::Product;
use crate::value::Value;
use anyhow::{Result, ensure};
use sparse_core::{Csr, Host};
use std::ffi::c_char;
use std::time::Instant;

/// The number of calls that the inspector is told to expect.
const EXPECTED_CALLS: i32 = 1000;
/// No transpose.
const NO: *const c_char = c"N".as_ptr();
/// A general matrix, indices from zero, dense matrices by rows.
const FORMAT: *const c_char = c"G__C__".as_ptr();

/// `y = A·x` by each of its interfaces.
pub(crate) fn spmv<'a, T: Value>(library: &'a Mkl, a: &'a Csr<T>, x: &'a [T]) -> Vec<Product<'a, T, Host>> {
    available([
        ("csrmv", csrmv(library, a, x)),
        ("csrgemv", csrgemv(library, a, x)),
        ("inspector", inspected_spmv(library, a, x)),
    ])
}

/// `L·x = b` by its inspector-executor.
pub(crate) fn trisolve<'a, T: Value>(
    library: &'a Mkl,
    l: &'a Csr<T>,
    b: &'a [T],
) -> Vec<Product<'a, T, Host>> {
    available([("inspector", inspected_trisolve(library, l, b))])
}

/// `C = A·B` by each of its interfaces, B and C by rows of `columns`.
pub(crate) fn spmm<'a, T: Value>(
    library: &'a Mkl,
    a: &'a Csr<T>,
    b: &'a [T],
    columns: usize,
) -> Vec<Product<'a, T, Host>> {
    available([
        ("csrmm", csrmm(library, a, b, columns)),
        ("inspector", inspected_spmm(library, a, b, columns)),
    ])
}

/// A matrix in MKL's types, which are not const: borrowed, for nothing here asks MKL to write it.
struct Arrays<T> {
    rows: i32,
    cols: i32,
    begin: *mut i32,
    end: *mut i32,
    indices: *mut i32,
    values: *mut T,
}

impl<T: Value> Arrays<T> {
    fn of(a: &Csr<T>) -> Result<Self> {
        Ok(Self {
            rows: i32::try_from(a.nrows())?,
            cols: i32::try_from(a.ncols())?,
            begin: a.row_ptr().as_ptr().cast_mut(),
            end: a.row_ptr()[1..].as_ptr().cast_mut(),
            indices: a.col_idx().as_ptr().cast_mut(),
            values: a.values().as_ptr().cast_mut(),
        })
    }
}

fn csrmv<'a, T: Value>(library: &'a Mkl, a: &'a Csr<T>, x: &'a [T]) -> Result<Product<'a, T, Host>> {
    let csrmv = library.csrmv()?;
    let Arrays { rows, cols, begin, end, indices, values } = Arrays::of(a)?;
    Ok(Product::on_host("mkl:csrmv", None, move |y| {
        let (x, y) = (x.as_ptr(), y.as_mut_ptr());
        // SAFETY: the arrays are those of a valid matrix, x and y have as many elements as it has columns and rows.
        unsafe {
            csrmv(NO, &rows, &cols, &T::ONE, FORMAT, values, indices, begin, end, x, &T::ZERO, y);
        }
        Ok(())
    }))
}

fn csrgemv<'a, T: Value>(library: &'a Mkl, a: &'a Csr<T>, x: &'a [T]) -> Result<Product<'a, T, Host>> {
    ensure!(a.nrows() == a.ncols(), "it takes square matrices only");
    let csrgemv = library.csrgemv()?;
    let Arrays { rows, begin: offsets, indices, values, .. } = Arrays::of(a)?;
    Ok(Product::on_host("mkl:csrgemv", None, move |y| {
        // SAFETY: the arrays are those of a valid square matrix, x and y have as many elements as it has rows.
        unsafe { csrgemv(NO, &rows, values, offsets, indices, x.as_ptr(), y.as_mut_ptr()) };
        Ok(())
    }))
}

fn csrmm<'a, T: Value>(
    library: &'a Mkl,
    a: &'a Csr<T>,
    b: &'a [T],
    columns: usize,
) -> Result<Product<'a, T, Host>> {
    let csrmm = library.csrmm()?;
    let columns = i32::try_from(columns)?;
    let Arrays { rows, cols, begin, end, indices, values } = Arrays::of(a)?;
    Ok(Product::on_host("mkl:csrmm", None, move |c| {
        let (b, c, ld) = (b.as_ptr(), c.as_mut_ptr(), &columns);
        // SAFETY: the arrays are those of a valid matrix; B has a row for each of its columns, C for each of its rows.
        unsafe {
            csrmm(NO, &rows, ld, &cols, &T::ONE, FORMAT, values, indices, begin, end, b, ld, &T::ZERO, c, ld);
        }
        Ok(())
    }))
}

impl<'a> SparseMatrix<'a> {
    /// The arrays of a matrix, unconverted.
    pub(super) fn of<T: Value>(library: &'a Mkl, a: &'a Csr<T>) -> Result<Self> {
        let create = library.sparse_create_csr()?;
        let Arrays { rows, cols, begin, end, indices, values } = Arrays::of(a)?;
        Self::create(library, "mkl_sparse_?_create_csr", |handle| {
            // SAFETY: the arrays are those of a valid matrix, which is borrowed; nothing here asks MKL to write them.
            unsafe { create(handle, FROM_ZERO, rows, cols, begin, end, indices, values) }
        })
    }

    /// The handle, for closures: they would capture the field alone and drop the matrix.
    fn handle(&self) -> Handle {
        self.handle
    }

    /// Runs the inspector, after its hints.
    fn optimize(&self) -> Result<()> {
        let optimize = self.library.sparse_optimize()?;
        // SAFETY: the handle is alive.
        Ok(check("mkl_sparse_optimize", unsafe { optimize(self.handle) })?)
    }
}

fn inspected_spmv<'a, T: Value>(library: &'a Mkl, a: &'a Csr<T>, x: &'a [T]) -> Result<Product<'a, T, Host>> {
    let (hint, multiply) = (library.sparse_set_mv_hint()?, library.sparse_mv()?);
    let begin = Instant::now();
    let matrix = SparseMatrix::of(library, a)?;
    // SAFETY: the handle is alive.
    check("mkl_sparse_set_mv_hint", unsafe { hint(matrix.handle, PLAIN, GENERAL, EXPECTED_CALLS) })?;
    matrix.optimize()?;
    let seconds = begin.elapsed().as_secs_f64();
    Ok(Product::on_host("mkl:inspector", Some(seconds), move |y| {
        let (x, y) = (x.as_ptr(), y.as_mut_ptr());
        // SAFETY: the handle is alive; x and y have as many elements as the matrix has columns and rows.
        check("mkl_sparse_?_mv", unsafe { multiply(PLAIN, T::ONE, matrix.handle(), GENERAL, x, T::ZERO, y) })
    }))
}

fn inspected_spmm<'a, T: Value>(
    library: &'a Mkl,
    a: &'a Csr<T>,
    b: &'a [T],
    columns: usize,
) -> Result<Product<'a, T, Host>> {
    let (hint, multiply) = (library.sparse_set_mm_hint()?, library.sparse_mm()?);
    let columns = i32::try_from(columns)?;
    let begin = Instant::now();
    let matrix = SparseMatrix::of(library, a)?;
    // SAFETY: the handle is alive.
    let status = unsafe { hint(matrix.handle, PLAIN, GENERAL, ROW_MAJOR, columns, EXPECTED_CALLS) };
    check("mkl_sparse_set_mm_hint", status)?;
    matrix.optimize()?;
    let seconds = begin.elapsed().as_secs_f64();
    Ok(Product::on_host("mkl:inspector", Some(seconds), move |c| {
        let (b, c) = (b.as_ptr(), c.as_mut_ptr());
        // SAFETY: the handle is alive; B has a row for each column of the matrix, C for each of its rows.
        let status = unsafe {
            multiply(
                PLAIN,
                T::ONE,
                matrix.handle(),
                GENERAL,
                ROW_MAJOR,
                b,
                columns,
                columns,
                T::ZERO,
                c,
                columns,
            )
        };
        check("mkl_sparse_?_mm", status)
    }))
}

fn inspected_trisolve<'a, T: Value>(
    library: &'a Mkl,
    l: &'a Csr<T>,
    b: &'a [T],
) -> Result<Product<'a, T, Host>> {
    let (hint, solve) = (library.sparse_set_sv_hint()?, library.sparse_trsv()?);
    let begin = Instant::now();
    let matrix = SparseMatrix::of(library, l)?;
    // SAFETY: the handle is alive.
    check("mkl_sparse_set_sv_hint", unsafe { hint(matrix.handle, PLAIN, LOWER, EXPECTED_CALLS) })?;
    matrix.optimize()?;
    let seconds = begin.elapsed().as_secs_f64();
    Ok(Product::on_host("mkl:inspector", Some(seconds), move |x| {
        let (b, x) = (b.as_ptr(), x.as_mut_ptr());
        // SAFETY: the handle is alive; b and x have as many elements as the matrix has rows.
        check("mkl_sparse_?_trsv", unsafe { solve(PLAIN, T::ONE, matrix.handle(), LOWER, b, x) })
    }))
}
