//! Rows in bins of their sizes.

use super::{Factors, Teams};
use crate::index_type::IndexType;
use crate::lanes::LANES;
use crate::launch::Launch;
use crate::primitive::positions::Positions;
use crate::primitive::radix_sort::radix_sort;
use crate::{Buffer, Device};
use sparse_core::{Backend, Result};
use std::ops::Range;

/// The file of the kernels.
pub(super) const FILE: &str = "spgemm_pattern";

/// The bins of rows that have elements, in the order of their numbers, which start at 1.
const BINS: [BinKind; 6] =
    [BinKind::Short, BinKind::Warp, BinKind::WarpWindow, BinKind::GroupWindow, BinKind::Group, BinKind::Long];

/// Windows of the largest team for a row, one after the other: each takes it through all products again. Measured on an
/// H100, two windows over a table and the sort of what it has, rows of 576 products: 0.55 of the time.
const MOST_WINDOWS: usize = 8;

/// Bits of the number of a bin.
const BITS: u32 = 3;

/// The property that the rows of a bin share. A team has memory for [`each`](Division::each) elements per lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BinKind {
    /// The elements fit the smallest team.
    Short,
    /// The elements fit a warp.
    Warp,
    /// The elements fit the largest team, and the columns are in a window of a warp.
    WarpWindow,
    /// Columns are in [`MOST_WINDOWS`] windows of the largest team.
    GroupWindow,
    /// The elements fit the largest team.
    Group,
    /// Any others.
    Long,
}

impl BinKind {
    /// The lanes of the team that has a row.
    fn lanes(self, teams: Teams) -> usize {
        match self {
            Self::Short => teams.smallest,
            Self::Warp | Self::WarpWindow => LANES,
            Self::GroupWindow | Self::Group | Self::Long => teams.largest,
        }
    }
}

/// The parameters of the division of rows into bins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Division<'a> {
    pub(super) teams: Teams,
    /// Elements that fit a team, for each of its lanes.
    pub(super) each: usize,
    /// The number of neighbouring columns that the elements of each row lie in, and columns for each lane of a window.
    pub(super) spans: Option<(&'a Buffer<i64>, usize)>,
    /// True if [`Short`](BinKind::Short) and [`Warp`](BinKind::Warp) are left empty.
    pub(super) only_windows: bool,
}

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
    pub(super) kind: BinKind,
    /// Positions in the order of rows.
    pub(super) rows: Range<usize>,
    /// The lanes of the teams that have rows of this bin.
    pub(super) lanes: usize,
}

impl RowBins {
    /// The rows in bins. Bins without rows, and rows without elements, are left out.
    pub(super) fn new(
        backend: &Device,
        factors: Factors<'_>,
        sizes: &RowSizes,
        division: Division<'_>,
    ) -> Result<Self> {
        let rows = sizes.starts.len - 1;
        if sizes.total == 0 {
            return Ok(Self { order: Positions::allocate(backend, 0, 0)?, bins: vec![] });
        }
        let Division { teams, each, spans, only_windows } = division;
        let kernel = |entry| backend.kernel(FILE, entry, factors.defines(backend));
        let limit = |kind: BinKind| if only_windows { 0 } else { each * kind.lanes(teams) };
        let window = |kind: BinKind| spans.map_or(0, |(_, columns)| columns * kind.lanes(teams));
        let keys: Buffer<i32> = backend.allocate(rows)?;
        let divide = kernel("spgemm_pattern_bins")?;
        let launch =
            backend.launch(&divide).size(rows).size(limit(BinKind::Short)).size(limit(BinKind::Warp));
        let launch = launch.size(each * teams.largest).size(window(BinKind::WarpWindow));
        let launch = launch.size(MOST_WINDOWS * window(BinKind::GroupWindow)).buffer(&sizes.starts);
        launch.buffer_or_null(spans.map(|(spans, _)| &**spans)).buffer(&keys).items(rows)?;
        let sorted = radix_sort(backend, keys.raw, None, IndexType::I64, 0..BITS)?;

        let ends = BINS.len() + 2;
        let starts: Buffer<i64> = backend.allocate(ends)?;
        let search = kernel("spgemm_pattern_bin_starts")?;
        let launch = backend.launch(&search).size(rows).size(ends).buffer(&sorted.keys);
        launch.buffer(&starts).items(ends)?;
        let starts = backend.download(&starts)?;
        let bin = |(index, kind): (usize, BinKind)| Bin {
            kind,
            rows: starts[index + 1] as usize..starts[index + 2] as usize,
            lanes: kind.lanes(teams),
        };
        let bins = BINS.into_iter().enumerate().map(bin).filter(|bin| !bin.rows.is_empty()).collect();
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
