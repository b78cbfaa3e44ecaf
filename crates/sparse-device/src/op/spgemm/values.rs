//! The values of C, whose pattern is known.

use super::row_bins::{Bin, RowBins, RowSizes};
use super::{FILE, Factors, Teams};
use crate::buffer::RawBuffer;
use crate::lanes::LANES;
use crate::primitive::raw::RawCompressed;
use crate::{Buffer, Device, Kernel};
use sparse_core::{DType, Result};

/// Bytes of sums for each lane of the team that sums a row in local memory: the kernels' macro `EACH` counts sums, and is
/// at most [`MOST_EACH`].
const BYTES_PER_LANE: usize = 64;
const MOST_EACH: usize = 8;

/// The most lanes of the smallest team. Measured on an H100: 16 lanes take 0.77 of the time of 32 for rows of B with 41
/// entries, and 0.95 for 27.
const MOST_SMALLEST: usize = 16;

/// The entries of C that a work-item has in a slice: the kernels' macro `SLICE_EACH`, by the bytes of a column and a sum.
fn slice_each(bytes: usize) -> usize {
    match bytes {
        0..=8 => 16,
        9..=16 => 8,
        _ => 4,
    }
}

/// The teams that sum rows of C, in the order of their bins' numbers, which start at 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SumBin {
    /// The entries fit the smallest team.
    Short,
    /// The entries fit a warp.
    Warp,
    /// The entries fit the largest team.
    Group,
    /// The largest team has a slice, and goes through the entries of A one after the other.
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

/// The rows of a bin, and the numbers of slices before each of them if they are cut.
#[derive(Debug)]
struct BinSums {
    kind: SumBin,
    bin: Bin,
    lanes: usize,
    slices: Option<Slices>,
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
    sums: Vec<BinSums>,
    kernel: Kernel,
}

/// The rows of C, as known before their values.
#[derive(Clone, Copy)]
pub(super) struct KnownRows<'a> {
    pub(super) offsets: &'a RawBuffer,
    pub(super) lengths: &'a RowSizes,
    /// The products of each row, or fewer.
    pub(super) products: &'a Buffer<i64>,
    /// The entries of the longest row, or more.
    pub(super) longest: usize,
}

impl ValueSums {
    pub(super) fn new(
        backend: &Device,
        factors: Factors<'_>,
        dtype: DType,
        rows: KnownRows<'_>,
    ) -> Result<Self> {
        let each = (BYTES_PER_LANE / dtype.accumulator().bytes()).min(MOST_EACH);
        let teams = Teams::new(backend, factors.right.mean_length().min(MOST_SMALLEST));
        let column_bytes = factors.right.indices.element_bytes;
        let slice = teams.largest * slice_each(dtype.accumulator().bytes() + column_bytes);
        let kernel = |entry| backend.kernel_of(dtype, "spgemm_values", entry, factors.defines(backend));
        let bins = Self::bins(backend, factors, rows, (each, slice), teams)?;
        let sums = |bin: &Bin| {
            let kind = BINS[bin.number - 1];
            let cut = || {
                let starts = bins.slices(backend, factors, bin, rows.offsets, slice)?;
                let most = bin.rows.len() + rows.lengths.total / slice;
                Ok::<_, sparse_core::Error>(Slices { starts, most, kernel: kernel("spgemm_values_slices")? })
            };
            let slices = kind.is_cut().then(cut).transpose()?;
            Ok(BinSums { kind, bin: bin.clone(), lanes: kind.lanes(teams), slices })
        };
        let sums = bins.iter().map(sums).collect::<Result<_>>()?;
        Ok(Self { bins, sums, kernel: kernel("spgemm_values")? })
    }

    /// The rows in bins; a work-item has `each` entries of a row, and a team `slice` entries of a slice.
    fn bins(
        backend: &Device,
        factors: Factors<'_>,
        rows: KnownRows<'_>,
        (each, slice): (usize, usize),
        teams: Teams,
    ) -> Result<RowBins> {
        if rows.lengths.total == 0 {
            return Ok(RowBins::none());
        }
        if rows.longest <= each * teams.smallest {
            return Ok(RowBins::single(factors.left.rows));
        }
        let order = factors.right.order;
        let limit = |bin: SumBin| each * bin.lanes(teams);
        RowBins::sorted(backend, factors, BINS.len(), |bins| {
            let kernel = backend.kernel(FILE, "spgemm_pattern_sum_bins", factors.defines(backend))?;
            let launch = backend.launch(&kernel).size(factors.left.rows).size(limit(SumBin::Short));
            let launch = launch.size(limit(SumBin::Warp)).size(limit(SumBin::Group)).size(slice);
            let launch = launch.size(usize::from(order.sorted && order.unique));
            let launch = launch.buffer(&rows.lengths.starts).buffer(rows.products);
            launch.buffer(factors.left.offsets).buffer(bins).items(factors.left.rows)
        })
    }

    /// Writes the values of C.
    pub(super) fn run(&self, backend: &Device, factors: Factors<'_>, c: RawCompressed<'_>) -> Result<()> {
        let Factors { left, right } = factors;
        for BinSums { kind, bin, lanes, slices } in &self.sums {
            let kernel = slices.as_ref().map_or(&self.kernel, |slices| &slices.kernel);
            let mut launch = backend.launch(kernel).places(&bin.rows).size(*lanes);
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
                Some(slices) => launch.group_per_row(slices.most, *lanes)?,
                None => launch.teams(bin.rows.len(), *lanes)?,
            }
        }
        Ok(())
    }

    /// Bytes on the device.
    pub(super) fn bytes(&self) -> usize {
        let slices = self.sums.iter().flat_map(|sums| &sums.slices);
        self.bins.bytes() + slices.map(|slices| slices.starts.bytes()).sum::<usize>()
    }
}
