//! Entries as their coordinates and the positions of their values.

use super::numbering::position;
use super::positions::Positions;
use crate::Device;
use crate::buffer::RawBuffer;
use crate::index_type::IndexType;
use sparse_core::Result;
use sparse_core::reference::{Entries, Entry};

/// The coordinates of entries, and the positions of their values.
#[derive(Debug)]
pub struct Triplets {
    pub(crate) rows: RawBuffer,
    pub(crate) cols: RawBuffer,
    pub(crate) positions: Positions,
}

impl Triplets {
    /// The entries of a numbered matrix, sorted on the host by row and column; coordinates become of type `index`.
    pub(super) fn numbered(
        backend: &Device,
        a: &impl Entries<Scalar = f64>,
        index: IndexType,
    ) -> Result<Self> {
        Self::of_entries(backend, a.entries().collect(), index)
    }

    fn of_entries(backend: &Device, mut entries: Vec<Entry<f64>>, index: IndexType) -> Result<Self> {
        entries.sort_by_key(|&(i, j, _)| (i, j));
        let rows: Vec<_> = entries.iter().map(|&(i, _, _)| i).collect();
        let cols: Vec<_> = entries.iter().map(|&(_, j, _)| j).collect();
        let positions: Vec<_> = entries.iter().map(|&(_, _, number)| position(number)).collect();
        Ok(Self {
            rows: backend.upload_indices("a row", &rows, index)?,
            cols: backend.upload_indices("a column", &cols, index)?,
            positions: Positions::upload(backend, &positions)?,
        })
    }

    /// Bytes on the device.
    pub(crate) fn bytes(&self) -> usize {
        self.rows.bytes() + self.cols.bytes() + self.positions.bytes()
    }
}
