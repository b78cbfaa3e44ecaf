//! Long rows of C in chunks, whose products plans of many runs keep.

use super::Factors;
use super::places::Places;
use super::row_bins::RowBins;
use super::values::KnownRows;
use crate::buffer::RawBuffer;
use crate::index_type::IndexType;
use crate::lanes::LANES;
use crate::primitive::prefix_sum::PrefixSum;
use crate::primitive::radix_sort::radix_sort;
use crate::primitive::raw::RawCompressed;
use crate::{Buffer, Device, Kernel};
use sparse_core::{Backend, Result};
use std::ops::Range;

/// Bytes of sums for each lane of the warp that has a chunk: the kernels' macro `EACH` counts sums.
const BYTES_PER_LANE: usize = 128;

/// Chunks for each compute unit, about, where that makes them neither short nor long.
const CHUNKS_PER_UNIT: usize = 128;

/// The least and the most products after which a chunk ends.
const MOST_PRODUCTS: [usize; 2] = [512, 4096];

/// The part of the most products of a chunk above which an entry is a chunk: its products would wait for each other.
const ALONE: usize = 16;

/// Bytes for each product while chunks are made: its entry of C, and its place.
const BYTES_PER_PRODUCT: usize = 4 + 2;

/// Bytes for each segment while chunks are made: itself, its chunk and its length, each sorted too, positions twice, and
/// its source.
const BYTES_PER_SEGMENT: usize = 2 * (16 + 4 + 4) + 2 * 4 + 8;

/// The chunks of long rows, and their products: groups of [`LANES`] in the order of A's entries, of which those that
/// are neighbours in a row of B are a segment.
#[derive(Debug)]
pub(super) struct Chunks {
    count: usize,
    /// The products before each entry of C, and of all.
    starts: Buffer<i32>,
    /// The first entry of each chunk, and the number of entries.
    entries: Buffer<i32>,
    /// The place in C of each chunk's first entry.
    c_places: Buffer<i64>,
    /// The place of each product in its chunk, and its turn among those of a group at this place.
    places: RawBuffer,
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
        places: &Places,
        (bins, cut): (&RowBins, Range<usize>),
        rows: KnownRows<'_>,
    ) -> Result<Option<Self>> {
        let rows = ChunkRows { backend, factors, places, bins, cut, rows };
        let lefts = rows.lefts()?;
        let fits = |bytes: usize| bytes as u64 <= backend.scratch_limit();
        let is_counted = |n: usize| i32::try_from(n + 1).is_ok();
        let counted = [lefts.products, lefts.entries, lefts.count];
        let factors_are_counted =
            is_counted(factors.left.indices.len) && is_counted(factors.right.indices.len);
        if !fits(lefts.products.saturating_mul(BYTES_PER_PRODUCT))
            || !factors_are_counted
            || !counted.into_iter().all(is_counted)
        {
            return Ok(None);
        }
        let found = rows.find(&lefts)?;
        let cuts = rows.cut(&lefts, &found)?;
        if !is_counted(lefts.products + LANES * (cuts.count + 1)) {
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
        let launch = backend.launch(&self.kernel).size(self.count).buffer(&self.starts).buffer(&self.entries);
        let launch = launch.buffer(&self.c_places).buffer(&self.places).buffer(&self.groups);
        let launch = launch.buffer(&self.sources).buffer(factors.left.values).buffer(factors.right.values);
        // Chunks take unequal times: a block of several warps would wait for the longest.
        launch.buffer(c.values).early_if(is_apart).group_per_row(self.count, LANES)
    }

    /// Bytes on the device.
    pub(super) fn bytes(&self) -> usize {
        let numbers = self.starts.bytes() + self.entries.bytes() + self.c_places.bytes();
        numbers + self.places.bytes() + self.groups.bytes() + self.sources.bytes()
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
    places: &'a Places,
    bins: &'a RowBins,
    /// Their places in the order of bins.
    cut: Range<usize>,
    rows: KnownRows<'a>,
}

impl ChunkRows<'_> {
    fn kernel(&self, entry: &'static str) -> Result<Kernel> {
        let left = self.factors.left;
        self.backend.kernel_of(left.dtype, "spgemm_chunks", entry, left.defines())
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
        let launch = launch.buffer(&before).buffer(&self.places.parts).buffer(&owners);
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
        let launch = backend.launch(&kernel).size(self.cut.start).size(lefts.count).size(lefts.entries);
        let launch = launch.order(self.bins).buffer(factors.left.offsets).buffer(&self.places.parts);
        let launch = launch.buffer(factors.right.indices).buffer(self.rows.offsets).buffer(self.rows.columns);
        let launch = launch.buffer(&lefts.before).buffer(&lefts.entries_before).buffer(&lefts.owners);
        let launch = launch.buffer(&lefts.products_before).buffer(&found).buffer(&starts);
        launch.teams(lefts.count, LANES)?;
        PrefixSum::series(backend, starts.len)?.starts(backend, &starts)?;
        Ok(FoundEntries { entries: found, starts })
    }

    /// Cuts the rows of C into chunks of about as many products each.
    fn cut(&self, lefts: &Lefts, found: &FoundEntries) -> Result<Cuts> {
        let Self { backend, factors, cut, .. } = self;
        let most_entries = LANES * BYTES_PER_LANE / factors.left.dtype.accumulator().bytes();
        let [least, most] = MOST_PRODUCTS;
        let wanted = lefts.products / (backend.caps().compute_units * CHUNKS_PER_UNIT);
        let most_products = wanted.clamp(least, most);
        let firsts = backend.zeros::<i32>(lefts.entries + 1)?;
        let kernel = self.kernel("spgemm_chunks_cut")?;
        let launch = backend.launch(&kernel).size(cut.len()).size(lefts.entries).size(most_entries);
        let launch = launch.size(most_products).size(most_products / ALONE).buffer(&lefts.entries_before);
        launch.buffer(&found.starts).buffer(&firsts).items(lefts.entries)?;
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
        let launch = launch.size(lefts.entries).order(self.bins).buffer(self.factors.left.offsets);
        let launch = launch.buffer(&self.places.parts).buffer(&lefts.before).buffer(&lefts.owners);
        let launch = launch.buffer(&lefts.products_before).buffer(&found.entries);
        let launch = launch.buffer(&cuts.chunks_before).buffer(counts);
        let launch = launch.buffer_or_null(to.map(|to| &to.segments));
        let launch = launch.buffer_or_null(to.map(|to| &to.chunks));
        launch.buffer_or_null(to.map(|to| &to.lengths)).teams(lefts.count, LANES)
    }

    /// The chunks, with the products of these segments.
    fn chunks(&self, lefts: &Lefts, found: FoundEntries, cuts: Cuts, segments: Segments) -> Result<Chunks> {
        let Self { backend, cut, .. } = self;
        let count = cuts.count;
        let FoundEntries { entries: found, starts } = found;
        let entries = backend.allocate::<i32>(count + 1)?;
        let c_places = backend.allocate::<i64>(count)?;
        let kernel = self.kernel("spgemm_chunks_begin")?;
        let launch = backend.launch(&kernel).size(cut.start).size(cut.len()).size(lefts.entries);
        let launch = launch.order(self.bins).buffer(self.rows.offsets).buffer(&lefts.entries_before);
        let launch = launch.buffer(&cuts.chunks_before).buffer(&entries).buffer(&c_places);
        launch.items(lefts.entries + 1)?;

        let Segments { segments, chunks, lengths } = segments.sorted(backend, count)?;
        let lengths = lengths.of::<i32>();
        PrefixSum::series(backend, lengths.len)?.starts(backend, &lengths)?;
        let groups = lefts.products / LANES + count + 1;
        let places = backend.allocate_raw(groups * LANES, size_of::<u16>())?;
        let sources = backend.allocate_raw(segments.len, 8)?;
        let groups = backend.zeros_raw(groups, 8)?;
        let kernel = self.kernel("spgemm_chunks_place")?;
        let launch = backend.launch(&kernel).size(segments.len).buffer(&segments).buffer(&chunks);
        let launch = launch.buffer(&lengths).buffer(&starts).buffer(&entries).buffer(&found);
        let launch = launch.buffer(&places).buffer(&groups).buffer(&sources);
        launch.teams(segments.len, LANES)?;
        let kernel = self.kernel("spgemm_chunks_turns")?;
        let launch = backend.launch(&kernel).size(count).buffer(&starts).buffer(&entries).buffer(&places);
        launch.teams(count, LANES)?;
        let kernel = self.kernel("spgemm_chunks_sum")?;
        Ok(Chunks { count, starts, entries, c_places, places, groups, sources, kernel })
    }
}
