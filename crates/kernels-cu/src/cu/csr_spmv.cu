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
    for (long long row = thread_index(); row < rows; row += thread_count()) {
        ACC sum = ACC(0);
        long long end = offsets[row + 1];
        for (long long k = offsets[row]; k < end; k++)
            sum += mul(entry(values, k), load(x, x_start + indices[k]));
        update(y, y_start + row, mul(alpha, sum), beta);
    }
}

// What a lane takes of a row at once.
struct __align__(16) Step
{
    Idx cols[EACH];
    T values[EACH];
};

// A warp takes a row: a lane sums EACH neighbouring entries after WARP * EACH others, from a multiple of EACH on; a fixed
// tree adds the lanes.
KERNEL csr_spmv_row_per_warp(long long rows, const Off *__restrict__ offsets, const Idx *__restrict__ indices,
                             const T *__restrict__ values, ACC alpha, const T *__restrict__ x, long long x_start,
                             ACC beta, T *__restrict__ y, long long y_start)
{
    x += x_start;
    for (long long row = warp_index(); row < rows; row += warp_count()) {
        ACC sum = ACC(0);
        Off begin = offsets[row];
        Off end = offsets[row + 1];
        for (Off at = begin / EACH * EACH + lane_index() * EACH; at < end; at += WARP * EACH) {
            Step step;
            load_neighbours<EACH>(step.cols, indices, at, end);
            load_neighbours<EACH>(step.values, values, at, end);
#pragma unroll
            for (int each = 0; each < EACH; each++)
                if (at + each >= begin && at + each < end)
                    sum += mul(entry_of(step.values[each]), load(x, step.cols[each]));
        }
        sum = sum_lanes(sum);
        if (lane_index() == 0)
            update(y, y_start + row, mul(alpha, sum), beta);
    }
}
