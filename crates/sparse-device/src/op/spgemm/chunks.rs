//! Chunks of C, whose products plans of many runs keep.
//!
//! A chunk has neighbouring entries of C, whose products fit in local memory. A work-group makes these products in the
//! order of A's entries, so that it reads rows of B in parts, and then adds them in the order of C's entries: all
//! work-items have as many products, however long rows are. A run reads 2 bytes a product, 8 bytes for each part of a
//! row of B and for 32 products, and A, B and C. For long rows, and for all rows by the limits below.

use super::places::{self, find_b_rows};
use super::row_bins::RowBins;
use super::row_sizes::ProductCounts;
use super::values::KnownRows;
use super::{Factors, Teams, largest_team};
use crate::buffer::RawBuffer;
use crate::index_type::IndexType;
use crate::lanes::LANES;
use crate::primitive::prefix_sum::PrefixSum;
use crate::primitive::radix_sort::radix_sort;
use crate::primitive::raw::RawCompressed;
use crate::{Buffer, Device, Kernel};
use sparse_core::{Backend, Error, Result};
use std::ops::Range;

/// Bytes of products for each work-item: the kernels' macro `EACH` counts products.
const BYTES_PER_ITEM: usize = 64;

/// Chunks for each compute unit, at least, where that does not make them short.
const CHUNKS_PER_UNIT: usize = 4;

/// The part of the largest chunk that is the least worth making. Measured on an H200: an eighth takes 0.92 to 0.96 of the
/// time of a quarter for 0.05 to 0.3 million products.
const SHORTEST: usize = 8;

/// The part of the largest chunk above which the products of an entry are a chunk, however many they are.
const ALONE: usize = 8;

/// Calls from which on all rows are in chunks if rows of B are short or products few, on a GPU. Measured on an H200:
/// runs save 1 to 120 us, and pay for the plan after 60 to 300 calls.
const CALLS: usize = 100;

/// Products count as few up to this many times those whose chunks a device runs at once. Measured on an H200, kernels
/// alone: chunks take 0.7 to 1.0 of the time of places for meshes, finite elements, blocks of unknowns and uniform rows
/// of 7 to 21 entries with 1 to 17 million products.
const ROUNDS: usize = 8;

/// The mean length of a row of B up to which all rows of C are in chunks. Measured on an H200, kernels alone: chunks
/// take 0.5 to 0.84 of the time of places up to 4 entries, 0.9 for 5 and 1.24 for a stencil of 7.
const SHORT: usize = 4;

/// The mean length up to which they are if some rows of C are long.
const SHORT_BESIDE_LONG: usize = 16;

/// The mean length up to which they are if products meet.
const SHORT_AND_MEETING: usize = 24;

/// Products meet where an entry of C has so many halves of a product on average, or more. Measured on an H200, 15 to 104
/// million products: chunks take 0.7 to 0.9 of the time of places for meshes, finite elements and blocks of unknowns with
/// 2.4 to 7.3 for each entry of C, and 0.9 to 1.0 for uniform rows, which have one, at six times the time of a plan.
const MEETING_HALVES: usize = 3;

/// Rows of B differ in length, so that all rows of C are in chunks if some are, where the entries of A meet rows this
/// many times as long as the mean row of B.
const SKEWED: usize = 2;

/// Bytes of what a run reads of a chunk first.
const HEAD_BYTES: usize = 32;

/// Bytes for each product while chunks are made: its entry of C, its place, and its position.
const BYTES_PER_PRODUCT: usize = 4 + 2 + 2;

/// Bytes for each segment while chunks are made: itself, its chunk and its length, each sorted too, positions twice,
/// and its source.
const BYTES_PER_SEGMENT: usize = 2 * (16 + 4 + 4) + 2 * 4 + 8;

/// True if all rows are best in chunks in a plan of so many calls, for a C of so many entries.
pub(super) fn take_all_rows(
    backend: &Device,
    factors: Factors<'_>,
    products: &ProductCounts,
    entries: usize,
    calls: usize,
) -> bool {
    let Factors { left, right } = factors;
    let mean = right.mean_length();
    let total = products.counts.total;
    let are_few = run_at_once(backend, factors, total / ROUNDS);
    let has_long_rows = products.most > places::MAX_PRODUCTS;
    let is_skewed = total > SKEWED * mean * left.indices.len;
    let meet = mean <= SHORT_AND_MEETING && 2 * total >= MEETING_HALVES * entries;
    let are_many_calls = calls >= CALLS && !backend.caps().is_cpu;
    (are_many_calls && (mean <= SHORT || are_few || meet))
        || (has_long_rows && (mean <= SHORT_BESIDE_LONG || is_skewed))
}

/// True if the chunks of so many products run at once.
pub(super) fn run_at_once(backend: &Device, factors: Factors<'_>, products: usize) -> bool {
    let (most, _) = most_products(backend, factors.left);
    products <= backend.caps().compute_units * CHUNKS_PER_UNIT * most
}

/// The products of the largest chunk, and of a work-item.
fn most_products(backend: &Device, left: RawCompressed<'_>) -> (usize, usize) {
    let each = BYTES_PER_ITEM / left.dtype.accumulator().bytes();
    (each * largest_team(backend), each)
}

/// The chunks of rows, and their products: groups of [`LANES`] in the order of A's entries, of which those that are
/// neighbours in a row of B are a segment.
#[derive(Debug)]
pub(super) struct Chunks {
    count: usize,
    /// The work-items that have a chunk.
    lanes: usize,
    /// Where the lists of each chunk begin, and its entries of C.
    heads: RawBuffer,
    /// Where a run keeps the products of each entry.
    positions: RawBuffer,
    /// Which products are the last ones of an entry.
    runs: RawBuffer,
    /// The segments that the products of each group are of.
    groups: RawBuffer,
    /// Where the factors of each segment are.
    sources: RawBuffer,
    kernel: Kernel,
}

impl Chunks {
    /// Divides the rows at these places into chunks, unless their products take much memory, or memory that is not
    /// there, or are too many for 32 bits.
    pub(super) fn new(
        backend: &Device,
        factors: Factors<'_>,
        rows_of_bins: (&RowBins, Range<usize>),
        rows: KnownRows<'_>,
    ) -> Result<Option<Self>> {
        match Self::within_limits(backend, factors, rows_of_bins, rows) {
            Err(Error::OutOfMemory { .. }) => Ok(None),
            chunks => chunks,
        }
    }

    fn within_limits(
        backend: &Device,
        factors: Factors<'_>,
        (bins, places): (&RowBins, Range<usize>),
        rows: KnownRows<'_>,
    ) -> Result<Option<Self>> {
        let fits = |bytes: usize| bytes as u64 <= backend.scratch_limit();
        let is_counted = |n: usize| i32::try_from(n + 1).is_ok();
        if !is_counted(factors.left.indices.len) || !is_counted(factors.right.indices.len) {
            return Ok(None);
        }
        let b_rows = find_b_rows(backend, factors)?;
        let rows = ChunkRows { backend, factors, b_rows, bins, places, rows };
        let counts = rows.count()?;
        let counted = [counts.products, counts.c_entries, counts.a_entries];
        if !fits(counts.products.saturating_mul(BYTES_PER_PRODUCT)) || !counted.into_iter().all(is_counted) {
            return Ok(None);
        }
        let entries = rows.product_entries(&counts)?;
        let bounds = rows.bounds(&counts, &entries)?;
        if !is_counted(bounds.stream_len(&counts)) {
            return Ok(None);
        }
        let starts = backend.zeros::<i64>(counts.a_entries + 1)?;
        rows.segments(&counts, &entries, &bounds, &starts, None)?;
        let count = PrefixSum::series(backend, starts.len)?.starts_and_sum(backend, &starts)?;
        if !fits(count.saturating_mul(BYTES_PER_SEGMENT)) {
            return Ok(None);
        }
        let segments = Segments::allocate(backend, count)?;
        rows.segments(&counts, &entries, &bounds, &starts, Some(&segments))?;
        rows.chunks(&counts, entries, bounds, segments).map(Some)
    }

    /// Writes the values of the rows, apart from those that the last launch writes.
    pub(super) fn run(
        &self,
        backend: &Device,
        factors: Factors<'_>,
        c: RawCompressed<'_>,
        is_apart: bool,
    ) -> Result<()> {
        let launch = backend.launch(&self.kernel).size(self.count).buffer(&self.heads);
        let launch = launch.buffer(&self.positions).buffer(&self.runs);
        let launch = launch.buffer(&self.groups).buffer(&self.sources);
        let launch = launch.buffer(factors.left.values).buffer(factors.right.values);
        launch.buffer(c.values).early_if(is_apart).group_per_row(self.count, self.lanes)
    }

    /// Bytes on the device.
    pub(super) fn bytes(&self) -> usize {
        let lists = self.positions.bytes() + self.runs.bytes();
        self.heads.bytes() + lists + self.groups.bytes() + self.sources.bytes()
    }
}

/// The numbers of entries of A, of entries of C and of products in the rows, and those before each row and entry.
struct Counts {
    a_entries: usize,
    c_entries: usize,
    products: usize,
    /// The entries of A before each row, and of all.
    a_before: Buffer<i64>,
    /// The entries of C before each row, and of all.
    c_before: Buffer<i64>,
    /// The row of each entry of A.
    a_rows: Buffer<i32>,
    /// The products before each entry of A, and of all.
    products_before: Buffer<i64>,
    /// The lanes of a team that has an entry of A: enough for most entries.
    lanes: usize,
}

/// The entry of C of each product.
struct ProductEntries {
    c_entries: Buffer<i32>,
    /// The products before each entry of C, and of all.
    starts: Buffer<i32>,
}

/// Which entries of C chunks begin with.
struct ChunkBounds {
    /// The chunks before each entry of C, and of all.
    chunks_before: Buffer<i32>,
    count: usize,
}

impl ChunkBounds {
    /// The products of all chunks, each of which begins with a group.
    fn stream_len(&self, counts: &Counts) -> usize {
        (counts.products / LANES + self.count + 1) * LANES
    }
}

/// Segments, with their chunks and lengths.
struct Segments {
    segments: RawBuffer,
    chunks: RawBuffer,
    lengths: RawBuffer,
}

impl Segments {
    fn allocate(backend: &Device, count: usize) -> Result<Self> {
        let allocate = |bytes| backend.allocate_raw(count, bytes);
        Ok(Self { segments: allocate(16)?, chunks: allocate(4)?, lengths: allocate(4)? })
    }

    /// The segments in the order of their chunks.
    fn sorted(self, backend: &Device, chunks: usize) -> Result<Self> {
        let bits = usize::BITS - chunks.leading_zeros();
        let sorted = radix_sort(backend, self.chunks, None, IndexType::I32, 0..bits)?;
        let gathered = |from| backend.gathered(&sorted.positions, from);
        Ok(Self {
            segments: gathered(&self.segments)?,
            lengths: gathered(&self.lengths)?,
            chunks: sorted.keys,
        })
    }
}

/// The rows that are divided into chunks.
struct ChunkRows<'a> {
    backend: &'a Device,
    factors: Factors<'a>,
    /// Where the row of B of each entry of A begins and ends.
    b_rows: RawBuffer,
    bins: &'a RowBins,
    /// Their places in the order of bins.
    places: Range<usize>,
    rows: KnownRows<'a>,
}

impl ChunkRows<'_> {
    fn kernel(&self, entry: &'static str) -> Result<Kernel> {
        let left = self.factors.left;
        self.backend.kernel_of(left.dtype, "spgemm_chunks", entry, self.factors.defines(self.backend))
    }

    /// Counts entries and products.
    fn count(&self) -> Result<Counts> {
        let Self { backend, bins, places, .. } = self;
        let a_offsets = self.factors.left.offsets;
        let a_before = backend.zeros::<i64>(places.len() + 1)?;
        let c_before = backend.zeros::<i64>(places.len() + 1)?;
        let kernel = self.kernel("spgemm_chunks_rows")?;
        let launch = backend.launch(&kernel).range(places).order(bins).buffer(a_offsets);
        let launch = launch.buffer(self.rows.offsets).buffer(&a_before).buffer(&c_before);
        launch.items(places.len())?;
        let sums = PrefixSum::series(backend, places.len() + 1)?;
        let a_entries = sums.starts_and_sum(backend, &a_before)?;
        let c_entries = sums.starts_and_sum(backend, &c_before)?;
        let a_rows = backend.allocate::<i32>(a_entries)?;
        let products_before = backend.zeros::<i64>(a_entries + 1)?;
        let kernel = self.kernel("spgemm_chunks_products")?;
        let launch = backend.launch(&kernel).range(places).size(a_entries).order(bins).buffer(a_offsets);
        let launch = launch.buffer(&a_before).buffer(&self.b_rows).buffer(&a_rows);
        launch.buffer(&products_before).items(a_entries)?;
        let sums = PrefixSum::series(backend, a_entries + 1)?;
        let products = sums.starts_and_sum(backend, &products_before)?;
        let lanes = Teams::new(backend, (3 * products).div_ceil(2 * a_entries.max(1))).smallest;
        Ok(Counts { a_entries, c_entries, products, a_before, c_before, a_rows, products_before, lanes })
    }

    /// Finds the entry of C of each product.
    fn product_entries(&self, counts: &Counts) -> Result<ProductEntries> {
        let Self { backend, factors, .. } = self;
        let c_entries = backend.allocate::<i32>(counts.products)?;
        let starts = backend.zeros::<i32>(counts.c_entries + 1)?;
        let kernel = self.kernel("spgemm_chunks_c_entries")?;
        let launch = backend.launch(&kernel).size(self.places.start).size(counts.a_entries);
        let launch =
            launch.size(counts.lanes).order(self.bins).buffer(factors.left.offsets).buffer(&self.b_rows);
        let launch = launch.buffer(factors.right.indices).buffer(self.rows.offsets).buffer(self.rows.columns);
        let launch = launch.buffer(&counts.a_before).buffer(&counts.c_before).buffer(&counts.a_rows);
        let launch = launch.buffer(&counts.products_before).buffer(&c_entries).buffer(&starts);
        launch.teams(counts.a_entries, counts.lanes)?;
        PrefixSum::series(backend, starts.len)?.starts(backend, &starts)?;
        Ok(ProductEntries { c_entries, starts })
    }

    /// Divides the entries of C into chunks.
    fn bounds(&self, counts: &Counts, entries: &ProductEntries) -> Result<ChunkBounds> {
        let Self { backend, places, .. } = self;
        let (most, _) = most_products(backend, self.factors.left);
        let longest = backend.longest_row(&entries.starts)?;
        let wanted = counts.products / (backend.caps().compute_units * CHUNKS_PER_UNIT);
        let alone = longest.min(most / ALONE);
        // A chunk has up to `alone` products more than these.
        let most_products = wanted.clamp(most / SHORTEST, most - alone);
        let begins = backend.zeros::<i32>(counts.c_entries + 1)?;
        let kernel = self.kernel("spgemm_chunks_begins")?;
        let launch = backend.launch(&kernel).size(places.start).size(places.len()).size(counts.c_entries);
        let launch = launch.size(most_products).size(alone).order(self.bins).buffer(self.rows.offsets);
        let launch = launch.buffer(&counts.c_before).buffer(&entries.starts);
        launch.buffer(&begins).items(counts.c_entries)?;
        PrefixSum::series(backend, begins.len)?.starts(backend, &begins)?;
        let count = backend.last(&begins)? as usize;
        Ok(ChunkBounds { chunks_before: begins, count })
    }

    /// Counts the segments of each entry of A or, from these numbers of segments before, writes them.
    fn segments(
        &self,
        counts: &Counts,
        entries: &ProductEntries,
        bounds: &ChunkBounds,
        starts: &Buffer<i64>,
        to: Option<&Segments>,
    ) -> Result<()> {
        let kernel = self.kernel("spgemm_chunks_segments")?;
        let launch = self.backend.launch(&kernel).size(self.places.start).size(counts.a_entries);
        let launch = launch.size(counts.lanes).order(self.bins).buffer(self.factors.left.offsets);
        let launch = launch.buffer(&self.b_rows).buffer(&counts.a_before).buffer(&counts.a_rows);
        let launch = launch.buffer(&counts.products_before).buffer(&entries.c_entries);
        let launch = launch.buffer(&bounds.chunks_before).buffer(starts);
        let launch = launch.buffer_or_null(to.map(|to| &to.segments));
        let launch = launch.buffer_or_null(to.map(|to| &to.chunks));
        launch.buffer_or_null(to.map(|to| &to.lengths)).teams(counts.a_entries, counts.lanes)
    }

    /// The chunks, with the products of these segments.
    fn chunks(
        &self,
        counts: &Counts,
        entries: ProductEntries,
        bounds: ChunkBounds,
        segments: Segments,
    ) -> Result<Chunks> {
        let Self { backend, places, .. } = self;
        let stream_len = bounds.stream_len(counts);
        let ChunkBounds { chunks_before, count } = bounds;
        let ProductEntries { c_entries, starts: entry_starts } = entries;
        let entries = backend.allocate::<i32>(count + 1)?;
        let starts = backend.allocate::<i32>(count + 1)?;
        let c_places = backend.allocate::<i64>(count)?;
        let kernel = self.kernel("spgemm_chunks_bounds")?;
        let launch = backend.launch(&kernel).size(places.start).size(places.len()).size(counts.c_entries);
        let launch = launch.order(self.bins).buffer(self.rows.offsets).buffer(&counts.c_before);
        let launch = launch.buffer(&entry_starts).buffer(&chunks_before);
        launch.buffer(&entries).buffer(&starts).buffer(&c_places).items(counts.c_entries + 1)?;

        let (most, each) = most_products(backend, self.factors.left);
        let Segments { segments, chunks, lengths } = segments.sorted(backend, count)?;
        let lengths = lengths.of::<i32>();
        PrefixSum::series(backend, lengths.len)?.starts(backend, &lengths)?;
        let places = backend.allocate_raw(stream_len, size_of::<u16>())?;
        let sources = backend.allocate_raw(segments.len, 8)?;
        // Warps load groups past the end of a chunk.
        let groups = backend.zeros_raw((stream_len + most) / LANES, 8)?;
        let kernel = self.kernel("spgemm_chunks_place")?;
        let launch = backend.launch(&kernel).size(segments.len).size(counts.lanes);
        let launch = launch.buffer(&segments).buffer(&chunks);
        let launch = launch.buffer(&lengths).buffer(&starts).buffer(&entries).buffer(&c_entries);
        let launch = launch.buffer(&places).buffer(&groups).buffer(&sources);
        launch.teams(segments.len, counts.lanes)?;
        drop((segments, chunks, lengths, c_entries));

        let positions = backend.zeros_raw(stream_len, size_of::<u16>())?;
        let kernel = self.kernel("spgemm_chunks_positions")?;
        let launch = backend.launch(&kernel).size(count).buffer(&entry_starts).buffer(&starts);
        let launch = launch.buffer(&entries).buffer(&places).buffer(&positions);
        launch.group_per_row(count, LANES)?;
        let runs = backend.zeros_raw(stream_len / each, size_of::<u32>())?;
        let kernel = self.kernel("spgemm_chunks_runs")?;
        let launch =
            backend.launch(&kernel).size(counts.c_entries).buffer(&entry_starts).buffer(&chunks_before);
        launch.buffer(&starts).buffer(&entries).buffer(&runs).items(counts.c_entries)?;
        let heads = backend.allocate_raw(count, HEAD_BYTES)?;
        let kernel = self.kernel("spgemm_chunks_heads")?;
        let launch = backend.launch(&kernel).size(count).buffer(&entries).buffer(&starts);
        launch.buffer(&c_places).buffer(&groups).buffer(&heads).items(count)?;
        let kernel = self.kernel("spgemm_chunks_sum")?;
        let lanes = largest_team(backend);
        Ok(Chunks { count, lanes, heads, positions, runs, groups, sources, kernel })
    }
}
