//! Bins of rows by their products, and the kernel that finds the columns of the rows of each.

use super::super::row_bins::RowBins;
use super::super::row_sizes::ProductCounts;
use super::super::{Factors, NO_ROW, ROWS_FILE, SpgemmAlgorithm, Teams};
use super::bin_search::MAX_WORKSPACE;
use crate::lanes::LANES;
use sparse_core::Result;

/// Products of a row for each lane of the team that finds it in local memory: the kernels' macro `EACH`.
pub(super) const EACH: usize = 8;

/// Columns of a window for each lane of the team that finds a row: those of the words that the kernels' macro `WORDS`
/// counts.
const WINDOW_COLUMNS: usize = 32 * 31;

/// Windows of the largest team for a row, one after the other: each takes it through all products again. Measured on an
/// H100, two windows over a table and the sort of what it has, rows of 576 products: 0.55 of the time.
const MAX_WINDOWS: usize = 8;

/// Entries of a row of A above which it is split. Measured on an H100: 83 rows of A with 1000 to 12 000 entries by a
/// work-group each take 0.4 ms longer than split.
const SPLIT_ABOVE: usize = 1024;

/// The size of the rows of a bin; bins are numbered in this order from 1. A team has memory for [`EACH`] products
/// per lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowBin {
    /// The products fit the smallest team.
    Short,
    /// The products fit a warp.
    Warp,
    /// The products fit the largest team, and the columns are in a window of a warp.
    WarpWindow,
    /// Columns are in [`MAX_WINDOWS`] windows of the largest team.
    GroupWindow,
    /// The products fit the largest team.
    Group,
    /// Any others.
    Long,
    /// Rows of A with more than [`SPLIT_ABOVE`] entries.
    Split,
}

pub(super) const BINS: [RowBin; 7] = [
    RowBin::Short,
    RowBin::Warp,
    RowBin::WarpWindow,
    RowBin::GroupWindow,
    RowBin::Group,
    RowBin::Long,
    RowBin::Split,
];

impl RowBin {
    /// The lanes of the team that has a row.
    pub(super) fn lanes(self, teams: Teams) -> usize {
        match self {
            Self::Short => teams.smallest,
            Self::Warp | Self::WarpWindow => LANES,
            Self::GroupWindow | Self::Group | Self::Long | Self::Split => teams.largest,
        }
    }
}

/// The kernel that finds the columns of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Sort,
    /// The same for rows of any lengths that a warp sorts.
    SortMixed,
    Window,
    Hash,
    Bitmap,
    Split,
}

impl Method {
    /// The kernel's file and entry.
    pub(super) fn entry(self) -> (&'static str, &'static str) {
        match self {
            Self::Sort => ("spgemm_columns", "spgemm_columns_sort"),
            Self::SortMixed => ("spgemm_columns", "spgemm_columns_sort_mixed"),
            Self::Window => ("spgemm_columns", "spgemm_columns_window"),
            Self::Hash => ("spgemm_columns", "spgemm_columns_hash"),
            Self::Bitmap => ("spgemm_bitmaps", "spgemm_bitmaps_bitmap"),
            Self::Split => ("spgemm_bitmaps", "spgemm_bitmaps_mark"),
        }
    }
}

impl SpgemmAlgorithm {
    /// The method for the rows of a bin. A table has columns below 2³¹.
    pub(super) fn method(self, bin: RowBin, cols: usize) -> Method {
        let table = if i32::try_from(cols).is_ok() { Method::Hash } else { Method::Bitmap };
        match (self, bin) {
            (_, RowBin::Split) => Method::Split,
            (Self::Bitmap, _) | (_, RowBin::Long) => Method::Bitmap,
            (_, RowBin::WarpWindow | RowBin::GroupWindow) => Method::Window,
            (Self::Hash, _) | (_, RowBin::Group) => table,
            (_, RowBin::Short | RowBin::Warp) => Method::Sort,
        }
    }

    /// True if rows are in bins whatever their products are.
    pub(super) fn is_for_all_rows(self) -> bool {
        matches!(self, Self::Window | Self::Split)
    }

    /// The entries that rows of A must exceed to be split, if rows are split by this algorithm. Each has a bitmap.
    fn split_above(self, cols: usize) -> Option<usize> {
        let fits = cols.div_ceil(32).saturating_mul(size_of::<u32>()) <= MAX_WORKSPACE;
        match self {
            Self::ByRow if fits => Some(SPLIT_ABOVE),
            Self::Split if fits => Some(0),
            _ => None,
        }
    }
}

/// The rows in bins of their products and entries of A, and the most entries that C can have.
pub(super) fn sorted_rows(
    factors: Factors<'_>,
    products: &ProductCounts,
    algorithm: SpgemmAlgorithm,
    teams: Teams,
) -> Result<(RowBins, usize)> {
    let backend = factors.backend;
    let rows = factors.left.rows;
    let is_for_all = algorithm.is_for_all_rows();
    let limit = |bin: RowBin| if is_for_all { 0 } else { EACH * bin.lanes(teams) };
    if products.counts.total == 0 {
        return Ok((RowBins::none(), 0));
    }
    // Rows that are too long for the smallest team are taken by several of these together.
    let are_sorted = algorithm.method(RowBin::Short, factors.right.cols) == Method::Sort;
    if are_sorted && products.most <= limit(RowBin::Warp) {
        return Ok((RowBins::single(rows), products.bound(backend)?));
    }
    let has_windows = matches!(algorithm, SpgemmAlgorithm::ByRow | SpgemmAlgorithm::Window);
    let window = |bin: RowBin| if has_windows { WINDOW_COLUMNS * bin.lanes(teams) } else { 0 };
    let split_above = algorithm.split_above(factors.right.cols).unwrap_or(NO_ROW);
    RowBins::sorted(factors, BINS.len(), products.bound_starts(), |bins| {
        let kernel = factors.pattern_kernel(ROWS_FILE, "spgemm_rows_bins")?;
        let launch = backend.launch(&kernel).size(rows).size(limit(RowBin::Short)).size(limit(RowBin::Warp));
        let launch = launch.size(EACH * teams.largest).size(window(RowBin::WarpWindow));
        let launch = launch.size(MAX_WINDOWS * window(RowBin::GroupWindow)).size(split_above);
        let launch = launch.buffer(&products.counts.starts).buffer(&products.spans);
        launch.buffer(factors.left.offsets).buffer(bins).items(rows)
    })
}
