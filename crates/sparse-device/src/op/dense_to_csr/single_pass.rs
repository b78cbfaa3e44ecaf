//! Dense to compressed rows in a single pass: the entries before a tile are counted by decoupled look-back.

use crate::defines::Defines;
use crate::lanes::{LANES, vector};
use crate::launch::Launch;
use crate::primitive::look_back::Tiles;
use crate::{Device, Kernel};
use sparse_core::error::checked_product;
use sparse_core::{Backend, DType, Result};

/// The file of the kernel.
pub(super) const FILE: &str = "dense_to_csr_look_back";

/// The most worker warps of a work-group, each with a part of the group's tile: `MAX_WORKERS` of the kernel. A compute
/// unit has one such group.
const MAX_WORKERS: usize = 12;

/// Warps of a work-group beside its workers: one takes tiles, one looks back.
const OTHER_WARPS: usize = 2;

/// Tiles in flight per work-group: `STAGES` of the kernel.
const STAGES: usize = 4;

/// The most elements of a tile per lane of a worker.
const LANE_ELEMENTS: usize = 32;
const LANE_BYTES: usize = 128;

/// The most bytes of shared memory per work-group in addition to those of its workers.
const BOARD_BYTES: usize = 6 << 10;

/// The additional data of the single pass.
#[derive(Debug)]
pub(super) struct SinglePass {
    narrow: Kernel,
    wide: Kernel,
    tiles: Tiles,
    workers: usize,
    /// Bytes of shared memory per worker: `Worker` of the kernel.
    worker_bytes: usize,
}

impl SinglePass {
    /// A single pass over matrices with `rows` rows, of all members together, and `cols` columns.
    pub(super) fn new(
        backend: &Device,
        dtype: DType,
        (rows, cols): (usize, usize),
        defines: &Defines,
    ) -> Result<Self> {
        let kernel = |wide: u8| {
            let defines = defines.clone().set("WIDE", wide);
            backend.kernel_of(dtype, FILE, "dense_to_csr_look_back", defines)
        };
        let bytes = dtype.bytes();
        let elements = LANE_ELEMENTS.min(LANE_BYTES / bytes);
        let worker_bytes = LANES * elements * (STAGES * bytes + size_of::<u16>());
        let shared = backend.properties().shared_bytes.saturating_sub(BOARD_BYTES);
        let workers = (shared / worker_bytes).clamp(1, MAX_WORKERS);
        // Counted in wide steps. Narrow ones need no more tiles, since less of a row's last step is empty.
        let steps = checked_product("rows x steps of a row", rows, cols.div_ceil(LANES * vector(bytes)))?;
        let tiles = Tiles::in_groups(backend, steps.div_ceil(elements / vector(bytes) * workers))?;
        Ok(Self { narrow: kernel(0)?, wide: kernel(1)?, tiles, workers, worker_bytes })
    }

    /// Bytes of the workspace.
    pub(super) fn bytes(&self) -> usize {
        self.tiles.bytes()
    }

    /// The kernel for rows that can be read in whole words, or for any.
    pub(super) fn kernel(&self, wide: bool) -> &Kernel {
        if wide { &self.wide } else { &self.narrow }
    }

    /// Computes the start of each row and writes the entries up to the capacity; `launch` has all arguments of the
    /// plan.
    pub(super) fn run<'a>(&'a self, backend: &Device, launch: Launch<'a>) -> Result<()> {
        let groups = backend.caps().compute_units.min(self.tiles.count());
        let launch = self.tiles.begin(backend, launch)?;
        let threads = (self.workers + OTHER_WARPS) * LANES;
        launch.groups_that_share(groups, threads, self.workers * self.worker_bytes)
    }
}
