//! The values of C, whose pattern is known.

use super::pattern::FoundPattern;
use super::row_bins::{Bin, RowBins, groups_of};
use super::{Factors, Teams};
use crate::buffer::RawBuffer;
use crate::primitive::raw::RawCompressed;
use crate::{Device, Kernel};
use sparse_core::{DType, Result};

/// Bytes of sums for each lane of the team that sums a row in local memory: the kernels' macro `EACH` counts sums, and is
/// at most [`MOST_EACH`].
const BYTES_PER_LANE: usize = 64;
const MOST_EACH: usize = 8;

/// The sums of the entries of C, by bins of rows of like lengths.
#[derive(Debug)]
pub(super) struct ValueSums {
    bins: RowBins,
    local: Kernel,
    global: Kernel,
    long_rows: Option<LongRows>,
}

/// The sums of rows that do not fit in local memory: `longest` for each work-group.
#[derive(Debug)]
struct LongRows {
    longest: usize,
    groups: usize,
    sums: RawBuffer,
}

impl ValueSums {
    pub(super) fn new(
        backend: &Device,
        factors: Factors<'_>,
        dtype: DType,
        found: &FoundPattern,
    ) -> Result<Self> {
        let sum_bytes = dtype.accumulator().bytes();
        let each = (BYTES_PER_LANE / sum_bytes).min(MOST_EACH);
        let teams = Teams::new(backend, factors.right.mean_length());
        let bins = RowBins::new(backend, factors, &found.lengths, (&teams, each))?;
        let kernel = |entry| backend.kernel_of(dtype, "spgemm_values", entry, factors.left.defines());
        let long = bins.iter().find(|bin| bin.is_long);
        let long_rows =
            long.map(|bin| LongRows::new(backend, bin, &found.lengths.starts, sum_bytes)).transpose()?;
        let (local, global) = (kernel("spgemm_values_local")?, kernel("spgemm_values_global")?);
        Ok(Self { bins, local, global, long_rows })
    }

    /// Writes the values of C.
    pub(super) fn run(&self, backend: &Device, factors: Factors<'_>, c: RawCompressed<'_>) -> Result<()> {
        let Factors { left, right } = factors;
        for bin in self.bins.iter() {
            let long = self.long_rows.as_ref().filter(|_| bin.is_long);
            let kernel = if long.is_some() { &self.global } else { &self.local };
            let launch = backend.launch(kernel).bin(bin).size(usize::from(right.order.unique));
            let launch = match long {
                Some(long) => launch.size(long.longest),
                None => launch,
            };
            let launch = launch.order(&self.bins);
            let launch = launch.buffer(left.offsets).buffer(left.indices).buffer(left.values);
            let launch = launch.buffer(right.offsets).buffer(right.indices).buffer(right.values);
            let launch = launch.buffer(c.offsets).buffer(c.indices).buffer(c.values);
            match long {
                Some(long) => launch.buffer(&long.sums).groups(long.groups, bin.lanes)?,
                None => launch.teams(bin.rows.len(), bin.lanes)?,
            }
        }
        Ok(())
    }

    /// Bytes on the device.
    pub(super) fn bytes(&self) -> usize {
        self.bins.bytes() + self.long_rows.as_ref().map_or(0, |long| long.sums.bytes())
    }
}

impl LongRows {
    fn new(backend: &Device, bin: &Bin, starts: &RawBuffer, sum_bytes: usize) -> Result<Self> {
        let longest = backend.longest_row(starts)?;
        let groups = groups_of(backend, bin, longest * sum_bytes);
        Ok(Self { longest, groups, sums: backend.allocate_raw(groups * longest, sum_bytes)? })
    }
}
