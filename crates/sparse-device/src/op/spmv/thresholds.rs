//! The numbers that steer the choice of an SpMV algorithm for compressed rows.

use crate::lanes::LANES;

/// The crossovers from one algorithm to another, on one class of devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SpmvThresholds {
    /// Rows per compute unit from which on short rows fill a device: up to there several lanes a row are free, and wait
    /// side by side for what one lane would wait for in turn.
    pub(crate) many_rows_per_unit: usize,
    /// Average entries per row from which on several lanes a row are worth it, where the plan does not read the
    /// lengths.
    pub(crate) lanes_from: usize,
    /// Average entries per row from which on each lane of a warp has several neighbouring ones. Where a warp is a
    /// work-group whose lanes meet at barriers, rows are better than segments from there on.
    pub(crate) warp_from: usize,
    /// Rows long enough for a work-group each.
    pub(crate) long_rows: LongRowsThresholds,
    /// Rows that all run at once, where the product lasts as long as the longest row.
    pub(crate) few_rows: FewRowsThresholds,
    /// Rows that fill the device.
    pub(crate) many_rows: ManyRowsThresholds,
    /// Devices on which a warp is a work-group whose lanes meet at barriers.
    pub(crate) barriers: BarriersThresholds,
    /// Lists of the rows with entries.
    pub(crate) listed_rows: ListedRowsThresholds,
    /// Columns of 16 bits, for plans that run often.
    pub(crate) deltas: DeltaThresholds,
    /// Classes of lengths.
    pub(crate) length_classes: LengthClassesThresholds,
    /// Blocks of columns, for plans that run often.
    pub(crate) column_blocks: ColumnBlocksThresholds,
}

/// Rows long enough for a work-group each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LongRowsThresholds {
    /// Average entries per row from which on a work-group a row takes the least time, unless a row is much longer.
    /// Measured: 12.4 to 17.3 µs by vectors and 17.3 by blocks at 256 entries (20 000 rows), 10.1 and 6.8 at 500 (ddi).
    pub(crate) block_from: usize,
    /// Length of the longest row over the average up to which work-groups of long rows need not wait for it.
    pub(crate) skew_ratio: usize,
    /// Rows per compute unit up to which unequal ones take less time along the merge path. Measured on an H200 with
    /// 1000 rows of 2900 entries: 17.0 and 20.2 µs (f32), 22.5 and 25.7 (f64); 11.9 and 7.0 with 4267 of 500.
    pub(crate) merge_rows_per_unit: usize,
    /// Entries per compute unit from which on its launches are a small part of the time.
    pub(crate) merge_entries_per_unit: usize,
}

/// Rows that all run at once, where the product lasts as long as the longest row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FewRowsThresholds {
    /// Steps of one lane in the longest row from which on, if it has more than
    /// [`skew_ratio`](Self::skew_ratio) times the average, few rows wait for that row. Measured: 2.97 µs by
    /// vectors and 2.21 by warps at 9 steps (1258 rows, longest 69).
    pub(crate) long_steps: usize,
    /// Length of the longest of few rows over the average from which on the others wait for it.
    pub(crate) skew_ratio: usize,
    /// Rows per compute unit up to which a work-group a row takes no longer than a warp a row. Measured with
    /// [`rows_per_unit_for_warps`](Self::rows_per_unit_for_warps).
    pub(crate) rows_per_unit_for_blocks: usize,
    /// Rows per compute unit up to which a warp a row takes less time than segments, which need two launches.
    /// Measured: 2.8 and 4.1 µs at 1813 rows, 3.5 and 4.4 at 3558.
    pub(crate) rows_per_unit_for_warps: usize,
    /// Entries of the longest row from which on a work-group takes less time than a warp. Measured at 283 entries:
    /// 2.1 µs by a work-group, 2.5 by a warp, 4.0 by segments.
    pub(crate) block_from: usize,
    /// Entries of the longest row up to which a work-group takes less time than segments. Measured at 15 063
    /// entries: 16.6 µs by a work-group, 7.2 by segments.
    pub(crate) block_up_to: usize,
    /// Bytes of the longest row up to which a warp takes less time than segments.
    pub(crate) warp_up_to_bytes: usize,
}

/// Rows that fill the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ManyRowsThresholds {
    /// Entries of a row that never make rows skewed.
    pub(crate) never_skewed: usize,
    /// Ratio of longest to average above which rows of a matrix that the cache holds are skewed. Measured, segments
    /// over threads: 0.68 at a ratio of 11 (f32).
    pub(crate) skew_ratio_in_cache: usize,
    /// Ratio of longest to average above which rows of other matrices, whose threads wait for memory, are skewed.
    /// Measured: 0.86 at a ratio of 3.5 (f32, 43 MB).
    pub(crate) skew_ratio_in_memory: usize,
    /// The least average of entries per row for row blocks, if rows are of similar length and the cache does not hold
    /// the matrix. Measured, the best other over row blocks: 1.04 to 1.20 on bands and meshes of 5 to 11 entries, 0.79
    /// to 1.12 at 3, 0.98 to 1.08 at 21.
    pub(crate) row_blocks_from: usize,
    /// The largest average of entries per row for row blocks, under the same conditions and for skewed rows.
    pub(crate) row_blocks_up_to: usize,
    /// Bytes of x from which on row blocks take less time than segments for skewed rows of a matrix that the cache does
    /// not hold. Measured, row blocks over segments: 0.89 to 1.07 from 3.5 MB on, 0.97 on average of eleven matrices
    /// (f32); 0.92 to 1.15, 0.98 of fifteen (f64); 1.03 to 1.16 at 0.2 to 0.8 MB.
    pub(crate) row_blocks_from_x_bytes: usize,
    /// Average entries per row below which a thread a row takes the least time if the cache holds the matrix: its
    /// threads read neighbouring rows at once. Measured, segments over threads: 1.48 at 9 entries, 1.10 at 15, 0.89 at
    /// 16.
    pub(crate) thread_below_in_cache: usize,
    /// Bytes of a row below which a thread a row takes the least time from memory too. Measured, segments over threads:
    /// 1.23 at 3 entries of 8 bytes, 0.97 at 6, 0.84 at 6 of 12 bytes.
    pub(crate) thread_below_bytes: usize,
    /// Average entries per row from which on a warp a row takes less time than segments, if no row has twice as many:
    /// 48.3 and 53.9 µs at 64 entries, 25.2 and 33.7 at 128.
    pub(crate) vector_from: usize,
}

/// Devices on which a warp is a work-group whose lanes meet at barriers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BarriersThresholds {
    /// Average entries per row below which skewed rows take less time along the merge path than in segments, where
    /// lanes meet at barriers. Found by trial.
    pub(crate) merge_path_below: usize,
    /// Rows count as skewed, where lanes meet at barriers, when the longest has this many times the average, and more
    /// than [`never_skewed`](Self::never_skewed) entries.
    pub(crate) skew_ratio: usize,
    /// Entries up to which a row never makes rows skewed, where lanes meet at barriers.
    pub(crate) never_skewed: usize,
    /// The longest row over the average up to which rows need no segments: row blocks take 0.47 to 1.04 of their time.
    pub(crate) like_ratio: usize,
    /// Bytes of such rows below which a thread a row takes less time than row blocks. Measured with f32 and f64, row
    /// blocks over threads: 1.5 at 88 bytes, 1.0 to 1.3 at 96 to 112, 0.9 to 1.3 at 128 to 168, 0.6 at 250.
    pub(crate) thread_below_bytes: usize,
    /// The same where the cache holds the matrix: 1.2 to 1.3 at 144 to 192 bytes, 0.8 to 1.2 at 216.
    pub(crate) thread_below_bytes_in_cache: usize,
}

/// Lists of the rows with entries, where most are empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListedRowsThresholds {
    /// Rows for each that has entries, at least, if values have up to 4 bytes; twice as many at 8 bytes. Measured, f32
    /// and f64, a thread a row over the list: 2.7 and 2.1 at one in 1000, 1.5 and 1.8 at one in 20, 1.5 and 0.75 at one
    /// in 8, 0.9 at one in 4.
    pub(crate) rows_per_filled: usize,
    /// Steps of a lane in the longest row, at most. Not measured.
    pub(crate) steps: usize,
}

/// Columns of 16 bits, for plans that run often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeltaThresholds {
    /// Calls from which on a plan looks whether columns fit 16 bits.
    pub(crate) calls: usize,
    /// Average entries per row from which on rows of similar length take less time by several lanes.
    pub(crate) lanes_from: usize,
    /// The same in place of row blocks of 8-byte values: 30.1 and 25.6 µs by row blocks at 11 entries, 38.0 and 51.5 at
    /// 21 (with OpenCL).
    pub(crate) wide_lanes_from: usize,
    /// Bytes of x up to which every unit's own cache holds it, whatever columns come next. Measured with rows of 8
    /// random entries, row blocks over columns of 16 bits: 1.27 at 40 kB (f32), 1.33 at 80 kB (f64).
    pub(crate) short_x_bytes: usize,
    /// Average entries per row at which a thread reads values of 4 bytes one after the other, where other kernels read
    /// words of them: from the L1 cache, which has x then too, that takes longer than columns of 32 bits. Measured
    /// on an H200, over classes of lengths: 1.11 and 1.09 at 8 and 6 random columns; 0.90 at 3.
    pub(crate) singly: (usize, usize),
}

/// Classes of lengths, on devices that have their kernels. Measured on an H200 with 96 matrices of the families,
/// classes over the fastest of segments, row blocks, a thread and several lanes a row: 0.87 and 0.91 (f32, fitting and
/// judging half), 0.92 and 0.97 (f64), where they are chosen by these numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LengthClassesThresholds {
    /// Average entries per row from which on they take less time than a thread a row. Measured: 1.0 to 1.2 at 2 to 3
    /// entries, 0.95 and 0.85 at 3.1.
    pub(crate) alike_from: usize,
    /// Average entries per row from which on they take less time than segments. Measured: 0.63 to 1.1 at 3 to 4
    /// entries.
    pub(crate) skewed_from: usize,
    /// Bytes of a matrix with skewed rows, in caches, up to which they take less time than segments or row blocks.
    /// Measured on an H200 with graphs: 0.94 to 0.99 at 112 and 167 MB, 1.01 to 1.13 from 190 MB on.
    pub(crate) skewed_up_to_caches: usize,
    /// Average entries per row up to which skewed rows may be mostly empty, so that their number is worth a look.
    pub(crate) sparse_up_to: usize,
    /// Rows for each that has entries from which on segments take less time. Measured on an H200, classes over
    /// segments: 1.06 to 1.16 at one in four (f32 and f64), 0.84 to 0.93 at two in five.
    pub(crate) rows_per_filled: usize,
    /// Average entries per row up to which they take less time than a warp a row: 1.03 (f32) and 0.69 (f64) at 128,
    /// 0.92 and 0.96 at 256.
    pub(crate) vector_up_to: usize,
    /// Rows are alike in length if the longest is at most this multiple of the average.
    pub(crate) alike_ratio: usize,
    /// Bytes of x that the L1 cache holds, so that reading the matrix is what takes time: from memory segments,
    /// which read whole lines, take less. Measured with skewed rows: 0.78 at 200 kB (f32), 0.78 at 160 kB (f64), up to
    /// 1.14 from 400 kB on. The same with a matrix of more than half of the L2 cache: 0.74 with 38 MB of 60, 0.94
    /// to 1.0 with 26 to 28 MB, 1.18 to 1.21 with 22 to 24 MB.
    pub(crate) near_x_bytes: usize,
    /// Lanes of short rows where lengths are alike. Found by trial.
    pub(crate) alike: LanesFrom,
    /// The same where they are not and the cache holds the matrix, by the average of rows of which at most 32 entries
    /// count. Measured on an H200, two lanes over one: 1.00 to 1.21 up to 5 entries, 0.93 to 1.01 at 6, 0.98 to 1.00 at
    /// 7; four over two: 0.89 and 0.93 at 11, 1.02 at 13.
    pub(crate) skewed: LanesFrom,
    /// Average entries of alike rows up to which four lanes are enough where most columns are beside those of the row
    /// before, so that x is near, and the cache holds the matrix. Measured on an H200 on blocks and meshes with links,
    /// over eight lanes: 0.77 to 0.99 at 18 to 35 entries in f32, 0.87 and 0.88 in f64; 1.13 at 48.
    pub(crate) four_lanes_up_to: usize,
}

/// Average entries per row from which on it has several lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LanesFrom {
    /// Two lanes.
    pub(crate) two_lanes: usize,
    /// Four lanes.
    pub(crate) four_lanes: usize,
    /// Eight lanes.
    pub(crate) eight_lanes: usize,
}

/// Blocks of columns, for plans that run often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ColumnBlocksThresholds {
    /// Calls from which on a plan reads the column indices to choose.
    pub(crate) calls: usize,
    /// Entries per compute unit from which on filling shared memory and adding sums are a small part of the time.
    pub(crate) entries_per_unit: usize,
    /// Average entries of a row per block of columns from which on a gather from shared memory gains more than short
    /// segments of rows lose. Found by trial.
    pub(crate) entries_per_block: usize,
}

impl SpmvThresholds {
    /// Fitted with `cargo xtask bench --suite choice` on an H100 (132 compute units, 50 MiB of cache), in f32 and f64;
    /// `docs/performance.md` says what they reach. Other devices that are no CPU have them too.
    pub(crate) const H100: Self = Self {
        many_rows_per_unit: 256,
        lanes_from: 8,
        warp_from: 4 * LANES,
        long_rows: LongRowsThresholds {
            block_from: 384,
            skew_ratio: 16,
            merge_rows_per_unit: 8,
            merge_entries_per_unit: 1 << 14,
        },
        few_rows: FewRowsThresholds {
            long_steps: 8,
            skew_ratio: 4,
            rows_per_unit_for_blocks: 16,
            rows_per_unit_for_warps: 64,
            block_from: 256,
            block_up_to: 2048,
            warp_up_to_bytes: 8192,
        },
        many_rows: ManyRowsThresholds {
            never_skewed: 16,
            skew_ratio_in_cache: 8,
            skew_ratio_in_memory: 3,
            row_blocks_from: 5,
            row_blocks_up_to: 12,
            row_blocks_from_x_bytes: 3 << 20,
            thread_below_in_cache: 16,
            thread_below_bytes: 64,
            vector_from: 64,
        },
        barriers: BarriersThresholds {
            merge_path_below: 8,
            skew_ratio: 16,
            never_skewed: 256,
            like_ratio: 4,
            thread_below_bytes: 128,
            thread_below_bytes_in_cache: 192,
        },
        listed_rows: ListedRowsThresholds { rows_per_filled: 7, steps: 32 },
        deltas: DeltaThresholds {
            calls: 32,
            lanes_from: 10,
            wide_lanes_from: 13,
            short_x_bytes: 96 << 10,
            singly: (5, 9),
        },
        length_classes: LengthClassesThresholds {
            alike_from: 4,
            skewed_from: 3,
            skewed_up_to_caches: 3,
            sparse_up_to: 4,
            rows_per_filled: 4,
            vector_up_to: 256,
            alike_ratio: 3,
            near_x_bytes: 256 << 10,
            alike: LanesFrom { two_lanes: 5, four_lanes: 10, eight_lanes: 16 },
            skewed: LanesFrom { two_lanes: 6, four_lanes: 10, eight_lanes: 25 },
            four_lanes_up_to: 40,
        },
        column_blocks: ColumnBlocksThresholds { calls: 32, entries_per_unit: 1 << 16, entries_per_block: 4 },
    };
}
