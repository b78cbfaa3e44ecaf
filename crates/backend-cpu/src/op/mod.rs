//! Operations: one file each, as in `sparse_core::op`.
