//! Operations: one file each, as in `sparse_core::op`.

mod dot;
mod entries;
mod pieces;
mod spmv;
mod update;
