//! Operations: a file each, or a folder where there are several algorithms.

mod available_algorithms;
pub(crate) mod convert;
pub(crate) mod dense_to_csr;
mod prune;
mod row_statistics;
pub(crate) mod scan;
mod sort;
mod spmm;
pub(crate) mod spmv;
pub(crate) mod to_dense;
mod vector;
