//! The values of C, whose pattern is known.

use super::chunks::Chunks;
use super::places::{self, Places};
use super::row_bins::{Bin, RowBins, RowSizes};
use super::{FILE, Factors, NO_ROW, Teams};
use crate::buffer::RawBuffer;
use crate::lanes::LANES;
use crate::primitive::raw::RawCompressed;
use crate::{Buffer, Device, Kernel};
use sparse_core::Result;
use std::ops::Range;

/// Bytes of sums for each lane of the team that sums a row in local memory: the kernels' macro `EACH` counts sums, and is
/// at most [`MOST_EACH`].
const BYTES_PER_LANE: usize = 64;
const MOST_EACH: usize = 8;

/// The most lanes of the smallest team. Measured on an H100: 16 lanes take 0.77 of the time of 32 for rows of B with 41
/// entries, and 0.95 for 27.
const MOST_SMALLEST: usize = 16;

/// Entries of a row of A up to which a team of up to a warp has the row.
const MOST_LEFT: usize = 1024;

/// Products of a row up to which rows need no bins, if all are short.
const MOST_PRODUCTS: usize = 4096;

/// The entries of C that a work-item has in a slice: the kernels' macro `SLICE_EACH`, by the bytes of a column and a sum.
fn slice_each(bytes: usize) -> usize {
    match bytes {
        0..=8 => 16,
        9..=16 => 8,
        _ => 4,
    }
}

/// The most entries of C that the rows of the first bins have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) short: usize,
    pub(super) warp: usize,
    pub(super) group: usize,
}

/// The teams that sum rows of C, in the order of their bins' numbers, which start at 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SumBin {
    /// The sums fit the smallest team.
    Short,
    /// The sums fit a warp.
    Warp,
    /// The columns and sums fit the largest team.
    Group,
    /// The largest team has a slice, and goes through the entries of A one after the other. Where places are kept, the rows
    /// of this bin and of the next are cut into chunks, if there is memory for their products.
    SlicesByEntries,
    /// The largest team has a slice, and shares the products of as many entries of A as it has lanes.
    Slices,
}

const BINS: [SumBin; 5] =
    [SumBin::Short, SumBin::Warp, SumBin::Group, SumBin::SlicesByEntries, SumBin::Slices];

impl SumBin {
    /// The lanes of the team that has a row or a slice.
    fn lanes(self, teams: Teams) -> usize {
        match self {
            Self::Short => teams.smallest,
            Self::Warp => LANES,
            Self::Group | Self::SlicesByEntries | Self::Slices => teams.largest,
        }
    }

    /// True if rows are cut into slices.
    fn is_cut(self) -> bool {
        matches!(self, Self::SlicesByEntries | Self::Slices)
    }
}

/// The rows of a bin, and the method that sums them.
#[derive(Debug)]
pub(super) struct BinSums {
    pub(super) kind: SumBin,
    pub(super) bin: Bin,
    pub(super) lanes: usize,
    method: SumMethod,
}

/// A method to sum the products of a bin's rows.
#[derive(Debug)]
enum SumMethod {
    /// A run looks for the column of each product in its row of C.
    Columns,
    /// A run looks for it in a slice of the row.
    Slices(Slices),
    /// The plan keeps the place of each product.
    Places,
}

/// The slices of the rows of a bin.
#[derive(Debug)]
struct Slices {
    /// The number of slices before each row, and of all.
    starts: Buffer<i64>,
    /// At least as many as there are.
    most: usize,
    kernel: Kernel,
}

/// The sums of the entries of C, by bins of rows of like lengths.
#[derive(Debug)]
pub(super) struct ValueSums {
    bins: RowBins,
    /// The sums of bins whose rows are not in chunks.
    sums: Vec<BinSums>,
    kernel: Kernel,
    places: Option<Places>,
    chunks: Option<Chunks>,
}

/// The rows of C, as known before their values.
#[derive(Clone, Copy)]
pub(super) struct KnownRows<'a> {
    pub(super) offsets: &'a RawBuffer,
    pub(super) columns: &'a RawBuffer,
    pub(super) lengths: &'a RowSizes,
    /// The products of each row, or fewer.
    pub(super) products: &'a RawBuffer,
    /// The entries of the longest row, or more.
    pub(super) longest: usize,
    /// The products of the row that has most, or fewer.
    pub(super) most_products: usize,
}

impl ValueSums {
    pub(super) fn new(
        backend: &Device,
        factors: Factors<'_>,
        rows: KnownRows<'_>,
        places: Option<Places>,
    ) -> Result<Self> {
        let sum_bytes = factors.left.dtype.accumulator().bytes();
        let (teams, limits) = match places {
            Some(_) => {
                let teams = Places::teams(backend, factors);
                (teams, Places::limits(factors, teams))
            }
            None => {
                let teams = Teams::new(backend, factors.right.mean_length().min(MOST_SMALLEST));
                (teams, limits(sum_bytes, teams))
            }
        };
        let slice = teams.largest * slice_each(sum_bytes + factors.right.indices.element_bytes);
        let bins = Self::bins(backend, factors, rows, limits, slice, places.is_some())?;
        let chunks = match (&places, cut_rows(&bins)) {
            (Some(places), Some(cut)) => Chunks::new(backend, factors, places, (&bins, cut), rows)?,
            _ => None,
        };
        let kernel = |entry| kernel(backend, factors, entry);
        let sums = |bin: &Bin| {
            let kind = BINS[bin.number - 1];
            let lanes = kind.lanes(teams);
            let mut sums = BinSums { kind, bin: bin.clone(), lanes, method: SumMethod::Columns };
            sums.method = match &places {
                _ if kind.is_cut() => {
                    let starts = bins.slices(backend, factors, bin, rows.offsets, slice)?;
                    let most = bin.rows.len() + rows.lengths.total / slice;
                    SumMethod::Slices(Slices { starts, most, kernel: kernel("spgemm_values_slices")? })
                }
                Some(places) => {
                    places.find(backend, factors, &bins, &sums, rows)?;
                    SumMethod::Places
                }
                None => SumMethod::Columns,
            };
            Ok(sums)
        };
        let is_left = |bin: &&Bin| chunks.is_none() || !BINS[bin.number - 1].is_cut();
        let sums = bins.iter().filter(is_left).map(sums).collect::<Result<_>>()?;
        Ok(Self { bins, sums, kernel: kernel("spgemm_values")?, places, chunks })
    }

    /// The rows in bins; a slice has `slice` entries.
    fn bins(
        backend: &Device,
        factors: Factors<'_>,
        rows: KnownRows<'_>,
        limits: Limits,
        slice: usize,
        has_places: bool,
    ) -> Result<RowBins> {
        if rows.lengths.total == 0 {
            return Ok(RowBins::none());
        }
        // A row with so few products has no more entries of A, but for those that name empty rows of B.
        let few_products = if has_places { places::FEW_PRODUCTS } else { MOST_PRODUCTS };
        if rows.longest <= limits.short && rows.most_products <= few_products {
            return Ok(RowBins::single(factors.left.rows));
        }
        let order = factors.right.order;
        RowBins::sorted(backend, factors, BINS.len(), |bins| {
            let kernel = backend.kernel(FILE, "spgemm_pattern_sum_bins", factors.defines(backend))?;
            let launch = backend.launch(&kernel).size(factors.left.rows);
            let launch = launch.size(limits.short).size(limits.warp).size(limits.group).size(slice);
            let (most_left, most_products) = match has_places {
                true => (places::most_left(factors), places::MOST_PRODUCTS),
                false => (MOST_LEFT, NO_ROW),
            };
            let launch = launch.size(most_left).size(most_products);
            let launch = launch.size(usize::from(order.sorted && order.unique));
            let launch = launch.buffer(&rows.lengths.starts).buffer(rows.products);
            launch.buffer(factors.left.offsets).buffer(bins).items(factors.left.rows)
        })
    }

    /// Writes the values of C.
    pub(super) fn run(&self, backend: &Device, factors: Factors<'_>, c: RawCompressed<'_>) -> Result<()> {
        if let Some(chunks) = &self.chunks {
            chunks.run(backend, factors, c)?;
        }
        self.sums.iter().try_for_each(|sums| match (&sums.method, &self.places) {
            (SumMethod::Places, Some(places)) => places.run(backend, factors, &self.bins, sums, c),
            _ => self.run_bin(backend, factors, sums, c),
        })
    }

    /// Writes the values of a bin's rows, by the columns of products.
    fn run_bin(
        &self,
        backend: &Device,
        factors: Factors<'_>,
        sums: &BinSums,
        c: RawCompressed<'_>,
    ) -> Result<()> {
        let Factors { left, right } = factors;
        let BinSums { kind, bin, lanes, method } = sums;
        let slices = if let SumMethod::Slices(slices) = method { Some(slices) } else { None };
        let kernel = slices.map_or(&self.kernel, |slices| &slices.kernel);
        let mut launch = backend.launch(kernel).range(&bin.rows).size(*lanes);
        if slices.is_some() {
            launch = launch.size(usize::from(right.order.sorted));
        }
        let by_entries = right.order.unique && (*lanes <= LANES || *kind == SumBin::SlicesByEntries);
        launch = launch.size(usize::from(by_entries));
        if let Some(slices) = slices {
            launch = launch.buffer(&slices.starts);
        }
        let launch = launch.order(&self.bins);
        let launch = launch.buffer(left.offsets).buffer(left.indices).buffer(left.values);
        let launch = launch.buffer(right.offsets).buffer(right.indices).buffer(right.values);
        let launch = launch.buffer(c.offsets).buffer(c.indices).buffer(c.values);
        match slices {
            Some(slices) => launch.group_per_row(slices.most, *lanes),
            None => launch.teams(bin.rows.len(), *lanes),
        }
    }

    /// True if the plan keeps the places of products.
    pub(super) fn has_places(&self) -> bool {
        self.places.is_some()
    }

    /// Bytes on the device.
    pub(super) fn bytes(&self) -> usize {
        let methods = self.sums.iter().map(|sums| match &sums.method {
            SumMethod::Slices(slices) => slices.starts.bytes(),
            SumMethod::Columns | SumMethod::Places => 0,
        });
        let kept =
            self.places.as_ref().map_or(0, Places::bytes) + self.chunks.as_ref().map_or(0, Chunks::bytes);
        self.bins.bytes() + methods.sum::<usize>() + kept
    }
}

/// The places of the rows in bins whose rows are cut, which are neighbours.
fn cut_rows(bins: &RowBins) -> Option<Range<usize>> {
    let mut cut = bins.iter().filter(|bin| BINS[bin.number - 1].is_cut()).map(|bin| &bin.rows);
    let first = cut.next()?;
    Some(first.start..cut.last().unwrap_or(first).end)
}

/// The most entries of rows whose columns and sums are in local memory.
fn limits(sum_bytes: usize, teams: Teams) -> Limits {
    let each = (BYTES_PER_LANE / sum_bytes).min(MOST_EACH);
    Limits { short: each * teams.smallest, warp: each * LANES, group: each * teams.largest }
}

fn kernel(backend: &Device, factors: Factors<'_>, entry: &'static str) -> Result<Kernel> {
    backend.kernel_of(factors.left.dtype, "spgemm_values", entry, factors.defines(backend))
}
