//! The numbers that steer the choice of an SpMM algorithm for compressed rows.

use crate::lanes::LANES;

/// Entries that a chunk of rows has at most.
pub(super) const LARGEST_CHUNK: usize = 512;

/// The crossovers from one algorithm to another, on one class of devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SpmmThresholds {
    /// Calls from which on chunks of rows are chosen for all rows. Measured over 260 matrices: chunks take the least
    /// time of all on 97 of 100, from rows of one entry on, and `crc` 1.4 × and `cwm` 1.2 × as much on average; a plan
    /// takes 0.1 to 0.5 ms.
    pub(crate) calls_for_chunks: usize,
    /// Average entries per row from which on chunks of rows are chosen in plans of a few calls.
    pub(crate) long_for_chunks: usize,
    /// Entries of the longest row above which chunks of rows are chosen in plans of a few calls: that row has several
    /// chunks.
    pub(crate) longest_in_one_chunk: usize,
    /// Columns of B up to which one column per lane (`crc`) is enough; more take four per lane (`cwm`).
    pub(crate) columns_for_crc: usize,

    /// Calls from which on panels of rows are chosen: their plan takes the time of one to three products.
    pub(crate) calls_for_panels: usize,
    /// The least percentage of the places of a panel (four neighbouring rows × its columns) that have an entry, for
    /// which panels are chosen. Measured on an H200 with K = 32 and 128: 0.48 to 0.88 of the time where it is 50 % and
    /// more (stencils of 9 and 27 points, meshes with several unknowns, bands), 0.91 to 1.17 with 30 to 36 %.
    pub(crate) filled_percent_for_panels: usize,

    /// Average entries per non-empty row below which blocks of rows are chosen over chunks.
    pub(crate) short_for_blocks: ShortForBlocks,
    /// Average entries per row, empty rows included, below which blocks are chosen even if non-empty rows are long:
    /// most rows are empty then. Blocks take 0.43 to 0.98 of the time of chunks.
    pub(crate) mostly_empty: usize,

    /// Average entries per row, empty rows included, from which on blocks are chosen only if columns are near, where
    /// rows of B have 33 to 128 bytes and the longest row fits a chunk but not a small block. Measured on an H200 with
    /// K = 32 on 15 matrices, blocks over chunks: 1.05 to 1.69 from 4.3 entries on, 1.04 and 0.92 at 3.6 and 3.5.
    pub(crate) whole_from: usize,
    /// Average entries per row below which blocks are chosen over chunks where rows of B have more than 128 bytes, B
    /// does not fit the cache, and columns are near, so that neighbouring rows read the same rows of B. Measured on an
    /// H200 with K = 64 to 256 on nine matrices: 0.49 to 0.90 of the time with 10 to 22 entries, 0.97 to 1.10 with 24,
    /// 1.1 with 48.
    pub(crate) near_for_blocks: usize,

    /// Bytes of B from which on slices are copied to a contiguous buffer: B is larger than the reach of the device's
    /// TLB, and the copy takes little time beside the product.
    pub(crate) far_bytes: usize,
    /// Average uses of a row of B from which on narrow slices, which fit the cache, are better than longer reads.
    pub(crate) reuses: usize,

    /// Calls from which on a plan splits rows by blocks of columns.
    pub(crate) calls_for_column_blocks: usize,
    /// Entries per compute unit from which on filling shared memory is a small part of the time.
    pub(crate) entries_per_unit_for_column_blocks: usize,
    /// Average entries of a row per block of columns from which on the sums of blocks are a small part of the time.
    pub(crate) long_for_column_blocks: usize,
    /// Blocks up to which the sums of blocks are a small part of the time: measured up to 18, where chunks of rows take
    /// 1.4 times as long (2000 entries a row).
    pub(crate) most_column_blocks: usize,
}

/// Average entries per row below which blocks are chosen over chunks, by the bytes of a row of B: with short rows of B,
/// more chunks share a warp. Measured on an H200 over 23 matrices in f32, the time of chunks over that of blocks: with
/// K = 8 0.6 to 0.9 from 4 entries on and 1.1 to 1.2 below, with K = 32 0.80 to 1.02 from 8 on and 1.03 to 1.4 below,
/// with K = 64 to 256 0.84 to 1.04 from 12 on and 0.94 to 1.7 below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShortForBlocks {
    /// The threshold for rows of B of up to 32 bytes.
    pub(crate) one_sector: usize,
    /// The threshold for rows of B of up to 128 bytes.
    pub(crate) one_line: usize,
    /// More bytes.
    pub(crate) lines: usize,
}

impl ShortForBlocks {
    /// The threshold for rows of B with this number of bytes.
    pub(crate) fn of(self, row_bytes: usize) -> usize {
        match row_bytes {
            0..=32 => self.one_sector,
            33..=128 => self.one_line,
            _ => self.lines,
        }
    }
}

impl SpmmThresholds {
    /// Measured on an H100 (132 compute units, 50 MiB of L2 cache). The default of all devices except CPUs.
    pub(crate) const H100: Self = Self {
        calls_for_chunks: 32,
        long_for_chunks: LANES,
        longest_in_one_chunk: LARGEST_CHUNK,
        columns_for_crc: LANES,
        calls_for_panels: 32,
        filled_percent_for_panels: 42,
        short_for_blocks: ShortForBlocks { one_sector: 4, one_line: 8, lines: 12 },
        mostly_empty: 2,
        whole_from: 4,
        near_for_blocks: 24,
        far_bytes: 1 << 30,
        reuses: 32,
        calls_for_column_blocks: 32,
        entries_per_unit_for_column_blocks: 1 << 13,
        long_for_column_blocks: 64,
        most_column_blocks: 18,
    };
}
