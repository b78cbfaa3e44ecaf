// y <- alpha A x + beta y for compressed rows, by two warps a row: for long rows, of which the longest keep nobody waiting.
// Takes SCALAR, IDX, OFF and CONJ.
#define MOST_THREADS 64
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "entry.cuh"
#include "warp_scalar.cuh"
#include "neighbours.cuh"
#include "row_steps.cuh"

// A block takes a row: a lane sums EACH neighbouring entries after 64 * EACH others, from a multiple of EACH on; a fixed
// tree adds the lanes.
KERNEL csr_spmv_row_per_block(long long rows, const Off *__restrict__ offsets, const Idx *__restrict__ indices,
                              const T *__restrict__ values, ACC alpha, const T *__restrict__ x, long long x_start,
                              ACC beta, T *__restrict__ y, long long y_start)
{
    __shared__ ACC second;
    x += x_start;
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        ACC sum = ACC(0);
        Off begin = offsets[row];
        Off end = offsets[row + 1];
        for (Off at = begin / EACH * EACH + threadIdx.x * EACH; at < end; at += MOST_THREADS * EACH)
            sum += sum_of(load_step(at, end, indices, values), at, begin, end, x);
        sum = sum_lanes(sum);
        if (threadIdx.x == WARP)
            second = sum;
        __syncthreads();
        if (threadIdx.x == 0)
            update(y, y_start + row, mul(alpha, sum + second), beta);
        __syncthreads();
    }
}
