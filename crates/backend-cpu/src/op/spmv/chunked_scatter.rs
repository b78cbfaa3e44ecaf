//! Algorithm `chunked_scatter`: chunks of the stored entries add to sums of their own, which are added in order.
//!
//! A chunk's sums cover the rows from its first to its last one, so that for a banded matrix they take little more
//! memory than `y` itself.

use super::Product;
use super::thresholds::SpmvThresholds;
use crate::Cpu;
use crate::parallel::{CHUNK, split_mut};
use crate::primitive::fill::try_unwritten;
use crate::primitive::partition::{PART_SIZE, Part, Partition};
use sparse_core::{Accumulator, Algorithm, Result, Scalar};
use std::ops::Range;

pub(super) const CHUNKED_SCATTER: Algorithm = Algorithm::new(
    "chunked_scatter",
    "for op(A) across the stored direction, where the sums of all chunks are not above 2·nnz",
)
.preprocessing("chunks of entries, with sums for the rows that each of them meets");

/// Chunks of a large matrix, for any number of threads.
const CHUNKS: usize = 8;

/// Rows added at a time.
const BLOCK: usize = 256;

/// Entries of a chunk of a matrix with `work` entries and lines.
pub(super) fn chunk_size(work: usize) -> usize {
    work.div_ceil(CHUNKS).max(PART_SIZE)
}

/// The chunks of a matrix and their sums.
pub struct Scatter<Acc> {
    chunks: Vec<Part>,
    /// The range of rows of op(A) of each chunk.
    rows: Vec<Range<usize>>,
    /// The range of the sums of each chunk in `sums`.
    ranges: Vec<Range<usize>>,
    sums: Vec<Acc>,
    entries: usize,
}

/// The partition of a product.
pub enum WorkSplit<Acc> {
    /// Along the compressed direction.
    Partition(Partition<Acc>),
    /// Across the compressed direction, or unsorted.
    Scatter(Scatter<Acc>),
}

impl<Acc: Accumulator> WorkSplit<Acc> {
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Partition(parts) => parts.bytes(),
            Self::Scatter(scatter) => scatter.bytes(),
        }
    }
}

/// The sums of one chunk.
pub(super) struct ChunkSums<'a, Acc> {
    first_row: usize,
    sums: &'a mut [Acc],
}

impl<Acc: Accumulator> ChunkSums<'_, Acc> {
    /// The row of the first sum, and the sums.
    #[inline(always)]
    pub(super) fn parts(&mut self) -> (usize, &mut [Acc]) {
        (self.first_row, self.sums)
    }

    #[inline(always)]
    pub(super) fn add(&mut self, row: usize, product: Acc) {
        self.sums[row - self.first_row] += product;
    }
}

/// Chunks of the stored entries, each with the range of rows of op(A) that it meets.
pub(super) struct Chunks {
    parts: Vec<Part>,
    rows: Vec<Range<usize>>,
}

impl Chunks {
    pub(super) fn new(parts: Vec<Part>, rows: Vec<Range<usize>>) -> Self {
        Self { parts, rows }
    }

    /// The sums of all chunks, which may be more than memory has.
    fn sums(&self) -> usize {
        self.rows.iter().fold(0, |sums: usize, rows| sums.saturating_add(rows.len()))
    }

    fn entries(&self) -> usize {
        self.parts.iter().map(|chunk| chunk.entries.len()).sum()
    }

    /// True if `chunked_scatter` is better than a pattern by rows, with the reason.
    pub(super) fn pay_off(&self) -> (bool, String) {
        let (sums, entries) = (self.sums(), self.entries());
        let reason = format!("the chunks have {sums} sums for {entries} entries");
        (sums <= SpmvThresholds::CPU.sums_per_entry * entries, reason)
    }
}

impl<Acc: Accumulator> Scatter<Acc> {
    /// Sums for the rows of each chunk.
    ///
    /// # Errors
    /// [`OutOfMemory`](sparse_core::Error::OutOfMemory).
    pub(super) fn new(chunks: Chunks) -> Result<Self> {
        let entries = chunks.entries();
        // SAFETY: sums are plain data; each chunk clears its own before it adds to them.
        let sums = unsafe { try_unwritten(chunks.sums())? };
        let Chunks { parts, rows } = chunks;
        let mut end = 0;
        let ranges = rows.iter().map(|rows| {
            let start = end;
            end += rows.len();
            start..end
        });
        let ranges = ranges.collect();
        Ok(Self { chunks: parts, rows, ranges, sums, entries })
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.sums.as_slice()) + size_of_val(self.chunks.as_slice())
    }

    /// Runs `scatter(chunk, its sums)` on all chunks, adds the sums in order and writes `y`.
    pub(super) fn multiply<T: Scalar<Acc = Acc>>(
        &mut self,
        cpu: &Cpu,
        product: Product<'_, T>,
        scatter: impl Fn(&Part, &mut ChunkSums<'_, Acc>) + Send + Sync,
    ) {
        let parts = split_mut(&mut self.sums, &self.ranges);
        let tasks = self.chunks.iter().zip(&self.rows).zip(parts).collect();
        cpu.for_each(self.entries, tasks, |((chunk, rows), sums)| {
            sums.fill(Acc::ZERO);
            scatter(chunk, &mut ChunkSums { first_row: rows.start, sums });
        });
        let update = product.update;
        let tasks = product.y.chunks_mut(CHUNK).enumerate().collect();
        cpu.for_each(self.sums.len(), tasks, |(k, y): (usize, &mut [T])| {
            for (block, y) in y.chunks_mut(BLOCK).enumerate() {
                let totals = self.totals(k * CHUNK + block * BLOCK, y.len());
                for (y, &total) in y.iter_mut().zip(&totals) {
                    update.write(y, total);
                }
            }
        });
    }

    /// The sums of `count` rows from `first` on over all chunks.
    fn totals(&self, first: usize, count: usize) -> [Acc; BLOCK] {
        let mut totals = [Acc::ZERO; BLOCK];
        for (rows, range) in self.rows.iter().zip(&self.ranges) {
            let start = first.max(rows.start);
            let end = (first + count).min(rows.end);
            if start < end {
                let sums = &self.sums[range.start + start - rows.start..][..end - start];
                for (total, &sum) in totals[start - first..].iter_mut().zip(sums) {
                    *total += sum;
                }
            }
        }
        totals
    }
}
