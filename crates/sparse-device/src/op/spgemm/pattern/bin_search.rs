//! The search for the columns of the rows of one bin.

use super::super::row_bins::{Bin, RowBins};
use super::super::{Factors, Teams};
use super::row_bin::Method;
use crate::buffer::RawBuffer;
use crate::lanes::LANES;
use crate::{Buffer, Device, Kernel};
use sparse_core::{Backend, Result};

/// Entries of a split row for each work-group that marks its columns.
pub(super) const SLICE: usize = 256;

/// Words of the bitmap of a work-group, at most: a window of 32 million columns.
const MAX_WORDS: usize = 1 << 20;

/// Work-groups of the largest team that a compute unit runs at once.
const GROUPS_PER_UNIT: usize = 8;

/// Bytes of bitmaps in global memory, unless one row needs more.
pub(super) const MAX_WORKSPACE: usize = 256 << 20;

/// Bitmaps in global memory, of so many words each.
pub(super) struct Bitmaps {
    pub(super) bits: RawBuffer,
    pub(super) words: usize,
}

impl Bitmaps {
    /// Up to `most` bitmaps, within [`MAX_WORKSPACE`] unless one needs more.
    fn new(backend: &Device, most: usize, words: usize) -> Result<Self> {
        let count = most.min(MAX_WORKSPACE / (words * size_of::<u32>()).max(1)).max(1);
        Ok(Self { bits: backend.zeros_raw(count * words, size_of::<u32>())?, words })
    }

    pub(super) fn count(&self) -> usize {
        self.bits.len / self.words
    }
}

/// The kernels of a bin and their workspace.
pub(super) struct BinSearch {
    pub(super) bin: Bin,
    pub(super) lanes: usize,
    pub(super) method: Method,
    pub(super) kernel: Kernel,
    pub(super) bitmaps: Option<Bitmaps>,
    /// The numbers of slices of rows of A before each row.
    pub(super) slices: Option<Buffer<i64>>,
}

impl BinSearch {
    pub(super) fn new(
        factors: Factors<'_>,
        bins: &RowBins,
        bin: &Bin,
        method: Method,
        lanes: usize,
        teams: Teams,
    ) -> Result<Self> {
        let backend = factors.backend;
        let words = factors.right.cols.div_ceil(32);
        let busy = backend.caps().compute_units * GROUPS_PER_UNIT;
        let bitmaps = match method {
            Method::Bitmap => Some(Bitmaps::new(backend, bin.rows.len().min(busy), words.min(MAX_WORDS))?),
            Method::Split => Some(Bitmaps::new(backend, bin.rows.len(), words)?),
            Method::Sort | Method::SortMixed | Method::Window | Method::Hash => None,
        };
        let slices = || bins.slices(factors, bin, factors.left.offsets, SLICE);
        let lanes = match method {
            Method::Sort | Method::SortMixed => lanes,
            Method::Window | Method::Hash => lanes.max(LANES),
            Method::Bitmap | Method::Split => teams.largest,
        };
        let (file, entry) = method.entry();
        Ok(Self {
            bin: bin.clone(),
            lanes,
            method,
            kernel: factors.pattern_kernel(file, entry)?,
            bitmaps,
            slices: (method == Method::Split).then(slices).transpose()?,
        })
    }
}
