// spgemm_node_blocks_sum: the values of C = A B for plans of many runs, where all entries of A, B and C are in square
// blocks of UNKNOWNS rows, those of the unknowns of two nodes (node_blocks.cu). A block of C is a sum of products of a
// block of A and one of B, which spgemm_node_blocks.cu lists in the order of A's entries. A thread has a block of C, or
// a row of it where a block is too large for its registers.
// Reads 8 bytes for each product of two blocks and 20 for each block of C; A and B by runs of UNKNOWNS, in words.
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

// sums += the rows of a block of A times one of B. Rows of A are `a_stride` apart.
static __device__ void add_product(ACC (&sums)[OWN_ROWS][UNKNOWNS], const T *a_rows, unsigned int a_stride,
                                   const T *b_rows, unsigned int b_stride)
{
    __align__(16) T a[OWN_ROWS][UNKNOWNS];
    __align__(16) T b[UNKNOWNS][UNKNOWNS];
#pragma unroll
    for (int r = 0; r < OWN_ROWS; r++)
        load_run(LoadPlainly(), a[r], a_rows + (long long)r * a_stride);
#pragma unroll
    for (int k = 0; k < UNKNOWNS; k++)
        load_run(LoadPlainly(), b[k], b_rows + (long long)k * b_stride);
#pragma unroll
    for (int k = 0; k < UNKNOWNS; k++)
#pragma unroll
        for (int r = 0; r < OWN_ROWS; r++)
#pragma unroll
            for (int column = 0; column < UNKNOWNS; column++)
                sums[r][column] += mul(to_acc(a[r][k]), to_acc(b[k][column]));
}

KERNEL spgemm_node_blocks_sum(long long blocks, const int *__restrict__ starts, const Head *__restrict__ heads,
                              const Pair *__restrict__ pairs, const T *__restrict__ a_values,
                              const T *__restrict__ b_values, T *__restrict__ c_values)
{
    const int parts = UNKNOWNS / OWN_ROWS;
    for (long long part = thread_index(); part < blocks * parts; part += thread_count()) {
        long long block = part / parts;
        int first = (int)(part % parts) * OWN_ROWS;
        Head head = heads[block];
        const T *a_rows = a_values + head.a_begin + (long long)first * head.a_stride;
        ACC sums[OWN_ROWS][UNKNOWNS];
#pragma unroll
        for (int r = 0; r < OWN_ROWS; r++)
#pragma unroll
            for (int column = 0; column < UNKNOWNS; column++)
                sums[r][column] = ACC(0);
        int end = starts[block + 1];
#pragma unroll 1
        for (int at = starts[block]; at < end; at++) {
            Pair pair = pairs[at];
            add_product(sums, a_rows + pair.a_offset, head.a_stride, b_values + pair.b_begin, pair.b_stride);
        }
        T *c_rows = c_values + head.c_begin + (long long)first * head.c_stride;
#pragma unroll
        for (int r = 0; r < OWN_ROWS; r++)
#pragma unroll
            for (int column = 0; column < UNKNOWNS; column++)
                store(c_rows, (long long)r * head.c_stride + column, sums[r][column]);
    }
}
