//! Compressed rows of few patterns: those of stencils, bands and grids that are numbered along their axes.
//!
//! The columns of a row, counted from its number, are one of up to 192 lists, which the first cache holds, so that an
//! entry takes the bytes of its value alone, and x is gathered before anything but the row's offset and pattern is
//! known. Values stay where they are, row by row, since they may change between runs.
//!
//! 10 and 6 bytes an entry with 16-bit columns become 8 and 4 (f64, f32).

use super::plan::Workspace;
use super::row_deltas::{self, EVICTED_CACHES, pays_to_evict_first};
use crate::buffer::RawBuffer;
use crate::index_type::IndexType;
use crate::lanes::LANES;
use crate::primitive::raw::{RawCompressed, VectorOperands};
use crate::primitive::row_lengths::LazyRowLengths;
use crate::{Device, Kernel};
use sparse_core::op::Op;
use sparse_core::{Backend, Error, PlanOptions, Result};

/// The file of the kernels of the product.
pub(super) const FILE: &str = "csr_spmv_row_patterns";

/// The file of the kernels that find patterns.
const FIND_FILE: &str = "row_patterns";

/// Places for patterns: `SLOTS` of the kernels.
const SLOTS: usize = 256;

/// Entries of the longest row of which a pattern is made.
const LONGEST: usize = 256;

/// Rows, and entries, up to which indices and offsets of 32 bits number them, and the steps of lanes past the last.
const MOST_OF_32_BITS: usize = i32::MAX as usize - LANES;

/// Bytes of patterns up to which a plan takes them: half of a small first cache. Those of a band of 101 take 41 KB.
const CACHED_BYTES: usize = 1 << 16;

/// Rows whose patterns a plan counts before it reads all of them.
const FIRST_ROWS: usize = 1 << 12;

/// The kernel, and what it reads in place of columns.
#[derive(Debug)]
pub struct RowPatterns {
    kernel: Kernel,
    /// Lanes per row.
    lanes: usize,
    longest: usize,
    pattern_of: RawBuffer,
    patterns: RawBuffer,
}

impl RowPatterns {
    /// The patterns for a plan that runs often, if they are few.
    pub(super) fn if_few(
        backend: &Device,
        a: RawCompressed<'_>,
        lengths: &LazyRowLengths<'_>,
        op: Op,
        options: &PlanOptions,
    ) -> Result<Option<Self>> {
        let is_offered = backend.lacks(FILE).is_none() && backend.reads_words(a.values.element_bytes);
        if options.algorithm.is_some() || !is_offered {
            return Ok(None);
        }
        Self::find(backend, a, lengths, op, (CACHED_BYTES, options.bytes_between_runs))
    }

    /// The patterns.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if there are more than 192 or two have one hash, a row has more than 256 entries, or
    /// there are more rows or entries than indices and offsets of 32 bits count.
    pub(super) fn new(
        backend: &Device,
        a: RawCompressed<'_>,
        lengths: &LazyRowLengths<'_>,
        op: Op,
    ) -> Result<Self> {
        Self::find(backend, a, lengths, op, (usize::MAX, 0))?.ok_or_else(|| {
            Error::unsupported(
                "spmv algorithm `row_patterns` for this pattern",
                "rows have more than 192 patterns, two with one hash, or 256 entries, or are too many",
            )
        })
    }

    /// The patterns, if there are up to 192 of this many bytes and rows have up to [`LONGEST`] entries: first counts
    /// those of the first rows, so that other matrices cost little.
    fn find(
        backend: &Device,
        a: RawCompressed<'_>,
        lengths: &LazyRowLengths<'_>,
        op: Op,
        (most_bytes, between): (usize, usize),
    ) -> Result<Option<Self>> {
        let longest = lengths.longest()?;
        // A column counted from its row has the type of the indices; lanes step past the last entry in that of offsets.
        let is_too_many =
            |array: &RawBuffer, count| array.index_type() == IndexType::I32 && count > MOST_OF_32_BITS;
        if longest > LONGEST || is_too_many(a.indices, a.rows) || is_too_many(a.offsets, a.nnz()) {
            return Ok(None);
        }
        let kernel = |entry| backend.kernel(FIND_FILE, entry, a.defines());
        let (find, check) = (kernel("row_patterns_find")?, kernel("row_patterns_check")?);
        let lanes = a.mean_length().next_power_of_two().div_ceil(16).clamp(1, LANES);
        let found = backend.zeros::<i32>(SLOTS + 2)?;
        let firsts = backend.allocate::<i64>(SLOTS)?;
        let pattern_of = backend.allocate_raw(a.rows, size_of::<u8>())?;
        let patterns = backend.allocate_raw(SLOTS * longest, a.indices.element_bytes)?;
        let found_at = |place| backend.download_before(found.view().slice(place..place + 1), &mut || Ok(()));
        let has_failed = || found_at(SLOTS + 1).map(|failed| failed != 0);
        let find_in = |rows: usize| {
            let launch = backend.launch(&find).size(rows).size(lanes).buffer(a.offsets).buffer(a.indices);
            let launch = launch.buffer(&found).buffer(&firsts).buffer(&pattern_of);
            launch.exchanging_warps_at_once(rows.div_ceil(LANES / lanes))
        };
        find_in(a.rows.min(FIRST_ROWS))?;
        if has_failed()? {
            return Ok(None);
        }
        find_in(a.rows)?;
        let launch = backend.launch(&check).size(a.rows).size(lanes).size(longest);
        let launch = launch.buffer(a.offsets).buffer(a.indices).buffer(&firsts);
        let launch = launch.buffer(&pattern_of).buffer(&patterns).buffer(&found);
        launch.exchanging_warps_at_once(a.rows.div_ceil(LANES / lanes))?;
        if has_failed()? || found_at(SLOTS)? as usize * longest * a.indices.element_bytes > most_bytes {
            return Ok(None);
        }
        let value_bytes = a.values.element_bytes;
        let bytes = a.nnz() * value_bytes + a.rows * (1 + a.offsets.element_bytes + 2 * value_bytes);
        let cache_bytes = backend.properties().cache_bytes;
        let entry = match pays_to_evict_first(cache_bytes, bytes + between, false, 2 * EVICTED_CACHES) {
            true => "csr_spmv_row_patterns_evict_first",
            false => FILE,
        };
        let lanes = lanes_for(a.mean_length(), value_bytes);
        let kernel = backend.kernel_of(a.dtype, FILE, entry, a.product_defines(op).set("LANES", lanes))?;
        Ok(Some(Self { kernel, lanes, longest, pattern_of, patterns }))
    }

    /// Computes the product.
    pub(super) fn run(
        &self,
        backend: &Device,
        a: RawCompressed<'_>,
        operands: VectorOperands<'_>,
    ) -> Result<()> {
        let launch = backend.launch(&self.kernel).size(a.rows).size(self.longest);
        let launch = launch.buffer(a.offsets).buffer(&self.pattern_of).buffer(&self.patterns);
        let launch = launch.buffer(a.values).vectors(operands);
        launch.resident_warps(a.rows.div_ceil(LANES / self.lanes))
    }
}

/// Lanes for rows of `mean` entries whose values have `value_bytes`. Measured on an H200 on 14 stencils and bands of 3
/// to 101 entries, warm and cold: half or twice the lanes take 1.0 to 1.4 of the time. Values of 16 bytes and of fewer
/// than 4 were not measured.
fn lanes_for(mean: usize, value_bytes: usize) -> usize {
    let from = match value_bytes {
        ..4 => return row_deltas::lanes_for(mean, value_bytes, false),
        4 => [16, 35, 128, 256, 512],
        8 => [7, 10, 64, 160, 320],
        _ => [5, 12, 32, 64, 128],
    };
    1 << from.iter().filter(|&&from| mean >= from).count()
}

impl Workspace for RowPatterns {
    fn bytes(&self) -> usize {
        self.pattern_of.bytes() + self.patterns.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_rows_have_more_lanes() {
        let lanes = |value_bytes| [3, 7, 11, 21, 27, 41, 101, 256].map(|mean| lanes_for(mean, value_bytes));
        assert_eq!(lanes(4), [1, 1, 1, 2, 2, 4, 4, 16]);
        assert_eq!(lanes(8), [1, 2, 4, 4, 4, 4, 8, 16]);
        assert_eq!([lanes_for(27, 16), lanes_for(1000, 8), lanes_for(21, 2)], [4, 32, 4]);
    }
}
