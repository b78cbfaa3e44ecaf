// csr_spmv_vector: y <- alpha A x + beta y for compressed rows of a few to some dozen entries.
// LANES lanes per row, 32 / LANES rows per warp, striding over the grid; reads values, indices and offsets once,
// gathers x, writes y once.
// Macros: SCALAR, IDX, OFF, CONJ (1 conjugates A), LANES (2, 4, 8, 16, 32), NV_ARCH = 0 (lanes.clh).   Launch: any
// number of work-groups of 32, or with shuffles of 256.
// Bell, Garland: Implementing sparse matrix-vector multiplication on throughput-oriented processors. SC (2009).
#include "scalar.clh"
#include "index.clh"
#include "entry.clh"
#include "lanes.clh"
#ifndef LANES
#error "LANES is missing: 2, 4, 8, 16 or 32"
#endif
#define ROWS (WARP / LANES)

// A warp takes ROWS rows: lane l of a row sums its entries l, l + LANES, ...; a fixed tree adds the lanes.
__kernel OF_WARPS
void csr_spmv_row_per_vector(long rows, __global const OFF *offsets, __global const IDX *indices,
                             __global const T *values, ACC alpha, __global const T *x, long x_start, ACC beta,
                             __global T *y, long y_start)
{
    int lid = (int)get_local_id(0);
    __local ACC exchange[WARP];
    int lane = lid % LANES;
    for (long first = warp_index(lid) * ROWS; first < rows; first += warp_count() * ROWS) {
        long row = first + lid % WARP / LANES;
        ACC sum = (ACC)(0);
        if (row < rows) {
            long end = offsets[row + 1];
            for (long k = offsets[row] + lane; k < end; k += LANES)
                sum += mul(entry(values, k), load(x, x_start + indices[k]));
        }
        sum = sum_lanes(lid, sum, LANES, exchange);
        if (row < rows && lane == 0)
            update(y, y_start + row, mul(alpha, sum), beta);
    }
}
