//! The pattern of C.

use super::row_bins::{Bin, RowBins};
use super::row_sizes::{ProductCounts, RowSizes};
use super::values::KnownRows;
use super::{Factors, NO_ROW, ROWS_FILE, SpgemmAlgorithm, Teams};
use crate::buffer::RawBuffer;
use crate::index_type::IndexType;
use crate::lanes::LANES;
use crate::launch::Launch;
use crate::primitive::prefix_sum::PrefixSum;
use crate::{Buffer, Device, Kernel};
use sparse_core::{Backend, Error, Result};
use std::sync::Arc;

/// Products of a row for each lane of the team that finds it in local memory: the kernels' macro `EACH`.
const EACH: usize = 8;

/// Columns of a window for each lane of the team that finds a row: those of the words that the kernels' macro `WORDS`
/// counts.
const WINDOW_COLUMNS: usize = 32 * 31;

/// Windows of the largest team for a row, one after the other: each takes it through all products again. Measured on an
/// H100, two windows over a table and the sort of what it has, rows of 576 products: 0.55 of the time.
const MAX_WINDOWS: usize = 8;

/// Entries of a row of A above which it is split, and those for each work-group that marks its columns. Measured on an
/// H100: 83 rows of A with 1000 to 12 000 entries by a work-group each take 0.4 ms longer than split.
const SPLIT_ABOVE: usize = 1024;
const SLICE: usize = 256;

/// Words of the bitmap of a work-group, at most: a window of 32 million columns.
const MAX_WORDS: usize = 1 << 20;

/// Work-groups of the largest team that a compute unit runs at once.
const GROUPS_PER_UNIT: usize = 8;

/// Bytes of bitmaps in global memory, unless one row needs more.
const MAX_WORKSPACE: usize = 256 << 20;

/// The offsets and columns of C, and the lengths of its rows.
pub(super) struct FoundPattern {
    pub(super) offsets: RawBuffer,
    pub(super) indices: RawBuffer,
    pub(super) lengths: RowSizes,
}

impl FoundPattern {
    pub(super) fn rows(&self) -> KnownRows<'_> {
        let Self { offsets, indices, lengths } = self;
        KnownRows { offsets, columns: indices, count: lengths.total, is_mask: false }
    }
}

/// The entries before each row of C, and of all; and their columns, with gaps between
/// rows, if there is memory.
pub(super) struct CountedRows {
    pub(super) starts: Arc<Buffer<i64>>,
    loose: Option<RawBuffer>,
}

/// The size of the rows of a bin; bins are numbered in this order from 1. A team has memory for [`EACH`] products
/// per lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowBin {
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

const BINS: [RowBin; 7] = [
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
    fn lanes(self, teams: Teams) -> usize {
        match self {
            Self::Short => teams.smallest,
            Self::Warp | Self::WarpWindow => LANES,
            Self::GroupWindow | Self::Group | Self::Long | Self::Split => teams.largest,
        }
    }
}

/// The kernel that finds the columns of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Sort,
    Window,
    Hash,
    Bitmap,
    Split,
}

impl Method {
    /// The kernel's file and entry.
    fn entry(self) -> (&'static str, &'static str) {
        match self {
            Self::Sort => ("spgemm_columns", "spgemm_columns_sort"),
            Self::Window => ("spgemm_columns", "spgemm_columns_window"),
            Self::Hash => ("spgemm_columns", "spgemm_columns_hash"),
            Self::Bitmap => ("spgemm_bitmaps", "spgemm_bitmaps_bitmap"),
            Self::Split => ("spgemm_bitmaps", "spgemm_bitmaps_mark"),
        }
    }
}

impl SpgemmAlgorithm {
    /// The method for the rows of a bin. A table has columns below 2³¹.
    fn method(self, bin: RowBin, cols: usize) -> Method {
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
    fn is_for_all_rows(self) -> bool {
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

/// Memory for the columns of rows, each from its start on.
#[derive(Clone, Copy)]
struct ColumnBuffer<'a> {
    starts: &'a Buffer<i64>,
    columns: &'a RawBuffer,
}

/// Bitmaps in global memory, of so many words each.
struct Bitmaps {
    bits: RawBuffer,
    words: usize,
}

impl Bitmaps {
    /// Up to `most` bitmaps, within [`MAX_WORKSPACE`] unless one needs more.
    fn new(backend: &Device, most: usize, words: usize) -> Result<Self> {
        let count = most.min(MAX_WORKSPACE / (words * size_of::<u32>()).max(1)).max(1);
        Ok(Self { bits: backend.zeros_raw(count * words, size_of::<u32>())?, words })
    }

    fn count(&self) -> usize {
        self.bits.len / self.words
    }
}

/// The kernels of a bin and their workspace.
struct BinSearch {
    bin: Bin,
    lanes: usize,
    method: Method,
    kernel: Kernel,
    bitmaps: Option<Bitmaps>,
    /// The numbers of slices of rows of A before each row.
    slices: Option<Buffer<i64>>,
}

/// The search for the pattern of C, by bins of rows of like numbers of products.
pub(super) struct PatternSearch<'a> {
    backend: &'a Device,
    factors: Factors<'a>,
    pub(super) products: ProductCounts,
    /// The most entries that C can have.
    bound: usize,
    bins: RowBins,
    searches: Vec<BinSearch>,
}

impl<'a> PatternSearch<'a> {
    pub(super) fn new(backend: &'a Device, factors: Factors<'a>, algorithm: SpgemmAlgorithm) -> Result<Self> {
        let spans_above = if algorithm.is_for_all_rows() { 0 } else { EACH * LANES };
        let products = ProductCounts::new(backend, factors, Some(spans_above))?;
        let products_of_row = products.counts.total.div_ceil(factors.left.rows.max(1));
        let teams = Teams::new(backend, products_of_row.div_ceil(EACH));
        let (bins, bound) = row_bins(backend, factors, &products, algorithm, teams)?;
        let search = |bin: &Bin| {
            let kind = BINS[bin.number - 1];
            let method = algorithm.method(kind, factors.right.cols);
            BinSearch::new(backend, factors, &bins, bin, method, kind.lanes(teams), teams)
        };
        let searches = bins.iter().map(search).collect::<Result<_>>()?;
        Ok(Self { backend, factors, products, bound, bins, searches })
    }

    /// Counts the entries of rows; finds their columns too, where there is memory for as many as rows can have.
    pub(super) fn count(&self) -> Result<CountedRows> {
        let (backend, rows) = (self.backend, self.factors.left.rows);
        let starts = backend.zeros::<i64>(rows + 1)?;
        let loose = self.loose_columns()?;
        self.run(loose.as_ref().map(|columns| self.loose(columns)), Some(&starts))?;
        PrefixSum::series(backend, rows + 1)?.starts(backend, &starts)?;
        Ok(CountedRows { starts: starts.into(), loose })
    }

    /// The pattern of rows that are counted, with offsets of this type. Waits for the device, unless the `total` of their
    /// entries is known.
    ///
    /// # Errors
    /// [`IndexOverflow`](sparse_core::Error::IndexOverflow) if they do not count the entries.
    pub(super) fn find(
        &self,
        counted: CountedRows,
        total: Option<usize>,
        offset: IndexType,
    ) -> Result<FoundPattern> {
        let backend = self.backend;
        let CountedRows { starts, loose } = counted;
        let total = total.map_or_else(|| backend.last(&starts).map(|total| total as usize), Ok)?;
        let lengths = RowSizes { starts, total };
        offset.check("nnz", total)?;
        let indices = backend.allocate_raw(total, self.factors.right.indices.element_bytes)?;
        match &loose {
            Some(columns) => self.compact(self.loose(columns), &lengths, &indices)?,
            None => self.run(Some(ColumnBuffer { starts: &lengths.starts, columns: &indices }), None)?,
        }
        let offsets = self.offsets(&lengths.starts, offset)?;
        Ok(FoundPattern { offsets, indices, lengths })
    }

    /// Columns with gaps between rows.
    fn loose<'b>(&'b self, columns: &'b RawBuffer) -> ColumnBuffer<'b> {
        ColumnBuffer { starts: self.products.bound_starts(), columns }
    }

    /// Memory for as many columns as rows can have, unless that is much or not there.
    fn loose_columns(&self) -> Result<Option<RawBuffer>> {
        let (count, index_bytes) = (self.bound, self.factors.right.indices.element_bytes);
        if (count as u64).saturating_mul(index_bytes as u64) > self.backend.scratch_limit() {
            return Ok(None);
        }
        match self.backend.allocate_raw(count, index_bytes) {
            Err(Error::OutOfMemory { .. }) => Ok(None),
            columns => columns.map(Some),
        }
    }

    /// Moves the columns of rows together.
    fn compact(&self, found: ColumnBuffer<'_>, lengths: &RowSizes, indices: &RawBuffer) -> Result<()> {
        let (backend, rows) = (self.backend, self.factors.left.rows);
        let lanes = Teams::new(backend, lengths.total.div_ceil(rows.max(1) * EACH)).smallest;
        let kernel =
            backend.kernel("spgemm_columns", "spgemm_columns_compact", self.factors.defines(backend))?;
        let launch = backend.launch(&kernel).size(rows).size(lanes).buffer(found.starts);
        launch.buffer(&lengths.starts).buffer(found.columns).buffer(indices).teams(rows, lanes)
    }

    /// The starts of rows as offsets of this type, which counts them.
    fn offsets(&self, starts: &RawBuffer, offset: IndexType) -> Result<RawBuffer> {
        let offsets = self.backend.allocate_raw(starts.len, offset.bytes())?;
        let defines = self.factors.defines(self.backend);
        let kernel = self.backend.kernel(ROWS_FILE, "spgemm_rows_offsets", defines)?;
        let launch = self.backend.launch(&kernel).size(starts.len).buffer(starts);
        launch.buffer(&offsets).items(starts.len)?;
        Ok(offsets)
    }

    /// Finds the columns of all rows: writes them, counts them, or both.
    fn run(&self, found: Option<ColumnBuffer<'_>>, counts: Option<&RawBuffer>) -> Result<()> {
        // Launches have rows of their own, the longest rows first.
        self.searches.iter().rev().enumerate().try_for_each(|(before, search)| match search.method {
            Method::Split => self.run_split(search, found, counts),
            _ => self.run_rows(search, found, counts, before > 0),
        })
    }

    /// A team finds the columns of a row, apart from those that the last launch finds.
    fn run_rows(
        &self,
        search: &BinSearch,
        found: Option<ColumnBuffer<'_>>,
        counts: Option<&RawBuffer>,
        is_apart: bool,
    ) -> Result<()> {
        let Factors { left, right } = self.factors;
        let BinSearch { bin, lanes, method, kernel, bitmaps, .. } = search;
        let mut launch = self.backend.launch(kernel).range(&bin.rows).size(*lanes);
        if let Some(bitmaps) = bitmaps {
            launch = launch.size(right.cols).size(bitmaps.words);
        }
        let launch = launch.order(&self.bins).buffer(left.offsets).buffer(left.indices);
        let launch =
            launch.buffer(right.offsets).buffer(right.indices).found(found, counts).early_if(is_apart);
        let launch = match method {
            Method::Window => launch.buffer(&self.products.origins).buffer(&self.products.spans),
            Method::Hash => launch.buffer(&self.products.counts.starts),
            Method::Sort | Method::Bitmap | Method::Split => launch,
        };
        match bitmaps {
            Some(bitmaps) => launch.buffer(&bitmaps.bits).groups(bitmaps.count(), *lanes),
            None => launch.teams(bin.rows.len(), *lanes),
        }
    }

    /// Work-groups mark the columns of as many rows as there are bitmaps, and write them in order; then those of the
    /// next.
    fn run_split(
        &self,
        search: &BinSearch,
        found: Option<ColumnBuffer<'_>>,
        counts: Option<&RawBuffer>,
    ) -> Result<()> {
        let Factors { left, right } = self.factors;
        let BinSearch { bin, lanes, kernel, bitmaps: Some(bitmaps), slices: Some(slices), .. } = search
        else {
            return Ok(());
        };
        let collect = self.backend.kernel(
            "spgemm_bitmaps",
            "spgemm_bitmaps_collect",
            self.factors.defines(self.backend),
        )?;
        for from in bin.rows.clone().step_by(bitmaps.count()) {
            let places = from..bin.rows.end.min(from + bitmaps.count());
            let launch = self.backend.launch(kernel).size(bin.rows.start).range(&places).size(*lanes);
            let launch = launch.size(SLICE).size(bitmaps.words).buffer(slices).order(&self.bins);
            let launch = launch.buffer(left.offsets).buffer(left.indices);
            let launch = launch.buffer(right.offsets).buffer(right.indices);
            let launch = launch.buffer(&bitmaps.bits);
            launch.group_per_row(places.len() + left.indices.len / SLICE, *lanes)?;
            let launch = self.backend.launch(&collect).range(&places).size(*lanes).size(bitmaps.words);
            let launch = launch.order(&self.bins).found(found, counts).buffer(&bitmaps.bits);
            launch.group_per_row(places.len(), *lanes)?;
        }
        Ok(())
    }
}

/// The rows in bins of their products and entries of A, and the most entries that C can have.
fn row_bins(
    backend: &Device,
    factors: Factors<'_>,
    products: &ProductCounts,
    algorithm: SpgemmAlgorithm,
    teams: Teams,
) -> Result<(RowBins, usize)> {
    let rows = factors.left.rows;
    let is_for_all = algorithm.is_for_all_rows();
    let limit = |bin: RowBin| if is_for_all { 0 } else { EACH * bin.lanes(teams) };
    if products.counts.total == 0 {
        return Ok((RowBins::none(), 0));
    }
    let are_sorted = algorithm.method(RowBin::Short, factors.right.cols) == Method::Sort;
    if are_sorted && products.most <= limit(RowBin::Short) {
        return Ok((RowBins::single(rows), products.bound(backend)?));
    }
    let has_windows = matches!(algorithm, SpgemmAlgorithm::ByRow | SpgemmAlgorithm::Window);
    let window = |bin: RowBin| if has_windows { WINDOW_COLUMNS * bin.lanes(teams) } else { 0 };
    let split_above = algorithm.split_above(factors.right.cols).unwrap_or(NO_ROW);
    RowBins::sorted(backend, factors, BINS.len(), products.bound_starts(), |bins| {
        let kernel = backend.kernel(ROWS_FILE, "spgemm_rows_bins", factors.defines(backend))?;
        let launch = backend.launch(&kernel).size(rows).size(limit(RowBin::Short)).size(limit(RowBin::Warp));
        let launch = launch.size(EACH * teams.largest).size(window(RowBin::WarpWindow));
        let launch = launch.size(MAX_WINDOWS * window(RowBin::GroupWindow)).size(split_above);
        let launch = launch.buffer(&products.counts.starts).buffer(&products.spans);
        launch.buffer(factors.left.offsets).buffer(bins).items(rows)
    })
}

impl BinSearch {
    fn new(
        backend: &Device,
        factors: Factors<'_>,
        bins: &RowBins,
        bin: &Bin,
        method: Method,
        lanes: usize,
        teams: Teams,
    ) -> Result<Self> {
        let words = factors.right.cols.div_ceil(32);
        let busy = backend.caps().compute_units * GROUPS_PER_UNIT;
        let bitmaps = match method {
            Method::Bitmap => Some(Bitmaps::new(backend, bin.rows.len().min(busy), words.min(MAX_WORDS))?),
            Method::Split => Some(Bitmaps::new(backend, bin.rows.len(), words)?),
            Method::Sort | Method::Window | Method::Hash => None,
        };
        let slices = || bins.slices(backend, factors, bin, factors.left.offsets, SLICE);
        let lanes = match method {
            Method::Sort => lanes,
            Method::Window | Method::Hash => lanes.max(LANES),
            Method::Bitmap | Method::Split => teams.largest,
        };
        let (file, entry) = method.entry();
        Ok(Self {
            bin: bin.clone(),
            lanes,
            method,
            kernel: backend.kernel(file, entry, factors.defines(backend))?,
            bitmaps,
            slices: (method == Method::Split).then(slices).transpose()?,
        })
    }
}

impl<'a> Launch<'a> {
    /// Where the columns of rows go, and their numbers.
    fn found(self, found: Option<ColumnBuffer<'a>>, counts: Option<&'a RawBuffer>) -> Self {
        let (starts, columns) = found.map(|found| (&**found.starts, found.columns)).unzip();
        self.buffer_or_null(starts).buffer_or_null(counts).buffer_or_null(columns)
    }
}
