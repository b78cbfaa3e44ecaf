// csr_deltas_vector: y <- alpha A x + beta y for compressed rows that are not short, with columns of 16 bits
// (deltas.clh), as csr_deltas.cl makes them.
// LANES lanes per row, 32 / LANES rows per work-group of 32, striding over the grid; reads values, deltas, bases and
// offsets once, gathers x, writes y once.
// Macros: SCALAR, IDX (type of bases), OFF, CONJ (1 conjugates A), WINDOWS (1, 16), LANES (2, 4, 8, 16, 32).   Launch:
// any number of work-groups of 32.
#include "scalar.clh"
#include "index.clh"
#include "entry.clh"
#ifndef LANES
#error "LANES is missing: 2, 4, 8, 16 or 32"
#endif
#include "deltas.clh"
#define WARP 32
#define ROWS_OF_WARP (WARP / LANES)

// A work-group of 32 lanes takes ROWS_OF_WARP rows: lane l of a row sums its entries l, l + LANES, ...; a fixed tree
// adds the lanes.
__kernel __attribute__((reqd_work_group_size(WARP, 1, 1)))
void csr_deltas_row_per_vector(long rows, __global const OFF *offsets, __global const IDX *bases,
                               __global const ushort *deltas, __global const T *values, ACC alpha,
                               __global const T *x, long x_start, ACC beta, __global T *y, long y_start)
{
    int lid = (int)get_local_id(0);
    __local ACC sums[WARP];
    int lane = lid % LANES;
    for (long first = get_group_id(0) * ROWS_OF_WARP; first < rows; first += get_num_groups(0) * ROWS_OF_WARP) {
        long row = first + lid / LANES;
        ACC sum = (ACC)(0);
        if (row < rows) {
            __global const IDX *windows = bases + row / ROWS * WINDOWS;
            long end = offsets[row + 1];
            for (long k = offsets[row] + lane; k < end; k += LANES)
                sum += mul(entry(values, k), load(x, x_start + column_of(deltas[k], windows)));
        }
        sums[lid] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int lanes = LANES / 2; lanes > 0; lanes /= 2) {
            if (lane < lanes)
                sums[lid] += sums[lid + lanes];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (row < rows && lane == 0)
            update(y, y_start + row, mul(alpha, sums[lid]), beta);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
