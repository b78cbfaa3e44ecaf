// row_lengths: the longest of compressed rows, the number of those with entries, and the sum of the lengths up to a
// limit, one partial result per work-group.
// One work-item per row, striding over the grid; reads the offsets, writes one result per work-group.
// Macros: IDX (unused), OFF (type of offsets), BLOCK (a power of two, a multiple of 32), LIMIT = 32 (entries of a row
// that count).   Launch: any number of work-groups of BLOCK.
#include "index.clh"
#ifndef BLOCK
#error "BLOCK is missing: the size of a work-group"
#endif
#ifndef LIMIT
#define LIMIT 32
#endif

// The largest of the values of a work-group's items, or their sum.
static long combine(long own, __local long *values, bool takes_sum)
{
    int lid = (int)get_local_id(0);
    values[lid] = own;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_size = BLOCK / 2; half_size > 0; half_size /= 2) {
        if (lid < half_size) {
            long other = values[lid + half_size];
            values[lid] = takes_sum ? values[lid] + other : max(values[lid], other);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return values[0];
}

// partial[group] <- the longest of the rows that the work-group takes: one a work-item, and every
// get_global_size(0)-th after it.
__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1)))
void row_lengths_longest(long rows, __global const OFF *offsets, __global long *partial)
{
    int lid = (int)get_local_id(0);
    __local long values[BLOCK];
    long longest = 0;
    for (long row = get_group_id(0) * BLOCK + lid; row < rows; row += get_global_size(0))
        longest = max(longest, (long)(offsets[row + 1] - offsets[row]));
    longest = combine(longest, values, false);
    if (lid == 0)
        partial[get_group_id(0)] = longest;
}

// partial[group] <- how many of the same rows have entries.
__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1)))
void row_lengths_filled(long rows, __global const OFF *offsets, __global long *partial)
{
    int lid = (int)get_local_id(0);
    __local long values[BLOCK];
    long filled = 0;
    for (long row = get_group_id(0) * BLOCK + lid; row < rows; row += get_global_size(0))
        filled += offsets[row] < offsets[row + 1];
    filled = combine(filled, values, true);
    if (lid == 0)
        partial[get_group_id(0)] = filled;
}

// partial[group] <- the entries of the same rows, of which at most LIMIT of each count.
__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1)))
void row_lengths_limited(long rows, __global const OFF *offsets, __global long *partial)
{
    int lid = (int)get_local_id(0);
    __local long values[BLOCK];
    long limited = 0;
    for (long row = get_group_id(0) * BLOCK + lid; row < rows; row += get_global_size(0))
        limited += min((long)(offsets[row + 1] - offsets[row]), (long)LIMIT);
    limited = combine(limited, values, true);
    if (lid == 0)
        partial[get_group_id(0)] = limited;
}
