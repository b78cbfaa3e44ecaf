//! The libraries to compare with. A contender has its own copy of the matrix in its own format, made outside the timed
//! runs.

pub(crate) mod call;
mod cublas;
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

use sparse_core::Csr;

/// The arrays of a matrix with indices of another type.
fn parts<I: From<u32> + Copy>(a: &Csr<f32>) -> (Vec<I>, Vec<I>, Vec<f32>) {
    let convert = |indices: &[i32]| indices.iter().map(|&i| I::from(i as u32)).collect();
    (convert(a.row_ptr()), convert(a.col_idx()), a.values().clone())
}

/// The arrays of a matrix with `usize` indices.
fn usize_parts(a: &Csr<f32>) -> (Vec<usize>, Vec<usize>, Vec<f32>) {
    let convert = |indices: &[i32]| indices.iter().map(|&i| i as usize).collect();
    (convert(a.row_ptr()), convert(a.col_idx()), a.values().clone())
}
