//! One compressed matrix or the members of a batch, for kernels that take either.

use crate::primitive::entries::Entries;
use crate::primitive::lines::Lines;
use sparse_core::{Axis, BatchCompressed, Compressed, Host, HostCsr, Index, Scalar};

/// Compressed matrices of one shape: one matrix, or the members of a batch.
pub trait Members: Entries {
    /// The type of the offsets.
    type Offset: Index;
    /// True if rows are compressed.
    const BY_ROWS: bool;

    /// The number of members.
    fn members(&self) -> usize;

    /// Member `k`.
    fn lines(&self, k: usize) -> Lines<'_, Self::Scalar, Self::Index, Self::Offset>;
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Members for Compressed<A, T, Host, I, O> {
    type Offset = O;
    const BY_ROWS: bool = A::IS_ROW;

    fn members(&self) -> usize {
        1
    }

    fn lines(&self, _: usize) -> Lines<'_, T, I, O> {
        Lines::of(self.as_ref())
    }
}

impl<T: Scalar, I: Index, O: Index> Members for HostCsr<T, I, O> {
    type Offset = O;
    const BY_ROWS: bool = true;

    fn members(&self) -> usize {
        1
    }

    fn lines(&self, _: usize) -> Lines<'_, T, I, O> {
        Lines::of(self.as_ref())
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Members for BatchCompressed<A, T, Host, I, O> {
    type Offset = O;
    const BY_ROWS: bool = A::IS_ROW;

    fn members(&self) -> usize {
        self.count()
    }

    fn lines(&self, k: usize) -> Lines<'_, T, I, O> {
        Lines::of(self.member(k))
    }
}
