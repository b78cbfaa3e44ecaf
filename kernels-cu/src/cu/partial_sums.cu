// partial_sums: C <- alpha S + beta C for rows of which several blocks or chunks have left a partial sum: S is the sum of
// those of a row, element (k, col) of the partial sums is at k*cols + col.
// A warp takes a row and up to 32 columns: neighbouring lanes have neighbouring columns, and every 32 / lanes-th sum.
// Where a lane had more than MOST_IN_TURN, the whole block takes them. Fixed trees add the lanes' sums. Reads each partial
// sum once, writes C once.
// Macros: SCALAR, MAX_THREADS = 1024 (the largest block), MOST_IN_TURN = 32.   Launch: any number of blocks of any power
// of two from 32 to MAX_THREADS.
#ifndef MAX_THREADS
#define MAX_THREADS 1024
#endif
#ifndef MOST_IN_TURN
#define MOST_IN_TURN 32
#endif
#include "grid.cuh"
#include "scalar.cuh"
#include "warp_scalar.cuh"

// The partial sums of a row: those from `begin` to `end`.
struct Partials
{
    long long row;
    long long begin;
    long long end;
};

// The sum of every `threads` / `lanes`-th of a row, from that of this thread on, in the column of its lane.
static __device__ ACC sum_of_thread(Partials partials, int thread, int threads, int lanes, long long col, long long cols,
                                    const ACC *partial)
{
    ACC sum = ACC(0);
    if (col < cols)
#pragma unroll 4
        for (long long k = partials.begin + thread / lanes; k < partials.end; k += threads / lanes)
            sum += partial[k * cols + col];
    return sum;
}

// rows[i] is row i of those with partial sums, starts[i] its first; at the end their number. A tile is a row and up to 32
// columns; a block has neighbouring tiles, whose partial sums are neighbours in memory.
KERNEL partial_sums(long long count, long long cols, const long long *__restrict__ rows,
                  const long long *__restrict__ starts, ACC alpha, ACC beta, T *__restrict__ c, long long c_start,
                  long long c_row, long long c_col, const ACC *__restrict__ partial)
{
    wait_for_last();
    __shared__ ACC sums[MAX_THREADS];
    int lanes = 1;
    while (lanes < WARP && lanes < cols)
        lanes *= 2;
    int warps = blockDim.x / WARP;
    long long slices = (cols + lanes - 1) / lanes;
    long long share = (count * slices + gridDim.x - 1) / gridDim.x;
    long long end = min((blockIdx.x + 1) * share, count * slices);
    auto partials_of = [&](long long tile) {
        long long i = tile / slices;
        return tile < end ? Partials{rows[i], starts[i], starts[i + 1]} : Partials{0, 0, 0};
    };
    auto are_few = [&](Partials partials) { return partials.end - partials.begin <= MOST_IN_TURN * WARP / lanes; };
    auto write_sum = [&](long long row, long long col, ACC sum) {
        update(c, c_start + row * c_row + col * c_col, mul(alpha, sum), beta);
    };
    for (long long first = blockIdx.x * share; first < end; first += warps) {
        long long tile = first + threadIdx.x / WARP;
        Partials own = partials_of(tile);
        if (are_few(own)) {
            long long col = tile % slices * lanes + lane_index() % lanes;
            ACC sum = sum_of_thread(own, lane_index(), WARP, lanes, col, cols, partial);
            for (int by = WARP / 2; by >= lanes; by /= 2)
                sum += shuffle_xor(sum, by);
            if (tile < end && lane_index() < lanes && col < cols)
                write_sum(own.row, col, sum);
        }
        if (!__syncthreads_or(!are_few(own)))
            continue;
        for (tile = first; tile < min(first + warps, end); tile++) {
            Partials all = partials_of(tile);
            if (are_few(all))
                continue;
            long long col = tile % slices * lanes + threadIdx.x % lanes;
            sums[threadIdx.x] = sum_of_thread(all, threadIdx.x, blockDim.x, lanes, col, cols, partial);
            __syncthreads();
            for (int left = blockDim.x / 2; left >= lanes; left /= 2) {
                if (threadIdx.x < left)
                    sums[threadIdx.x] += sums[threadIdx.x + left];
                __syncthreads();
            }
            if (threadIdx.x < lanes && col < cols)
                write_sum(all.row, col, sums[threadIdx.x]);
            __syncthreads();
        }
    }
}
