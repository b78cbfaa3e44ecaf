// csr_spmv: y <- alpha A x + beta y for compressed rows: the entries of row i are at offsets[i] .. offsets[i + 1].
// One work-item or one warp per row, striding over the grid; reads values, indices and offsets once, gathers x, writes
// y once.
// Macros: SCALAR, IDX (type of indices), OFF (type of offsets), CONJ (1 conjugates A), NV_ARCH = 0 (lanes.clh).
// Launch: any number of work-groups of any size; row_per_warp of 32, or with shuffles of 256.
#include "scalar.clh"
#include "index.clh"
#include "entry.clh"
#include "lanes.clh"
#include "words.clh"
#include "row_steps.clh"

// A work-item takes a row and every get_global_size(0)-th one after it.
__kernel void csr_spmv_row_per_thread(long rows, __global const OFF *offsets, __global const IDX *indices,
                                      __global const T *values, ACC alpha, __global const T *x, long x_start,
                                      ACC beta, __global T *y, long y_start)
{
    for (long row = get_global_id(0); row < rows; row += get_global_size(0)) {
        ACC sum = (ACC)(0);
        long end = offsets[row + 1];
        for (long k = offsets[row]; k < end; k++)
            sum += mul(entry(values, k), load(x, x_start + indices[k]));
        update(y, y_start + row, mul(alpha, sum), beta);
    }
}

// A warp takes a row: a lane sums EACH neighbouring entries after WARP * EACH others, from a multiple of EACH on; a
// fixed tree adds the lanes.
__kernel OF_WARPS
void csr_spmv_row_per_warp(long rows, __global const OFF *offsets, __global const IDX *indices,
                           __global const T *values, ACC alpha, __global const T *x, long x_start,
                           ACC beta, __global T *y, long y_start)
{
    int lid = (int)get_local_id(0);
    __local ACC exchange[WARP];
    x += x_start;
    for (long row = warp_index(lid); row < rows; row += warp_count()) {
        ACC sum = sum_of_lane(lid % WARP, WARP, offsets[row], offsets[row + 1], indices, values, x);
        sum = sum_lanes(lid, sum, WARP, exchange);
        if (lid % WARP == 0)
            update(y, y_start + row, mul(alpha, sum), beta);
    }
}
