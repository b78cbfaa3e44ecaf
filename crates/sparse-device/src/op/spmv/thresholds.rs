//! The numbers that steer the choice of an SpMV algorithm for compressed rows.

use crate::lanes::LANES;

/// The crossovers from one algorithm to another, on one class of devices.
#[derive(Debug, Clone, Copy)]
pub(super) struct SpmvThresholds {
    /// Rows per compute unit from which on short rows fill a device: up to there several lanes a row are free, and wait
    /// side by side for what one lane would wait for in turn.
    pub(super) many_rows_per_unit: usize,
    /// Average entries per row from which on several lanes a row are worth it, where the plan does not read the lengths.
    pub(super) long_for_lanes: usize,
    /// Average entries per row from which on each lane of a warp has several neighbouring ones. Where a warp is a
    /// work-group whose lanes meet at barriers, rows are better than segments from there on.
    pub(super) long_for_warps: usize,

    /// Average entries per row below which skewed rows take less time along the merge path than in segments, where lanes
    /// meet at barriers. Found by trial.
    pub(super) short_for_segments: usize,
    /// Rows count as skewed, where lanes meet at barriers, when the longest has this many times the average, and more
    /// than [`longest_uniform`](Self::longest_uniform) entries.
    pub(super) skew_ratio: usize,
    /// Entries up to which a row never makes rows skewed, where lanes meet at barriers.
    pub(super) longest_uniform: usize,

    /// Average entries per row from which on a work-group a row takes the least time, unless a row is much longer.
    /// Measured: 12.4 to 17.3 µs by vectors and 17.3 by blocks at 256 entries (20 000 rows), 10.1 and 6.8 at 500 (ddi).
    pub(super) long_for_blocks: usize,
    /// Length of the longest row over the average up to which work-groups of long rows need not wait for it.
    pub(super) skewed_blocks: usize,
    /// Steps of one lane in the longest row from which on, if it has more than
    /// [`skewed_vectors`](Self::skewed_vectors) times the average, few rows wait for that row. Measured: 2.97 µs by
    /// vectors and 2.21 by warps at 9 steps (1258 rows, longest 69).
    pub(super) long_steps: usize,
    /// Length of the longest of few rows over the average from which on the others wait for it.
    pub(super) skewed_vectors: usize,
    /// Rows per compute unit up to which a work-group a row takes no longer than a warp a row. Measured with
    /// [`few_for_warps`](Self::few_for_warps).
    pub(super) few_for_blocks: usize,
    /// Rows per compute unit up to which a warp a row takes less time than segments, which need two launches.
    /// Measured: 2.8 and 4.1 µs at 1813 rows, 3.5 and 4.4 at 3558.
    pub(super) few_for_warps: usize,
    /// Entries of the longest row from which on a work-group takes less time than a warp. Measured at 283 entries:
    /// 2.1 µs by a work-group, 2.5 by a warp, 4.0 by segments.
    pub(super) long_for_warp: usize,
    /// Entries of the longest row up to which a work-group takes less time than segments. Measured at 15 063
    /// entries: 16.6 µs by a work-group, 7.2 by segments.
    pub(super) longest_for_block: usize,
    /// Bytes of the longest row up to which a warp takes less time than segments.
    pub(super) longest_for_warp_bytes: usize,

    /// Entries of a row that never make rows skewed.
    pub(super) never_skewed: usize,
    /// Ratio of longest to average above which rows of a matrix that the cache holds are skewed. Measured, segments over
    /// threads: 0.68 at a ratio of 11 (f32).
    pub(super) skewed_in_cache: usize,
    /// Ratio of longest to average above which rows of other matrices, whose threads wait for memory, are skewed. Measured:
    /// 0.86 at a ratio of 3.5 (f32, 43 MB).
    pub(super) skewed_in_memory: usize,
    /// The least average of entries per row for row blocks, if rows are of similar length and the cache does not hold
    /// the matrix. Measured, the best other over row blocks: 1.04 to 1.20 on bands and meshes of 5 to 11 entries, 0.79
    /// to 1.12 at 3, 0.98 to 1.08 at 21.
    pub(super) short_for_row_blocks: usize,
    /// The largest average of entries per row for row blocks, under the same conditions.
    pub(super) longest_for_row_blocks: usize,
    /// Average entries per row below which a thread a row takes the least time if the cache holds the matrix: its threads
    /// read neighbouring rows at once. Measured, segments over threads: 1.48 at 9 entries, 1.10 at 15, 0.89 at 16.
    pub(super) short_in_cache: usize,
    /// Bytes of a row below which a thread a row takes the least time from memory too. Measured, segments over threads:
    /// 1.23 at 3 entries of 8 bytes, 0.97 at 6, 0.84 at 6 of 12 bytes.
    pub(super) short_bytes: usize,
    /// Average entries per row from which on a warp a row takes less time than segments, if no row has twice as many: 48.3
    /// and 53.9 µs at 64 entries, 25.2 and 33.7 at 128.
    pub(super) long_for_vectors: usize,

    /// Calls from which on a plan reads the column indices to choose.
    pub(super) calls_for_column_blocks: usize,
    /// Entries per compute unit from which on filling shared memory and adding sums are a small part of the time.
    pub(super) entries_per_unit_for_column_blocks: usize,
    /// Average entries of a row per block of columns from which on a gather from shared memory gains more than short
    /// segments of rows lose. Found by trial.
    pub(super) long_for_column_blocks: usize,
}

impl SpmvThresholds {
    /// Fitted with `cargo xtask bench --suite choice` on an H100 (132 compute units, 50 MiB of cache), in f32 and f64;
    /// `docs/performance.md` says what they reach. Other devices that are no CPU have them too.
    pub(super) const H100: Self = Self {
        many_rows_per_unit: 256,
        long_for_lanes: 8,
        long_for_warps: 4 * LANES,
        short_for_segments: 8,
        skew_ratio: 16,
        longest_uniform: 256,
        long_for_blocks: 384,
        skewed_blocks: 16,
        long_steps: 8,
        skewed_vectors: 4,
        few_for_blocks: 16,
        few_for_warps: 64,
        long_for_warp: 256,
        longest_for_block: 2048,
        longest_for_warp_bytes: 8192,
        never_skewed: 16,
        skewed_in_cache: 8,
        skewed_in_memory: 3,
        short_for_row_blocks: 5,
        longest_for_row_blocks: 12,
        short_in_cache: 16,
        short_bytes: 64,
        long_for_vectors: 64,
        calls_for_column_blocks: 32,
        entries_per_unit_for_column_blocks: 1 << 16,
        long_for_column_blocks: 4,
    };
}
