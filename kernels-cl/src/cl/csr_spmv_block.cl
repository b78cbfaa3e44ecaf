// csr_spmv_block: y <- alpha A x + beta y for compressed rows that are long; the longest can be taken first, so that no
// other waits for them.
// One work-group of 64 or 128 work-items per row, striding over the grid; reads values, indices and offsets once,
// gathers x, writes y once.
// Macros: SCALAR, IDX, OFF, CONJ (1 conjugates A), MAX_LANES = 128 (the largest work-group).   Launch: any number of
// work-groups of any power of two up to MAX_LANES.
#include "scalar.clh"
#include "index.clh"
#include "entry.clh"
#include "row_per_group.clh"
#ifndef MAX_LANES
#define MAX_LANES 128
#endif

// A work-group of any power of two up to MAX_LANES takes a row. Rows are taken in `order`, which says where they begin
// and how many entries they have; as they stand where it is a null pointer.
__kernel void csr_spmv_row_per_block(long rows, __global const long *begins, __global const int *lengths,
                                     __global const long *order, __global const OFF *offsets,
                                     __global const IDX *indices, __global const T *values, ACC alpha,
                                     __global const T *x, long x_start, ACC beta, __global T *y, long y_start)
{
    __local ACC sums[MAX_LANES];
    for (long i = get_group_id(0); i < rows; i += get_num_groups(0)) {
        long row = order ? order[i] : i;
        long begin = order ? begins[i] : offsets[i];
        long end = order ? begin + lengths[i] : offsets[i + 1];
        row_per_group((int)get_local_size(0), sums, row, begin, end, indices, values, alpha, x, x_start, beta, y,
                      y_start);
    }
}
