// csr_spmv_node_blocks: y <- alpha A x + beta y for compressed rows whose entries are in square blocks, those that
// node_blocks.cu finds: UNKNOWNS rows of a node have the same columns, which come in runs of UNKNOWNS.
// A power of two of lanes per node, or per row where a block is too large for the registers of a lane; a lane takes a
// block, or its row of it, a step. A fixed tree adds the lanes.
// Reads values and offsets once, a column once for each block, gathers x by runs, in words, writes y once.
// Macros: SCALAR, IDX, OFF, CONJ (1 conjugates A), UNKNOWNS (1 to 6), LARGE = 144 (bytes of the largest block that a
// lane takes whole), MIN_BLOCKS = 5 or 2 by the size of values, from 3 unknowns on (blocks per multiprocessor:
// registers for loads on their way).   Launch: any number of blocks of whole warps, up to 256 threads.
#if UNKNOWNS > 2
#ifndef MIN_BLOCKS
#define MIN_BLOCKS (sizeof(T) > 8 ? 2 : 5)
#endif
#endif
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "entry.cuh"
#include "warp_scalar.cuh"
#include "load_plainly.cuh"
#include "evict_first.cuh"
#include "node_runs.cuh"
#ifndef LARGE
#define LARGE 144
#endif
// Rows of a lane.
#define OWN_ROWS (UNKNOWNS * UNKNOWNS * (int)sizeof(T) <= LARGE ? UNKNOWNS : 1)

// The matrix, x, and whether runs of x are whole words.
struct Product
{
    const Off *offsets;
    const Idx *columns;
    const T *values;
    const T *x;
    bool has_words;
};

// Loads the elements of x of a block.
static __device__ void load_x(T *to, const Product &a, Idx column)
{
    if (a.has_words) {
        load_run(LoadPlainly(), to, a.x + column);
    } else {
#pragma unroll
        for (int k = 0; k < UNKNOWNS; k++)
            to[k] = a.x[(long long)column + k];
    }
}

// sums[r] += this lane's part of the sum of row `row` + r, one of `lanes` parts. All these rows have the same columns.
template <typename Load>
static __device__ void add_rows(ACC *sums, Load load_word, long long row, int lane, int lanes, const Product &a)
{
    UnsignedOff begin = a.offsets[row];
    UnsignedOff length = a.offsets[row + 1] - begin;
    UnsignedOff of_node = begin - (UnsignedOff)(row % UNKNOWNS) * length;
    UnsignedOff blocks = length / UNKNOWNS;
    const Idx *columns = a.columns + of_node / (UNKNOWNS * UNKNOWNS);
    const T *values = a.values + begin;
    for (UnsignedOff k = lane; k < blocks; k += lanes) {
        __align__(16) T own[OWN_ROWS][UNKNOWNS];
        __align__(16) T own_x[UNKNOWNS];
        Idx column = columns[k];
#pragma unroll
        for (int r = 0; r < OWN_ROWS; r++)
            load_run(load_word, own[r], values + r * length + k * UNKNOWNS);
        load_x(own_x, a, column);
#pragma unroll
        for (int r = 0; r < OWN_ROWS; r++)
#pragma unroll
            for (int e = 0; e < UNKNOWNS; e++)
                sums[r] += mul(entry_of(own[r][e]), to_acc(own_x[e]));
    }
}

// A warp takes WARP / lanes groups of OWN_ROWS rows, and strides over the grid.
template <typename Load>
static __device__ void multiply(Load load_word, long long rows, int lanes, const Product &a, ACC alpha, ACC beta, T *y)
{
    long long groups = rows / OWN_ROWS;
    int lane = lane_index() & (lanes - 1);
    int of_warp = WARP / lanes;
    int own = lane_index() / lanes;
    for (long long first = warp_index() * of_warp; first < groups; first += warp_count() * of_warp) {
        bool has_rows = first + own < groups;
        long long row = (first + own) * OWN_ROWS;
        ACC sums[OWN_ROWS];
#pragma unroll
        for (int r = 0; r < OWN_ROWS; r++)
            sums[r] = ACC(0);
        if (has_rows)
            add_rows(sums, load_word, row, lane, lanes, a);
        // The lanes of all rows are added at once, so that the exchanges of one do not wait for those of another.
        for (int mask = lanes / 2; mask > 0; mask /= 2)
#pragma unroll
            for (int r = 0; r < OWN_ROWS; r++)
                sums[r] += shuffle_xor(sums[r], mask);
#pragma unroll
        for (int r = 0; r < OWN_ROWS; r++)
            if (has_rows && lane == (r & (lanes - 1)))
                update(y, row + r, mul(alpha, sums[r]), beta);
    }
}

// `columns` are the first ones of the blocks, node by node; `lanes` is a power of two up to WARP.
KERNEL csr_spmv_node_blocks(long long rows, long long lanes, const Off *__restrict__ offsets,
                            const Idx *__restrict__ columns, const T *__restrict__ values, ACC alpha,
                            const T *__restrict__ x, long long x_start, ACC beta, T *__restrict__ y, long long y_start)
{
    Product a = {offsets, columns, values, x + x_start, (size_t)(x + x_start) % WORD_BYTES == 0};
    multiply(LoadPlainly(), rows, (int)lanes, a, alpha, beta, y + y_start);
}

// The same for a matrix of about the second cache to twice of it (evict_first.cuh).
KERNEL csr_spmv_node_blocks_evict_first(long long rows, long long lanes, const Off *__restrict__ offsets,
                                        const Idx *__restrict__ columns, const T *__restrict__ values, ACC alpha,
                                        const T *__restrict__ x, long long x_start, ACC beta, T *__restrict__ y,
                                        long long y_start)
{
    Product a = {offsets, columns, values, x + x_start, (size_t)(x + x_start) % WORD_BYTES == 0};
    multiply(LoadToEvictFirst(), rows, (int)lanes, a, alpha, beta, y + y_start);
}
