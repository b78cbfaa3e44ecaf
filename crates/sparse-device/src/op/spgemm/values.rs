//! The values of C, whose pattern is known.

use super::row_bins::{BinKind, Division, RowBins, RowSizes};
use super::{Factors, Teams};
use crate::lanes::LANES;
use crate::primitive::raw::RawCompressed;
use crate::{Device, Kernel};
use sparse_core::{DType, Result};

/// Bytes of sums for each lane of the team that sums a row in local memory: the kernels' macro `EACH` counts sums, and is
/// at most [`MOST_EACH`].
const BYTES_PER_LANE: usize = 64;
const MOST_EACH: usize = 8;

/// The most lanes of the smallest team. Measured on an H100: 16 lanes take 0.77 of the time of 32 for rows of B with 41
/// entries, and 0.95 for 27.
const MOST_SMALLEST: usize = 16;

/// The sums of the entries of C, by bins of rows of like lengths.
#[derive(Debug)]
pub(super) struct ValueSums {
    bins: RowBins,
    kernel: Kernel,
    /// The number of slices of the longest row; a slice has as many entries as the largest team sums in local memory.
    slices: usize,
}

impl ValueSums {
    pub(super) fn new(
        backend: &Device,
        factors: Factors<'_>,
        dtype: DType,
        lengths: &RowSizes,
    ) -> Result<Self> {
        let each = (BYTES_PER_LANE / dtype.accumulator().bytes()).min(MOST_EACH);
        let teams = Teams::new(backend, factors.right.mean_length().min(MOST_SMALLEST));
        let division = Division { teams, each, spans: None, only_windows: false };
        let bins = RowBins::new(backend, factors, lengths, division)?;
        let defines = factors.defines(backend);
        let kernel = backend.kernel_of(dtype, "spgemm_values", "spgemm_values", defines)?;
        let longest = backend.longest_row(&lengths.starts)?;
        Ok(Self { bins, kernel, slices: longest.div_ceil(each * teams.largest) })
    }

    /// Writes the values of C.
    pub(super) fn run(&self, backend: &Device, factors: Factors<'_>, c: RawCompressed<'_>) -> Result<()> {
        let Factors { left, right } = factors;
        for bin in self.bins.iter() {
            let slices = if bin.kind == BinKind::Long { self.slices } else { 1 };
            let launch = backend.launch(&self.kernel).bin(bin).size(slices);
            let by_entries = right.order.unique && bin.lanes <= LANES;
            let launch = launch.size(usize::from(right.order.sorted)).size(usize::from(by_entries));
            let launch = launch.order(&self.bins);
            let launch = launch.buffer(left.offsets).buffer(left.indices).buffer(left.values);
            let launch = launch.buffer(right.offsets).buffer(right.indices).buffer(right.values);
            let launch = launch.buffer(c.offsets).buffer(c.indices).buffer(c.values);
            launch.teams(bin.rows.len().saturating_mul(slices), bin.lanes)?;
        }
        Ok(())
    }

    /// Bytes on the device.
    pub(super) fn bytes(&self) -> usize {
        self.bins.bytes()
    }
}
