//! Launches of kernels that compute the prefix of a tile by decoupled look-back.

use crate::launch::Launch;
use crate::{Buffer, Device};
use sparse_core::Result;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Tiles of a group.
const GROUP: usize = 32;

/// The counter of the next tile, and the states by which tiles find the sums before them.
#[derive(Debug)]
pub(crate) struct Tiles {
    count: usize,
    states: Buffer<i64>,
    /// True if the states are zeros, which a launch needs.
    are_clear: AtomicBool,
}

impl Tiles {
    /// Two words for the counter and for each of `count` tiles: `look_back.cuh`.
    pub(crate) fn new(backend: &Device, count: usize) -> Result<Self> {
        Self::with_words(backend, count, 2 * (1 + count))
    }

    /// Two words for the counter and for each group of `count` tiles, and half a word for each tile:
    /// `look_back_in_groups.cuh`.
    pub(crate) fn in_groups(backend: &Device, count: usize) -> Result<Self> {
        Self::with_words(backend, count, 2 * (1 + count.div_ceil(GROUP)) + count.div_ceil(2))
    }

    fn with_words(backend: &Device, count: usize, words: usize) -> Result<Self> {
        Ok(Self { count, states: backend.allocate(words)?, are_clear: AtomicBool::new(false) })
    }

    /// Bytes on the device.
    pub(crate) fn bytes(&self) -> usize {
        self.states.bytes()
    }

    /// Number of tiles.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Sets the states, which are cleared if they are not clear, as the last argument of a launch.
    pub(crate) fn begin<'a>(&'a self, backend: &Device, launch: Launch<'a>) -> Result<Launch<'a>> {
        if !self.are_clear.swap(false, Relaxed) {
            backend.clear(&self.states)?;
        }
        Ok(launch.buffer(&self.states))
    }

    /// Clears the states after a launch, so that the next one does not begin with it.
    pub(crate) fn clear(&self, backend: &Device) -> Result<()> {
        backend.clear(&self.states)?;
        self.are_clear.store(true, Relaxed);
        Ok(())
    }
}
