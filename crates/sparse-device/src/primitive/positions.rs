//! Positions of entries in value arrays, in four bytes each where they fit.

use crate::buffer::RawBuffer;
use crate::launch::Launch;
use crate::program::IndexType;
use crate::{Buffer, Device};
use sparse_core::{Backend, Result};
use std::ops::Range;

/// Positions of entries; −1 is padding. Elements have 4 bytes, or 8.
#[derive(Debug)]
pub(crate) struct Permutation(pub(crate) RawBuffer);

impl Permutation {
    /// The numbers of a range, as positions below `n`.
    pub(crate) fn counted(backend: &Device, numbers: Range<usize>, n: usize) -> Result<Self> {
        Ok(Self(backend.count_up(numbers, IndexType::for_count(n))?))
    }

    /// The positions at the positions `at`.
    pub(crate) fn gather(&self, backend: &Device, at: &Self) -> Result<Self> {
        Ok(Self(backend.gathered(at, &self.0)?))
    }

    /// The concatenation of two lists of positions.
    pub(crate) fn joined(&self, backend: &Device, tail: &Self) -> Result<Self> {
        Ok(Self(backend.joined(&[(&self.0, self.len()), (&tail.0, tail.len())])?))
    }

    /// The first position of each run, as marked by `starts`; there are `runs` of them.
    pub(crate) fn compact(&self, backend: &Device, starts: &Buffer<i64>, runs: usize) -> Result<Self> {
        Ok(Self(backend.compact(starts, &self.0, runs)?))
    }

    /// Allocates `len` positions below `n`.
    pub(crate) fn allocate(backend: &Device, len: usize, n: usize) -> Result<Self> {
        Ok(Self(backend.allocate_raw(len, IndexType::for_count(n).bytes())?))
    }

    /// Copies positions from the host.
    pub(crate) fn upload(backend: &Device, permutation: &[i64]) -> Result<Self> {
        let narrow: std::result::Result<Vec<i32>, _> =
            permutation.iter().map(|&p| i32::try_from(p)).collect();
        match narrow {
            Ok(narrow) => Ok(Self(backend.upload(&narrow)?.raw)),
            Err(_) => Ok(Self(backend.upload(permutation)?.raw)),
        }
    }

    /// The kernels' name of the element type.
    pub(crate) fn type_name(&self) -> &'static str {
        self.0.index_type().c_name()
    }

    /// Number of positions.
    pub(crate) fn len(&self) -> usize {
        self.0.len
    }

    /// Bytes on the device.
    pub(crate) fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

impl<'a> Launch<'a> {
    /// Positions, for a kernel that was compiled for their type.
    pub(crate) fn permutation(self, permutation: &'a Permutation) -> Self {
        self.buffer(&permutation.0)
    }
}
