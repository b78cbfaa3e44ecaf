// ell_spmv: y <- alpha A x + beta y for ELL: element k of row i is at k * rows + i; column -1 is padding and ends the
// row.
// One thread per row, striding over the grid; reads columns and values up to each row's padding once, gathers x, writes
// y once.
// Macros: SCALAR, IDX (type of columns; OFF is the same).   Launch: any number of blocks of up to 256 threads.
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"

static __device__ ACC row_sum(ACC sum, long long row, long long rows, long long width, const Idx *col_idx,
                              const T *values, const T *x, long long x_start)
{
    for (long long k = 0; k < width; k++) {
        long long at = k * rows + row;
        Idx col = col_idx[at];
        if (col < 0)
            break;
        sum += mul(load(values, at), load(x, x_start + col));
    }
    return sum;
}

KERNEL ell_spmv_row_per_thread(long long rows, long long width, const Idx *__restrict__ col_idx,
                               const T *__restrict__ values, ACC alpha, const T *__restrict__ x, long long x_start,
                               ACC beta, T *__restrict__ y, long long y_start)
{
    for (long long row = thread_index(); row < rows; row += thread_count()) {
        ACC sum = row_sum(ACC(0), row, rows, width, col_idx, values, x, x_start);
        update(y, y_start + row, mul(alpha, sum), beta);
    }
}

// sums <- A x, unrounded: the ELL part of HYB, while the host has the other.
KERNEL ell_spmv_sums(long long rows, long long width, const Idx *__restrict__ col_idx, const T *__restrict__ values,
                     const T *__restrict__ x, long long x_start, ACC *__restrict__ sums)
{
    for (long long row = thread_index(); row < rows; row += thread_count())
        sums[row] = row_sum(ACC(0), row, rows, width, col_idx, values, x, x_start);
}

// y <- alpha (sums + more) + beta y.
KERNEL ell_spmv_add(long long rows, ACC alpha, const ACC *__restrict__ sums, const ACC *__restrict__ more, ACC beta,
                    T *__restrict__ y, long long y_start)
{
    for (long long row = thread_index(); row < rows; row += thread_count())
        update(y, y_start + row, mul(alpha, sums[row] + more[row]), beta);
}

// y as above, with the sums of another part of A: the ELL part of HYB, after the other.
KERNEL ell_spmv_with_sums(long long rows, long long width, const Idx *__restrict__ col_idx,
                          const T *__restrict__ values, ACC alpha, const T *__restrict__ x, long long x_start, ACC beta,
                          T *__restrict__ y, long long y_start, const ACC *__restrict__ sums)
{
    for (long long row = thread_index(); row < rows; row += thread_count()) {
        ACC sum = row_sum(sums[row], row, rows, width, col_idx, values, x, x_start);
        update(y, y_start + row, mul(alpha, sum), beta);
    }
}
