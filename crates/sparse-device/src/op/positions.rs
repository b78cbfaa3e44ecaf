//! Positions of entries in arrays of values, in four bytes each where they fit.

use crate::launch::Launch;
use crate::program::IndexType;
use crate::space::RawBuffer;
use crate::{Buffer, Device};
use sparse_core::{Backend, Result};
use std::ops::Range;

/// Where entries stand; −1 is padding. Elements have 4 bytes, or 8.
#[derive(Debug)]
pub(super) struct Positions(pub(super) RawBuffer);

impl Positions {
    /// The numbers of a range, as positions of entries of which there are `n`.
    pub(super) fn counted(backend: &Device, numbers: Range<usize>, n: usize) -> Result<Self> {
        Ok(Self(backend.count_up(numbers, IndexType::for_count(n))?))
    }

    /// Those that stand at these positions.
    pub(super) fn gather(&self, backend: &Device, at: &Self) -> Result<Self> {
        Ok(Self(backend.gathered(at, &self.0)?))
    }

    /// Others behind these, positions of the same entries.
    pub(super) fn joined(&self, backend: &Device, tail: &Self) -> Result<Self> {
        Ok(Self(backend.joined(&[(&self.0, self.len()), (&tail.0, tail.len())])?))
    }

    /// Those at which a run begins, as `starts` say, of which there are `kept`.
    pub(super) fn compact(&self, backend: &Device, starts: &Buffer<i64>, kept: usize) -> Result<Self> {
        Ok(Self(backend.compact(starts, &self.0, kept)?))
    }

    /// Room for `len` positions of entries of which there are `n`.
    pub(super) fn room(backend: &Device, len: usize, n: usize) -> Result<Self> {
        Ok(Self(backend.allocate_raw(len, IndexType::for_count(n).bytes())?))
    }

    /// Positions that the host has found.
    pub(super) fn upload(backend: &Device, positions: &[i64]) -> Result<Self> {
        let narrow: std::result::Result<Vec<i32>, _> = positions.iter().map(|&p| i32::try_from(p)).collect();
        match narrow {
            Ok(narrow) => Ok(Self(backend.upload(&narrow)?.raw)),
            Err(_) => Ok(Self(backend.upload(positions)?.raw)),
        }
    }

    /// What kernels call their type.
    pub(super) fn type_name(&self) -> &'static str {
        self.0.index_type().c_name()
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len
    }

    /// Bytes that they take.
    pub(super) fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

impl<'a> Launch<'a> {
    /// Positions, for a kernel that was made for their type.
    pub(super) fn positions(self, positions: &'a Positions) -> Self {
        self.buffer(&positions.0)
    }
}
