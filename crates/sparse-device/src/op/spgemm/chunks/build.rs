//! The division of rows into chunks: products are counted, chunks bounded, and the products of each placed.

use super::super::places::find_b_rows;
use super::super::row_bins::RowBins;
use super::super::values::KnownRows;
use super::super::{Factors, Teams, largest_team};
use super::{CHUNKS_PER_UNIT, Chunks, most_products};
use crate::buffer::RawBuffer;
use crate::index_type::IndexType;
use crate::lanes::LANES;
use crate::primitive::prefix_sum::PrefixSum;
use crate::primitive::radix_sort::radix_sort;
use crate::{Buffer, Device, Kernel};
use sparse_core::{Backend, Result};
use std::ops::Range;

/// The part of the largest chunk that is the least worth making. Measured on an H200: an eighth takes 0.92 to 0.96 of
/// the time of a quarter for 0.05 to 0.3 million products.
const SHORTEST: usize = 8;

/// The part of the largest chunk above which the products of an entry are a chunk, however many they are.
const ALONE: usize = 8;

/// Bytes of what a run reads of a chunk first.
const HEAD_BYTES: usize = 32;

/// Bytes for each product while chunks are made: its entry of C, its place, and its position.
const BYTES_PER_PRODUCT: usize = 4 + 2 + 2;

/// Bytes for each segment while chunks are made: itself, its chunk and its length, each sorted too, positions twice,
/// and its source.
const BYTES_PER_SEGMENT: usize = 2 * (16 + 4 + 4) + 2 * 4 + 8;

/// Divides the rows at these places into chunks, unless their products take much memory or are too many for 32 bits.
///
/// # Errors
/// [`OutOfMemory`](sparse_core::Error::OutOfMemory), which means that rows are not divided, and those of launches.
pub(super) fn build(
    factors: Factors<'_>,
    (bins, places): (&RowBins, Range<usize>),
    rows: KnownRows<'_>,
) -> Result<Option<Chunks>> {
    let backend = factors.backend;
    let fits = |bytes: usize| bytes as u64 <= backend.scratch_limit();
    let is_counted = |n: usize| i32::try_from(n + 1).is_ok();
    if !is_counted(factors.left.indices.len) || !is_counted(factors.right.indices.len) {
        return Ok(None);
    }
    let b_rows = find_b_rows(factors)?;
    let rows = ChunkRows { factors, b_rows, bins, places, rows };
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

/// The entries of C that chunks begin with.
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

/// The starts of chunks: in entries of C, in products, and in C's values.
struct ChunkStarts {
    count: usize,
    /// The entries of C before each chunk, and of all.
    entries: Buffer<i32>,
    /// The products before each chunk, and of all.
    products: Buffer<i32>,
    /// The place in C's values of the first entry of each chunk.
    c_places: Buffer<i64>,
}

/// The products of all chunks in the order of A's entries.
struct PlacedProducts {
    /// The place of each product among those of its chunk.
    places: RawBuffer,
    groups: RawBuffer,
    sources: RawBuffer,
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
    factors: Factors<'a>,
    /// The start and the end of the row of B of each entry of A.
    b_rows: RawBuffer,
    bins: &'a RowBins,
    /// The positions of these rows in the order of bins.
    places: Range<usize>,
    rows: KnownRows<'a>,
}

impl ChunkRows<'_> {
    fn kernel(&self, entry: &'static str) -> Result<Kernel> {
        self.factors.kernel("spgemm_chunks", entry)
    }

    /// Counts entries and products.
    fn count(&self) -> Result<Counts> {
        let Self { factors: Factors { backend, left, .. }, bins, ref places, .. } = *self;
        let a_offsets = left.offsets;
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
        let Factors { backend, left, right } = self.factors;
        let c_entries = backend.allocate::<i32>(counts.products)?;
        let starts = backend.zeros::<i32>(counts.c_entries + 1)?;
        let kernel = self.kernel("spgemm_chunks_c_entries")?;
        let launch = backend.launch(&kernel).size(self.places.start).size(counts.a_entries);
        let launch = launch.size(counts.lanes).order(self.bins).buffer(left.offsets).buffer(&self.b_rows);
        let launch = launch.buffer(right.indices).buffer(self.rows.offsets).buffer(self.rows.columns);
        let launch = launch.buffer(&counts.a_before).buffer(&counts.c_before).buffer(&counts.a_rows);
        let launch = launch.buffer(&counts.products_before).buffer(&c_entries).buffer(&starts);
        launch.teams(counts.a_entries, counts.lanes)?;
        PrefixSum::series(backend, starts.len)?.starts(backend, &starts)?;
        Ok(ProductEntries { c_entries, starts })
    }

    /// Divides the entries of C into chunks.
    fn bounds(&self, counts: &Counts, entries: &ProductEntries) -> Result<ChunkBounds> {
        let (backend, places) = (self.factors.backend, &self.places);
        let (most, _) = most_products(self.factors.backend, self.factors.left);
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
        let launch = self.factors.backend.launch(&kernel).size(self.places.start).size(counts.a_entries);
        let launch = launch.size(counts.lanes).order(self.bins).buffer(self.factors.left.offsets);
        let launch = launch.buffer(&self.b_rows).buffer(&counts.a_before).buffer(&counts.a_rows);
        let launch = launch.buffer(&counts.products_before).buffer(&entries.c_entries);
        let launch = launch.buffer(&bounds.chunks_before).buffer(starts);
        let launch = launch.buffer_or_null(to.map(|to| &to.segments));
        let launch = launch.buffer_or_null(to.map(|to| &to.chunks));
        launch.buffer_or_null(to.map(|to| &to.lengths)).teams(counts.a_entries, counts.lanes)
    }

    /// Places the products of the segments in their chunks, and lists what a run reads.
    fn chunks(
        &self,
        counts: &Counts,
        entries: ProductEntries,
        bounds: ChunkBounds,
        segments: Segments,
    ) -> Result<Chunks> {
        let stream_len = bounds.stream_len(counts);
        let starts = self.chunk_starts(counts, &entries, &bounds)?;
        let ProductEntries { c_entries, starts: entry_starts } = entries;
        let placed = self.place_products(counts.lanes, segments, c_entries, &starts, stream_len)?;
        let positions = self.positions(&entry_starts, &starts, &placed.places, stream_len)?;
        let runs = self.runs(counts, &entry_starts, &bounds.chunks_before, &starts, stream_len)?;
        let heads = self.heads(&starts, &placed.groups)?;
        let PlacedProducts { groups, sources, .. } = placed;
        let kernel = self.kernel("spgemm_chunks_sum")?;
        let lanes = largest_team(self.factors.backend);
        Ok(Chunks { count: bounds.count, lanes, heads, positions, runs, groups, sources, kernel })
    }

    /// Finds where each chunk begins.
    fn chunk_starts(
        &self,
        counts: &Counts,
        entries: &ProductEntries,
        bounds: &ChunkBounds,
    ) -> Result<ChunkStarts> {
        let (backend, places) = (self.factors.backend, &self.places);
        let starts = ChunkStarts {
            count: bounds.count,
            entries: backend.allocate(bounds.count + 1)?,
            products: backend.allocate(bounds.count + 1)?,
            c_places: backend.allocate(bounds.count)?,
        };
        let kernel = self.kernel("spgemm_chunks_bounds")?;
        let launch = backend.launch(&kernel).size(places.start).size(places.len()).size(counts.c_entries);
        let launch = launch.order(self.bins).buffer(self.rows.offsets).buffer(&counts.c_before);
        let launch = launch.buffer(&entries.starts).buffer(&bounds.chunks_before);
        let launch = launch.buffer(&starts.entries).buffer(&starts.products).buffer(&starts.c_places);
        launch.items(counts.c_entries + 1)?;
        Ok(starts)
    }

    /// Gives each product its place in its chunk, by teams of `lanes` with a segment each.
    fn place_products(
        &self,
        lanes: usize,
        segments: Segments,
        c_entries: Buffer<i32>,
        starts: &ChunkStarts,
        stream_len: usize,
    ) -> Result<PlacedProducts> {
        let backend = self.factors.backend;
        let (most, _) = most_products(self.factors.backend, self.factors.left);
        let Segments { segments, chunks, lengths } = segments.sorted(backend, starts.count)?;
        let lengths = lengths.of::<i32>();
        PrefixSum::series(backend, lengths.len)?.starts(backend, &lengths)?;
        let places = backend.allocate_raw(stream_len, size_of::<u16>())?;
        let sources = backend.allocate_raw(segments.len, 8)?;
        // Warps load groups past the end of a chunk.
        let groups = backend.zeros_raw((stream_len + most) / LANES, 8)?;
        let kernel = self.kernel("spgemm_chunks_place")?;
        let launch = backend.launch(&kernel).size(segments.len).size(lanes);
        let launch = launch.buffer(&segments).buffer(&chunks).buffer(&lengths);
        let launch = launch.buffer(&starts.products).buffer(&starts.entries).buffer(&c_entries);
        let launch = launch.buffer(&places).buffer(&groups).buffer(&sources);
        launch.teams(segments.len, lanes)?;
        Ok(PlacedProducts { places, groups, sources })
    }

    /// Finds where a run stores the products of each entry of C: in the order of A's entries.
    fn positions(
        &self,
        entry_starts: &Buffer<i32>,
        starts: &ChunkStarts,
        places: &RawBuffer,
        stream_len: usize,
    ) -> Result<RawBuffer> {
        let positions = self.factors.backend.zeros_raw(stream_len, size_of::<u16>())?;
        let kernel = self.kernel("spgemm_chunks_positions")?;
        let launch = self.factors.backend.launch(&kernel).size(starts.count).buffer(entry_starts);
        let launch = launch.buffer(&starts.products).buffer(&starts.entries);
        launch.buffer(places).buffer(&positions).group_per_row(starts.count, LANES)?;
        Ok(positions)
    }

    /// Marks the last product of each entry of C, a bit for each product.
    fn runs(
        &self,
        counts: &Counts,
        entry_starts: &Buffer<i32>,
        chunks_before: &Buffer<i32>,
        starts: &ChunkStarts,
        stream_len: usize,
    ) -> Result<RawBuffer> {
        let (_, each) = most_products(self.factors.backend, self.factors.left);
        let runs = self.factors.backend.zeros_raw(stream_len / each, size_of::<u32>())?;
        let kernel = self.kernel("spgemm_chunks_runs")?;
        let launch = self.factors.backend.launch(&kernel).size(counts.c_entries).buffer(entry_starts);
        let launch = launch.buffer(chunks_before).buffer(&starts.products).buffer(&starts.entries);
        launch.buffer(&runs).items(counts.c_entries)?;
        Ok(runs)
    }

    /// Writes the head of each chunk, [`HEAD_BYTES`] long.
    fn heads(&self, starts: &ChunkStarts, groups: &RawBuffer) -> Result<RawBuffer> {
        let heads = self.factors.backend.allocate_raw(starts.count, HEAD_BYTES)?;
        let kernel = self.kernel("spgemm_chunks_heads")?;
        let launch = self.factors.backend.launch(&kernel).size(starts.count).buffer(&starts.entries);
        let launch = launch.buffer(&starts.products).buffer(&starts.c_places);
        launch.buffer(groups).buffer(&heads).items(starts.count)?;
        Ok(heads)
    }
}
