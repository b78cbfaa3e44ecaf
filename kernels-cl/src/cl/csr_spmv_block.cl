// csr_spmv_block: y <- alpha A x + beta y for compressed rows that are long; the longest can be taken first, so that no
// other waits for them.
// One work-group of 64 or 128 work-items per row, striding over the grid; reads values, indices and offsets once,
// gathers x, writes y once.
// Macros: SCALAR, IDX, OFF, CONJ (1 conjugates A), MAX_LANES = 128 (the largest work-group), NV_ARCH = 0
// (lanes.clh).   Launch: any number of work-groups of whole warps, up to MAX_LANES.
#include "scalar.clh"
#include "index.clh"
#include "entry.clh"
#include "lanes.clh"
#include "words.clh"
#include "row_steps.clh"
#ifndef MAX_LANES
#define MAX_LANES 128
#endif

// A work-group takes a row: a work-item sums EACH neighbouring entries after those of the others, from a multiple of
// EACH on; a fixed tree adds the lanes of a warp, and warp after warp is added. Rows are taken in `order`, which says
// where they begin and how many entries they have; as they stand where it is a null pointer.
__kernel void csr_spmv_row_per_block(long rows, __global const long *begins, __global const int *lengths,
                                     __global const long *order, __global const OFF *offsets,
                                     __global const IDX *indices, __global const T *values, ACC alpha,
                                     __global const T *x, long x_start, ACC beta, __global T *y, long y_start)
{
    int lid = (int)get_local_id(0);
    int warps = (int)get_local_size(0) / WARP;
    __local ACC exchange[MAX_LANES];
    __local ACC sums[MAX_LANES / WARP];
    x += x_start;
    for (long i = get_group_id(0); i < rows; i += get_num_groups(0)) {
        long row = order ? order[i] : i;
        long begin = order ? begins[i] : offsets[i];
        long end = order ? begin + lengths[i] : offsets[i + 1];
        ACC sum = sum_of_lane(lid, (int)get_local_size(0), begin, end, indices, values, x);
        sum = sum_lanes(lid, sum, WARP, exchange);
        if (lid % WARP == 0)
            sums[lid / WARP] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid == 0) {
            for (int warp = 1; warp < warps; warp++)
                sum += sums[warp];
            update(y, y_start + row, mul(alpha, sum), beta);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
