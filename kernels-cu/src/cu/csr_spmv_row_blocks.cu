// csr_spmv_row_blocks: y <- alpha A x + beta y for compressed rows, by row blocks: neighbouring rows with about CHUNK
// entries together.
// One block per row block: neighbouring threads compute products of neighbouring entries, which meet in shared memory;
// a row longer than CHUNK has the block to itself. Reads values, indices and offsets once, gathers x, writes y once.
// Macros: SCALAR, IDX, OFF, CONJ (1 conjugates A), BLOCK (a power of two, a multiple of 32), ITEMS = 4 (entries of a
// row block per thread).   Launch: any number of blocks of BLOCK threads, for nnz / CHUNK + 1 row blocks; search any
// number of blocks of up to 256 threads.
// Row block b has the rows that begin in the entries b*CHUNK .. (b + 1)*CHUNK.
// After Greathouse, Daga: Efficient sparse matrix-vector multiplication on GPUs using the CSR storage format. SC
// (2014).
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "entry.cuh"
#include "warp_scalar.cuh"
#include "block.cuh"
#include "search.cuh"
#ifndef ITEMS
#define ITEMS 4
#endif
#define CHUNK (ITEMS * BLOCK)

// row_starts[b] <- the first row of row block b, and `rows` at the end. A thread takes a row block. For the plan.
KERNEL csr_spmv_row_blocks_search(long long blocks, long long rows, const Off *__restrict__ offsets,
                                  long long *__restrict__ row_starts)
{
    for (long long b = thread_index(); b <= blocks; b += thread_count())
        row_starts[b] = count_below(offsets, rows, b * CHUNK);
}

// Lanes for each of so many rows: as many as the block has, a power of two from 1 to 32.
static __device__ int lanes_a_row(long long rows)
{
    int lanes = 1;
    while (lanes < WARP && rows * lanes * 2 <= BLOCK)
        lanes *= 2;
    return lanes;
}

// A block takes a row block.
KERNEL csr_spmv_row_blocks(long long blocks, const long long *__restrict__ row_starts, const Off *__restrict__ offsets,
                           const Idx *__restrict__ indices, const T *__restrict__ values, ACC alpha,
                           const T *__restrict__ x, long long x_start, ACC beta, T *__restrict__ y, long long y_start)
{
    __shared__ ACC products[CHUNK];
    for (long long b = blockIdx.x; b < blocks; b += gridDim.x) {
        long long first = row_starts[b];
        long long last = row_starts[b + 1];
        long long begin = offsets[first];
        bool long_row = first < last && offsets[last] - begin > CHUNK;
        long long together = last - first - long_row;
        int count = (int)(offsets[first + together] - begin);
        for (int k = threadIdx.x; k < count; k += BLOCK)
            products[k] = mul(entry_once(values, begin + k), load(x, x_start + load_once(indices + begin + k)));
        __syncthreads();
        int lanes = lanes_a_row(together);
        int lane = threadIdx.x % lanes;
        for (long long base = 0; base < together; base += BLOCK / lanes) {
            long long row = first + base + threadIdx.x / lanes;
            bool own = row < first + together;
            ACC sum = ACC(0);
            if (own)
                for (int k = (int)(offsets[row] - begin) + lane; k < (int)(offsets[row + 1] - begin); k += lanes)
                    sum += products[k];
            sum = sum_lanes(sum, lanes);
            if (own && lane == 0)
                update(y, y_start + row, mul(alpha, sum), beta);
        }
        if (long_row) {
            ACC sum = ACC(0);
            for (long long k = offsets[last - 1] + threadIdx.x; k < offsets[last]; k += BLOCK)
                sum += mul(entry_once(values, k), load(x, x_start + load_once(indices + k)));
            sum = reduce_block(sum, Sum());
            if (threadIdx.x == 0)
                update(y, y_start + last - 1, mul(alpha, sum), beta);
        }
        __syncthreads();
    }
}
