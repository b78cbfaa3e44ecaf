// spgemm_node_blocks_sum: the values of C = A B for plans of many runs, where all entries of A, B and C are in blocks,
// those of the unknowns of two nodes. A block of C is a sum of products of a block of A and one of B, which
// spgemm_node_blocks.cu lists in the order of A's entries. A thread has a block of C, or a row of it where a block is
// too large for its registers.
// sum: blocks are squares of UNKNOWNS rows (node_blocks.cu). sum_sized: they have up to as many rows and columns.
// Reads 8 bytes for each product of two blocks and 20 for each block of C; A and B by runs of UNKNOWNS, in words, or by
// elements where blocks differ in size.
// Macros: SCALAR, UNKNOWNS (1 to 6), LARGEST = 288 (bytes of the largest block of sums that a thread has).   Launch:
// any number of blocks of up to 256 threads.
#include "grid.cuh"
#include "scalar.cuh"
#include "load_plainly.cuh"
#include "evict_first.cuh"
#include "node_runs.cuh"
#include "block_pairs.cuh"
#ifndef LARGEST
#define LARGEST 288
#endif
// Rows of a thread.
#define OWN_ROWS (UNKNOWNS * UNKNOWNS * (int)sizeof(ACC) <= LARGEST ? UNKNOWNS : 1)

// sums += a b.
static __device__ void add_product(ACC (&sums)[OWN_ROWS][UNKNOWNS], const T (&a)[OWN_ROWS][UNKNOWNS],
                                   const T (&b)[UNKNOWNS][UNKNOWNS])
{
#pragma unroll
    for (int k = 0; k < UNKNOWNS; k++)
#pragma unroll
        for (int r = 0; r < OWN_ROWS; r++)
#pragma unroll
            for (int column = 0; column < UNKNOWNS; column++)
                sums[r][column] += mul(to_acc(a[r][k]), to_acc(b[k][column]));
}

// Loads `ROWS` rows of a square block, `stride` apart.
template <int ROWS>
static __device__ void load_square(T (&block)[ROWS][UNKNOWNS], const T *rows, unsigned int stride)
{
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        load_run(LoadPlainly(), block[r], rows + (long long)r * stride);
}

// Loads the `count` rows and `columns` of a block, `stride` apart, with zeros behind them.
template <int ROWS>
static __device__ void load_sized(T (&block)[ROWS][UNKNOWNS], const T *rows, unsigned int stride, int count,
                                  int columns)
{
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int column = 0; column < UNKNOWNS; column++)
            block[r][column] = r < count && column < columns ? rows[(long long)r * stride + column] : T(0);
}

// The rows from `first` on, up to OWN_ROWS, of a block of C whose pairs are those from `at` up to `end`.
template <bool IS_SIZED>
static __device__ void sum_rows(Head head, int first, int at, int end, const Pair *__restrict__ pairs,
                                const T *__restrict__ a_values, const T *__restrict__ b_values, T *__restrict__ c_values)
{
    unsigned int a_stride = IS_SIZED ? head.a_stride & ((1u << LENGTH_BITS) - 1) : head.a_stride;
    int rows = IS_SIZED ? (int)(head.a_stride >> ROWS_BIT & 7) - first : OWN_ROWS;
    int columns = IS_SIZED ? (int)(head.a_stride >> COLUMNS_BIT) : UNKNOWNS;
    const T *a_rows = a_values + head.a_begin + (long long)first * a_stride;
    ACC sums[OWN_ROWS][UNKNOWNS];
#pragma unroll
    for (int r = 0; r < OWN_ROWS; r++)
#pragma unroll
        for (int column = 0; column < UNKNOWNS; column++)
            sums[r][column] = ACC(0);
#pragma unroll 1
    for (; at < end; at++) {
        Pair pair = pairs[at];
        __align__(16) T a[OWN_ROWS][UNKNOWNS];
        __align__(16) T b[UNKNOWNS][UNKNOWNS];
        if (IS_SIZED) {
            unsigned int b_stride = pair.b_stride & ((1u << LENGTH_BITS) - 1);
            int inner = pair.b_stride >> LENGTH_BITS;
            load_sized(a, a_rows + pair.a_offset, a_stride, rows, inner);
            load_sized(b, b_values + pair.b_begin, b_stride, inner, columns);
        } else {
            load_square(a, a_rows + pair.a_offset, a_stride);
            load_square(b, b_values + pair.b_begin, pair.b_stride);
        }
        add_product(sums, a, b);
    }
    T *c_rows = c_values + head.c_begin + (long long)first * head.c_stride;
#pragma unroll
    for (int r = 0; r < OWN_ROWS; r++)
#pragma unroll
        for (int column = 0; column < UNKNOWNS; column++)
            if (!IS_SIZED || (r < rows && column < columns))
                store(c_rows, (long long)r * head.c_stride + column, sums[r][column]);
}

// The values of all blocks of C.
template <bool IS_SIZED>
static __device__ void sum_blocks(long long blocks, const int *__restrict__ starts, const Head *__restrict__ heads,
                                  const Pair *__restrict__ pairs, const T *__restrict__ a_values,
                                  const T *__restrict__ b_values, T *__restrict__ c_values)
{
    const int parts = UNKNOWNS / OWN_ROWS;
    for (long long part = thread_index(); part < blocks * parts; part += thread_count()) {
        long long block = part / parts;
        int first = (int)(part % parts) * OWN_ROWS;
        sum_rows<IS_SIZED>(heads[block], first, starts[block], starts[block + 1], pairs, a_values, b_values, c_values);
    }
}

KERNEL spgemm_node_blocks_sum(long long blocks, const int *__restrict__ starts, const Head *__restrict__ heads,
                              const Pair *__restrict__ pairs, const T *__restrict__ a_values,
                              const T *__restrict__ b_values, T *__restrict__ c_values)
{
    sum_blocks<false>(blocks, starts, heads, pairs, a_values, b_values, c_values);
}

KERNEL spgemm_node_blocks_sum_sized(long long blocks, const int *__restrict__ starts, const Head *__restrict__ heads,
                                    const Pair *__restrict__ pairs, const T *__restrict__ a_values,
                                    const T *__restrict__ b_values, T *__restrict__ c_values)
{
    sum_blocks<true>(blocks, starts, heads, pairs, a_values, b_values, c_values);
}
