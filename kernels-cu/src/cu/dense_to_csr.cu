// dense_to_csr: dense to compressed rows, for a batch: element (i, j) of member m is at start + m*stride + i*row_step +
// j*col_step. keeps() of scalar.cuh selects the entries.
// One thread or one warp per row of all members. Counts the entries of each row, then an exclusive scan of the counts,
// then fills if `capacity` suffices for all rows: reads the elements twice, writes the entries once.
// Macros: SCALAR, IDX, OFF.   Launch: any number of blocks of up to 256 threads, of whole warps for the warp kernels.
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "dense_rows.cuh"

// counts[row] for all rows, and one zero more at the end. A thread takes a row.
KERNEL dense_to_csr_count_row_per_thread(long long all_rows, long long rows, long long cols, const T *__restrict__ a,
                                         long long start, long long stride, long long row_step, long long col_step,
                                         int threshold, REAL tolerance, long long *__restrict__ counts)
{
    for (long long row = thread_index(); row <= all_rows; row += thread_count()) {
        long long count = 0;
        if (row < all_rows) {
            long long at = row_start(row, rows, start, stride, row_step);
            for (long long j = 0; j < cols; j++)
                count += keeps(a[at + j * col_step], threshold, tolerance);
        }
        counts[row] = count;
    }
}

KERNEL dense_to_csr_fill_row_per_thread(long long all_rows, long long rows, long long cols, const T *__restrict__ a,
                                        long long start, long long stride, long long row_step, long long col_step,
                                        int threshold, REAL tolerance, const long long *__restrict__ starts,
                                        Idx *__restrict__ indices, T *__restrict__ values, long long capacity)
{
    long long filled = rows_that_fit(all_rows, starts, capacity);
    for (long long row = thread_index(); row < filled; row += thread_count()) {
        long long at = row_start(row, rows, start, stride, row_step);
        long long to = starts[row];
        for (long long j = 0; j < cols; j++) {
            T value = a[at + j * col_step];
            if (keeps(value, threshold, tolerance)) {
                indices[to] = (Idx)j;
                values[to] = value;
                to++;
            }
        }
    }
}

// The same with a warp a row, 32 columns a step: a ballot says which lanes have an entry.
KERNEL dense_to_csr_count_row_per_warp(long long all_rows, long long rows, long long cols, const T *__restrict__ a,
                                       long long start, long long stride, long long row_step, long long col_step,
                                       int threshold, REAL tolerance, long long *__restrict__ counts)
{
    for (long long row = warp_index(); row <= all_rows; row += warp_count()) {
        long long count = 0;
        if (row < all_rows) {
            long long at = row_start(row, rows, start, stride, row_step);
#pragma unroll 4
            for (long long base = 0; base < cols; base += WARP) {
                long long j = base + lane_index();
                bool is_entry = j < cols && keeps(a[at + j * col_step], threshold, tolerance);
                count += __popc(__ballot_sync(ALL_LANES, is_entry));
            }
        }
        if (lane_index() == 0)
            counts[row] = count;
    }
}

// Lanes write in parallel, each behind the entries of the lanes before it.
KERNEL dense_to_csr_fill_row_per_warp(long long all_rows, long long rows, long long cols, const T *__restrict__ a,
                                      long long start, long long stride, long long row_step, long long col_step,
                                      int threshold, REAL tolerance, const long long *__restrict__ starts,
                                      Idx *__restrict__ indices, T *__restrict__ values, long long capacity)
{
    unsigned int before = (1u << lane_index()) - 1u;
    long long filled = rows_that_fit(all_rows, starts, capacity);
    for (long long row = warp_index(); row < filled; row += warp_count()) {
        long long at = row_start(row, rows, start, stride, row_step);
        long long to = starts[row];
#pragma unroll 4
        for (long long base = 0; base < cols; base += WARP) {
            long long j = base + lane_index();
            T value = T(0);
            if (j < cols)
                value = a[at + j * col_step];
            bool is_entry = j < cols && keeps(value, threshold, tolerance);
            unsigned int all = __ballot_sync(ALL_LANES, is_entry);
            if (is_entry) {
                long long position = to + __popc(all & before);
                indices[position] = (Idx)j;
                values[position] = value;
            }
            to += __popc(all);
        }
    }
}

// Each member's rows + 1 offsets, which begin at 0. member_ptr[0..=count] <- each member's first entry, and nnz.
KERNEL dense_to_csr_offsets(long long count, long long rows, const long long *__restrict__ starts,
                            Off *__restrict__ offsets, long long *__restrict__ member_ptr)
{
    for (long long i = thread_index(); i <= count * (rows + 1); i += thread_count()) {
        long long member = i / (rows + 1), row = i % (rows + 1);
        long long first = starts[member * rows];
        if (row == 0)
            member_ptr[member] = first;
        if (member < count)
            offsets[i] = (Off)(starts[member * rows + row] - first);
    }
}
