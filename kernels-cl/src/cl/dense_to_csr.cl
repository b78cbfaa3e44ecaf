// dense_to_csr: dense to compressed rows, for a batch: element (i, j) of member m is at start + m*stride + i*row_step +
// j*col_step. keeps() of scalar.clh selects the entries.
// One work-item or one work-group of 32 per row of all members. Counts the entries of each row, then an exclusive scan
// of the counts, then fills if `capacity` suffices for all rows: reads the elements twice, writes the entries once.
// Macros: SCALAR, IDX, OFF.   Launch: any number of work-groups of any size, of 32 for the warp kernels.
#include "scalar.clh"
#include "index.clh"
#include "dense_rows.clh"
#include "ballot.clh"
#define LANES 32

// counts[row] for all rows, and one zero more at the end. A work-item takes a row.
__kernel void dense_to_csr_count_row_per_thread(long all_rows, long rows, long cols, __global const T *a, long start,
                                                long stride, long row_step, long col_step, int threshold,
                                                REAL tolerance, __global long *counts)
{
    for (long row = get_global_id(0); row <= all_rows; row += get_global_size(0)) {
        long count = 0;
        if (row < all_rows) {
            long at = row_start(row, rows, start, stride, row_step);
            for (long j = 0; j < cols; j++)
                count += keeps(a[at + j * col_step], threshold, tolerance);
        }
        counts[row] = count;
    }
}

__kernel void dense_to_csr_fill_row_per_thread(long all_rows, long rows, long cols, __global const T *a, long start,
                                               long stride, long row_step, long col_step, int threshold,
                                               REAL tolerance, __global const long *starts, __global IDX *indices,
                                               __global T *values, long capacity)
{
    long filled = rows_that_fit(all_rows, starts, capacity);
    for (long row = get_global_id(0); row < filled; row += get_global_size(0)) {
        long at = row_start(row, rows, start, stride, row_step);
        long to = starts[row];
        for (long j = 0; j < cols; j++) {
            T value = a[at + j * col_step];
            if (keeps(value, threshold, tolerance)) {
                indices[to] = (IDX)j;
                values[to] = value;
                to++;
            }
        }
    }
}

// The same with a work-group of 32 lanes a row, 32 columns a step.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void dense_to_csr_count_row_per_warp(long all_rows, long rows, long cols, __global const T *a, long start, long stride,
                                     long row_step, long col_step, int threshold, REAL tolerance,
                                     __global long *counts)
{
    int lid = (int)get_local_id(0);
    __local long sums[LANES];
    for (long row = get_group_id(0); row <= all_rows; row += get_num_groups(0)) {
        long count = 0;
        if (row < all_rows) {
            long at = row_start(row, rows, start, stride, row_step);
            for (long j = lid; j < cols; j += LANES)
                count += keeps(a[at + j * col_step], threshold, tolerance);
        }
        sums[lid] = count;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int lanes = LANES / 2; lanes > 0; lanes /= 2) {
            if (lid < lanes)
                sums[lid] += sums[lid + lanes];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (lid == 0)
            counts[row] = sums[0];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

// Lanes write in parallel, each behind the entries of the lanes before it.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void dense_to_csr_fill_row_per_warp(long all_rows, long rows, long cols, __global const T *a, long start, long stride,
                                    long row_step, long col_step, int threshold, REAL tolerance,
                                    __global const long *starts, __global IDX *indices, __global T *values,
                                    long capacity)
{
    int lid = (int)get_local_id(0);
    __local uint mask;
    long filled = rows_that_fit(all_rows, starts, capacity);
    for (long row = get_group_id(0); row < filled; row += get_num_groups(0)) {
        long at = row_start(row, rows, start, stride, row_step);
        long to = starts[row];
        for (long base = 0; base < cols; base += LANES) {
            long j = base + lid;
            T value = (T)(0);
            int is_entry = 0;
            if (j < cols) {
                value = a[at + j * col_step];
                is_entry = keeps(value, threshold, tolerance);
            }
            uint all = ballot(&mask, lid, is_entry);
            if (is_entry) {
                long position = to + popcount(all & ((1u << lid) - 1u));
                indices[position] = (IDX)j;
                values[position] = value;
            }
            to += popcount(all);
        }
    }
}

// Each member's rows + 1 offsets, which begin at 0. member_ptr[0..=count] <- each member's first entry, and nnz.
__kernel void dense_to_csr_offsets(long count, long rows, __global const long *starts, __global OFF *offsets,
                                   __global long *member_ptr)
{
    for (long i = get_global_id(0); i <= count * (rows + 1); i += get_global_size(0)) {
        long member = i / (rows + 1), row = i % (rows + 1);
        long first = starts[member * rows];
        if (row == 0)
            member_ptr[member] = first;
        if (member < count)
            offsets[i] = (OFF)(starts[member * rows + row] - first);
    }
}
