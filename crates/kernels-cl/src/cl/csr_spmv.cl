// y <- alpha A x + beta y for compressed rows: the entries of row i stand at offsets[i] .. offsets[i + 1].
// Takes SCALAR, IDX and OFF (the types of indices and offsets) and CONJ: 1 conjugates the entries of A.
#include "scalar.clh"
#include "index.clh"
#include "entry.clh"
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

// A work-group of `lanes` lanes takes a row: lane l sums the entries l, l + lanes, ...; a fixed tree adds the lanes.
static void row_per_group(int lanes, __local ACC *sums, long rows, __global const OFF *offsets,
                          __global const IDX *indices, __global const T *values, ACC alpha, __global const T *x,
                          long x_start, ACC beta, __global T *y, long y_start)
{
    int lid = (int)get_local_id(0);
    for (long row = get_group_id(0); row < rows; row += get_num_groups(0)) {
        ACC sum = (ACC)(0);
        long end = offsets[row + 1];
        for (long k = offsets[row] + lid; k < end; k += lanes)
            sum += mul(entry(values, k), load(x, x_start + indices[k]));
        sums[lid] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int left = lanes / 2; left > 0; left /= 2) {
            if (lid < left)
                sums[lid] += sums[lid + left];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (lid == 0)
            update(y, y_start + row, mul(alpha, sums[0]), beta);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

// A work-group of 32 takes a row.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void csr_spmv_row_per_warp(long rows, __global const OFF *offsets, __global const IDX *indices,
                           __global const T *values, ACC alpha, __global const T *x, long x_start,
                           ACC beta, __global T *y, long y_start)
{
    __local ACC sums[LANES];
    row_per_group(LANES, sums, rows, offsets, indices, values, alpha, x, x_start, beta, y, y_start);
}

// A work-group of 64 takes a row.
__kernel __attribute__((reqd_work_group_size(2 * LANES, 1, 1)))
void csr_spmv_row_per_block(long rows, __global const OFF *offsets, __global const IDX *indices,
                            __global const T *values, ACC alpha, __global const T *x, long x_start,
                            ACC beta, __global T *y, long y_start)
{
    __local ACC sums[2 * LANES];
    row_per_group(2 * LANES, sums, rows, offsets, indices, values, alpha, x, x_start, beta, y, y_start);
}
