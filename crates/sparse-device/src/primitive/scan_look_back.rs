//! The scan of a contiguous array in a single pass, by decoupled look-back.

use super::look_back::Tiles;
use super::prefix_sum::element;
use crate::defines::Defines;
use crate::{Device, Kernel, View};
use sparse_core::Result;
use sparse_core::op::{ScanElement, ScanKind};

/// The file of the kernel.
pub(crate) const FILE: &str = "scan_look_back";

/// Elements of a tile for each work-item: `ITEMS` of the kernel.
const ITEMS: usize = 8;

/// The scan of a contiguous array in a single pass.
#[derive(Debug)]
pub(crate) struct ScanLookBack {
    kernel: Kernel,
    len: usize,
    tiles: Tiles,
}

impl ScanLookBack {
    pub(crate) fn new<T: ScanElement>(backend: &Device, len: usize) -> Result<Self> {
        let block = backend.inner.block;
        let defines = Defines::default().set("BLOCK", block).set("ELEMENT", element::<T>());
        Ok(Self {
            kernel: backend.kernel(FILE, "scan_look_back", defines)?,
            len,
            tiles: Tiles::new(backend, len.div_ceil(ITEMS * block))?,
        })
    }

    /// Bytes of the tiles' states.
    pub(crate) fn bytes(&self) -> usize {
        self.tiles.bytes()
    }

    /// Writes the prefix sums of `input` to `output`.
    pub(crate) fn run<T: ScanElement>(
        &self,
        backend: &Device,
        kind: ScanKind,
        input: View<'_, T>,
        output: View<'_, T>,
    ) -> Result<()> {
        let launch =
            backend.launch(&self.kernel).size(self.len).value(i32::from(kind == ScanKind::Inclusive));
        let groups = backend.most_groups().min(self.tiles.count());
        let launch = self.tiles.begin(backend, launch.view(input).view(output))?;
        launch.groups(groups, backend.inner.block)
    }
}
