//! Places: the position of each product in its row of C, which a plan stores.
//!
//! Plans of many runs search for them; plans of few runs have them where rows are so short that the sort of their
//! columns finds them on its way. A run reads 1 or 2 bytes a product, and A, B and C.

use super::row_bins::{Bin, RowBins};
use super::row_sizes::{ProductCounts, RowSizes};
use super::values::{KnownRows, Limits};
use super::{Factors, Teams};
use crate::buffer::RawBuffer;
use crate::lanes::LANES;
use crate::primitive::raw::RawCompressed;
use crate::{Buffer, Kernel};
use sparse_core::{Error, Result};
use std::sync::Arc;

/// Calls from which on a plan stores places. Measured on an H100: finding them takes as long as they save in 1 to 3
/// runs of stencils, a band and uniform rows, and in 14 runs of a power law.
pub(super) const CALLS: usize = 16;

/// The most entries of a row of A whose products have places. Longer rows are in chunks: a warp would still add them
/// when others have ended, at about half a microsecond for two entries (H100).
pub(super) fn most_left(factors: Factors<'_>) -> usize {
    (2 * factors.left.mean_length()).max(2 * LANES)
}

/// The most products of a row for which rows need no bins.
pub(super) const FEW_PRODUCTS: usize = 128;

/// The most products of a row that has places: a warp adds as many in the time of a launch.
pub(super) const MAX_PRODUCTS: usize = 2048;

/// The longest row of C whose places have 8 bits: a warp's lanes count past its end.
const LONGEST_OF_BYTES: usize = u8::MAX as usize - LANES;

/// Bytes of sums for each lane: the kernels' macro `EACH` counts sums.
const BYTES_PER_LANE: usize = 64;

/// The lanes of the smallest team: as many as the mean length of a row of B, in which a lane has up to three entries at
/// once. Measured on an H100: 16 lanes take 0.75 of the time of 32 for rows of 41 entries, and 0.9 for 27; 4 take 0.77
/// of 8 for rows of 5, and 2 take 0.7 of 4 for rows of one entry.
const SMALLEST: [usize; 2] = [2, 16];

/// The mean length of a row of B above which the smallest team is a warp.
const LONG: usize = 3 * SMALLEST[1];

/// The place of each product in its row of C; those of long rows are in chunks.
#[derive(Debug)]
pub(super) struct Places {
    /// The start and the end of the row of B of each entry of A.
    b_rows: RawBuffer,
    /// The number of products before each row that has places.
    starts: Arc<Buffer<i64>>,
    places: RawBuffer,
    sum: Kernel,
    /// The bits that count the products of a row, if the sort of columns finds the places.
    sorted_bits: Option<u32>,
}

impl Places {
    /// The smallest and the largest team.
    pub(super) fn teams(factors: Factors<'_>) -> Teams {
        let mean = factors.right.mean_length();
        let lanes = if mean > LONG { LANES } else { 1 << mean.clamp(SMALLEST[0], SMALLEST[1]).ilog2() };
        Teams::new(factors.backend, lanes)
    }

    /// The most entries of a row of C that has places; longer rows are in chunks.
    pub(super) fn limits(factors: Factors<'_>, teams: Teams) -> Limits {
        let each = BYTES_PER_LANE / factors.left.dtype.accumulator().bytes();
        Limits { short: each * teams.smallest, warp: each * LANES }
    }

    /// Memory for the places of the products of these rows, or `None` if it is scarce. Rows of B have no column
    /// twice, no row has more products than `most`, and none of C more entries than the `longest`.
    pub(super) fn new(
        factors: Factors<'_>,
        products: &RowSizes,
        most: usize,
        longest: usize,
    ) -> Result<Option<Self>> {
        let place_bytes = if longest <= LONGEST_OF_BYTES { size_of::<u8>() } else { size_of::<u16>() };
        let bytes = products.total.saturating_mul(place_bytes);
        if bytes as u64 > factors.backend.scratch_limit() || i32::try_from(most + 1).is_err() {
            return Ok(None);
        }
        let memory =
            || Ok((factors.backend.allocate_raw(products.total, place_bytes)?, find_b_rows(factors)?));
        let (places, b_rows) = match memory() {
            Err(Error::OutOfMemory { .. }) => return Ok(None),
            memory => memory?,
        };
        let sum = kernel(factors, place_bytes, "spgemm_places_sum")?;
        Ok(Some(Self { b_rows, starts: products.starts.clone(), places, sum, sorted_bits: None }))
    }

    /// Memory for places that the sort of columns finds, if sums of all rows fit a warp's memory, and keys have bits
    /// for the numbers of products.
    pub(super) fn sorted(factors: Factors<'_>, products: &ProductCounts) -> Result<Option<Self>> {
        let most = products.most;
        let limit = Self::limits(factors, Self::teams(factors)).warp;
        let bits = most.saturating_sub(1).checked_ilog2().map_or(0, |bit| bit + 1);
        let key_bits = 8 * factors.right.indices.element_bytes as u32 - 1;
        let fits = (1..=limit).contains(&most) && factors.right.cols as u64 <= 1 << (key_bits - bits);
        if !fits || !factors.right.order.unique {
            return Ok(None);
        }
        let places = Self::new(factors, &products.counts, most, 0)?;
        let sum = kernel(factors, size_of::<u8>(), "spgemm_places_sum_mixed")?;
        Ok(places.map(|places| Self { sum, sorted_bits: Some(bits), ..places }))
    }

    /// The bits that count the products of a row, and the places, if the sort of columns finds them.
    pub(super) fn to_sort(&self) -> Option<(u32, &RawBuffer)> {
        self.sorted_bits.map(|bits| (bits, &self.places))
    }

    /// Finds the places of the products of a bin's rows, by teams of `lanes`.
    pub(super) fn find(
        &self,
        factors: Factors<'_>,
        (bins, bin, lanes): (&RowBins, &Bin, usize),
        rows: KnownRows<'_>,
    ) -> Result<()> {
        let rows_of_bin = &bin.rows;
        let kernel = kernel(factors, self.places.element_bytes, "spgemm_places_find")?;
        let launch = factors.backend.launch(&kernel).range(rows_of_bin).size(lanes).order(bins);
        let launch = launch.buffer(factors.left.offsets).buffer(&self.b_rows).buffer(factors.right.indices);
        let launch = launch.buffer(rows.offsets).buffer(rows.columns).buffer(&self.starts);
        launch.buffer(&self.places).teams(rows_of_bin.len(), lanes)
    }

    /// Writes the values of a bin's rows, by teams of `lanes`, apart from those that the last launch writes.
    pub(super) fn run(
        &self,
        factors: Factors<'_>,
        (bins, bin, lanes): (&RowBins, &Bin, usize),
        c: RawCompressed<'_>,
        is_apart: bool,
    ) -> Result<()> {
        let Factors { backend, left, right } = factors;
        let rows = &bin.rows;
        let launch = backend.launch(&self.sum).range(rows).size(lanes).order(bins).early_if(is_apart);
        let launch = launch.buffer(left.offsets).buffer(&self.b_rows).buffer(left.values);
        let launch = launch.buffer(right.values).buffer(c.offsets).buffer(c.values);
        launch.buffer(&self.starts).buffer(&self.places).teams(rows.len(), lanes)
    }

    /// Bytes on the device.
    pub(super) fn bytes(&self) -> usize {
        self.b_rows.bytes() + self.starts.bytes() + self.places.bytes()
    }
}

/// The start and the end of the row of B of each entry of A.
pub(super) fn find_b_rows(factors: Factors<'_>) -> Result<RawBuffer> {
    let Factors { backend, left, right } = factors;
    let b_rows = backend.allocate_raw(2 * left.indices.len, right.offsets.element_bytes)?;
    let kernel = kernel(factors, size_of::<u8>(), "spgemm_places_b_rows")?;
    let launch = backend.launch(&kernel).size(left.indices.len).buffer(left.indices);
    launch.buffer(right.offsets).buffer(&b_rows).items(left.indices.len)?;
    Ok(b_rows)
}

fn kernel(factors: Factors<'_>, place_bytes: usize, entry: &'static str) -> Result<Kernel> {
    let place = if place_bytes == size_of::<u8>() { "uchar" } else { "ushort" };
    factors.backend.kernel_of(
        factors.left.dtype,
        "spgemm_places",
        entry,
        factors.defines().set("PLACE", place),
    )
}
