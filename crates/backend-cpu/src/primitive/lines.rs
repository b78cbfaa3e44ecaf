//! Compressed matrices without their axis.

use sparse_core::{Axis, CompressedRef, Host, Index, Scalar};

/// A compressed matrix without its axis: line `k` has the entries `offsets[k]..offsets[k + 1]`.
#[derive(Debug, Clone, Copy)]
pub struct Lines<'a, T, I, O> {
    pub(crate) offsets: &'a [O],
    pub(crate) indices: &'a [I],
    pub(crate) values: &'a [T],
}

impl<'a, T: Scalar, I: Index, O: Index> Lines<'a, T, I, O> {
    pub(crate) fn of<A: Axis>(matrix: CompressedRef<'a, A, T, Host, I, O>) -> Self {
        Self { offsets: matrix.offsets, indices: matrix.indices, values: matrix.values }
    }
}
