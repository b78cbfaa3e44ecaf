//! Dense to compressed rows in a single pass: the entries before a tile are found by decoupled look-back.
//!
//! How many entries there are is known at the end, so there is room for as many as a guess says; if they are more, a
//! second pass follows.

use super::look_back::Tiles;
use crate::launch::{LANES, Launch};
use crate::program::Defines;
use crate::{Buffer, Device, Driver};
use sparse_core::error::checked_product;
use sparse_core::{Backend, Element, Index, Result, Scalar, Space};
use std::sync::Arc;

/// The file of the kernel.
pub(super) const FILE: &str = "dense_to_csr_look_back";

/// Steps of a row that a warp takes in a tile: `UNITS` of the kernel.
const UNITS: usize = 4;

/// Elements for each entry that the first guess gives room to.
const ELEMENTS_PER_ENTRY: usize = 8;

/// Of so many entries that there was room for, one may be missing before arrays are copied to others of their size.
const SLACK: usize = 8;

/// What the pass needs beside the plan's.
#[derive(Debug)]
pub(super) struct SinglePass<D: Driver> {
    narrow: Arc<D::Kernel>,
    wide: Arc<D::Kernel>,
    tiles: Tiles<D>,
    room: usize,
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
        Ok(Self { narrow: kernel(0)?, wide: kernel(1)?, tiles, room: rows * cols / ELEMENTS_PER_ENTRY + 1 })
    }

    /// Bytes of the workspace.
    pub(super) fn bytes(&self) -> usize {
        self.tiles.bytes()
    }

    /// Room for the entries of a matrix, as far as they can be guessed.
    pub(super) fn room<T: Element, I: Index>(&self, backend: &Device<D>) -> Result<Entries<D, T, I>> {
        Entries::new(backend, self.room)
    }

    /// The kernel for rows that can be read in whole words, or for any.
    pub(super) fn kernel(&self, wide: bool) -> &D::Kernel {
        if wide { &self.wide } else { &self.narrow }
    }

    /// Finds where rows start and writes the entries that there is room for; `launch` has the matrix and the starts.
    pub(super) fn run<'a, T: Element, I: Index>(
        &'a self,
        backend: &Device<D>,
        launch: Launch<'a, D>,
        entries: &'a Entries<D, T, I>,
    ) -> Result<()> {
        let launch = launch.buffer(&entries.indices).buffer(&entries.values).size(entries.values.len);
        self.tiles.run(backend, launch)
    }

    /// Remembers how many entries there were.
    pub(super) fn remember(&mut self, nnz: usize) {
        self.room = nnz + nnz / (2 * SLACK);
    }
}

/// The arrays of entries.
#[derive(Debug)]
pub(super) struct Entries<D: Driver, T, I> {
    pub(super) indices: Buffer<D, I>,
    pub(super) values: Buffer<D, T>,
}

impl<D: Driver, T: Element, I: Index> Entries<D, T, I> {
    /// Room for `n` of them.
    pub(super) fn new(backend: &Device<D>, n: usize) -> Result<Self> {
        Ok(Self { indices: backend.allocate(n)?, values: backend.allocate(n)? })
    }

    /// The first `n`, in the same memory if little of it is left over.
    pub(super) fn cut(self, backend: &Device<D>, n: usize) -> Result<Self> {
        Ok(Self { indices: cut(backend, self.indices, n)?, values: cut(backend, self.values, n)? })
    }
}

fn cut<D: Driver, T: Element>(
    backend: &Device<D>,
    mut buffer: Buffer<D, T>,
    n: usize,
) -> Result<Buffer<D, T>> {
    if n >= buffer.len - buffer.len / SLACK {
        buffer.len = n;
        return Ok(buffer);
    }
    let mut exact = backend.allocate(n)?;
    let first = Device::<D>::slice(Device::<D>::view(&buffer), 0..n);
    backend.copy(first, Device::<D>::view_mut(&mut exact))?;
    Ok(exact)
}
