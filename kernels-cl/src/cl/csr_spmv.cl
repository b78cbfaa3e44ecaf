// csr_spmv: y <- alpha A x + beta y for compressed rows: the entries of row i are at offsets[i] .. offsets[i + 1].
// One work-item or one work-group of 32 per row, striding over the grid; reads values, indices and offsets once,
// gathers x, writes y once.
// Macros: SCALAR, IDX (type of indices), OFF (type of offsets), CONJ (1 conjugates A).   Launch: any number of
// work-groups of any size, of 32 for the warp kernels.
#include "scalar.clh"
#include "index.clh"
#include "entry.clh"
#include "row_per_group.clh"
#define LANES 32

// A work-item takes a row and every get_global_size(0)-th one after it.
__kernel void csr_spmv_row_per_thread(long rows, __global const OFF *offsets, __global const IDX *indices,
                                      __global const T *values, ACC alpha, __global const T *x, long x_start,
                                      ACC beta, __global T *y, long y_start)
{
    for (long row = get_global_id(0); row < rows; row += get_global_size(0)) {
        ACC sum = (ACC)(0);
        long end = offsets[row + 1];
        for (long k = offsets[row]; k < end; k++)
            sum += mul(entry(values, k), load(x, x_start + indices[k]));
        update(y, y_start + row, mul(alpha, sum), beta);
    }
}

// A work-group of 32 takes a row.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void csr_spmv_row_per_warp(long rows, __global const OFF *offsets, __global const IDX *indices,
                           __global const T *values, ACC alpha, __global const T *x, long x_start,
                           ACC beta, __global T *y, long y_start)
{
    __local ACC sums[LANES];
    for (long row = get_group_id(0); row < rows; row += get_num_groups(0))
        row_per_group(LANES, sums, row, offsets[row], offsets[row + 1], indices, values, alpha, x, x_start, beta, y,
                      y_start);
}
