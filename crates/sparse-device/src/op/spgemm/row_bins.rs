//! Rows in bins of their sizes.

use super::{Factors, ROWS_FILE, largest_team};
use crate::Buffer;
use crate::buffer::RawBuffer;
use crate::index_type::IndexType;
use crate::launch::Launch;
use crate::primitive::positions::Positions;
use crate::primitive::prefix_sum::PrefixSum;
use crate::primitive::radix_sort::radix_sort;
use sparse_core::{Backend, Result};
use std::ops::Range;

/// Bits of the number of a bin.
const BITS: u32 = 3;

/// The most rows that a single work-group sorts: more launches would take longer.
const FEW_ROWS: usize = 2048;

/// The rows in order of their bins, and within a bin in the order of the matrix.
#[derive(Debug)]
pub(super) struct RowBins {
    /// The row at each position; without it, row i is at position i.
    order: Option<Positions>,
    bins: Vec<Bin>,
}

/// Neighbours in the order of rows.
#[derive(Debug, Clone)]
pub(super) struct Bin {
    /// The number of the bin, from 1 on.
    pub(super) number: usize,
    /// Positions in the order of rows.
    pub(super) rows: Range<usize>,
}

impl RowBins {
    /// No bins, for rows without elements.
    pub(super) fn none() -> Self {
        Self { order: None, bins: vec![] }
    }

    /// All rows in the first bin.
    pub(super) fn single(rows: usize) -> Self {
        Self { order: None, bins: vec![Bin { number: 1, rows: 0..rows }] }
    }

    /// The rows in bins 1 to `count`, and the last of the starts of rows. Bins without rows, and rows in bin 0, are
    /// left out. `bins` writes the bin of each row.
    pub(super) fn sorted(
        factors: Factors<'_>,
        count: usize,
        row_starts: &RawBuffer,
        bins: impl FnOnce(&Buffer<i32>) -> Result<()>,
    ) -> Result<(Self, usize)> {
        let backend = factors.backend;
        let rows = factors.left.rows;
        let keys: Buffer<i32> = backend.allocate(rows)?;
        bins(&keys)?;
        let ends = count + 2;
        let starts: Buffer<i64> = backend.allocate(ends + 1)?;
        let kernel = |entry| factors.pattern_kernel(ROWS_FILE, entry);
        let order = if rows <= FEW_ROWS {
            let order = Positions::allocate_as(backend, rows, IndexType::I64)?;
            let kernel = kernel("spgemm_rows_order")?;
            let launch = backend.launch(&kernel).size(rows).size(ends).buffer(&keys).buffer(row_starts);
            launch.positions(&order).buffer(&starts).group_per_row(1, largest_team(backend))?;
            order
        } else {
            let sorted = radix_sort(backend, keys.raw, None, IndexType::I64, 0..BITS)?;
            let kernel = kernel("spgemm_rows_bin_starts")?;
            let launch = backend.launch(&kernel).size(rows).size(ends).buffer(&sorted.keys);
            launch.buffer(row_starts).buffer(&starts).items(ends + 1)?;
            sorted.positions
        };
        let starts = backend.download(&starts)?;
        let bin = |number| Bin { number, rows: starts[number] as usize..starts[number + 1] as usize };
        let bins = (1..=count).map(bin).filter(|bin| !bin.rows.is_empty()).collect();
        Ok((Self { order: Some(order), bins }, starts[ends] as usize))
    }

    /// True if all rows are in one bin, in the order of the matrix.
    pub(super) fn are_single(&self) -> bool {
        self.order.is_none()
    }

    /// The bins that have rows.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Bin> {
        self.bins.iter()
    }

    /// The numbers of slices before each row of a bin, and of all of them: `offsets` are those of elements, of which a
    /// slice has up to `size`.
    pub(super) fn slices(
        &self,
        factors: Factors<'_>,
        bin: &Bin,
        offsets: &RawBuffer,
        size: usize,
    ) -> Result<Buffer<i64>> {
        let backend = factors.backend;
        let slices = backend.zeros::<i64>(bin.rows.len() + 1)?;
        let kernel = factors.pattern_kernel(ROWS_FILE, "spgemm_rows_slices")?;
        let launch = backend.launch(&kernel).range(&bin.rows).size(size).order(self);
        launch.buffer(offsets).buffer(&slices).items(bin.rows.len())?;
        PrefixSum::series(backend, slices.len)?.starts(backend, &slices)?;
        Ok(slices)
    }

    /// Bytes on the device.
    pub(super) fn bytes(&self) -> usize {
        self.order.as_ref().map_or(0, Positions::bytes)
    }
}

impl<'a> Launch<'a> {
    /// A range of positions in the order of rows.
    pub(super) fn range(self, places: &Range<usize>) -> Self {
        self.size(places.start).size(places.end)
    }

    /// The order in which bins are ranges.
    pub(super) fn order(self, bins: &'a RowBins) -> Self {
        self.positions_or_null(bins.order.as_ref())
    }
}
