//! The libraries to compare with. A contender has its own copy of the matrix in its own format, made outside the timed
//! runs.

pub(crate) mod call;
pub(crate) mod cublas;
mod cuda;
pub(crate) mod cupy;
pub(crate) mod cusparse;
pub(crate) mod faer;
pub(crate) mod interface;
pub(crate) mod mkl;
pub(crate) mod nalgebra;
mod python;
pub(crate) mod scipy;
pub(crate) mod sprs;
pub(crate) mod viennacl;

use crate::value::Value;
use sparse_core::Csr;

/// The arrays of a matrix with indices of another type.
fn parts<I: From<u32> + Copy, T: Value>(a: &Csr<T>) -> (Vec<I>, Vec<I>, Vec<T>) {
    let convert = |indices: &[i32]| indices.iter().map(|&i| I::from(i as u32)).collect();
    (convert(a.row_ptr()), convert(a.col_idx()), a.values().clone())
}

/// The arrays of a matrix with `usize` indices.
fn usize_parts<T: Value>(a: &Csr<T>) -> (Vec<usize>, Vec<usize>, Vec<T>) {
    let convert = |indices: &[i32]| indices.iter().map(|&i| i as usize).collect();
    (convert(a.row_ptr()), convert(a.col_idx()), a.values().clone())
}
