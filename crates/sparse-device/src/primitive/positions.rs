//! Positions of entries in value arrays, in four bytes each where they fit.

use crate::buffer::RawBuffer;
use crate::defines::Defines;
use crate::index_type::IndexType;
use crate::launch::Launch;
use crate::{Buffer, Device};
use sparse_core::{Backend, Result};
use std::ops::Range;

/// Positions of entries; −1 is padding. Elements have 4 bytes, or 8.
#[derive(Debug)]
pub(crate) struct Positions(RawBuffer);

impl Positions {
    /// The numbers of a range, as positions below `n`.
    pub(super) fn counted(backend: &Device, numbers: Range<usize>, n: usize) -> Result<Self> {
        Self::counted_as(backend, numbers, IndexType::for_count(n))
    }

    /// The numbers of a range, as positions of this type.
    pub(super) fn counted_as(backend: &Device, numbers: Range<usize>, index: IndexType) -> Result<Self> {
        let positions = Self::allocate_as(backend, numbers.len(), index)?;
        let defines = Defines::default().index(index).offset(index);
        let kernel = backend.kernel("coordinates", "coordinates_positions", defines)?;
        let launch = backend.launch(&kernel).size(numbers.len()).size(numbers.start);
        launch.positions(&positions).items(numbers.len())?;
        Ok(positions)
    }

    /// Allocates `len` positions below `n`.
    pub(crate) fn allocate(backend: &Device, len: usize, n: usize) -> Result<Self> {
        Self::allocate_as(backend, len, IndexType::for_count(n))
    }

    /// Allocates `len` positions of this type.
    pub(crate) fn allocate_as(backend: &Device, len: usize, index: IndexType) -> Result<Self> {
        Ok(Self(backend.allocate_raw(len, index.bytes())?))
    }

    /// Copies positions from the host.
    pub(super) fn upload(backend: &Device, positions: &[i64]) -> Result<Self> {
        let narrow: std::result::Result<Vec<i32>, _> =
            positions.iter().map(|&position| i32::try_from(position)).collect();
        match narrow {
            Ok(narrow) => Ok(Self(backend.upload(&narrow)?.raw)),
            Err(_) => Ok(Self(backend.upload(positions)?.raw)),
        }
    }

    /// The positions at the positions `at`.
    pub(super) fn gather(&self, backend: &Device, at: &Self) -> Result<Self> {
        Ok(Self(backend.gathered(at, &self.0)?))
    }

    /// The concatenation of two lists of positions.
    pub(super) fn joined(&self, backend: &Device, tail: &Self) -> Result<Self> {
        Ok(Self(backend.joined(&[(&self.0, self.len()), (&tail.0, tail.len())])?))
    }

    /// The first position of each run, as marked by `starts`; there are `runs` of them.
    pub(super) fn compact(&self, backend: &Device, starts: &Buffer<i64>, runs: usize) -> Result<Self> {
        Ok(Self(backend.compact(starts, &self.0, runs)?))
    }

    /// The positions as indices of their type.
    pub(crate) fn into_buffer(self) -> RawBuffer {
        self.0
    }

    /// The type of the elements.
    pub(crate) fn index_type(&self) -> IndexType {
        self.0.index_type()
    }

    /// The kernels' name of the element type.
    pub(crate) fn type_name(&self) -> &'static str {
        self.index_type().c_name()
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
    pub(crate) fn positions(self, positions: &'a Positions) -> Self {
        self.buffer(&positions.0)
    }

    /// Positions, or a null pointer for missing ones.
    pub(crate) fn positions_or_null(self, positions: Option<&'a Positions>) -> Self {
        self.buffer_or_null(positions.map(|positions| &positions.0))
    }
}
