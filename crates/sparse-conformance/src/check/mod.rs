//! The expected results of each operation: one file each, written once for every backend, format and type.

mod convert;
mod dense_to_csr;
mod elementwise;
mod gradient_step;
mod lines;
mod prune;
mod reduce;
mod row_statistics;
pub(crate) mod rule;
mod scan;
mod sddmm;
mod select;
mod softmax;
mod sort;
mod spgemm;
mod spmm;
mod spmm_reduce;
mod spmv;
mod to_dense;
mod trisolve;
mod vector;
