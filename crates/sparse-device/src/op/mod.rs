//! Operations, one file each.

mod chunks;
mod column_blocks;
mod convert;
mod coordinates;
mod dense_to_csr;
mod grouped;
mod look_back;
mod numbered;
mod offer;
mod padded;
mod positions;
mod prune;
mod radix_sort;
mod room;
mod row_split;
mod row_statistics;
mod scan;
mod single_pass;
mod slots;
mod sort;
mod spmm;
mod spmm_column_blocks;
mod spmv;
mod to_dense;
mod validate;
mod vector;
