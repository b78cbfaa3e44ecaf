//! Bytes that have to move: every operand and result once.

use crate::value::Value;
use sparse_core::{Coo, Csr, Space};

/// Bytes of an index or an offset.
pub(crate) const INDEX: usize = size_of::<i32>();

/// Bytes of the indices and values of `nnz` entries.
pub(crate) fn entries<T: Value>(nnz: usize) -> usize {
    (INDEX + size_of::<T>()) * nnz
}

/// `y = A·x`, or `L·x = b`.
pub(crate) fn spmv<T: Value, S: Space>(a: &Csr<T, S>) -> usize {
    entries::<T>(a.nnz()) + INDEX * (a.nrows() + 1) + size_of::<T>() * (a.nrows() + a.ncols())
}

/// `y = A·x` in COO.
pub(crate) fn coo_spmv<T: Value, S: Space>(a: &Coo<T, S>) -> usize {
    entries::<T>(a.nnz()) + INDEX * a.nnz() + size_of::<T>() * (a.nrows() + a.ncols())
}

/// A product with dense matrices of `columns`, one with a row for each row of A, one with a row for each column:
/// `C = A·B`, or `U·Vᵀ` at the entries.
pub(crate) fn with_dense<T: Value, S: Space>(a: &Csr<T, S>, columns: usize) -> usize {
    entries::<T>(a.nnz()) + INDEX * a.nrows() + size_of::<T>() * columns * (a.nrows() + a.ncols())
}

/// `A + Aᵀ` with `sum` entries.
pub(crate) fn add<T: Value, S: Space>(a: &Csr<T, S>, sum: usize) -> usize {
    entries::<T>(2 * a.nnz() + sum) + 3 * INDEX * (a.nrows() + 1)
}

/// COO of `nnz` entries to a CSR without its duplicates.
pub(crate) fn coo_to_csr<T: Value, S: Space>(nnz: usize, csr: &Csr<T, S>) -> usize {
    entries::<T>(nnz + csr.nnz()) + INDEX * (nnz + csr.nrows())
}

/// A dense matrix of `elements` elements to compressed arrays.
pub(crate) fn compress<T: Value>(elements: usize, nnz: usize, offsets: usize) -> usize {
    size_of::<T>() * elements + entries::<T>(nnz) + INDEX * offsets
}
