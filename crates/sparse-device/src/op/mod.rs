//! Operations: a file each, or a folder where there are several algorithms.
//!
//! Four modules are no operations: `available_algorithms` has the algorithms that a device offers, `entry_sort` those
//! of sorts for conversions, `node_blocks` the search for square blocks, and `unpack` the arrays of packed patterns.

mod available_algorithms;
mod convert;
mod dense_to_csr;
mod elementwise;
mod entry_sort;
mod node_blocks;
mod prune;
mod reduce;
mod row_statistics;
mod scan;
mod sddmm;
mod select;
mod softmax;
mod sort;
mod spgemm;
pub(crate) mod spmm;
mod spmm_reduce;
pub(crate) mod spmv;
mod to_dense;
mod trisolve;
mod unpack;
mod vector;
