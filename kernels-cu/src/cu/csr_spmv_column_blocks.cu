// csr_spmv_column_blocks: y <- alpha A x + beta y for compressed rows by blocks of columns, whose part of x is in
// shared memory, where a gather costs a word and not a sector of a cache.
// A block of threads has one block of columns and goes down the rows, all blocks at the same pace, so that neighbouring
// entries are still in the cache when the next block of columns needs them; a warp takes 32 neighbouring rows. A second
// kernel adds the blocks' sums of a row, in order. Reads A once, its part of x once per block of threads, writes and
// reads one sum per row and block of columns.
// Macros: SCALAR, IDX, OFF, CONJ (1 conjugates A), BLOCK (threads of csr_spmv_column_blocks_touched), EACH = 4, or 2
// for sums of more than 4 bytes (entries per lane at once), MAX_THREADS = 1024 (the largest block).   Launch: as many
// blocks, of up to MAX_THREADS threads, for each block of columns, with dynamic shared memory.
// The plan splits the rows: splits[block * rows + row] is the first entry of the row whose column is not before block *
// width, with one block more for the ends. Columns ascend in each row.
// Yang, Parthasarathy, Sadayappan: Fast sparse matrix-vector multiplication on GPUs: implications for graph mining.
// VLDB (2011): tiles columns for the texture cache.
#ifndef MAX_THREADS
#define MAX_THREADS 1024
#endif
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "entry.cuh"
#include "warp_scalar.cuh"
#include "block.cuh"
#include "search.cuh"
#ifndef EACH
#define EACH (sizeof(ACC) <= 4 ? 4 : 2)
#endif

// A thread takes a row of a block of columns.
KERNEL csr_spmv_column_blocks_split(long long rows, long long blocks, long long width,
                                    const Off *__restrict__ offsets, const Idx *__restrict__ indices,
                                    Off *__restrict__ splits)
{
    for (long long i = thread_index(); i < (blocks + 1) * rows; i += thread_count()) {
        long long begin = offsets[i % rows];
        splits[i] = (Off)(begin + count_below(indices + begin, offsets[i % rows + 1] - begin, i / rows * width));
    }
}

// partial[block] <- how many blocks of `width` columns the rows have entries in, summed up: a warp takes every
// `step`-th row. A block takes BLOCK threads.
KERNEL csr_spmv_column_blocks_touched(long long rows, long long step, long long width, const Off *__restrict__ offsets,
                                      const Idx *__restrict__ indices, long long *__restrict__ partial)
{
    long long touched = 0;
    Idx own_width = (Idx)width;
    for (long long row = warp_index() * step; row < rows; row += warp_count() * step) {
        long long begin = offsets[row];
        for (long long k = begin + lane_index(); k < offsets[row + 1]; k += WARP)
            touched += k == begin || indices[k] / own_width != indices[k - 1] / own_width;
    }
    touched = reduce_block(touched, Sum());
    if (threadIdx.x == 0)
        partial[blockIdx.x] = touched;
}

// Adds the lanes' parts of the open segment to its sum.
static __device__ void add_lanes(ACC *sum, ACC partial)
{
    partial = sum_lanes(partial);
    if (lane_index() == 0)
        *sum += partial;
    __syncwarp();
}

// sums[block * rows + row] <- the products of the row's entries in the block of columns. A warp takes WARP neighbouring
// rows: it numbers their entries, each lane takes one of WARP neighbours, and segments are summed between the bits that
// say where rows begin. There are as many blocks of threads for each block of columns.
KERNEL csr_spmv_column_blocks(long long rows, long long cols, long long blocks, long long width,
                              const Off *__restrict__ splits, const Idx *__restrict__ indices,
                              const T *__restrict__ values, const T *__restrict__ x, long long x_start,
                              ACC *__restrict__ sums)
{
    let_next_begin();
    extern __shared__ ulonglong2 memory[];
    __shared__ Off all_shifts[MAX_THREADS];
    __shared__ ACC all_parts[MAX_THREADS];
    int lane = lane_index();
    T *own_x = (T *)memory;
    Off *shifts = all_shifts + (threadIdx.x - lane);
    ACC *parts = all_parts + (threadIdx.x - lane);
    unsigned int up_to_lane = ALL_LANES >> (WARP - 1 - lane);

    long long block = blockIdx.x % blocks;
    int own_cols = (int)max(min(width, cols - block * width), 0ll);
    Idx first_col = own_cols > 0 ? (Idx)(block * width) : 0;
    for (int i = threadIdx.x; i < own_cols; i += blockDim.x)
        own_x[i] = x[x_start + first_col + i];
    __syncthreads();

    const Off *begins = splits + block * rows;
    const Off *ends = begins + rows;
    sums += block * rows;
    long long stride = gridDim.x / blocks * blockDim.x;
    long long row = blockIdx.x / blocks * blockDim.x + threadIdx.x;
    Off next_begin = row < rows ? begins[row] : 0;
    Off next_end = row < rows ? ends[row] : 0;
    for (; row - lane < rows; row += stride) {
        Off begin = next_begin;
        Off count = next_end - begin;
        bool goes_on = row + stride < rows;
        next_begin = goes_on ? begins[row + stride] : 0;
        next_end = goes_on ? ends[row + stride] : 0;

        Off number = scan_lanes(count);
        Off total = shuffle(number, WARP - 1);
        number -= count;
        unsigned int filled = __ballot_sync(ALL_LANES, count > 0);
        int place = __popc(filled & up_to_lane) - 1;
        if (count > 0) {
            shifts[place] = begin - number;
            parts[place] = ACC(0);
        }
        __syncwarp();

        int open = -1;
        bool holds = false;
        ACC partial = ACC(0);
        for (UnsignedOff first = 0; first < (UnsignedOff)total; first += EACH * WARP) {
            unsigned int beginners[EACH];
            int places[EACH];
            Idx cols_of[EACH];
            T values_of[EACH];
#pragma unroll
            for (int each = 0; each < EACH; each++) {
                UnsignedOff from = first + each * WARP;
                Off ahead = number - from;
                beginners[each] = or_lanes(count > 0 && ahead >= 0 && ahead < WARP ? 1u << (int)ahead : 0);
                places[each] = open + __popc(beginners[each] & up_to_lane);
                open += __popc(beginners[each]);
                cols_of[each] = -1;
                if (from + lane < (UnsignedOff)total) {
                    UnsignedOff at = shifts[places[each]] + from + lane;
                    cols_of[each] = indices[at];
                    values_of[each] = values[at];
                }
            }
#pragma unroll
            for (int each = 0; each < EACH; each++) {
                ACC product = ACC(0);
                if (cols_of[each] >= 0)
                    product = mul(entry_of(values_of[each]), to_acc(own_x[(int)(cols_of[each] - first_col)]));
                if (beginners[each] == 0) {
                    partial += product;
                    holds = true;
                    continue;
                }
                if (holds)
                    add_lanes(parts + shuffle(places[each], 0) - (beginners[each] & 1), partial);
                partial = ACC(0);
                holds = false;
                ACC sum = sum_segment(product, beginners[each]);
                if (lane == WARP - 1 || (beginners[each] >> lane >> 1 & 1))
                    parts[places[each]] += sum;
                __syncwarp();
            }
        }
        if (holds)
            add_lanes(parts + open, partial);
        if (row < rows)
            sums[row] = count > 0 ? parts[place] : ACC(0);
        __syncwarp();
    }
}

// A thread takes a row.
KERNEL csr_spmv_column_blocks_add(long long rows, long long blocks, const ACC *__restrict__ sums, ACC alpha, ACC beta,
                                  T *__restrict__ y, long long y_start)
{
    wait_for_last();
    for (long long row = thread_index(); row < rows; row += thread_count()) {
        ACC sum = ACC(0);
        for (long long block = 0; block < blocks; block++)
            sum += sums[block * rows + row];
        update(y, y_start + row, mul(alpha, sum), beta);
    }
}
