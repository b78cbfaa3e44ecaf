//! Chunks of C, whose products plans of many runs keep.
//!
//! A chunk has neighbouring entries of C, whose products fit in local memory. A work-group makes these products in the
//! order of A's entries, so that it reads rows of B in parts, and then adds them in the order of C's entries: all work-items
//! have as many products, however long rows are. A run reads 2 bytes a product, 8 bytes for each part of a row of B and for
//! 32 products, and A, B and C. For long rows, and for all rows where those of B are short or differ.

use super::pattern::ProductCounts;
use super::places::{self, parts};
use super::row_bins::RowBins;
use super::values::KnownRows;
use super::{Factors, largest_team};
use crate::buffer::RawBuffer;
use crate::index_type::IndexType;
use crate::lanes::LANES;
use crate::primitive::prefix_sum::PrefixSum;
use crate::primitive::radix_sort::radix_sort;
use crate::primitive::raw::RawCompressed;
use crate::{Buffer, Device, Kernel};
use sparse_core::{Backend, Result};
use std::ops::Range;

/// Bytes of products for each work-item: the kernels' macro `EACH` counts products.
const BYTES_PER_ITEM: usize = 64;

/// Chunks for each compute unit, at least, where that does not make them short.
const CHUNKS_PER_UNIT: usize = 4;

/// The part of the largest chunk that is the least worth making.
const SHORTEST: usize = 4;

/// The part of the largest chunk above which the products of an entry are a chunk, however many they are.
const ALONE: usize = 8;

/// The mean length of a row of B up to which all rows of C are in chunks if some are. Measured on an H200: places take less
/// time from 15 entries on.
const SHORT: usize = 16;

/// Rows of B differ in length, so that all rows of C are in chunks if some are, where the entries of A meet rows this many
/// times as long as the mean row of B.
const SKEWED: usize = 2;

/// Bytes for each product while chunks are made: its entry of C, its place, and its position.
const BYTES_PER_PRODUCT: usize = 4 + 2 + 2;

/// Bytes for each segment while chunks are made: itself, its chunk and its length, each sorted too, positions twice, and
/// its source.
const BYTES_PER_SEGMENT: usize = 2 * (16 + 4 + 4) + 2 * 4 + 8;

/// True if all rows are best in chunks.
pub(super) fn take_all_rows(factors: Factors<'_>, products: &ProductCounts) -> bool {
    let Factors { left, right } = factors;
    let mean = right.mean_length();
    let is_skewed = products.counts.total > SKEWED * mean * left.indices.len;
    let needs_chunks = products.most > places::MOST_PRODUCTS;
    needs_chunks && (mean <= SHORT || is_skewed)
}

/// The chunks of rows, and their products: groups of [`LANES`] in the order of A's entries, of which those that are
/// neighbours in a row of B are a segment.
#[derive(Debug)]
pub(super) struct Chunks {
    count: usize,
    /// The work-items that have a chunk.
    lanes: usize,
    /// The first entry of each chunk, and the number of entries.
    entries: Buffer<i32>,
    /// The products before each chunk, and of all.
    starts: Buffer<i32>,
    /// The place in C of each chunk's first entry.
    c_places: Buffer<i64>,
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
    /// Cuts the rows at the places `cut` into chunks, unless their products take much memory or are too many for 32 bits.
    pub(super) fn new(
        backend: &Device,
        factors: Factors<'_>,
        (bins, cut): (&RowBins, Range<usize>),
        rows: KnownRows<'_>,
    ) -> Result<Option<Self>> {
        let fits = |bytes: usize| bytes as u64 <= backend.scratch_limit();
        let is_counted = |n: usize| i32::try_from(n + 1).is_ok();
        if !is_counted(factors.left.indices.len) || !is_counted(factors.right.indices.len) {
            return Ok(None);
        }
        let parts = parts(backend, factors)?;
        let rows = ChunkRows { backend, factors, parts, bins, cut, rows };
        let lefts = rows.lefts()?;
        let counted = [lefts.products, lefts.entries, lefts.count];
        if !fits(lefts.products.saturating_mul(BYTES_PER_PRODUCT)) || !counted.into_iter().all(is_counted) {
            return Ok(None);
        }
        let found = rows.find(&lefts)?;
        let cuts = rows.cut(&lefts, &found)?;
        if !is_counted(cuts.stream_len(&lefts)) {
            return Ok(None);
        }
        let counts = backend.zeros::<i64>(lefts.count + 1)?;
        rows.segments(&lefts, &found, &cuts, &counts, None)?;
        let count = PrefixSum::series(backend, counts.len)?.starts_and_sum(backend, &counts)?;
        if !fits(count.saturating_mul(BYTES_PER_SEGMENT)) {
            return Ok(None);
        }
        let segments = Segments::allocate(backend, count)?;
        rows.segments(&lefts, &found, &cuts, &counts, Some(&segments))?;
        rows.chunks(&lefts, found, cuts, segments).map(Some)
    }

    /// Writes the values of the rows, apart from those that the last launch writes.
    pub(super) fn run(
        &self,
        backend: &Device,
        factors: Factors<'_>,
        c: RawCompressed<'_>,
        is_apart: bool,
    ) -> Result<()> {
        let launch = backend.launch(&self.kernel).size(self.count).buffer(&self.entries).buffer(&self.starts);
        let launch = launch.buffer(&self.c_places).buffer(&self.positions).buffer(&self.runs);
        let launch = launch.buffer(&self.groups).buffer(&self.sources);
        let launch = launch.buffer(factors.left.values).buffer(factors.right.values);
        launch.buffer(c.values).early_if(is_apart).group_per_row(self.count, self.lanes)
    }

    /// Bytes on the device.
    pub(super) fn bytes(&self) -> usize {
        let numbers = self.starts.bytes() + self.entries.bytes() + self.c_places.bytes();
        let lists = self.positions.bytes() + self.runs.bytes();
        numbers + lists + self.groups.bytes() + self.sources.bytes()
    }
}

/// The entries of A in the rows.
struct Lefts {
    count: usize,
    /// The entries of A before each row, and of all; then those of C.
    before: Buffer<i64>,
    entries_before: Buffer<i64>,
    entries: usize,
    /// The row of each entry of A.
    owners: Buffer<i32>,
    /// The products before each entry of A, and of all.
    products_before: Buffer<i64>,
    products: usize,
}

/// The entry of C of each product, and the products before each entry.
struct FoundEntries {
    entries: Buffer<i32>,
    starts: Buffer<i32>,
}

/// The chunks before each entry of C, and of all.
struct Cuts {
    chunks_before: Buffer<i32>,
    count: usize,
}

impl Cuts {
    /// The products of all chunks, each of which begins with a group.
    fn stream_len(&self, lefts: &Lefts) -> usize {
        (lefts.products / LANES + self.count + 1) * LANES
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

/// The rows that are cut into chunks.
struct ChunkRows<'a> {
    backend: &'a Device,
    factors: Factors<'a>,
    /// Where the row of B of each entry of A begins and ends.
    parts: RawBuffer,
    bins: &'a RowBins,
    /// Their places in the order of bins.
    cut: Range<usize>,
    rows: KnownRows<'a>,
}

impl ChunkRows<'_> {
    fn kernel(&self, entry: &'static str) -> Result<Kernel> {
        let left = self.factors.left;
        self.backend.kernel_of(left.dtype, "spgemm_chunks", entry, self.factors.defines(self.backend))
    }

    /// The products of the largest chunk, and of a work-item.
    fn most_products(&self) -> (usize, usize) {
        let each = BYTES_PER_ITEM / self.factors.left.dtype.accumulator().bytes();
        (each * largest_team(self.backend), each)
    }

    /// The entries of A and their products.
    fn lefts(&self) -> Result<Lefts> {
        let Self { backend, bins, cut, .. } = self;
        let a_offsets = self.factors.left.offsets;
        let before = backend.zeros::<i64>(cut.len() + 1)?;
        let entries_before = backend.zeros::<i64>(cut.len() + 1)?;
        let kernel = self.kernel("spgemm_chunks_rows")?;
        let launch = backend.launch(&kernel).range(cut).order(bins).buffer(a_offsets);
        let launch = launch.buffer(self.rows.offsets).buffer(&before).buffer(&entries_before);
        launch.items(cut.len())?;
        let sums = PrefixSum::series(backend, cut.len() + 1)?;
        let count = sums.starts_and_sum(backend, &before)?;
        let entries = sums.starts_and_sum(backend, &entries_before)?;
        let owners = backend.allocate::<i32>(count)?;
        let products_before = backend.zeros::<i64>(count + 1)?;
        let kernel = self.kernel("spgemm_chunks_lefts")?;
        let launch = backend.launch(&kernel).range(cut).size(count).order(bins).buffer(a_offsets);
        let launch = launch.buffer(&before).buffer(&self.parts).buffer(&owners);
        launch.buffer(&products_before).items(count)?;
        let sums = PrefixSum::series(backend, count + 1)?;
        let products = sums.starts_and_sum(backend, &products_before)?;
        Ok(Lefts { count, before, entries_before, entries, owners, products_before, products })
    }

    /// Finds the entry of C of each product.
    fn find(&self, lefts: &Lefts) -> Result<FoundEntries> {
        let Self { backend, factors, .. } = self;
        let found = backend.allocate::<i32>(lefts.products)?;
        let starts = backend.zeros::<i32>(lefts.entries + 1)?;
        let kernel = self.kernel("spgemm_chunks_find")?;
        let launch = backend.launch(&kernel).size(self.cut.start).size(lefts.count);
        let launch = launch.order(self.bins).buffer(factors.left.offsets).buffer(&self.parts);
        let launch = launch.buffer(factors.right.indices).buffer(self.rows.offsets).buffer(self.rows.columns);
        let launch = launch.buffer(&lefts.before).buffer(&lefts.entries_before).buffer(&lefts.owners);
        let launch = launch.buffer(&lefts.products_before).buffer(&found).buffer(&starts);
        launch.teams(lefts.count, LANES)?;
        PrefixSum::series(backend, starts.len)?.starts(backend, &starts)?;
        Ok(FoundEntries { entries: found, starts })
    }

    /// Cuts the rows of C into chunks.
    fn cut(&self, lefts: &Lefts, found: &FoundEntries) -> Result<Cuts> {
        let Self { backend, cut, .. } = self;
        let (most, _) = self.most_products();
        let longest = backend.longest_row(&found.starts)?;
        let alone = longest.min(most / ALONE);
        let wanted = lefts.products / (backend.caps().compute_units * CHUNKS_PER_UNIT);
        // A chunk has up to `alone` products more than these.
        let most_products = wanted.clamp(most / SHORTEST, most - alone);
        let firsts = backend.zeros::<i32>(lefts.entries + 1)?;
        let kernel = self.kernel("spgemm_chunks_cut")?;
        let launch = backend.launch(&kernel).size(cut.start).size(cut.len()).size(lefts.entries);
        let launch = launch.size(most_products).size(alone).order(self.bins).buffer(self.rows.offsets);
        let launch = launch.buffer(&lefts.entries_before).buffer(&found.starts);
        launch.buffer(&firsts).items(lefts.entries)?;
        PrefixSum::series(backend, firsts.len)?.starts(backend, &firsts)?;
        let count = backend.last(&firsts)? as usize;
        Ok(Cuts { chunks_before: firsts, count })
    }

    /// Counts the segments of each entry of A or, from these numbers of segments before, writes them.
    fn segments(
        &self,
        lefts: &Lefts,
        found: &FoundEntries,
        cuts: &Cuts,
        counts: &Buffer<i64>,
        to: Option<&Segments>,
    ) -> Result<()> {
        let kernel = self.kernel("spgemm_chunks_segments")?;
        let launch = self.backend.launch(&kernel).size(self.cut.start).size(lefts.count);
        let launch = launch.order(self.bins).buffer(self.factors.left.offsets);
        let launch = launch.buffer(&self.parts).buffer(&lefts.before).buffer(&lefts.owners);
        let launch = launch.buffer(&lefts.products_before).buffer(&found.entries);
        let launch = launch.buffer(&cuts.chunks_before).buffer(counts);
        let launch = launch.buffer_or_null(to.map(|to| &to.segments));
        let launch = launch.buffer_or_null(to.map(|to| &to.chunks));
        launch.buffer_or_null(to.map(|to| &to.lengths)).teams(lefts.count, LANES)
    }

    /// The chunks, with the products of these segments.
    fn chunks(&self, lefts: &Lefts, found: FoundEntries, cuts: Cuts, segments: Segments) -> Result<Chunks> {
        let Self { backend, cut, .. } = self;
        let stream_len = cuts.stream_len(lefts);
        let Cuts { chunks_before, count } = cuts;
        let FoundEntries { entries: found, starts: entry_starts } = found;
        let entries = backend.allocate::<i32>(count + 1)?;
        let starts = backend.allocate::<i32>(count + 1)?;
        let c_places = backend.allocate::<i64>(count)?;
        let kernel = self.kernel("spgemm_chunks_begin")?;
        let launch = backend.launch(&kernel).size(cut.start).size(cut.len()).size(lefts.entries);
        let launch = launch.order(self.bins).buffer(self.rows.offsets).buffer(&lefts.entries_before);
        let launch = launch.buffer(&entry_starts).buffer(&chunks_before);
        launch.buffer(&entries).buffer(&starts).buffer(&c_places).items(lefts.entries + 1)?;

        let (most, each) = self.most_products();
        let Segments { segments, chunks, lengths } = segments.sorted(backend, count)?;
        let lengths = lengths.of::<i32>();
        PrefixSum::series(backend, lengths.len)?.starts(backend, &lengths)?;
        let places = backend.allocate_raw(stream_len, size_of::<u16>())?;
        let sources = backend.allocate_raw(segments.len, 8)?;
        // Warps load groups past the end of a chunk.
        let groups = backend.zeros_raw((stream_len + most) / LANES, 8)?;
        let kernel = self.kernel("spgemm_chunks_place")?;
        let launch = backend.launch(&kernel).size(segments.len).buffer(&segments).buffer(&chunks);
        let launch = launch.buffer(&lengths).buffer(&starts).buffer(&entries).buffer(&found);
        let launch = launch.buffer(&places).buffer(&groups).buffer(&sources);
        launch.teams(segments.len, LANES)?;
        drop((segments, chunks, lengths, found));

        let positions = backend.zeros_raw(stream_len, size_of::<u16>())?;
        let kernel = self.kernel("spgemm_chunks_list")?;
        let launch = backend.launch(&kernel).size(count).buffer(&entry_starts).buffer(&starts);
        let launch = launch.buffer(&entries).buffer(&places).buffer(&positions);
        launch.group_per_row(count, LANES)?;
        let runs = backend.zeros_raw(stream_len / each, size_of::<u32>())?;
        let kernel = self.kernel("spgemm_chunks_runs")?;
        let launch = backend.launch(&kernel).size(lefts.entries).buffer(&entry_starts).buffer(&chunks_before);
        launch.buffer(&starts).buffer(&entries).buffer(&runs).items(lefts.entries)?;
        let kernel = self.kernel("spgemm_chunks_sum")?;
        let lanes = largest_team(backend);
        Ok(Chunks { count, lanes, entries, starts, c_places, positions, runs, groups, sources, kernel })
    }
}
