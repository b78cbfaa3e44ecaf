//! Chunks: neighbouring entries of C whose products fit in local memory.
//!
//! A work-group makes the products of a chunk in the order of A's entries, so that it reads rows of B in parts, and
//! then adds them in the order of C's entries. All work-items have as many products, however long rows are.
//!
//! A run reads 2 bytes a product, 8 bytes for each part of a row of B and for 32 products, and A, B and C. Plans of
//! many runs take chunks for long rows, and for all rows within the limits below.

mod build;

use super::places;
use super::row_bins::RowBins;
use super::row_sizes::ProductCounts;
use super::values::KnownRows;
use super::{Factors, largest_team};
use crate::buffer::RawBuffer;
use crate::primitive::raw::RawCompressed;
use crate::{Device, Kernel};
use sparse_core::{Backend, Error, Result};
use std::ops::Range;

/// Bytes of products for each work-item: the kernels' macro `EACH` counts products.
const BYTES_PER_ITEM: usize = 64;

/// The fewest chunks per compute unit, where that does not make them short.
const CHUNKS_PER_UNIT: usize = 4;

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

/// The same where some rows of C are long.
const SHORT_BESIDE_LONG: usize = 16;

/// The same where several products meet in an entry of C ([`MEETING_HALVES`]).
const SHORT_AND_MEETING: usize = 24;

/// Products per entry of C on average, in halves, from which on products count as meeting. Measured on an H200, 15 to
/// 104 million products: chunks take 0.7 to 0.9 of the time of places for meshes, finite elements and blocks of
/// unknowns with 2.4 to 7.3 for each entry of C, and 0.9 to 1.0 for uniform rows, which have one, at six times the time
/// of a plan.
const MEETING_HALVES: usize = 3;

/// Rows of B count as skewed where the entries of A name rows this many times as long as the mean row of B. Then all
/// rows of C are in chunks if some are.
const SKEWED: usize = 2;

/// True if a plan for `calls` calls should compute all rows in chunks, for a C of `entries` entries.
pub(super) fn take_all_rows(
    factors: Factors<'_>,
    products: &ProductCounts,
    entries: usize,
    calls: usize,
) -> bool {
    let Factors { backend, left, right } = factors;
    let mean = right.mean_length();
    let total = products.counts.total;
    let are_few = run_at_once(factors, total / ROUNDS);
    let has_long_rows = products.most > places::MAX_PRODUCTS;
    let is_skewed = total > SKEWED * mean * left.indices.len;
    let meet = mean <= SHORT_AND_MEETING && 2 * total >= MEETING_HALVES * entries;
    let are_many_calls = calls >= CALLS && !backend.caps().is_cpu;
    (are_many_calls && (mean <= SHORT || are_few || meet))
        || (has_long_rows && (mean <= SHORT_BESIDE_LONG || is_skewed))
}

/// True if the device runs the chunks of `products` products all at once.
pub(super) fn run_at_once(factors: Factors<'_>, products: usize) -> bool {
    let (most, _) = most_products(factors.backend, factors.left);
    products <= factors.backend.caps().compute_units * CHUNKS_PER_UNIT * most
}

/// The products of the largest chunk, and of a work-item.
fn most_products(backend: &Device, left: RawCompressed<'_>) -> (usize, usize) {
    let each = BYTES_PER_ITEM / left.dtype.accumulator().bytes();
    (each * largest_team(backend), each)
}

/// The chunks of rows, and their products: groups of 32 in the order of A's entries, of which those that are
/// neighbours in a row of B are a segment.
#[derive(Debug)]
pub(super) struct Chunks {
    count: usize,
    /// The work-items that have a chunk.
    lanes: usize,
    /// The starts of each chunk's lists, and its entries of C.
    heads: RawBuffer,
    /// The positions in shared memory of the products of each entry.
    positions: RawBuffer,
    /// For each work-item the entry of its first product, and a bit for each product that is the last of its entry.
    runs: RawBuffer,
    /// The segments that the products of each group are of.
    groups: RawBuffer,
    /// The positions of the factors of each segment.
    sources: RawBuffer,
    kernel: Kernel,
}

impl Chunks {
    /// Divides the rows at these places into chunks, unless their products take much memory, or memory that is not
    /// there, or are too many for 32 bits.
    pub(super) fn new(
        factors: Factors<'_>,
        rows_of_bins: (&RowBins, Range<usize>),
        rows: KnownRows<'_>,
    ) -> Result<Option<Self>> {
        match build::build(factors, rows_of_bins, rows) {
            Err(Error::OutOfMemory { .. }) => Ok(None),
            chunks => chunks,
        }
    }

    /// Writes the values of the rows, apart from those that the last launch writes.
    pub(super) fn run(&self, factors: Factors<'_>, c: RawCompressed<'_>, is_apart: bool) -> Result<()> {
        let launch = factors.backend.launch(&self.kernel).size(self.count).buffer(&self.heads);
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
