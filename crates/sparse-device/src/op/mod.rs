//! Operations, one file each.

mod convert;
mod dense_to_csr;
mod grouped;
mod numbered;
mod prune;
mod row_statistics;
mod scan;
mod sort;
mod spmm;
mod spmv;
mod to_dense;
mod vector;
