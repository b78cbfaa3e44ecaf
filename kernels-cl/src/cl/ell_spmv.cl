// ell_spmv: y <- alpha A x + beta y for ELL: element k of row i is at k * rows + i; column -1 is padding and ends the
// row.
// One work-item per row, striding over the grid; reads columns and values up to each row's padding once, gathers x,
// writes y once.
// Macros: SCALAR, IDX (type of columns; OFF is the same).   Launch: any number of work-groups of any size.
#include "scalar.clh"
#include "index.clh"

static ACC row_sum(ACC sum, long row, long rows, long width, __global const IDX *col_idx, __global const T *values,
                   __global const T *x, long x_start)
{
    for (long k = 0; k < width; k++) {
        long at = k * rows + row;
        IDX col = col_idx[at];
        if (col < 0)
            break;
        sum += mul(load(values, at), load(x, x_start + col));
    }
    return sum;
}

__kernel void ell_spmv_row_per_thread(long rows, long width, __global const IDX *col_idx, __global const T *values,
                                      ACC alpha, __global const T *x, long x_start, ACC beta, __global T *y,
                                      long y_start)
{
    for (long row = get_global_id(0); row < rows; row += get_global_size(0)) {
        ACC sum = row_sum((ACC)(0), row, rows, width, col_idx, values, x, x_start);
        update(y, y_start + row, mul(alpha, sum), beta);
    }
}

// sums <- A x, unrounded: the ELL part of HYB, while the host has the other.
__kernel void ell_spmv_sums(long rows, long width, __global const IDX *col_idx, __global const T *values,
                            __global const T *x, long x_start, __global ACC *sums)
{
    for (long row = get_global_id(0); row < rows; row += get_global_size(0))
        sums[row] = row_sum((ACC)(0), row, rows, width, col_idx, values, x, x_start);
}

// y <- alpha (sums + more) + beta y.
__kernel void ell_spmv_add(long rows, ACC alpha, __global const ACC *sums, __global const ACC *more, ACC beta,
                           __global T *y, long y_start)
{
    for (long row = get_global_id(0); row < rows; row += get_global_size(0))
        update(y, y_start + row, mul(alpha, sums[row] + more[row]), beta);
}

// y as above, with the sums of another part of A: the ELL part of HYB, after the other.
__kernel void ell_spmv_with_sums(long rows, long width, __global const IDX *col_idx, __global const T *values,
                                 ACC alpha, __global const T *x, long x_start, ACC beta, __global T *y, long y_start,
                                 __global const ACC *sums)
{
    for (long row = get_global_id(0); row < rows; row += get_global_size(0)) {
        ACC sum = row_sum(sums[row], row, rows, width, col_idx, values, x, x_start);
        update(y, y_start + row, mul(alpha, sum), beta);
    }
}
