// csr_spmv_node_blocks: y <- alpha A x + beta y for compressed rows whose entries are in square blocks, those that
// node_blocks.cl finds: UNKNOWNS rows of a node have the same columns, which come in runs of UNKNOWNS.
// A power of two of lanes per node, or per row where a block is too large for the registers of a lane; a lane takes a
// block, or its row of it, a step. A fixed tree adds the lanes.
// Reads values and offsets once, a column once for each block, gathers x by runs, in words, writes y once.
// Macros: SCALAR, IDX, OFF, CONJ (1 conjugates A), UNKNOWNS (1 to 6), LARGE = 144 (bytes of the largest block that a
// lane takes whole), NV_ARCH = 0 (lanes.clh).   Launch: any number of work-groups of 32, or with shuffles of 256.
#include "scalar.clh"
#include "index.clh"
#include "entry.clh"
#include "lanes.clh"
#include "words.clh"
#ifndef UNKNOWNS
#error "UNKNOWNS is missing: 1 to 6"
#endif
#ifndef LARGE
#define LARGE 144
#endif
// Rows of a lane.
#define OWN_ROWS (UNKNOWNS * UNKNOWNS * (int)sizeof(T) <= LARGE ? UNKNOWNS : 1)

// A run of x or of values.
typedef struct
{
    T each[UNKNOWNS];
} Run;

// A run, which begins with a word.
static Run load_run(__global const T *from, int evicts, ulong policy)
{
    Run run;
    load_elements(run.each, from, UNKNOWNS, evicts, policy);
    return run;
}

// The matrix, x, and whether runs of x are whole words.
typedef struct
{
    __global const OFF *offsets;
    __global const IDX *columns;
    __global const T *values;
    __global const T *x;
    int has_words;
    int evicts;
    ulong policy;
} Product;

// The elements of x of a block.
static Run load_x(const Product *a, IDX column)
{
    Run run;
    if (a->has_words) {
        run = load_run(a->x + column, 0, 0);
    } else {
#pragma unroll
        for (int k = 0; k < UNKNOWNS; k++)
            run.each[k] = a->x[(long)column + k];
    }
    return run;
}

// sums[r] += this lane's part of the sum of row `row` + r, one of `lanes` parts. All these rows have the same columns.
static void add_rows(ACC *sums, long row, int lane, int lanes, const Product *a)
{
    UOFF begin = a->offsets[row];
    UOFF length = a->offsets[row + 1] - begin;
    UOFF of_node = begin - (UOFF)(row % UNKNOWNS) * length;
    UOFF blocks = length / UNKNOWNS;
    __global const IDX *columns = a->columns + of_node / (UNKNOWNS * UNKNOWNS);
    __global const T *values = a->values + begin;
    for (UOFF k = lane; k < blocks; k += lanes) {
        Run own[OWN_ROWS];
        IDX column = columns[k];
#pragma unroll
        for (int r = 0; r < OWN_ROWS; r++)
            own[r] = load_run(values + r * length + k * UNKNOWNS, a->evicts, a->policy);
        Run own_x = load_x(a, column);
#pragma unroll
        for (int r = 0; r < OWN_ROWS; r++)
#pragma unroll
            for (int e = 0; e < UNKNOWNS; e++)
                sums[r] += mul(entry_of(own[r].each[e]), to_acc(own_x.each[e]));
    }
}

// A warp takes WARP / lanes groups of OWN_ROWS rows, and strides over the grid.
static void multiply(int lid, long rows, int lanes, const Product *a, ACC alpha, ACC beta, __global T *y,
                     __local ACC *exchange)
{
    long groups = rows / OWN_ROWS;
    int lane = lid & (lanes - 1);
    int of_warp = WARP / lanes;
    int own = lid % WARP / lanes;
    for (long first = warp_index(lid) * of_warp; first < groups; first += warp_count() * of_warp) {
        int has_rows = first + own < groups;
        long row = (first + own) * OWN_ROWS;
        ACC sums[OWN_ROWS];
#pragma unroll
        for (int r = 0; r < OWN_ROWS; r++)
            sums[r] = (ACC)(0);
        if (has_rows)
            add_rows(sums, row, lane, lanes, a);
        for (int d = lanes / 2; d > 0; d /= 2)
#pragma unroll
            for (int r = 0; r < OWN_ROWS; r++)
                sums[r] += from_lane(lid, sums[r], (lid ^ d) % WARP, exchange);
#pragma unroll
        for (int r = 0; r < OWN_ROWS; r++)
            if (has_rows && lane == (r & (lanes - 1)))
                update(y, row + r, mul(alpha, sums[r]), beta);
    }
}

// True if an address is a multiple of the bytes of a word.
static int begins_a_word(__global const T *x)
{
    return (ulong)x % 16 == 0;
}

// `columns` are the first ones of the blocks, node by node; `lanes` is a power of two up to 32.
__kernel OF_WARPS
void csr_spmv_node_blocks(long rows, long lanes, __global const OFF *offsets, __global const IDX *columns,
                          __global const T *values, ACC alpha, __global const T *x, long x_start, ACC beta,
                          __global T *y, long y_start)
{
    int lid = (int)get_local_id(0);
    __local ACC exchange[WARP];
    Product a = {offsets, columns, values, x + x_start, begins_a_word(x + x_start), 0, 0};
    multiply(lid, rows, (int)lanes, &a, alpha, beta, y + y_start, exchange);
}

// The same for a matrix of about the L2 cache to twice of it (words.clh).
__kernel OF_WARPS
void csr_spmv_node_blocks_evict_first(long rows, long lanes, __global const OFF *offsets, __global const IDX *columns,
                                      __global const T *values, ACC alpha, __global const T *x, long x_start, ACC beta,
                                      __global T *y, long y_start)
{
    int lid = (int)get_local_id(0);
    __local ACC exchange[WARP];
    Product a = {offsets, columns, values, x + x_start, begins_a_word(x + x_start), 1, eviction_policy()};
    multiply(lid, rows, (int)lanes, &a, alpha, beta, y + y_start, exchange);
}
