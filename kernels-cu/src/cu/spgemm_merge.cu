// spgemm_merge: the pattern of C = A B where rows of A have few entries and rows of B are in order, without columns
// that are there twice: a thread has a row of A and merges the rows of B that it names. sample: rows of A whose
// neighbours name other rows of B, whose threads would read far from each other. count: the offsets of C, in one pass
// by decoupled look-back. columns: the columns of C, whose offsets are known. count and columns read A once and the
// columns of its rows of B once, by neighbouring threads for neighbouring rows; columns writes those of C.
// Macros: IDX, OFF, BLOCK (threads and rows of a block of count), WAYS (most entries of a row of A), MAX_PRODUCTS = 512
// (most products of a row), NEAR = 8 (rows of B between those that neighbours name), STAGED = 16384 (bytes that a block
// collects).
// Launch: any number of blocks of BLOCK threads for count, which takes ceil(rows / BLOCK) tiles; of whole warps for
// others.
#include "grid.cuh"
#include "index.cuh"
#include "warp.cuh"
#include "block.cuh"
#include "look_back.cuh"
#include "merge.cuh"
#ifndef MAX_PRODUCTS
#define MAX_PRODUCTS 512
#endif
#ifndef NEAR
#define NEAR 8
#endif

// What is known of rows of A and C; all are zeros at first.
struct Summary
{
    // The entries of C.
    long long entries;
    // The most entries of a row of A; more than WAYS if a row has more of them, or more than MAX_PRODUCTS products.
    long long most;
    // Rows of A behind a neighbour, and those of them of which an entry names a row of B that is not near.
    long long neighbours;
    long long far;
};

// The products of the rows of B that the n entries of A from `begin` on name.
static __device__ long long products_of_row(UnsignedOff begin, int n, const Idx *__restrict__ a_indices,
                                            const Off *__restrict__ b_offsets)
{
    long long products = 0;
#pragma unroll
    for (int way = 0; way < WAYS; way++)
        products += way < n ? b_offsets[a_indices[begin + way] + 1] - b_offsets[a_indices[begin + way]] : 0;
    return products;
}

// The entries of A of a row that a thread can merge, or WAYS + 1.
static __device__ int ways_of(UnsignedOff begin, UnsignedOff n, const Idx *__restrict__ a_indices,
                              const Off *__restrict__ b_offsets)
{
    bool fits = n <= WAYS && products_of_row(begin, (int)n, a_indices, b_offsets) <= MAX_PRODUCTS;
    return fits ? (int)n : WAYS + 1;
}

// Raises the most entries of a row of A. Most warps see that theirs are not more, without an atomic operation.
static __device__ void raise_most(Summary *summary, int ways)
{
    for (int mask = WARP / 2; mask > 0; mask /= 2)
        ways = max(ways, shuffle_xor(ways, mask));
    if (lane_index() == 0 && ways > *(volatile int *)&summary->most)
        atomicMax((int *)&summary->most, ways);
}

// Looks at `warps` of 32 neighbouring rows each.
KERNEL spgemm_merge_sample(long long rows, long long warps, const Off *__restrict__ a_offsets,
                           const Idx *__restrict__ a_indices, const Off *__restrict__ b_offsets, Summary *summary)
{
    for (long long warp = warp_index(); warp < warps; warp += warp_count()) {
        long long row = rows * warp / warps + lane_index();
        UnsignedOff begin = row < rows ? a_offsets[row] : 0;
        UnsignedOff n = row < rows ? a_offsets[row + 1] - begin : 0;
        int before = shuffle_up((int)min(n, (UnsignedOff)WAYS), 1);
        bool is_far = false;
#pragma unroll
        for (int way = 0; way < WAYS; way++) {
            long long named = way < n ? (long long)a_indices[begin + way] : 0;
            long long of_neighbour = shuffle_up(named, 1);
            is_far |= way < n && way < before && (named > of_neighbour + NEAR || named < of_neighbour - NEAR);
        }
        bool is_neighbour = lane_index() > 0 && n > 0 && before > 0;
        unsigned int neighbours = __ballot_sync(ALL_LANES, is_neighbour);
        unsigned int far = __ballot_sync(ALL_LANES, is_neighbour && is_far);
        if (lane_index() == 0) {
            atomicAdd((unsigned long long *)&summary->neighbours, (unsigned long long)__popc(neighbours));
            atomicAdd((unsigned long long *)&summary->far, (unsigned long long)__popc(far));
        }
        raise_most(summary, ways_of(begin, n, a_indices, b_offsets));
    }
}

// c_offsets <- the entries of C before each row, and of all, unless a row of A is found not to fit.
KERNEL spgemm_merge_count(long long rows, const Off *__restrict__ a_offsets, const Idx *__restrict__ a_indices,
                          const Off *__restrict__ b_offsets, const Idx *__restrict__ b_indices,
                          Off *__restrict__ c_offsets, Summary *summary, State *states)
{
    __shared__ Count before_tile;
    long long tiles = (rows + BLOCK - 1) / BLOCK;
    for (long long tile = next_tile(states); tile < tiles; tile = next_tile(states)) {
        long long row = tile * BLOCK + threadIdx.x;
        UnsignedOff begin = row < rows ? a_offsets[row] : 0;
        UnsignedOff n = row < rows ? a_offsets[row + 1] - begin : 0;
        int ways = ways_of(begin, n, a_indices, b_offsets);
        raise_most(summary, ways);
        Count found = 0;
        if (*(volatile int *)&summary->most <= WAYS && ways <= WAYS) {
            Heads heads(begin, ways, a_indices, b_offsets, b_indices);
            for (Idx column = heads.least(); column != NO_COLUMN; column = heads.least()) {
                found++;
                heads.step_past(column, b_indices);
            }
        }
        Count of_tile;
        Count up_to = scan_block(found, &of_tile);
        if (threadIdx.x < WARP) {
            if (threadIdx.x == 0)
                publish_own(tile, of_tile, states);
            Count before = look_back(tile, of_tile, states);
            if (threadIdx.x == 0)
                before_tile = before;
        }
        __syncthreads();
        if (row < rows)
            c_offsets[row] = (Off)(before_tile + up_to - found);
        if (row == rows - 1) {
            c_offsets[rows] = (Off)(before_tile + up_to);
            summary->entries = before_tile + up_to;
        }
    }
}

// c_indices <- the columns of C.
KERNEL spgemm_merge_columns(long long rows, const Off *__restrict__ a_offsets, const Idx *__restrict__ a_indices,
                            const Off *__restrict__ b_offsets, const Idx *__restrict__ b_indices,
                            const Off *__restrict__ c_offsets, Idx *__restrict__ c_indices)
{
    __shared__ Idx places[STAGED_PLACES(Idx)];
    for (long long first = (long long)blockIdx.x * blockDim.x; first < rows; first += thread_count()) {
        long long row = first + threadIdx.x;
        UnsignedOff begin = row < rows ? a_offsets[row] : 0;
        int n = row < rows ? (int)(a_offsets[row + 1] - begin) : 0;
        Off c_begin = c_offsets[first];
        Staged<Idx> staged = {places, c_indices + c_begin};
        int at = row < rows ? (int)(c_offsets[row] - c_begin) : 0;
        Heads heads(begin, n, a_indices, b_offsets, b_indices);
        for (Idx column = heads.least(); column != NO_COLUMN; column = heads.least()) {
            staged.put(at++, column);
            heads.step_past(column, b_indices);
        }
        staged.write((int)(c_offsets[min(first + blockDim.x, rows)] - c_begin));
    }
}
