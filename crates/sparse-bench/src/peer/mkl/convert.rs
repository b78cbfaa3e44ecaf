//! Conversions to CSR, and sparse products and sums.

use super::functions::{FROM_ZERO, GENERAL, PLAIN, ROW_MAJOR};
use super::library::Mkl;
use super::matrix::{SparseMatrix, available, check};
use crate::measure::Contender;
use crate::sparse_product::chained;
use crate::value::Value;
use anyhow::{Result, ensure};
use sparse_core::{Coo, Csr};
use std::ptr;

const DIFFERENT: &str = "its CSR differs from the reference";

/// COO to CSR with its rows in order, duplicates added.
pub(crate) fn coo_to_csr<'a, T: Value>(
    library: &'a Mkl,
    a: &'a Coo<T>,
    expected: &Csr<T>,
) -> Vec<Contender<'a>> {
    let make = move || sorted_csr(library, a);
    available([("convert_csr", checked("mkl:convert_csr", make, expected))])
}

/// Dense to CSR of `n` rows and columns.
pub(crate) fn dense_to_csr<'a, T: Value>(
    library: &'a Mkl,
    dense: &'a [T],
    n: usize,
    expected: &Csr<T>,
) -> Vec<Contender<'a>> {
    available([
        ("dense2csr", checked("mkl:dense2csr", move || dense2csr(library, dense, n), expected)),
        ("dnscsr", dnscsr(library, dense, n, expected)),
    ])
}

/// The product of the factors, from the last two on, with its rows in order, and as the library leaves them.
pub(crate) fn spgemm<'a, T: Value>(
    library: &'a Mkl,
    factors: &[&'a Csr<T>],
    expected: &Csr<T>,
) -> Vec<Contender<'a>> {
    let (factors, others) = (factors.to_vec(), factors.to_vec());
    let unordered = Contender::new("mkl:spmm_unordered", move || product(library, &others).map(drop));
    let ordered = checked("mkl:spmm", move || product(library, &factors)?.ordered(), expected);
    available([("spmm", ordered), ("spmm_unordered", Ok(unordered))])
}

/// A + B with its rows in order.
pub(crate) fn add<'a, T: Value>(
    library: &'a Mkl,
    a: &'a Csr<T>,
    b: &'a Csr<T>,
    expected: &Csr<T>,
) -> Vec<Contender<'a>> {
    available([("add", checked("mkl:add", move || sum(library, a, b)?.ordered(), expected))])
}

fn product<'a, T: Value>(library: &'a Mkl, factors: &[&'a Csr<T>]) -> Result<SparseMatrix<'a>> {
    let multiply = library.sparse_spmm()?;
    let factors = factors.iter().map(|a| SparseMatrix::of(library, a)).collect::<Result<Vec<_>>>()?;
    let factors: Vec<_> = factors.iter().collect();
    chained(&factors, |a, b| {
        SparseMatrix::create(library, "mkl_sparse_spmm", |handle| {
            // SAFETY: the handles of the factors are alive.
            unsafe { multiply(PLAIN, a.handle, b.handle, handle) }
        })
    })
}

fn sum<'a, T: Value>(library: &'a Mkl, a: &'a Csr<T>, b: &'a Csr<T>) -> Result<SparseMatrix<'a>> {
    let add = library.sparse_add()?;
    let (a, b) = (SparseMatrix::of(library, a)?, SparseMatrix::of(library, b)?);
    SparseMatrix::create(library, "mkl_sparse_?_add", |handle| {
        // SAFETY: the handles of the summands are alive.
        unsafe { add(PLAIN, a.handle, T::ONE, b.handle, handle) }
    })
}

/// A conversion as a contender, once its matrix is checked.
fn checked<'a, T: Value>(
    name: &str,
    make: impl Fn() -> Result<SparseMatrix<'a>> + 'a,
    expected: &Csr<T>,
) -> Result<Contender<'a>> {
    make()?.check(expected)?;
    Ok(Contender::new(name, move || make().map(drop)))
}

fn sorted_csr<'a, T: Value>(library: &'a Mkl, a: &'a Coo<T>) -> Result<SparseMatrix<'a>> {
    let (create, convert) = (library.sparse_create_coo()?, library.sparse_convert_csr()?);
    let (rows, cols, nnz) = (i32::try_from(a.nrows())?, i32::try_from(a.ncols())?, i32::try_from(a.nnz())?);
    let (row_idx, col_idx) = (a.row_idx().as_ptr().cast_mut(), a.col_idx().as_ptr().cast_mut());
    let values = a.values().as_ptr().cast_mut();
    let coo = SparseMatrix::create(library, "mkl_sparse_?_create_coo", |handle| {
        // SAFETY: the arrays are those of a valid matrix, which is borrowed; the conversion does not write them.
        unsafe { create(handle, FROM_ZERO, rows, cols, nnz, row_idx, col_idx, values) }
    })?;
    let csr = SparseMatrix::create(library, "mkl_sparse_convert_csr", |handle| {
        // SAFETY: the handle of the input is alive.
        unsafe { convert(coo.handle, PLAIN, handle) }
    })?;
    csr.ordered()
}

fn dense2csr<'a, T: Value>(library: &'a Mkl, dense: &'a [T], n: usize) -> Result<SparseMatrix<'a>> {
    let convert = library.sparse_dense2csr()?;
    let n = i32::try_from(n)?;
    SparseMatrix::create(library, "mkl_sparse_?_dense2csr", |handle| {
        // SAFETY: there are n² elements.
        unsafe { convert(n, n, ROW_MAJOR, n, dense.as_ptr(), FROM_ZERO, GENERAL, handle) }
    })
}

/// The routine without handles, into arrays that are allocated before.
fn dnscsr<'a, T: Value>(
    library: &'a Mkl,
    dense: &'a [T],
    n: usize,
    expected: &Csr<T>,
) -> Result<Contender<'a>> {
    let convert = library.dnscsr()?;
    let (n, nnz) = (i32::try_from(n)?, i32::try_from(expected.nnz())?);
    // From dense, all indices from zero, the whole matrix, the capacity in entries, all three arrays.
    let job = [0, 0, 0, 2, nnz, 1];
    let mut made = (vec![0; expected.nrows() + 1], vec![0; expected.nnz()], vec![T::ZERO; expected.nnz()]);
    let run = move |(offsets, indices, values): &mut (Vec<i32>, Vec<i32>, Vec<T>)| {
        let (mut info, dense) = (0, dense.as_ptr().cast_mut());
        let (acsr, ja, ia) = (values.as_mut_ptr(), indices.as_mut_ptr(), offsets.as_mut_ptr());
        // SAFETY: there are n² elements, which this direction does not write, and the arrays are long enough for all
        // entries and offsets.
        unsafe { convert(job.as_ptr(), &n, &n, dense, &n, acsr, ja, ia, &raw mut info) };
        ensure!(info == 0, "mkl_?dnscsr stopped in row {info}");
        Ok(())
    };
    run(&mut made)?;
    ensure!(
        (&made.0, &made.1, &made.2) == (expected.row_ptr(), expected.col_idx(), expected.values()),
        DIFFERENT
    );
    Ok(Contender::new("mkl:dnscsr", move || run(&mut made)))
}

impl SparseMatrix<'_> {
    /// The matrix, which the library has made, with its rows in order.
    fn ordered(self) -> Result<Self> {
        let order = self.library.sparse_order()?;
        // SAFETY: the handle is alive, and its arrays are its own.
        check("mkl_sparse_order", unsafe { order(self.handle) })?;
        Ok(self)
    }

    /// An error unless it is the expected matrix.
    fn check<T: Value>(&self, expected: &Csr<T>) -> Result<()> {
        let export = self.library.sparse_export_csr::<T>()?;
        let (mut indexing, mut rows, mut cols) = (0, 0, 0);
        let (mut begin, mut end) = (ptr::null_mut(), ptr::null_mut());
        let (mut indices, mut values) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the handle is alive; the call writes the addresses of its arrays.
        let status = unsafe {
            export(
                self.handle,
                &raw mut indexing,
                &raw mut rows,
                &raw mut cols,
                &raw mut begin,
                &raw mut end,
                &raw mut indices,
                &raw mut values,
            )
        };
        check("mkl_sparse_?_export_csr", status)?;
        ensure!(
            (rows as usize, cols as usize) == (expected.nrows(), expected.ncols()),
            "the shape is {rows} × {cols}"
        );
        // SAFETY: each array has an element for each row, and the arrays live as long as the handle.
        let offsets = unsafe { std::slice::from_raw_parts(end, rows as usize) };
        ensure!(offsets == &expected.row_ptr()[1..], DIFFERENT);
        // SAFETY: the number of entries is the last offset, which is that of the reference.
        let (indices, values) = unsafe {
            (
                std::slice::from_raw_parts(indices, expected.nnz()),
                std::slice::from_raw_parts(values, expected.nnz()),
            )
        };
        ensure!(indices == expected.col_idx() && values == expected.values(), DIFFERENT);
        Ok(())
    }
}
