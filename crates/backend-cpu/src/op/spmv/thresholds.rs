//! The numbers that steer the choice of an SpMV algorithm.

use super::members::Members;
use crate::primitive::filled_rows::are_often_empty;
use crate::simd::Simd;
use sparse_core::Index;

/// The crossovers from one algorithm to another, on one class of processors. Measured on two quiet cores with AVX-512,
/// with values of f32 unless it says otherwise (`docs/notes/cpu.md`).
#[derive(Debug, Clone, Copy)]
pub(super) struct SpmvThresholds {
    /// Calls from which on a plan may take as long as several products: that of `repeated_rows` takes 8 to 15 ms on
    /// stencils, whose products take 2 to 3 ms.
    pub(super) often: usize,
    /// Average rows of a group from which on runs may be better than columns (`repeated_rows`): those summed side by
    /// side.
    pub(super) rows_of_group: usize,
    /// Average entries of such a group from which on they are. Grids of 6 to 40 points a line, whose groups have a
    /// third as many rows, 6000 and 100 000 rows, EPYC (Zen 5), time over that of `segmented_sums`: 5-point stencils
    /// with 39 and 66 entries a group 1.2 to 2.0 and 1.0 to 1.4, 7-point ones with 53 and 90 1.6 to 3.1 and 0.8 to 1.3,
    /// 9-point ones with 70 and 117 0.7 to 1.2 and 0.5 to 1.1, 27-point ones with 96, 128 and 192 0.9 to 1.15, 0.8 to
    /// 1.3 and 0.7 to 0.8.
    pub(super) entries_of_repeated_group: usize,
    /// Average bytes of the values of groups of rows with the same columns from which on they are summed together
    /// (`shared_columns`). One thread of an EPYC (Zen 5), time over that of the best of the others, f32 and f64: two
    /// unknowns a node and 10 entries a row 1.5 and 1.1, 18 entries 1.0 and 0.8 to 0.9, three unknowns and 21 entries
    /// 0.83 and 0.98, 27 entries 0.97 and 0.95, five unknowns and 34 entries 0.66 and 0.87, blocks of 4 to 8 1.3 and
    /// 0.94, of 1 to 64 0.50 and 0.89.
    pub(super) bytes_of_group: usize,
    /// Bytes of x from which on its elements are prefetched (`segmented_sums`), on processors without fast gathers: what
    /// the second TLB of a Zen 5 maps, 4096 pages. `f64`, two threads, time over that without: 16 MB 0.80 and 1.00
    /// (samples, a power law), 20 MB 0.54 and 0.62 (columns near the row, some far), 23 MB 0.96 (citations), 24 MB 0.52
    /// to 0.84 (clauses, transposed, uniform rows); but 12 MB 1.07 and 6 MB 1.14 (citations), `f32` of 12 MB 0.91 to
    /// 1.08, of 8 MB 1.13 and 1.24, of 16 MB 0.71.
    pub(super) bytes_of_fetched_x: usize,
    /// Entries for each cache line of x that neighbouring ones use, below which they are far from each other. With 30
    /// (all columns within 100 of the row) prefetches took 1.11 of the time, with 13 (a grid) 0.9 to 1.1.
    pub(super) entries_of_line: usize,
    /// Bytes of columns, values, x and y from which on columns and values are prefetched, on processors without fast
    /// gathers. One thread of an EPYC (Zen 5) with 32 MB of L3 cache, time with prefetches over that without, scans
    /// of rows of 10: 0.6 to 4 MB 1.05 to 1.18 (`f32`) and 1.03 to 1.17 (`f64`), 9 and 14 MB 1.06 and 1.0, 16 MB 0.88
    /// to 1.0, 21 MB 0.6; rows of 20, 40 and 400, 0.8 to 6.4 MB 1.05 to 1.18, 10 MB 1.08 (`f32`) and 0.86 to 1.03, 14
    /// MB 0.6.
    pub(super) bytes_of_fetched_entries: usize,
    /// Average bytes of the values of one column of a run of short rows of one length from which on they are summed by
    /// runs (`segmented_sums`). One thread of an EPYC (Zen 5), time over that of scans, grids of 7 points with 8, 12
    /// and 24 points a line, whose runs have 4, 6 and 12 rows: `f32` 1.0, 1.06 and 0.99, `f64` 0.86, 0.78 and 0.75.
    pub(super) bytes_of_run: usize,
    /// Average bytes of the values of those runs whose end a processor does not foresee from which on they are. Runs of
    /// 4, 8 and 16 rows of one random length: `f32` with 80 bytes 1.8, with 160 1.2, with 256 1.1 and with 320 0.91,
    /// `f64` with 160 bytes 1.3, with 320 0.90 and with 640 0.80; where all ends are foreseen 0.7 (`f32`) and 0.54
    /// (`f64`) with an x in the L1 cache, else 0.8 to 0.95.
    pub(super) bytes_of_unforeseen_run: usize,
    /// Average bytes of the values of a row from which on runs are summed as such. 40 000 rows and 4000 columns, time over
    /// that of scans: `f32` rows of 1, 2, 3 and 4 entries 1.38, 1.15, 1.03 and 0.91, of 1 and 2 by 16 rows 1.39, of 3 and
    /// 4 1.08; `f64` rows of 1, 2 and 3 1.02, 0.90 and 0.81.
    pub(super) bytes_of_row: usize,
    /// Average entries per row from which on most of the time goes into rows that are long enough for vectors, so that
    /// sums across the ends of rows gain nothing (`segmented_sums`, `rows_by_length`). By `rows_by_length` a product
    /// with 8 entries (uniform_8) took 12.4 ms in place of 14.3, with 27 (stencil_27) 2.05 in place of 2.6; with the
    /// long rows of ddi it was 0.7 times as fast.
    pub(super) long_rows: usize,
    /// The same where the standard deviation of the lengths is above their mean, so that branches at the ends of rows
    /// are mispredicted: with 71 entries on average (ratings) a product took 0.71 (f32) and 0.80 (f64) of the time,
    /// with 117 (texts) 0.77 and 1.0, with 707 1.46 and 0.82.
    pub(super) long_unequal_rows: usize,
    /// Sums of all chunks per entry up to which adding them costs less than a pattern by rows (`chunked_scatter`),
    /// which reads a position and gathers a value for every entry. No measured crossover.
    pub(super) sums_per_entry: usize,
    /// Entries per sum of all chunks up to which a product of one call has fewer chunks: sums are cleared, added to and
    /// read again, each in memory where entries lie anywhere. Fewer chunks are fewer threads: on one,
    /// scikit-learn's Ridge has 0.90 of its speed with SciPy by 8 chunks, 0.93 by 4 and 0.97 by 2.
    pub(super) entries_per_sum: usize,
    /// The same of two chunks, below which the calling thread adds to `y` itself. f64, in a program of its own, that
    /// thread and two chunks: 300 rows of 1000 in 100 000 columns, 1.5 entries per sum, 0.43 and 0.67 ms; 40 rows of
    /// 10 000 in 200 000, one per sum, 0.64 and 4.0; 300 000 rows of 5, 2.5 per sum, 2.6 and 1.6.
    pub(super) entries_per_sum_of_two: usize,
    /// The most entries that a product of one call across the rows adds in the calling thread alone: another one
    /// needs sums of its own, which are cleared, added and in new memory. f64, on one core and on two: a 5-point grid
    /// of 250² (310 000 entries) 0.22 and 0.35 ms, of 700² (2.4 million) 1.88 and 1.39, 20 000 columns with 20
    /// entries each 0.32 and 0.25.
    pub(super) serial_scatter: usize,
    /// The most entries that a product of one call along the rows adds in order, in the calling thread: one that sleeps
    /// is woken in 50 µs, and a processor that has multiplied the matrix before foresees where its rows end. f64, from
    /// Python, blocks of rows and in order: 5 entries a row in random columns, 1000 rows 6.4 and 3.7 µs, 3000 16.6 and
    /// 8.2, 10 000 42 and 28; a grid of 60² 11.8 and 9.8. In order alone 30 000 rows take 243 µs, SciPy's loop 230.
    pub(super) in_order: usize,
    /// The same of rows that mostly are as long as the one before, whose ends any processor foresees, where each row
    /// counts as two entries more. f64, two quiet cores, µs in order and by blocks, the other thread asleep before: a
    /// grid of 140² 44 and 52, of 180² 76 and 73, of 250² 153 and 107; a diagonal of 50 000 49 and 48, of 100 000 160
    /// and 75; 15 000 rows of 5 in random columns 36 and 46, 30 000 84 and 68; a band of 41 with 3000 rows 38 and 53.
    pub(super) in_order_if_regular: usize,
}

impl SpmvThresholds {
    /// The thresholds of all processors.
    pub(super) const CPU: Self = Self {
        often: 32,
        rows_of_group: 4,
        entries_of_repeated_group: 100,
        bytes_of_group: 224,
        bytes_of_fetched_x: 15 << 20,
        entries_of_line: 4,
        bytes_of_fetched_entries: 10 << 20,
        bytes_of_run: 32,
        bytes_of_unforeseen_run: 320,
        bytes_of_row: 16,
        long_rows: 32,
        long_unequal_rows: 128,
        sums_per_entry: 2,
        entries_per_sum: 8,
        entries_per_sum_of_two: 2,
        serial_scatter: 3 << 17,
        in_order: 1 << 16,
        in_order_if_regular: 5 << 15,
    };

    /// True if the columns and values of a matrix are prefetched.
    pub(super) fn fetches_entries<M: Members>(&self, a: &M) -> bool {
        let vectors = (a.nrows() + a.ncols()) * size_of::<M::Scalar>();
        let bytes = a.nnz() * (size_of::<M::Index>() + size_of::<M::Scalar>()) + vectors;
        Simd::has_fast_gathers() || bytes >= self.bytes_of_fetched_entries
    }

    /// True if a product of one call along the rows between these offsets adds their entries in order.
    pub(super) fn sums_in_order<O: Index>(&self, offsets: &[O]) -> bool {
        let (rows, entries) = (offsets.len() - 1, offsets[offsets.len() - 1].as_usize());
        let is_regular = || {
            let rows_alike = offsets.windows(3).filter(|ends| {
                let [start, middle, end] = [ends[0], ends[1], ends[2]].map(Index::as_usize);
                middle - start == end - middle
            });
            8 * rows_alike.count() >= 7 * rows.saturating_sub(1)
        };
        // Rows without entries are passed 64 at a time.
        let work = if are_often_empty(rows, entries) { entries + rows / 16 } else { entries.max(rows) };
        work <= self.in_order || entries + 2 * rows <= self.in_order_if_regular && is_regular()
    }
}
