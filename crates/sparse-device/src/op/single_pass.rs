//! Dense to compressed rows in a single pass: the entries before a tile are found by decoupled look-back.

use super::look_back::Tiles;
use crate::launch::{LANES, Launch};
use crate::program::Defines;
use crate::{Device, Driver};
use sparse_core::error::checked_product;
use sparse_core::{Result, Scalar};
use std::sync::Arc;

/// The file of the kernel.
pub(super) const FILE: &str = "dense_to_csr_look_back";

/// Steps of a row that a warp takes in a tile: `UNITS` of the kernel.
const UNITS: usize = 8;

/// What the pass needs beside the plan's.
#[derive(Debug)]
pub(super) struct SinglePass<D: Driver> {
    narrow: Arc<D::Kernel>,
    wide: Arc<D::Kernel>,
    tiles: Tiles<D>,
}

impl<D: Driver> SinglePass<D> {
    /// For matrices of so many rows, of all members together, and columns.
    pub(super) fn new<T: Scalar>(
        backend: &Device<D>,
        (rows, cols): (usize, usize),
        defines: &Defines,
    ) -> Result<Self> {
        let block = backend.inner.block;
        let kernel = |wide: u8| {
            let defines = defines.clone().set("WIDE", wide).set("BLOCK", block);
            backend.kernel_of::<T>(FILE, "dense_to_csr_look_back", defines)
        };
        let steps = checked_product("rows x steps of a row", rows, cols.div_ceil(LANES))?;
        let tiles = Tiles::new(backend, steps.div_ceil(UNITS * block / LANES))?;
        Ok(Self { narrow: kernel(0)?, wide: kernel(1)?, tiles })
    }

    /// Bytes of the workspace.
    pub(super) fn bytes(&self) -> usize {
        self.tiles.bytes()
    }

    /// The kernel for rows that can be read in whole words, or for any.
    pub(super) fn kernel(&self, wide: bool) -> &D::Kernel {
        if wide { &self.wide } else { &self.narrow }
    }

    /// Finds where rows start and writes the entries that there is room for; `launch` has all arguments of the plan.
    pub(super) fn run<'a>(&'a self, backend: &Device<D>, launch: Launch<'a, D>) -> Result<()> {
        self.tiles.run(backend, launch)
    }
}
