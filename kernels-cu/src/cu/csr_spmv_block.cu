// csr_spmv_block: y <- alpha A x + beta y for compressed rows that are long; the longest can be taken first, so that no
// other waits for them.
// One block of two or four warps per row, striding over the grid; reads values, indices and offsets once, gathers x,
// writes y once.
// Macros: SCALAR, IDX, OFF, CONJ (1 conjugates A), MAX_THREADS = 128 (the largest block), EACH = 4 (neighbouring
// entries per lane).   Launch: any number of blocks of whole warps, up to MAX_THREADS threads.
#ifndef MAX_THREADS
#define MAX_THREADS 128
#endif
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "entry.cuh"
#include "warp_scalar.cuh"
#include "neighbours.cuh"
#include "row_steps.cuh"

// A block takes a row: a lane sums EACH neighbouring entries after blockDim.x * EACH others, from a multiple of EACH
// on; a fixed tree adds the lanes of a warp, and warp after warp is added. Rows are taken in `order`, which says where
// they begin and how many entries they have; as they stand where it is a null pointer.
KERNEL csr_spmv_row_per_block(long long rows, const long long *__restrict__ begins, const int *__restrict__ lengths,
                              const long long *__restrict__ order, const Off *__restrict__ offsets,
                              const Idx *__restrict__ indices, const T *__restrict__ values, ACC alpha,
                              const T *__restrict__ x, long long x_start, ACC beta, T *__restrict__ y,
                              long long y_start)
{
    __shared__ ACC sums[MAX_THREADS / WARP];
    x += x_start;
    for (long long i = blockIdx.x; i < rows; i += gridDim.x) {
        ACC sum = ACC(0);
        long long row = order ? order[i] : i;
        UnsignedOff begin = order ? (Off)begins[i] : offsets[i];
        UnsignedOff end = order ? begin + lengths[i] : offsets[i + 1];
        for (UnsignedOff at = begin / EACH * EACH + threadIdx.x * EACH; at < end; at += blockDim.x * EACH)
            sum += sum_of(load_step(at, end, indices, values), at, begin, end, x);
        sum = sum_lanes(sum);
        if (lane_index() == 0)
            sums[threadIdx.x / WARP] = sum;
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int warp = 1; warp < blockDim.x / WARP; warp++)
                sum += sums[warp];
            update(y, y_start + row, mul(alpha, sum), beta);
        }
        __syncthreads();
    }
}
