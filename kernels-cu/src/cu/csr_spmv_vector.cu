// csr_spmv_vector: y <- alpha A x + beta y for compressed rows of a few to some dozen entries.
// LANES lanes per row, 32 / LANES rows per warp, striding over the grid; reads values, indices and offsets once,
// gathers x, writes y once.
// Macros: SCALAR, IDX, OFF, CONJ (1 conjugates A), LANES (2, 4, 8, 16, 32).   Launch: any number of blocks of whole
// warps, up to 256 threads.
// Bell, Garland: Implementing sparse matrix-vector multiplication on throughput-oriented processors. SC (2009).
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "entry.cuh"
#include "warp_scalar.cuh"
#ifndef LANES
#error "LANES is missing: 2, 4, 8, 16 or 32"
#endif
#define ROWS (WARP / LANES)

// A warp takes ROWS rows: lane l of a row sums its entries l, l + LANES, ...; a fixed tree adds the lanes.
KERNEL csr_spmv_row_per_vector(long long rows, const Off *__restrict__ offsets, const Idx *__restrict__ indices,
                               const T *__restrict__ values, ACC alpha, const T *__restrict__ x, long long x_start,
                               ACC beta, T *__restrict__ y, long long y_start)
{
    int lane = lane_index() % LANES;
    for (long long first = warp_index() * ROWS; first < rows; first += warp_count() * ROWS) {
        long long row = first + lane_index() / LANES;
        ACC sum = ACC(0);
        if (row < rows) {
            long long end = offsets[row + 1];
            for (long long k = offsets[row] + lane; k < end; k += LANES)
                sum += mul(entry_once(values, k), load(x, x_start + load_once(indices + k)));
        }
        sum = sum_lanes(sum, LANES);
        if (row < rows && lane == 0)
            update(y, y_start + row, mul(alpha, sum), beta);
    }
}
