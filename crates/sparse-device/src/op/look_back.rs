//! Launches of kernels that find what stands before a tile by decoupled look-back.

use crate::launch::Launch;
use crate::{Buffer, Device, Driver};
use sparse_core::Result;

/// The number of the next tile, and what each has said: two words each.
#[derive(Debug)]
pub(super) struct Tiles<D: Driver> {
    states: Buffer<D, i64>,
}

impl<D: Driver> Tiles<D> {
    /// For `count` tiles.
    pub(super) fn new(backend: &Device<D>, count: usize) -> Result<Self> {
        Ok(Self { states: backend.allocate(2 * (count + 1))? })
    }

    /// Bytes on the device.
    pub(super) fn bytes(&self) -> usize {
        self.states.bytes()
    }

    /// Runs a launch that has all arguments but these.
    pub(super) fn run<'a>(&'a self, backend: &Device<D>, launch: Launch<'a, D>) -> Result<()> {
        backend.clear(&self.states)?;
        let groups = backend.most_groups().min(self.states.len / 2 - 1);
        launch.buffer(&self.states).groups(groups, backend.inner.block)
    }
}
