//! `delta16`: compressed rows with 16-bit columns.
//!
//! Each 32 neighbouring rows have a base, or the bases of 16 windows of columns; a column is its distance from the
//! base. A lane takes a short row, several lanes a longer one. An entry takes 6 bytes in f32 in place of 8.

use super::choice_by_lengths::DeltaPatterns;
use super::row_strategy::RowProduct;
use crate::buffer::RawBuffer;
use crate::lanes::{LANES, lanes_at_once};
use crate::primitive::planned_rows::PlannedRows;
use crate::primitive::raw::{RawCompressed, VectorOperands};
use crate::{Buffer, Device, Kernel};
use sparse_core::{Backend, Error, Result};

/// Rows that share a base: `ROWS` of the kernels.
const ROWS: usize = LANES;

/// The number of groups of [`ROWS`] rows, of each 16, whose sampled row must have a pattern for the matrix to have it.
/// In matrices of blocks of four rows, 12 do.
const AGREEING: usize = 11;

/// The windows of 4096 columns that [`ROWS`] rows have where one window of 65536 is not enough, as with far diagonals
/// or unknowns that are numbered one kind after the other.
const WINDOWS: usize = 16;

/// The first rows, whose columns a plan tries to bring into windows before those of all rows, which takes the time of
/// three to five products.
const FIRST_ROWS: usize = 1 << 14;

/// Average entries per row from which on windows pay only where the cache holds the matrix.
const LONG_FOR_WINDOWS: usize = 24;

/// Average entries per row from which on lanes with evict-first loads read two words of 8-byte values at once.
const LONG_FOR_TWO_WORDS: usize = 10;

/// Average entries per row from which on rows of 4-byte values that are read from memory have four lanes, not two.
/// Measured on an H200 on 27 points of 72 to 240 MB, four over two: 0.73 to 0.90, cold 0.63 to 0.94; 1.03 (cold 0.80)
/// at 21 entries, 1.15 at 16, and 1.04 to 1.07 at 24 to 27 where the cache holds them.
const LONG_FROM_MEMORY: usize = 24;

/// The size in caches of the largest matrix whose entries are evicted from the cache first; twice that where lanes read
/// two words.
pub(super) const EVICTED_CACHES: usize = 2;

/// The file of the kernel with evict-first loads, on devices that have such loads.
const EVICT_FIRST_FILE: &str = "csr_deltas_evict_first";

/// The kernel, and what it reads in place of the columns.
#[derive(Debug)]
pub(super) struct RowDeltas {
    kernel: Kernel,
    /// Lanes per row.
    lanes: usize,
    bases: RawBuffer,
    deltas: Buffer<u16>,
}

/// The number of groups of [`ROWS`] rows with each pattern, found by a sampled row of each group.
#[derive(Debug, Clone, Copy)]
struct Groups {
    /// Sampled rows that are like the row before.
    alike: usize,
    /// Sampled rows that are like the row before, and groups whose columns lie near each other.
    near: usize,
    /// Groups whose sampled row is not like that before and has columns apart from each other.
    scattered: usize,
    /// Sampled rows with clustered columns.
    clustered: usize,
}

/// The columns of a plan that runs often.
pub(super) enum Columns {
    /// 16-bit deltas, which pay off.
    Deltas(RowDeltas),
    /// The columns of the matrix, with their pattern.
    Plain(ColumnPattern),
}

/// The columns of most rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnPattern {
    /// Apart from each other.
    Scattered,
    /// Beside those of the row before.
    Alike,
    /// In clusters that are apart from each other; `alike` if they also are beside those of the row before.
    Clustered { alike: bool },
    /// Any other pattern, or one that was not read.
    Other,
}

impl RowDeltas {
    /// The columns as deltas, if the pattern is one of these and columns of neighbouring rows lie within 65536, or in
    /// [`WINDOWS`] if that pays.
    pub(super) fn of_patterns(rows: &PlannedRows<'_>, patterns: DeltaPatterns) -> Result<Columns> {
        let &PlannedRows { backend, a, .. } = rows;
        if patterns == DeltaPatterns::None {
            return Ok(Columns::Plain(ColumnPattern::Other));
        }
        let (mut deltas, groups) = Self::make(rows, 1, a.rows)?;
        let enough = (a.rows / ROWS * AGREEING / 16).max(1);
        let (are_alike, are_near) = (groups.alike >= enough, groups.near >= enough);
        let pays = match patterns {
            DeltaPatterns::None => false,
            DeltaPatterns::Fitting => true,
            DeltaPatterns::Near => are_near,
            DeltaPatterns::Alike => are_alike,
        };
        let in_windows = |count| Self::make(rows, WINDOWS, count).map(|made| made.0);
        if pays
            && deltas.is_none()
            && are_near
            && backend.pays_for_windows(a)
            && in_windows(a.rows.min(FIRST_ROWS))?.is_some()
        {
            deltas = in_windows(a.rows)?;
        }
        Ok(match deltas {
            Some(deltas) if pays => Columns::Deltas(deltas),
            _ if groups.scattered >= enough => Columns::Plain(ColumnPattern::Scattered),
            _ if groups.clustered >= enough => Columns::Plain(ColumnPattern::Clustered { alike: are_alike }),
            _ if are_alike => Columns::Plain(ColumnPattern::Alike),
            _ => Columns::Plain(ColumnPattern::Other),
        })
    }

    /// The columns of the first `count` rows as deltas in `windows` windows, if they fit, and the groups by pattern.
    fn make(rows: &PlannedRows<'_>, windows: usize, count: usize) -> Result<(Option<Self>, Groups)> {
        let &PlannedRows { backend, a, op, options, .. } = rows;
        let defines = a.product_defines(op).set("WINDOWS", windows);
        let kernel = |file, entry, defines| backend.kernel_of(a.dtype, file, entry, defines);
        let groups = count.div_ceil(ROWS);
        let bases = backend.allocate_raw(groups * windows, a.indices.element_bytes)?;
        let (deltas, found) = (backend.allocate(a.nnz())?, backend.zeros::<i32>(5)?);
        let make = kernel("csr_deltas", "csr_deltas_make", defines.clone())?;
        let launch = backend.launch(&make).size(count).buffer(a.offsets).buffer(a.indices);
        launch.buffer(&bases).buffer(&deltas).buffer(&found).warps_at_once(groups)?;
        let counts = backend.download(&found)?;
        let (lanes, evicts_first) = backend.lanes_for_deltas(a, windows, options.bytes_between_runs);
        let kernel = match (lanes, evicts_first) {
            (1, false) => kernel("csr_deltas", "csr_deltas_spmv", defines)?,
            (1, true) => kernel(EVICT_FIRST_FILE, "csr_deltas_evict_first_spmv", defines)?,
            (_, false) => {
                kernel("csr_deltas_vector", "csr_deltas_row_per_vector", defines.set("LANES", lanes))?
            }
            (_, true) => {
                let name = "csr_deltas_vector_evict_first";
                kernel(name, name, defines.set("LANES", lanes))?
            }
        };
        let deltas = Self { kernel, lanes, bases, deltas };
        let [alike, near, scattered, clustered] = [1, 2, 3, 4].map(|kind| counts[kind] as usize);
        let groups = Groups { alike, near, scattered, clustered };
        Ok(((counts[0] == 0).then_some(deltas), groups))
    }

    /// The columns as deltas.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if those of some neighbouring rows are in more than [`WINDOWS`].
    pub(super) fn new(rows: &PlannedRows<'_>) -> Result<Self> {
        let count = rows.a.rows;
        if let Some(deltas) = Self::make(rows, 1, count)?.0 {
            return Ok(deltas);
        }
        Self::make(rows, WINDOWS, count)?.0.ok_or_else(|| {
            Error::unsupported(
                "spmv algorithm `delta16` for this pattern",
                format_args!(
                    "columns of {ROWS} neighbouring rows are in more than {WINDOWS} windows of 4096"
                ),
            )
        })
    }
}

impl RowProduct for RowDeltas {
    fn bytes(&self) -> usize {
        self.bases.bytes() + self.deltas.bytes()
    }

    fn run(&self, backend: &Device, a: RawCompressed<'_>, operands: VectorOperands<'_>) -> Result<()> {
        let launch = backend.launch(&self.kernel).size(a.rows).buffer(a.offsets).buffer(&self.bases);
        let launch = launch.buffer(&self.deltas).buffer(a.values).vectors(operands);
        match self.lanes {
            1 => launch.items(a.rows),
            lanes => launch.exchanging_warps_at_once(a.rows.div_ceil(LANES / lanes)),
        }
    }
}

impl Device {
    /// True if lanes of rows that are not short read words of 16 bytes of such values. Those of 2 bytes are read one
    /// after the other: words of four entries take 1.10 of the time, of eight 1.18.
    pub(super) fn reads_words(&self, value_bytes: usize) -> bool {
        !self.has_barriers() && value_bytes >= 4
    }

    /// True if columns in several windows take less time than columns as they are. Measured on an H200 on 16 matrices
    /// of far diagonals, saddle points and several fields, over classes of lengths, where it is true: 0.62 to 1.01,
    /// 0.79 on average in f32, 0.72 to 0.98, 0.90 on average in f64; elsewhere 0.90 to 1.19. Not measured where lanes
    /// meet at barriers.
    fn pays_for_windows(&self, a: RawCompressed<'_>) -> bool {
        let (bytes, cache_bytes) = (product_bytes(a), self.properties().cache_bytes);
        let most = if a.mean_length() < LONG_FOR_WINDOWS { 2 * cache_bytes } else { cache_bytes };
        !self.has_barriers() && bytes <= most
    }

    /// The lanes per row with `windows` windows, and true if their loads are evicted from the cache first, where
    /// `between` more bytes pass through the cache between two products.
    fn lanes_for_deltas(&self, a: RawCompressed<'_>, windows: usize, between: usize) -> (usize, bool) {
        let (mean, value_bytes) = (a.mean_length(), a.values.element_bytes);
        let reads_words = self.reads_words(value_bytes);
        let lanes = match windows > 1 && mean < short_for_windows(value_bytes) {
            true => 1,
            false => lanes_for(mean, value_bytes, reads_words),
        };
        let (cache_bytes, bytes) = (self.properties().cache_bytes, product_bytes(a));
        let reads_two_words = lanes > 1 && value_bytes == 8 && mean >= LONG_FOR_TWO_WORDS;
        let most = if reads_two_words { 2 * EVICTED_CACHES } else { EVICTED_CACHES };
        let evicts_first = !self.has_barriers()
            && pays_to_evict_first(cache_bytes, bytes + between, lanes > 1 && reads_words, most);
        let lanes = match lanes {
            _ if evicts_first && reads_two_words => lanes_of_two_words(mean),
            2 if reads_words
                && value_bytes == 4
                && mean >= LONG_FROM_MEMORY
                && 10 * bytes > 9 * cache_bytes =>
            {
                4
            }
            _ if lanes == most_lanes(value_bytes) && reads_words => {
                fewer_at_once(lanes, a.rows, self.caps().compute_units)
            }
            _ => lanes,
        };
        (lanes, evicts_first)
    }
}

/// Average entries per row below which a thread a row takes less time than several lanes, with windows. Measured on an
/// H200, over two lanes: 0.6 to 0.75 at 10 to 14 entries in f32, 1.3 at 18; 0.90 at 8, 1.02 and 0.95 at 9 in f64.
fn short_for_windows(value_bytes: usize) -> usize {
    if value_bytes < 8 { 15 } else { 10 }
}

/// Bytes that a product reads and writes, with x as long as y.
fn product_bytes(a: RawCompressed<'_>) -> usize {
    let value_bytes = a.values.element_bytes;
    a.nnz() * (value_bytes + size_of::<u16>()) + a.rows * (a.offsets.element_bytes + 2 * value_bytes)
}

/// True if evict-first loads pay: from seven tenths of the cache (nine where words are read) to `most` times the cache.
/// They leave x and a part of the entries in the cache for the next product.
///
/// Measured, time of evict-first loads over plain ones:
///
/// | | bytes | |
/// |---|---|---|
/// | H100, cache of 50 MiB | 54 to 95 MB | 0.75 to 0.97; 1.01 on roads of 90 MB |
/// | H200, cache of 60 MiB, a thread a row | 35 to 42 MB | 1.05 to 1.23 |
/// | | from 43 MB on | 0.82 to 1.00 |
/// | H200, words | 46 to 55 MB | 1.02 to 1.4 |
/// | | 57 to 119 MB | 0.75 to 1.03 |
/// | | 138 to 154 MB | 1.04 to 1.26 |
/// | H200, two words of f64 | 131 to 251 MB | 0.86 to 1.00, 0.91 on average of twelve bands and meshes; cold 0.91 to 1.09 |
/// | | 400 MB | 1.04 |
///
/// Vectors that are read between two products count: an iteration of conjugate gradients with 5 points, 42 MB and 8 MB
/// of x and r, takes 0.87.
pub(super) fn pays_to_evict_first(cache_bytes: usize, bytes: usize, reads_words: bool, most: usize) -> bool {
    let tenths = if reads_words { 9 } else { 7 };
    10 * bytes > tenths * cache_bytes && bytes <= most * cache_bytes
}

/// Lanes for rows of `mean` entries whose values have `value_bytes`: a power of two up to 32.
///
/// Where several read words of 16 bytes, rows of ten entries have two, each has at least 28 bytes of values of longer
/// ones, nearly two words, and a row has up to 64 entries a step. Measured on an H200 with 65 meshes, bands,
/// blocks and rows of near columns: 0.90 of the time of lanes that read one entry after the other in f32, 0.96 in f64;
/// half or twice the lanes take 0.87 to 1.3 of it.
///
/// Where each reads one entry after the other, it has at least five, four if values have 8 bytes. Measured on an H100
/// with one, two, four and eight lanes: 19.8 and 18.0 µs by the first two at 11 entries, 9.5 by two and 10.7 by four at
/// 18, 13.0 by four and 12.8 by two at 21, 12.1 by eight and 12.6 by four at 41 (f32); 27.6 by four and more by two at
/// 18 (f64).
pub(super) fn lanes_for(mean: usize, value_bytes: usize, reads_words: bool) -> usize {
    let most = match reads_words {
        true => (mean * value_bytes / 28).clamp(if mean < 10 { 1 } else { 2 }, most_lanes(value_bytes)),
        false if value_bytes < 8 => mean / 5,
        false => mean / 4,
    };
    1 << most.clamp(1, LANES).ilog2()
}

/// The most lanes that read words of values of a row: 64 entries a step.
fn most_lanes(value_bytes: usize) -> usize {
    4 * value_bytes
}

/// The number of lanes a row with which all rows run at once: `lanes`, 16 or 8. Measured on an H200 at 130 to 256
/// entries, over `lanes`: 0.89 to 0.93 in f32, 0.76 to 1.03 in f64; four lanes took 0.91 and 1.09.
fn fewer_at_once(lanes: usize, rows: usize, units: usize) -> usize {
    lanes_at_once(&[lanes, 16, 8], rows, units).unwrap_or(lanes)
}

/// Lanes for rows of `mean` entries where each reads four neighbouring ones of 8 bytes, two words, at once. Measured on
/// an H200 with f64 on 32 bands, meshes and blocks: 0.83 to 1.07 of the time of one word, 0.95 on average, and 1.06 to
/// 1.3 with seven to nine entries. With plain loads it is 0.9 to 1.25. Eight lanes take 0.84 to 0.99 of
/// the time of four from 29 entries on (thirteen bands, meshes and blocks), and 0.91 to 1.1 at 23 to 28.
fn lanes_of_two_words(mean: usize) -> usize {
    match mean {
        ..29 => 4,
        _ => mean.div_ceil(10).next_power_of_two().clamp(8, LANES),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_rows_have_more_lanes() {
        let lanes = |value_bytes, reads_words| {
            [3, 9, 11, 18, 35, 74, 1000].map(|mean| lanes_for(mean, value_bytes, reads_words))
        };
        assert_eq!(lanes(4, true), [1, 1, 2, 2, 4, 8, 16]);
        assert_eq!(lanes(8, true), [1, 2, 2, 4, 8, 16, 32]);
        assert_eq!(lanes(4, false), [1, 1, 2, 2, 4, 8, 32]);
        assert_eq!(lanes(8, false), [1, 2, 2, 4, 8, 16, 32]);
    }

    #[test]
    fn long_rows_have_the_lanes_with_which_all_run_at_once() {
        let lanes = |rows, lanes| fewer_at_once(lanes, rows, 132);
        assert_eq!([16_000, 20_000, 48_000].map(|rows| lanes(rows, 16)), [16, 8, 16]);
        assert_eq!([8_000, 16_000, 20_000, 48_000].map(|rows| lanes(rows, 32)), [32, 16, 8, 32]);
    }

    #[test]
    fn rows_that_leave_first_have_four_lanes_and_more() {
        assert_eq!([10, 28, 29, 41, 80, 81, 1000].map(lanes_of_two_words), [4, 4, 8, 8, 8, 16, 32]);
    }

    #[test]
    fn entries_leave_the_cache_first_where_it_holds_most_of_them() {
        let evicts = |megabytes: usize, reads_words| {
            pays_to_evict_first(60 << 20, megabytes * 1_000_000, reads_words, 2)
        };
        assert_eq!([35, 46, 60, 119, 130].map(|mb| evicts(mb, false)), [false, true, true, true, false]);
        assert_eq!([35, 46, 60, 119, 130].map(|mb| evicts(mb, true)), [false, false, true, true, false]);
    }
}
