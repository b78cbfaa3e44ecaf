// row_lengths: the longest of compressed rows, one partial result per work-group.
// One work-item per row, striding over the grid; reads the offsets, writes one result per work-group.
// Macros: IDX (unused), OFF (type of offsets), BLOCK (a power of two, a multiple of 32).   Launch: any number of
// work-groups of BLOCK.
#include "index.clh"
#ifndef BLOCK
#error "BLOCK is missing: the size of a work-group"
#endif

// partial[group] <- the longest of the rows that the work-group takes: one a work-item, and every
// get_global_size(0)-th after it.
__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1)))
void row_lengths_longest(long rows, __global const OFF *offsets, __global long *partial)
{
    int lid = (int)get_local_id(0);
    __local long longest[BLOCK];
    long own = 0;
    for (long row = get_group_id(0) * BLOCK + lid; row < rows; row += get_global_size(0))
        own = max(own, (long)(offsets[row + 1] - offsets[row]));
    longest[lid] = own;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_size = BLOCK / 2; half_size > 0; half_size /= 2) {
        if (lid < half_size)
            longest[lid] = max(longest[lid], longest[lid + half_size]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0)
        partial[get_group_id(0)] = longest[0];
}
