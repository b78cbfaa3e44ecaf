//! Launches of kernels that compute the prefix of a tile by decoupled look-back.

use crate::launch::Launch;
use crate::{Buffer, Device};
use sparse_core::Result;

/// The counter of the next tile, and the state of each tile: two words each.
#[derive(Debug)]
pub(crate) struct Tiles {
    states: Buffer<i64>,
}

impl Tiles {
    /// States for `count` tiles.
    pub(crate) fn new(backend: &Device, count: usize) -> Result<Self> {
        Ok(Self { states: backend.allocate(2 * (count + 1))? })
    }

    /// Bytes on the device.
    pub(crate) fn bytes(&self) -> usize {
        self.states.bytes()
    }

    /// Number of tiles.
    pub(crate) fn count(&self) -> usize {
        self.states.len / 2 - 1
    }

    /// Clears the states and sets them as the last argument of a launch.
    pub(crate) fn begin<'a>(&'a self, backend: &Device, launch: Launch<'a>) -> Result<Launch<'a>> {
        backend.clear(&self.states)?;
        Ok(launch.buffer(&self.states))
    }
}
