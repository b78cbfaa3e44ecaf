//! Launches of kernels that compute the prefix of a tile by decoupled look-back.

use crate::launch::Launch;
use crate::{Buffer, Device};
use sparse_core::Result;

/// Tiles of a group.
const GROUP: usize = 32;

/// The counter of the next tile, and the states by which tiles find the sums before them.
#[derive(Debug)]
pub(crate) struct Tiles {
    count: usize,
    states: Buffer<i64>,
}

impl Tiles {
    /// Two words for the counter and for each of `count` tiles: `look_back.cuh`.
    pub(crate) fn new(backend: &Device, count: usize) -> Result<Self> {
        Ok(Self { count, states: backend.allocate(2 * (1 + count))? })
    }

    /// Two words for the counter and for each group of `count` tiles, and half a word for each tile:
    /// `look_back_in_groups.cuh`.
    pub(crate) fn in_groups(backend: &Device, count: usize) -> Result<Self> {
        let words = 2 * (1 + count.div_ceil(GROUP)) + count.div_ceil(2);
        Ok(Self { count, states: backend.allocate(words)? })
    }

    /// Bytes on the device.
    pub(crate) fn bytes(&self) -> usize {
        self.states.bytes()
    }

    /// Number of tiles.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Clears the states and sets them as the last argument of a launch.
    pub(crate) fn begin<'a>(&'a self, backend: &Device, launch: Launch<'a>) -> Result<Launch<'a>> {
        backend.clear(&self.states)?;
        Ok(launch.buffer(&self.states))
    }
}
