//! The factors of a product on their device, and kernels for their types.

use super::teams::largest_team;
use crate::defines::Defines;
use crate::primitive::raw::RawCompressed;
use crate::{Device, Kernel};
use sparse_core::op::row_factors;
use sparse_core::{Axis, Compressed, Index, Result, Scalar};

/// The factors as compressed rows (for CSC, Bᵀ and Aᵀ), and their device.
#[derive(Debug, Clone, Copy)]
pub(super) struct Factors<'a> {
    pub(super) backend: &'a Device,
    pub(super) left: RawCompressed<'a>,
    pub(super) right: RawCompressed<'a>,
}

impl<'a> Factors<'a> {
    pub(super) fn new<A: Axis, T: Scalar, I: Index, O: Index>(
        backend: &'a Device,
        a: &'a Compressed<A, T, Device, I, O>,
        b: &'a Compressed<A, T, Device, I, O>,
    ) -> Self {
        let (left, right) = row_factors::<A, _>(a, b);
        Self { backend, left: left.into(), right: right.into() }
    }

    /// The macros of the kernels.
    pub(super) fn defines(&self) -> Defines {
        defines(self.backend, self.left)
    }

    /// A kernel that reads patterns alone.
    pub(super) fn pattern_kernel(&self, file: &'static str, entry: &'static str) -> Result<Kernel> {
        self.backend.kernel(file, entry, self.defines())
    }

    /// A kernel that is compiled for the type of values.
    pub(super) fn kernel(&self, file: &'static str, entry: &'static str) -> Result<Kernel> {
        self.backend.kernel_of(self.left.dtype, file, entry, self.defines())
    }
}

/// The macros of kernels that read a matrix.
pub(super) fn defines(backend: &Device, matrix: RawCompressed<'_>) -> Defines {
    matrix.defines().set("BLOCK", largest_team(backend))
}
