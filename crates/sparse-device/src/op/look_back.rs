//! Launches of kernels that find what stands before a tile by decoupled look-back.

use crate::launch::Launch;
use crate::{Buffer, Device};
use sparse_core::Result;

/// The number of the next tile, and what each has said: two words each.
#[derive(Debug)]
pub(super) struct Tiles {
    states: Buffer<i64>,
}

impl Tiles {
    /// For `count` tiles.
    pub(super) fn new(backend: &Device, count: usize) -> Result<Self> {
        Ok(Self { states: backend.allocate(2 * (count + 1))? })
    }

    /// Bytes on the device.
    pub(super) fn bytes(&self) -> usize {
        self.states.bytes()
    }

    /// How many they are.
    pub(super) fn count(&self) -> usize {
        self.states.len / 2 - 1
    }

    /// Sets the last argument of a launch: the states, of which none has said anything yet.
    pub(super) fn begin<'a>(&'a self, backend: &Device, launch: Launch<'a>) -> Result<Launch<'a>> {
        backend.clear(&self.states)?;
        Ok(launch.buffer(&self.states))
    }
}
