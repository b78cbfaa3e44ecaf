// csr_spmv_merge: y <- alpha A x + beta y for compressed rows of any lengths, along the merge path: the list of the
// rows' ends and the list of the entries are merged.
// One block per tile of TILE = ITEMS * BLOCK steps of the merge; reads values, indices and offsets once, gathers x,
// writes y once, and two partial sums per tile.
// Macros: SCALAR, IDX, OFF, CONJ (1 conjugates A), BLOCK (a power of two, a multiple of 32), ITEMS = 5 (steps per
// thread).   Launch: any number of blocks of BLOCK threads, for ceil((rows + nnz) / TILE) tiles; carries any number of
// blocks of whole warps, up to 256 threads; search any number of blocks of up to 256 threads.
// A tile sums the rows that begin and end in it. Its part of a row that began before goes to head[tile], its part of a
// row that ends later to tail[tile]; a second kernel adds these in order.
// Merrill, Garland: Merge-based parallel sparse matrix-vector multiplication. SC (2016).
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "entry.cuh"
#include "warp_scalar.cuh"
#include "block.cuh"
#ifndef ITEMS
#define ITEMS 5
#endif
#define TILE (BLOCK * ITEMS)

// The number of `rows` ends before step `step` of the merge with `entries` entries.
template <typename E>
static __device__ long long rows_before(long long step, const E *ends, long long rows, long long entries)
{
    long long low = max(step - entries, 0ll);
    long long high = min(step, rows);
    while (low < high) {
        long long mid = (low + high) / 2;
        if (ends[mid] < step - mid)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

// tile_rows[t] <- the row that tile t begins in, and `rows` at the end. A thread takes a tile. For the plan.
KERNEL csr_spmv_merge_search(long long tiles, long long rows, const Off *__restrict__ offsets,
                             long long *__restrict__ tile_rows)
{
    long long nnz = offsets[rows];
    for (long long tile = thread_index(); tile <= tiles; tile += thread_count())
        tile_rows[tile] = rows_before(min(tile * TILE, rows + nnz), offsets + 1, rows, nnz);
}

// The sums of runs of equal keys over the threads of a block, each from the run's begin up to the thread before this
// one: zero where this thread begins a run. all[0] <- the last run's sum.
static __device__ ACC sum_before(int key, int begin_key, ACC value, ACC *all)
{
    __shared__ int keys[BLOCK];
    __shared__ ACC sums[BLOCK];
    int own = threadIdx.x;
    ACC sum = sum_run(key, value);
    keys[own] = key;
    sums[own] = sum;
    __syncthreads();
    ACC carried = ACC(0);
    int carried_key = -1;
    for (int last = WARP - 1; last < own / WARP * WARP; last += WARP) {
        carried = keys[last] == carried_key ? carried + sums[last] : sums[last];
        carried_key = keys[last];
    }
    if (key == carried_key)
        sum = carried + sum;
    __syncthreads();
    sums[own] = sum;
    __syncthreads();
    if (own == BLOCK - 1)
        *all = sum;
    return own > 0 && keys[own - 1] == begin_key ? sums[own - 1] : ACC(0);
}

// A block takes a tile.
KERNEL csr_spmv_merge_path(long long tiles, long long rows, const long long *__restrict__ tile_rows,
                           const Off *__restrict__ offsets, const Idx *__restrict__ indices,
                           const T *__restrict__ values, ACC alpha, const T *__restrict__ x, long long x_start,
                           ACC beta, T *__restrict__ y, long long y_start, ACC *__restrict__ head,
                           ACC *__restrict__ tail)
{
    // Little shared memory leaves much of it to the cache, which x is gathered from.
    __shared__ unsigned short ends[TILE + 1];
    __shared__ ACC products[TILE];
    long long steps = rows + offsets[rows];
    for (long long tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        long long first_row = tile_rows[tile];
        long long begin = tile * TILE - first_row;
        int tile_steps = (int)min((long long)TILE, steps - tile * TILE);
        int ended = (int)(tile_rows[tile + 1] - first_row);
        int entries = tile_steps - ended;
        bool began_before = offsets[first_row] < begin;
        for (int i = threadIdx.x; i < ended; i += BLOCK)
            ends[i] = (unsigned short)(offsets[first_row + i + 1] - begin);
        if (threadIdx.x == 0)
            ends[ended] = TILE;
        Idx cols[ITEMS];
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            int k = item * BLOCK + threadIdx.x;
            cols[item] = k < entries ? load_once(indices + begin + k) : 0;
        }
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            int k = item * BLOCK + threadIdx.x;
            if (k < entries)
                products[k] = mul(entry_once(values, begin + k), load(x, x_start + cols[item]));
        }
        __syncthreads();

        int step = min((int)threadIdx.x * ITEMS, tile_steps);
        int begin_row = (int)rows_before(step, ends, ended, entries);
        int row = begin_row;
        int k = step - row;
        ACC sum = ACC(0);
        ACC begin_sum = ACC(0);
        for (int stop = min(step + ITEMS, tile_steps); step < stop; step++) {
            if (k < ends[row]) {
                sum += products[k++];
            } else {
                if (row == begin_row)
                    begin_sum = sum;
                else
                    update(y, y_start + first_row + row, mul(alpha, sum), beta);
                sum = ACC(0);
                row++;
            }
        }
        begin_sum = sum_before(row, begin_row, sum, &tail[tile]) + begin_sum;
        if (row > begin_row) {
            if (begin_row == 0 && began_before)
                head[tile] = begin_sum;
            else
                update(y, y_start + first_row + begin_row, mul(alpha, begin_sum), beta);
        }
        __syncthreads();
    }
}

// y of the rows that span several tiles. A warp takes the tile that such a row ends in.
KERNEL csr_spmv_merge_carries(long long tiles, const long long *__restrict__ tile_rows, const Off *__restrict__ offsets,
                              ACC alpha, ACC beta, T *__restrict__ y, long long y_start, const ACC *__restrict__ head,
                              const ACC *__restrict__ tail)
{
    for (long long tile = warp_index(); tile < tiles; tile += warp_count()) {
        long long row = tile_rows[tile];
        bool began_before = offsets[row] < tile * TILE - row;
        if (began_before && tile_rows[tile + 1] > row) {
            ACC sum = ACC(0);
            for (long long t = (row + offsets[row]) / TILE + lane_index(); t < tile; t += WARP)
                sum += tail[t];
            sum = sum_lanes(sum) + head[tile];
            if (lane_index() == 0)
                update(y, y_start + row, mul(alpha, sum), beta);
        }
    }
}
