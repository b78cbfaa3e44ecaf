// y <- alpha A x + beta y for compressed rows, by 64 lanes a row: for long rows, of which the longest keep nobody waiting.
// Takes SCALAR, IDX, OFF and CONJ.
#include "scalar.clh"
#include "index.clh"
#include "entry.clh"
#include "row_per_group.clh"
#define LANES 64

// A work-group of 64 takes a row.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void csr_spmv_row_per_block(long rows, __global const OFF *offsets, __global const IDX *indices,
                            __global const T *values, ACC alpha, __global const T *x, long x_start,
                            ACC beta, __global T *y, long y_start)
{
    __local ACC sums[LANES];
    row_per_group(LANES, sums, rows, offsets, indices, values, alpha, x, x_start, beta, y, y_start);
}
