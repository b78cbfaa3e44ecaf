//! `row_patterns`: compressed rows that share few patterns, as in stencils, bands and grids.
//!
//! The pattern of a row is its columns, counted from the number of the row. A row stores one byte, which names one of
//! up to 192 patterns, and these fit the L1 cache. So an entry costs the bytes of its value alone: 4 in f32 and 8 in
//! f64, where 16-bit columns make it 6 and 10. Values stay in the order of the matrix, since they may change between
//! runs.

use super::row_deltas::{self, EVICTED_CACHES, pays_to_evict_first};
use super::row_strategy::RowProduct;
use crate::buffer::RawBuffer;
use crate::index_type::IndexType;
use crate::lanes::LANES;
use crate::primitive::planned_rows::PlannedRows;
use crate::primitive::raw::{RawCompressed, VectorOperands};
use crate::{Device, Kernel};
use sparse_core::{Backend, Error, Result};

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

/// Bytes of patterns up to which a plan takes them: half of a small L1 cache. Those of a band of 101 take 41 KB.
const CACHED_BYTES: usize = 1 << 16;

/// Rows whose patterns a plan counts before it reads all of them.
const FIRST_ROWS: usize = 1 << 12;

/// The kernel, and what it reads in place of columns.
#[derive(Debug)]
pub(super) struct RowPatterns {
    kernel: Kernel,
    /// Lanes per row.
    lanes: usize,
    longest: usize,
    pattern_of: RawBuffer,
    patterns: RawBuffer,
}

impl RowPatterns {
    /// The patterns for a plan that runs often, if they are few.
    pub(super) fn if_few(rows: &PlannedRows<'_>) -> Result<Option<Self>> {
        let &PlannedRows { backend, a, options, .. } = rows;
        let is_offered = backend.lacks(FILE).is_none() && backend.reads_words(a.values.element_bytes);
        if options.algorithm.is_some() || !is_offered {
            return Ok(None);
        }
        Self::find(rows, CACHED_BYTES)
    }

    /// The patterns.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if there are more than 192 or two have one hash, a row has more than 256 entries, or
    /// there are more rows or entries than indices and offsets of 32 bits count.
    pub(super) fn new(rows: &PlannedRows<'_>) -> Result<Self> {
        Self::find(rows, usize::MAX)?.ok_or_else(|| {
            Error::unsupported(
                "spmv algorithm `row_patterns` for this pattern",
                "rows have more than 192 patterns, two with one hash, or 256 entries, or are too many",
            )
        })
    }

    /// The patterns, if there are up to 192 of at most `most_bytes`, and rows have up to [`LONGEST`] entries.
    fn find(rows: &PlannedRows<'_>, most_bytes: usize) -> Result<Option<Self>> {
        let &PlannedRows { backend, a, op, options, ref lengths } = rows;
        let longest = lengths.longest()?;
        if longest > LONGEST || !fits_32_bits(a) {
            return Ok(None);
        }
        let Some(Found { count, pattern_of, patterns }) = Found::search(backend, a, longest)? else {
            return Ok(None);
        };
        if count * longest * a.indices.element_bytes > most_bytes {
            return Ok(None);
        }
        let value_bytes = a.values.element_bytes;
        let product_bytes = a.nnz() * value_bytes + a.rows * (1 + a.offsets.element_bytes + 2 * value_bytes);
        let bytes = product_bytes + options.bytes_between_runs;
        let cache_bytes = backend.properties().cache_bytes;
        let entry = match pays_to_evict_first(cache_bytes, bytes, false, 2 * EVICTED_CACHES) {
            true => "csr_spmv_row_patterns_evict_first",
            false => FILE,
        };
        let lanes = lanes_for(a.mean_length(), value_bytes);
        let kernel = backend.kernel_of(a.dtype, FILE, entry, a.product_defines(op).set("LANES", lanes))?;
        Ok(Some(Self { kernel, lanes, longest, pattern_of, patterns }))
    }
}

impl RowProduct for RowPatterns {
    fn bytes(&self) -> usize {
        self.pattern_of.bytes() + self.patterns.bytes()
    }

    fn run(&self, backend: &Device, a: RawCompressed<'_>, operands: VectorOperands<'_>) -> Result<()> {
        let launch = backend.launch(&self.kernel).size(a.rows).size(self.longest);
        let launch = launch.buffer(a.offsets).buffer(&self.pattern_of).buffer(&self.patterns);
        let launch = launch.buffer(a.values).vectors(operands);
        launch.resident_warps(a.rows.div_ceil(LANES / self.lanes))
    }
}

/// True if the types of indices and offsets can hold the numbers that kernels compute with: a column counted from its
/// row, and the position of a lane that steps past the last entry.
fn fits_32_bits(a: RawCompressed<'_>) -> bool {
    let fits = |array: &RawBuffer, count| array.index_type() != IndexType::I32 || count <= MOST_OF_32_BITS;
    fits(a.indices, a.rows) && fits(a.offsets, a.nnz())
}

/// The patterns of all rows.
struct Found {
    /// The number of patterns.
    count: usize,
    /// The pattern of each row.
    pattern_of: RawBuffer,
    /// The columns of each pattern.
    patterns: RawBuffer,
}

impl Found {
    /// The patterns of rows of up to `longest` entries, unless they are more than 192 or two have one hash. First
    /// counts those of the first rows, so that other matrices cost little.
    fn search(backend: &Device, a: RawCompressed<'_>, longest: usize) -> Result<Option<Self>> {
        let kernel = |entry| backend.kernel(FIND_FILE, entry, a.defines());
        let (find, check) = (kernel("row_patterns_find")?, kernel("row_patterns_check")?);
        let lanes = a.mean_length().next_power_of_two().div_ceil(16).clamp(1, LANES);
        let warps = |rows: usize| rows.div_ceil(LANES / lanes);
        // The hash of each slot, then the number of patterns, then 1 if the search has failed.
        let found = backend.zeros::<i32>(SLOTS + 2)?;
        let firsts = backend.allocate::<i64>(SLOTS)?;
        let pattern_of = backend.allocate_raw(a.rows, size_of::<u8>())?;
        let patterns = backend.allocate_raw(SLOTS * longest, a.indices.element_bytes)?;
        let found_at = |place| backend.download_before(found.view().slice(place..place + 1), &mut || Ok(()));
        let has_failed = || found_at(SLOTS + 1).map(|failed| failed != 0);
        let find_in = |rows: usize| {
            let launch = backend.launch(&find).size(rows).size(lanes).buffer(a.offsets).buffer(a.indices);
            let launch = launch.buffer(&found).buffer(&firsts).buffer(&pattern_of);
            launch.exchanging_warps_at_once(warps(rows))
        };
        find_in(a.rows.min(FIRST_ROWS))?;
        if has_failed()? {
            return Ok(None);
        }
        find_in(a.rows)?;
        let launch = backend.launch(&check).size(a.rows).size(lanes).size(longest);
        let launch = launch.buffer(a.offsets).buffer(a.indices).buffer(&firsts);
        let launch = launch.buffer(&pattern_of).buffer(&patterns).buffer(&found);
        launch.exchanging_warps_at_once(warps(a.rows))?;
        if has_failed()? {
            return Ok(None);
        }
        let count = found_at(SLOTS)? as usize;
        Ok(Some(Self { count, pattern_of, patterns }))
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
