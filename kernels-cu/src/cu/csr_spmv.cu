// csr_spmv: y <- alpha A x + beta y for compressed rows: the entries of row i are at offsets[i] .. offsets[i + 1].
// One thread or one warp per row, striding over the grid; reads values, indices and offsets once, gathers x, writes y
// once.
// Macros: SCALAR, IDX (type of indices), OFF (type of offsets), CONJ (1 conjugates A), EACH = 4 (neighbouring entries
// per lane of row_per_warp).   Launch: any number of blocks of up to 256 threads, of whole warps for the warp kernels.
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "entry.cuh"
#include "warp_scalar.cuh"
#include "neighbours.cuh"
#include "row_steps.cuh"

// A thread takes a row and every thread_count()-th one after it.
KERNEL csr_spmv_row_per_thread(long long rows, const Off *__restrict__ offsets, const Idx *__restrict__ indices,
                               const T *__restrict__ values, ACC alpha, const T *__restrict__ x, long long x_start,
                               ACC beta, T *__restrict__ y, long long y_start)
{
    for (long long row = thread_index(); row < rows; row += thread_count()) {
        ACC sum = ACC(0);
        long long end = offsets[row + 1];
        for (long long k = offsets[row]; k < end; k++)
            sum += mul(entry(values, k), load(x, x_start + indices[k]));
        update(y, y_start + row, mul(alpha, sum), beta);
    }
}

// A warp takes a row: a lane sums EACH neighbouring entries after WARP * EACH others, from a multiple of EACH on, two
// steps at a time; a fixed tree adds the lanes.
KERNEL csr_spmv_row_per_warp(long long rows, const Off *__restrict__ offsets, const Idx *__restrict__ indices,
                             const T *__restrict__ values, ACC alpha, const T *__restrict__ x, long long x_start,
                             ACC beta, T *__restrict__ y, long long y_start)
{
    x += x_start;
    for (long long row = warp_index(); row < rows; row += warp_count()) {
        ACC sum = sum_lanes(sum_of_lane(offsets[row], offsets[row + 1], indices, values, x));
        if (lane_index() == 0)
            update(y, y_start + row, mul(alpha, sum), beta);
    }
}
