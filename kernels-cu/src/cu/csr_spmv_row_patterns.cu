// csr_spmv_row_patterns: y <- alpha A x + beta y for compressed rows of few patterns (row_patterns.cu finds them): the
// columns of a row are those of its pattern, counted from the number of the row.
// LANES lanes per row, 32 / LANES rows per warp, striding over the grid; a fixed tree adds the lanes. Reads values,
// offsets and a byte per row once, patterns from the first cache, gathers x, which waits for no column from memory,
// writes y once. Where lanes read several entries at once, offset and pattern of the next row are loaded before this
// one is summed.
// Macros: SCALAR, IDX (type of patterns), OFF, CONJ (1 conjugates A), LANES (1, 2, 4, 8, 16, 32).   Launch: any number
// of blocks of whole warps, up to 256 threads.
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "entry.cuh"
#include "warp_scalar.cuh"
#include "load_plainly.cuh"
#include "evict_first.cuh"
#include "neighbours.cuh"
#ifndef LANES
#error "LANES is missing: 1, 2, 4, 8, 16 or 32"
#endif

// Neighbouring entries that a lane reads at once. A thread that has a row takes one, and so do lanes with 2 bytes a
// value.
static const int EACH = LANES == 1 || HALF ? 1 : sizeof(T) == 4 || (sizeof(T) == 8 && LANES > 2) ? 4 : 2;

// The rows, the entries of all, and their patterns with `longest` columns each.
struct Product
{
    long long rows;
    int longest;
    const Off *offsets;
    const unsigned char *pattern_of;
    const Idx *patterns;
    const T *values;
    const T *x;
    UnsignedOff nnz;
};

// The entries of a row, and its pattern. Empty behind the last row.
struct Row
{
    UnsignedOff begin;
    UnsignedOff end;
    int pattern;
};

static __device__ Row row_at(const Product &a, long long row)
{
    Row own = {0, 0, 0};
    if (row < a.rows) {
        own.begin = a.offsets[row];
        own.end = a.offsets[row + 1];
        own.pattern = a.pattern_of[row];
    }
    return own;
}

// A lane's part of the sum of a row's entries; `x` begins at the number of the row.
template <typename Load>
static __device__ ACC sum_of_lane(Load load_word, const Product &a, Row row, const T *x)
{
    ACC sum = ACC(0);
    int lane = lane_index() % LANES;
    const Idx *columns = a.patterns + row.pattern * a.longest;
    if (EACH == 1) {
#pragma unroll 4
        for (UnsignedOff k = row.begin + lane; k < row.end; k += LANES)
            sum += mul(entry_of(load_word(a.values + k)), load(x, columns[k - row.begin]));
        return sum;
    }
    for (UnsignedOff at = row.begin / EACH * EACH + lane * EACH; at < row.end; at += LANES * EACH) {
        __align__(16) T own[EACH];
        T own_x[EACH];
        load_neighbours_by<EACH>(load_word, own, a.values, at, a.nnz);
#pragma unroll
        for (int k = 0; k < EACH; k++)
            if (at + k >= row.begin && at + k < row.end)
                own_x[k] = x[columns[(int)(at + k - row.begin)]];
#pragma unroll
        for (int k = 0; k < EACH; k++)
            if (at + k >= row.begin && at + k < row.end)
                sum += mul(entry_of(own[k]), to_acc(own_x[k]));
    }
    return sum;
}

// A warp takes WARP / LANES rows, and strides over the grid.
template <typename Load>
static __device__ void multiply(Load load_word, const Product &a, ACC alpha, ACC beta, T *y)
{
    const int of_warp = WARP / LANES;
    long long row = warp_index() * of_warp + lane_index() / LANES;
    Row own = row_at(a, row);
    for (long long first = warp_index() * of_warp; first < a.rows; first += warp_count() * of_warp) {
        long long then = row + warp_count() * of_warp;
        Row next = EACH > 1 ? row_at(a, then) : own;
        ACC sum = sum_lanes(sum_of_lane(load_word, a, own, a.x + row), LANES);
        if (row < a.rows && lane_index() % LANES == 0)
            update(y, row, mul(alpha, sum), beta);
        row = then;
        own = EACH > 1 ? next : row_at(a, row);
    }
}

KERNEL csr_spmv_row_patterns(long long rows, long long longest, const Off *__restrict__ offsets,
                             const unsigned char *__restrict__ pattern_of, const Idx *__restrict__ patterns,
                             const T *__restrict__ values, ACC alpha, const T *__restrict__ x, long long x_start,
                             ACC beta, T *__restrict__ y, long long y_start)
{
    Product a = {rows, (int)longest, offsets, pattern_of, patterns, values, x + x_start, (UnsignedOff)offsets[rows]};
    multiply(LoadPlainly(), a, alpha, beta, y + y_start);
}

// The same for a matrix of about the second cache to four times of it (evict_first.cuh).
KERNEL csr_spmv_row_patterns_evict_first(long long rows, long long longest,
                                         const Off *__restrict__ offsets, const unsigned char *__restrict__ pattern_of,
                                         const Idx *__restrict__ patterns, const T *__restrict__ values, ACC alpha,
                                         const T *__restrict__ x, long long x_start, ACC beta, T *__restrict__ y,
                                         long long y_start)
{
    Product a = {rows, (int)longest, offsets, pattern_of, patterns, values, x + x_start, (UnsignedOff)offsets[rows]};
    multiply(LoadToEvictFirst(), a, alpha, beta, y + y_start);
}
