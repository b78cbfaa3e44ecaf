//! Operations: one file each, as in `sparse_core::op`.

mod dot;
mod entries;
mod lines;
mod pieces;
mod spmm;
mod spmv;
mod update;
