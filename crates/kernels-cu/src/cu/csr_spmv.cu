// y <- alpha A x + beta y for compressed rows: the entries of row i stand at offsets[i] .. offsets[i + 1].
// Takes SCALAR, IDX and OFF (the types of indices and offsets) and CONJ: 1 conjugates the entries of A.
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "entry.cuh"
#include "warp_scalar.cuh"
#include "neighbours.cuh"
#define EACH 4

// A thread takes a row and every thread_count()-th one after it.
KERNEL csr_spmv_row_per_thread(long long rows, const Off *__restrict__ offsets, const Idx *__restrict__ indices,
                               const T *__restrict__ values, ACC alpha, const T *__restrict__ x, long long x_start,
                               ACC beta, T *__restrict__ y, long long y_start)
{
    wait_for_last();
    let_next_begin();
    for (long long row = thread_index(); row < rows; row += thread_count()) {
        ACC sum = ACC(0);
        long long end = offsets[row + 1];
        for (long long k = offsets[row]; k < end; k++)
            sum += mul(entry(values, k), load(x, x_start + indices[k]));
        update(y, y_start + row, mul(alpha, sum), beta);
    }
}

// EACH neighbouring entries for a lane.
struct __align__(16) Step
{
    Idx cols[EACH];
    T values[EACH];
};

// The step at position `at`, a multiple of EACH; what is not before `end` is not read.
static __device__ Step load_step(Off at, Off end, const Idx *indices, const T *values)
{
    Step step;
    load_neighbours<EACH>(step.cols, indices, at, end);
    load_neighbours<EACH>(step.values, values, at, end);
    return step;
}

// The products of those entries of a step at `at` that stand from `begin` to `end`.
static __device__ ACC sum_of(const Step &step, Off at, Off begin, Off end, const T *x)
{
    ACC sum = ACC(0);
#pragma unroll
    for (int each = 0; each < EACH; each++)
        if (at + each >= begin && at + each < end)
            sum += mul(entry_of(step.values[each]), load(x, step.cols[each]));
    return sum;
}

// What lane `lane` of `lanes` sums of the entries from `begin` to `end`: EACH neighbouring ones after lanes * EACH others,
// from a multiple of EACH on, two steps at a time.
static __device__ ACC sum_of_lane(int lane, int lanes, Off begin, Off end, const Idx *indices, const T *values,
                                  const T *x)
{
    ACC sum = ACC(0);
    for (Off at = begin / EACH * EACH + lane * EACH; at < end; at += 2 * lanes * EACH) {
        Off then = at + lanes * EACH;
        Step step = load_step(at, end, indices, values);
        Step next = load_step(then, end, indices, values);
        sum += sum_of(step, at, begin, end, x);
        sum += sum_of(next, then, begin, end, x);
    }
    return sum;
}

// A warp takes a row; a fixed tree adds the lanes.
KERNEL csr_spmv_row_per_warp(long long rows, const Off *__restrict__ offsets, const Idx *__restrict__ indices,
                             const T *__restrict__ values, ACC alpha, const T *__restrict__ x, long long x_start,
                             ACC beta, T *__restrict__ y, long long y_start)
{
    wait_for_last();
    let_next_begin();
    x += x_start;
    for (long long row = warp_index(); row < rows; row += warp_count()) {
        ACC sum = sum_of_lane(lane_index(), WARP, offsets[row], offsets[row + 1], indices, values, x);
        sum = sum_lanes(sum);
        if (lane_index() == 0)
            update(y, y_start + row, mul(alpha, sum), beta);
    }
}

// A block of two warps takes a row; a fixed tree adds the lanes.
KERNEL csr_spmv_row_per_block(long long rows, const Off *__restrict__ offsets, const Idx *__restrict__ indices,
                              const T *__restrict__ values, ACC alpha, const T *__restrict__ x, long long x_start,
                              ACC beta, T *__restrict__ y, long long y_start)
{
    __shared__ ACC second;
    wait_for_last();
    let_next_begin();
    x += x_start;
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        ACC sum = sum_of_lane(threadIdx.x, 2 * WARP, offsets[row], offsets[row + 1], indices, values, x);
        sum = sum_lanes(sum);
        if (threadIdx.x == WARP)
            second = sum;
        __syncthreads();
        if (threadIdx.x == 0)
            update(y, y_start + row, mul(alpha, sum + second), beta);
        __syncthreads();
    }
}
