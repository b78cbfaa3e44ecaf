//! Rows in bins of their sizes.

use super::{Factors, Teams};
use crate::index_type::IndexType;
use crate::launch::Launch;
use crate::primitive::positions::Positions;
use crate::primitive::radix_sort::radix_sort;
use crate::{Buffer, Device};
use sparse_core::{Backend, Result};
use std::ops::Range;

/// The file of the kernels.
pub(super) const FILE: &str = "spgemm_pattern";

/// Bins: of rows without elements, of three teams, and of all longer rows.
const BINS: usize = 5;

/// Bits of the number of a bin.
const BITS: u32 = 3;

/// Sizes of rows as their prefix sums, and the sum of all.
#[derive(Debug)]
pub(super) struct RowSizes {
    pub(super) starts: Buffer<i64>,
    pub(super) total: usize,
}

/// The rows in order of their bins, and within a bin in the order of the matrix.
#[derive(Debug)]
pub(super) struct RowBins {
    order: Positions,
    bins: Vec<Bin>,
}

/// Neighbours in the order of rows.
#[derive(Debug, Clone)]
pub(super) struct Bin {
    /// Places in that order.
    pub(super) rows: Range<usize>,
    /// The lanes of the teams that have rows of this bin.
    pub(super) lanes: usize,
    /// True if rows may have more elements than such a team has place for in local memory.
    pub(super) is_long: bool,
}

impl RowBins {
    /// Bins of rows with at most `each` elements for every lane of a team, and of longer ones. Bins without rows, and rows
    /// without elements, are left out.
    pub(super) fn new(
        backend: &Device,
        factors: Factors<'_>,
        sizes: &RowSizes,
        (teams, each): (&Teams, usize),
    ) -> Result<Self> {
        let rows = sizes.starts.len - 1;
        if sizes.total == 0 {
            return Ok(Self { order: Positions::allocate(backend, 0, 0)?, bins: vec![] });
        }
        let kernel = |entry| backend.kernel(FILE, entry, factors.defines(backend));
        let limit = |team: usize| teams.0.get(team).map_or(each * teams.largest(), |lanes| each * lanes);
        let keys: Buffer<i32> = backend.allocate(rows)?;
        let divide = kernel("spgemm_pattern_bins")?;
        let launch = backend.launch(&divide).size(rows).size(limit(0)).size(limit(1)).size(limit(2));
        launch.buffer(&sizes.starts).buffer(&keys).items(rows)?;
        let sorted = radix_sort(backend, keys.raw, None, IndexType::I64, 0..BITS)?;

        let starts: Buffer<i64> = backend.allocate(BINS + 1)?;
        let search = kernel("spgemm_pattern_bin_starts")?;
        let launch = backend.launch(&search).size(rows).size(BINS + 1).buffer(&sorted.keys);
        launch.buffer(&starts).items(BINS + 1)?;
        let starts = backend.download(&starts)?;
        let bin = |number: usize| Bin {
            rows: starts[number] as usize..starts[number + 1] as usize,
            lanes: teams.0.get(number - 1).copied().unwrap_or(teams.largest()),
            is_long: number == BINS - 1,
        };
        let bins = (1..BINS).map(bin).filter(|bin| !bin.rows.is_empty()).collect();
        Ok(Self { order: sorted.positions, bins })
    }

    /// The bins that have rows.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Bin> {
        self.bins.iter()
    }

    /// Bytes on the device.
    pub(super) fn bytes(&self) -> usize {
        self.order.bytes()
    }
}

impl<'a> Launch<'a> {
    /// The places of a bin, and the lanes of its teams.
    pub(super) fn bin(self, bin: &Bin) -> Self {
        self.size(bin.rows.start).size(bin.rows.end).size(bin.lanes)
    }

    /// The order that bins are places in.
    pub(super) fn order(self, bins: &'a RowBins) -> Self {
        self.positions(&bins.order)
    }
}

/// Work-groups for rows of a bin that each need `bytes` bytes of global memory: as many as a device keeps busy, within
/// [`MOST_WORKSPACE`].
pub(super) fn groups_of(backend: &Device, bin: &Bin, bytes: usize) -> usize {
    let busy = backend.caps().compute_units * GROUPS_PER_UNIT;
    bin.rows.len().min(busy).min(MOST_WORKSPACE / bytes.max(1)).max(1)
}

/// Work-groups of the largest team that a compute unit runs at once.
const GROUPS_PER_UNIT: usize = 8;

/// Bytes of global memory that all work-groups together work in, unless one needs more.
const MOST_WORKSPACE: usize = 256 << 20;
