//! The values of C, whose pattern is known.

use super::chunks::Chunks;
use super::places::{self, Places};
use super::row_bins::{Bin, RowBins};
use super::strips::{FoundStrips, Strips};
use super::{Factors, NO_ROW, ROWS_FILE, SpgemmAlgorithm, Teams};
use crate::buffer::RawBuffer;
use crate::lanes::LANES;
use crate::primitive::raw::RawCompressed;
use crate::{Buffer, Kernel};
use sparse_core::{Backend, Result};
use std::ops::Range;

/// The file of the kernels.
const FILE: &str = "spgemm_values";

/// Bytes of sums for each lane of the team that sums a row in local memory: the kernels' macro `EACH` counts sums, and
/// is at most [`MAX_EACH`].
const BYTES_PER_LANE: usize = 64;
const MAX_EACH: usize = 8;

/// The most lanes of the smallest team. Measured on an H100: 16 lanes take 0.77 of the time of 32 for rows of B with 41
/// entries, and 0.95 for 27.
const MAX_SMALLEST: usize = 16;

/// The most entries of a row of A that a team of up to a warp takes.
const MAX_LEFT: usize = 1024;

/// Average products per row of B and slice of a row of C from which on a work-group takes the row's entries of A one
/// after the other: on a CPU, and on a GPU.
const MIN_PART: [usize; 2] = [8, 64];

/// The most products of a row for which rows need no bins.
const MAX_PRODUCTS: usize = 4096;

/// The entries of C that a work-item has in a slice, by the bytes of a column and a sum: the kernels' `SLICE_EACH`.
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
}

/// The teams that sum rows of C, in the order of their bins' numbers, which start at 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SumBin {
    /// The sums fit the smallest team.
    Short,
    /// The sums fit a warp.
    Warp,
    /// The largest team has a slice, and goes through the entries of A one after the other. Where places are kept, the
    /// rows of this bin and of the next are cut into chunks, if there is memory for their products.
    Parts,
    /// The largest team has a slice, and shares the products of as many entries of A as it has lanes.
    Slices,
}

const BINS: [SumBin; 4] = [SumBin::Short, SumBin::Warp, SumBin::Parts, SumBin::Slices];

impl SumBin {
    /// The lanes of the team that has a row or a slice.
    fn lanes(self, teams: Teams) -> usize {
        match self {
            Self::Short => teams.smallest,
            Self::Warp => LANES,
            Self::Parts | Self::Slices => teams.largest,
        }
    }

    /// True if rows are cut into slices.
    fn is_cut(self) -> bool {
        matches!(self, Self::Parts | Self::Slices)
    }

    /// The kernel that finds sums by columns.
    fn entry(self) -> &'static str {
        match self {
            Self::Short | Self::Warp => "spgemm_values",
            Self::Parts => "spgemm_values_parts",
            Self::Slices => "spgemm_values_slices",
        }
    }
}

/// The rows of a bin, and the method that sums them.
#[derive(Debug)]
struct BinSums {
    bin: Bin,
    lanes: usize,
    method: SumMethod,
}

/// A method to sum the products of a bin's rows.
#[derive(Debug)]
enum SumMethod {
    /// A run searches the column of each product in its row of C.
    Columns(Kernel),
    /// A run searches it in a slice of the row.
    Slices(Slices, Kernel),
    /// The plan stores the position of each product.
    Places,
}

/// The slices of the rows of a bin.
#[derive(Debug)]
struct Slices {
    /// The number of slices before each row, and of all.
    starts: Buffer<i64>,
    /// An upper bound of their number.
    most: usize,
}

/// The sums of the entries of C, by bins of rows of like lengths.
#[derive(Debug)]
pub(super) struct ValueSums {
    bins: RowBins,
    /// The sums of bins whose rows are not in chunks.
    sums: Vec<BinSums>,
    places: Option<Places>,
    chunks: Option<Chunks>,
    strips: Option<Strips>,
}

/// The numbers of entries and of products of the rows of C.
#[derive(Clone, Copy)]
pub(super) struct RowCounts<'a> {
    /// The entries before each row, and of all.
    pub(super) entries: &'a RawBuffer,
    /// The products before each row, or fewer.
    pub(super) products: &'a RawBuffer,
    /// The entries of the longest row, or more.
    pub(super) longest: usize,
    /// The products of the row that has most, or fewer.
    pub(super) most_products: usize,
}

/// The pattern of C.
#[derive(Clone, Copy)]
pub(super) struct KnownRows<'a> {
    pub(super) offsets: &'a RawBuffer,
    pub(super) columns: &'a RawBuffer,
    /// The entries of all rows.
    pub(super) count: usize,
    /// True for a mask, whose entries may have no products.
    pub(super) is_mask: bool,
}

/// The rows of C in bins, by teams that sum them.
pub(super) struct SumBins {
    bins: RowBins,
    teams: Teams,
    /// The most entries of a slice.
    slice: usize,
    /// The entries of C, if they came with the bins.
    pub(super) entries: Option<usize>,
}

impl SumBins {
    /// Bins for plans that keep places or look for columns, without the rows of strips. Waits for the device.
    pub(super) fn new(
        factors: Factors<'_>,
        counts: RowCounts<'_>,
        keeps_places: bool,
        strips: Option<&FoundStrips>,
    ) -> Result<Self> {
        let sum_bytes = factors.left.dtype.accumulator().bytes();
        let (teams, limits) = if keeps_places {
            let teams = Places::teams(factors);
            (teams, Places::limits(factors, teams))
        } else {
            let teams = Teams::new(factors.backend, factors.right.mean_length().min(MAX_SMALLEST));
            (teams, limits(sum_bytes, teams))
        };
        let slice = teams.largest * slice_each(sum_bytes + factors.right.indices.element_bytes);
        let (bins, entries) = row_bins(factors, counts, (limits, slice), (keeps_places, strips))?;
        Ok(Self { bins, teams, slice, entries })
    }
}

/// The rows in bins, but for those of strips, and the entries of C, if they come with these; a slice has `slice`
/// entries.
fn row_bins(
    factors: Factors<'_>,
    counts: RowCounts<'_>,
    (limits, slice): (Limits, usize),
    (keeps_places, strips): (bool, Option<&FoundStrips>),
) -> Result<(RowBins, Option<usize>)> {
    let backend = factors.backend;
    if counts.longest == 0 {
        return Ok((RowBins::none(), None));
    }
    // A row with so few products has no more entries of A, but for those that name empty rows of B.
    let few_products = if keeps_places { places::FEW_PRODUCTS } else { MAX_PRODUCTS };
    if strips.is_none() && counts.longest <= limits.short && counts.most_products <= few_products {
        return Ok((RowBins::single(factors.left.rows), None));
    }
    let order = factors.right.order;
    let sorted = RowBins::sorted(factors, BINS.len(), counts.entries, |bins| {
        let kernel = factors.pattern_kernel(ROWS_FILE, "spgemm_rows_sum_bins")?;
        let launch = backend.launch(&kernel).size(factors.left.rows);
        let launch = launch.size(limits.short).size(limits.warp).size(slice);
        let (most_left, most_products) = match keeps_places {
            true => (places::most_left(factors), places::MAX_PRODUCTS),
            false => (MAX_LEFT, NO_ROW),
        };
        let launch = launch.size(most_left).size(most_products);
        let [of_cpu, of_gpu] = MIN_PART;
        let least_part = if backend.caps().is_cpu { of_cpu } else { of_gpu };
        let launch = launch.size(if order.sorted && order.unique { least_part } else { NO_ROW });
        let launch = launch.buffer(counts.entries).buffer(counts.products);
        launch.buffer(factors.left.offsets).buffer(bins).items(factors.left.rows)?;
        strips.map_or(Ok(()), |strips| strips.leave(factors, bins))
    });
    sorted.map(|(bins, entries)| (bins, Some(entries)))
}

impl ValueSums {
    pub(super) fn new(
        factors: Factors<'_>,
        SumBins { bins, teams, slice, .. }: SumBins,
        c: KnownRows<'_>,
        (places, strips): (Option<Places>, Option<FoundStrips>),
    ) -> Result<Self> {
        let strips = strips.map(|strips| strips.with_programs(factors, c)).transpose()?;
        let chunks = match cut_rows(&bins) {
            Some(cut) if places.is_some() && !c.is_mask => Chunks::new(factors, (&bins, cut), c)?,
            _ => None,
        };
        let sums = |bin: &Bin| {
            let kind = BINS[bin.number - 1];
            let (bin, lanes) = (bin.clone(), kind.lanes(teams));
            let method = match &places {
                _ if kind.is_cut() => {
                    let starts = bins.slices(factors, &bin, c.offsets, slice)?;
                    let slices = Slices { starts, most: bin.rows.len() + c.count / slice };
                    SumMethod::Slices(slices, factors.kernel(FILE, kind.entry())?)
                }
                Some(places) => {
                    places.find(factors, (&bins, &bin, lanes), c)?;
                    SumMethod::Places
                }
                None => SumMethod::Columns(factors.kernel(FILE, kind.entry())?),
            };
            Ok(BinSums { bin, lanes, method })
        };
        let is_left = |bin: &&Bin| chunks.is_none() || !BINS[bin.number - 1].is_cut();
        let sums = bins.iter().filter(is_left).map(sums).collect::<Result<_>>()?;
        Ok(Self { bins, sums, places, chunks, strips })
    }

    /// The sums of a C whose rows are all in chunks, if there is memory for these.
    pub(super) fn of_chunks(factors: Factors<'_>, c: KnownRows<'_>) -> Result<Option<Self>> {
        let rows = factors.left.rows;
        let bins = RowBins::single(rows);
        let chunks = match c.count {
            0 => return Ok(None),
            _ => Chunks::new(factors, (&bins, 0..rows), c)?,
        };
        Ok(chunks.map(|chunks| Self { bins, sums: vec![], places: None, chunks: Some(chunks), strips: None }))
    }

    /// The sums of a C whose rows all have places.
    pub(super) fn of_sorted_places(factors: Factors<'_>, places: Option<Places>) -> Self {
        let bins = RowBins::single(factors.left.rows);
        let lanes = Places::teams(factors).smallest;
        let sums = bins.iter().map(|bin| BinSums { bin: bin.clone(), lanes, method: SumMethod::Places });
        Self { sums: sums.collect(), bins, places, chunks: None, strips: None }
    }

    /// Writes the values of C.
    pub(super) fn run(&self, factors: Factors<'_>, c: RawCompressed<'_>) -> Result<()> {
        // Launches have rows of their own: the longest rows come first, and strips and chunks, which are alike, last.
        for (before, sums) in self.sums.iter().rev().enumerate() {
            match (&sums.method, &self.places) {
                (SumMethod::Places, Some(places)) => {
                    places.run(factors, (&self.bins, &sums.bin, sums.lanes), c, before > 0)?;
                }
                _ => self.run_bin(factors, sums, c, before > 0)?,
            }
        }
        let mut before = self.sums.len();
        if let Some(strips) = &self.strips {
            strips.run(factors, c, before > 0)?;
            before += 1;
        }
        match &self.chunks {
            Some(chunks) => chunks.run(factors, c, before > 0),
            None => Ok(()),
        }
    }

    /// Writes the values of a bin's rows, by the columns of products.
    fn run_bin(
        &self,
        factors: Factors<'_>,
        sums: &BinSums,
        c: RawCompressed<'_>,
        is_apart: bool,
    ) -> Result<()> {
        let Factors { backend, left, right } = factors;
        let BinSums { bin, lanes, method } = sums;
        let (kernel, slices) = match method {
            SumMethod::Columns(kernel) => (kernel, None),
            SumMethod::Slices(slices, kernel) => (kernel, Some(slices)),
            SumMethod::Places => return Ok(()),
        };
        let launch = backend.launch(kernel).range(&bin.rows).size(*lanes);
        let launch = match slices {
            Some(slices) => launch.size(usize::from(right.order.sorted)).buffer(&slices.starts),
            None => launch.size(usize::from(right.order.unique)),
        };
        let launch = launch.order(&self.bins);
        let launch = launch.buffer(left.offsets).buffer(left.indices).buffer(left.values);
        let launch = launch.buffer(right.offsets).buffer(right.indices).buffer(right.values);
        let launch = launch.buffer(c.offsets).buffer(c.indices).buffer(c.values).early_if(is_apart);
        match slices {
            Some(slices) => launch.group_per_row(slices.most, *lanes),
            None => launch.teams(bin.rows.len(), *lanes),
        }
    }

    /// The algorithm of a plan that stores products; `None` if it stores nothing of them.
    pub(super) fn stored_algorithm(&self) -> Option<SpgemmAlgorithm> {
        match (&self.places, &self.chunks) {
            _ if self.strips.is_some() => Some(SpgemmAlgorithm::Strips),
            (Some(places), _) if places.to_sort().is_some() => None,
            (Some(_), _) => Some(SpgemmAlgorithm::Places),
            (None, Some(_)) => Some(SpgemmAlgorithm::Chunks),
            (None, None) => None,
        }
    }

    /// Bytes on the device.
    pub(super) fn bytes(&self) -> usize {
        let methods = self.sums.iter().map(|sums| match &sums.method {
            SumMethod::Slices(slices, _) => slices.starts.bytes(),
            SumMethod::Columns(_) | SumMethod::Places => 0,
        });
        let places = self.places.as_ref().map_or(0, Places::bytes);
        let chunks = self.chunks.as_ref().map_or(0, Chunks::bytes);
        let strips = self.strips.as_ref().map_or(0, Strips::bytes);
        self.bins.bytes() + methods.sum::<usize>() + places + chunks + strips
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
    let each = (BYTES_PER_LANE / sum_bytes).min(MAX_EACH);
    Limits { short: each * teams.smallest, warp: each * LANES }
}
