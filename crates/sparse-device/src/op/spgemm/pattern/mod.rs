//! The pattern of C.

mod bin_search;
mod row_bin;

use super::places::Places;
use super::row_bins::{Bin, RowBins};
use super::row_sizes::{ProductCounts, RowSizes};
use super::values::KnownRows;
use super::{Factors, ROWS_FILE, SpgemmAlgorithm, Teams};
use crate::Buffer;
use crate::buffer::RawBuffer;
use crate::index_type::IndexType;
use crate::lanes::LANES;
use crate::launch::Launch;
use crate::primitive::prefix_sum::PrefixSum;
use bin_search::{BinSearch, SLICE};
use row_bin::{BINS, EACH, Method, sorted_rows};
use sparse_core::{Backend, Error, Result};
use std::sync::Arc;

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

/// Memory for the columns of rows, each from its start on.
#[derive(Clone, Copy)]
struct ColumnBuffer<'a> {
    starts: &'a Buffer<i64>,
    columns: &'a RawBuffer,
}

/// The search for the pattern of C, by bins of rows of like numbers of products.
pub(super) struct PatternSearch<'a> {
    factors: Factors<'a>,
    pub(super) products: ProductCounts,
    /// The most entries that C can have.
    bound: usize,
    bins: RowBins,
    searches: Vec<BinSearch>,
    /// The places of all products, if rows are sorted and the plan shall have them.
    pub(super) places: Option<Places>,
}

impl<'a> PatternSearch<'a> {
    pub(super) fn new(factors: Factors<'a>, algorithm: SpgemmAlgorithm) -> Result<Self> {
        let spans_above = if algorithm.is_for_all_rows() { 0 } else { EACH * LANES };
        let products = ProductCounts::new(factors, Some(spans_above))?;
        let products_of_row = products.counts.total.div_ceil(factors.left.rows.max(1));
        let teams = Teams::new(factors.backend, products_of_row.div_ceil(EACH));
        let (bins, bound) = sorted_rows(factors, &products, algorithm, teams)?;
        let search = |bin: &Bin| {
            let kind = BINS[bin.number - 1];
            let method = match algorithm.method(kind, factors.right.cols) {
                Method::Sort if bins.are_single() => Method::SortMixed,
                method => method,
            };
            BinSearch::new(factors, &bins, bin, method, kind.lanes(teams), teams)
        };
        let searches = bins.iter().map(search).collect::<Result<_>>()?;
        Ok(Self { factors, products, bound, bins, searches, places: None })
    }

    /// True if the columns of all rows with products are sorted.
    pub(super) fn sorts_all(&self) -> bool {
        self.searches.iter().all(|search| search.method == Method::SortMixed)
    }

    /// Counts the entries of rows; finds their columns too, where there is memory for as many as rows can have.
    pub(super) fn count(&self) -> Result<CountedRows> {
        let (backend, rows) = (self.factors.backend, self.factors.left.rows);
        let starts = backend.zeros::<i64>(rows + 1)?;
        let loose = self.loose_columns()?;
        self.run(loose.as_ref().map(|columns| self.loose(columns)), Some(&starts))?;
        PrefixSum::series(backend, rows + 1)?.starts(backend, &starts)?;
        Ok(CountedRows { starts: starts.into(), loose })
    }

    /// The pattern of rows that are counted, with offsets of this type. Waits for the device, unless the `total` of
    /// their entries is known.
    ///
    /// # Errors
    /// [`IndexOverflow`](sparse_core::Error::IndexOverflow) if they do not count the entries.
    pub(super) fn find(
        &self,
        counted: CountedRows,
        total: Option<usize>,
        offset: IndexType,
    ) -> Result<FoundPattern> {
        let backend = self.factors.backend;
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
        let Factors { backend, right, .. } = self.factors;
        let (count, index_bytes) = (self.bound, right.indices.element_bytes);
        if (count as u64).saturating_mul(index_bytes as u64) > backend.scratch_limit() {
            return Ok(None);
        }
        match backend.allocate_raw(count, index_bytes) {
            Err(Error::OutOfMemory { .. }) => Ok(None),
            columns => columns.map(Some),
        }
    }

    /// Moves the columns of rows together.
    fn compact(&self, found: ColumnBuffer<'_>, lengths: &RowSizes, indices: &RawBuffer) -> Result<()> {
        let (backend, rows) = (self.factors.backend, self.factors.left.rows);
        let lanes = Teams::new(backend, lengths.total.div_ceil(rows.max(1) * EACH)).smallest;
        let kernel = self.factors.pattern_kernel("spgemm_columns", "spgemm_columns_compact")?;
        let launch = backend.launch(&kernel).size(rows).size(lanes).buffer(found.starts);
        launch.buffer(&lengths.starts).buffer(found.columns).buffer(indices).teams(rows, lanes)
    }

    /// The starts of rows as offsets of this type, which counts them.
    fn offsets(&self, starts: &RawBuffer, offset: IndexType) -> Result<RawBuffer> {
        let backend = self.factors.backend;
        let offsets = backend.allocate_raw(starts.len, offset.bytes())?;
        let kernel = self.factors.pattern_kernel(ROWS_FILE, "spgemm_rows_offsets")?;
        let launch = backend.launch(&kernel).size(starts.len).buffer(starts);
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
        let Factors { backend, left, right } = self.factors;
        let BinSearch { bin, lanes, method, kernel, bitmaps, .. } = search;
        let sorted = self.places.as_ref().and_then(Places::to_sort);
        let mut launch = backend.launch(kernel).range(&bin.rows).size(*lanes);
        if let Some(bitmaps) = bitmaps {
            launch = launch.size(right.cols).size(bitmaps.words);
        }
        if *method == Method::SortMixed {
            launch = launch.size(sorted.map_or(0, |(bits, _)| bits as usize));
        }
        let launch = launch.order(&self.bins).buffer(left.offsets).buffer(left.indices);
        let launch =
            launch.buffer(right.offsets).buffer(right.indices).found(found, counts).early_if(is_apart);
        let launch = match method {
            Method::Window => launch.buffer(&self.products.origins).buffer(&self.products.spans),
            Method::SortMixed => {
                let launch = launch.buffer(&self.products.counts.starts);
                launch.buffer_or_null(sorted.map(|(_, places)| places))
            }
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
        let Factors { backend, left, right } = self.factors;
        let BinSearch { bin, lanes, kernel, bitmaps: Some(bitmaps), slices: Some(slices), .. } = search
        else {
            return Ok(());
        };
        let collect = self.factors.pattern_kernel("spgemm_bitmaps", "spgemm_bitmaps_collect")?;
        for from in bin.rows.clone().step_by(bitmaps.count()) {
            let places = from..bin.rows.end.min(from + bitmaps.count());
            let launch = backend.launch(kernel).size(bin.rows.start).range(&places).size(*lanes);
            let launch = launch.size(SLICE).size(bitmaps.words).buffer(slices).order(&self.bins);
            let launch = launch.buffer(left.offsets).buffer(left.indices);
            let launch = launch.buffer(right.offsets).buffer(right.indices);
            let launch = launch.buffer(&bitmaps.bits);
            launch.group_per_row(places.len() + left.indices.len / SLICE, *lanes)?;
            let launch = backend.launch(&collect).range(&places).size(*lanes).size(bitmaps.words);
            let launch = launch.order(&self.bins).found(found, counts).buffer(&bitmaps.bits);
            launch.group_per_row(places.len(), *lanes)?;
        }
        Ok(())
    }
}

impl<'a> Launch<'a> {
    /// Adds the buffers for the columns of rows and for their numbers.
    fn found(self, found: Option<ColumnBuffer<'a>>, counts: Option<&'a RawBuffer>) -> Self {
        let (starts, columns) = found.map(|found| (&**found.starts, found.columns)).unzip();
        self.buffer_or_null(starts).buffer_or_null(counts).buffer_or_null(columns)
    }
}
