// dense_to_csr_sub_group: dense to compressed rows, as in dense_to_csr.cl. Needs cl_khr_subgroup_ballot.
// One sub-group per row of all members, striding over the grid; reads the elements twice, writes the entries once.
// Macros: SCALAR, IDX, OFF.   Launch: any number of work-groups of whole sub-groups.
#include "scalar.clh"
#include "index.clh"
#include "dense_rows.clh"
#include "sub_group.clh"
#pragma OPENCL EXTENSION cl_khr_subgroup_ballot : enable

// counts[row] for all rows, and one zero more at the end.
__kernel void dense_to_csr_count_row_per_sub_group(long all_rows, long rows, long cols, __global const T *a, long start,
                                                   long stride, long row_step, long col_step, int threshold,
                                                   REAL tolerance, __global long *counts)
{
    int lane = (int)get_sub_group_local_id();
    int lanes = (int)get_sub_group_size();
    for (long row = sub_group_index(); row <= all_rows; row += sub_group_count()) {
        long count = 0;
        if (row < all_rows) {
            long at = row_start(row, rows, start, stride, row_step);
            for (long j = lane; j < cols; j += lanes)
                count += keeps(a[at + j * col_step], threshold, tolerance);
        }
        count = sub_group_reduce_add(count);
        if (lane == 0)
            counts[row] = count;
    }
}

// Lanes write in parallel, each behind the entries of the lanes before it: a ballot tells which have one.
__kernel void dense_to_csr_fill_row_per_sub_group(long all_rows, long rows, long cols, __global const T *a, long start,
                                                  long stride, long row_step, long col_step, int threshold,
                                                  REAL tolerance, __global const long *starts, __global IDX *indices,
                                                  __global T *values, long capacity)
{
    int lane = (int)get_sub_group_local_id();
    int lanes = (int)get_sub_group_size();
    long filled = rows_that_fit(all_rows, starts, capacity);
    for (long row = sub_group_index(); row < filled; row += sub_group_count()) {
        long at = row_start(row, rows, start, stride, row_step);
        long to = starts[row];
        for (long base = 0; base < cols; base += lanes) {
            long j = base + lane;
            T value = (T)(0);
            int is_entry = 0;
            if (j < cols) {
                value = a[at + j * col_step];
                is_entry = keeps(value, threshold, tolerance);
            }
            uint4 all = sub_group_ballot(is_entry);
            if (is_entry) {
                long position = to + sub_group_ballot_exclusive_scan(all);
                indices[position] = (IDX)j;
                values[position] = value;
            }
            to += sub_group_ballot_bit_count(all);
        }
    }
}
