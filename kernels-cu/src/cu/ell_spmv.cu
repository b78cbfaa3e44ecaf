// ell_spmv: y <- alpha A x + beta y for ELL: element k of row i is at k * rows + i; column -1 is padding and ends the
// row.
// One thread per row, striding over the grid, or several, each in a warp of its own; reads columns and values up to each
// row's padding once, gathers x, writes y once.
// Macros: SCALAR, IDX (type of columns; OFF is the same), MAX_THREADS = 1024 (the largest block), EACH = 4 (elements of
// a row that a thread has on their way at once).   Launch: any number of blocks of up to 256 threads;
// ell_spmv_row_per_vector any number of blocks of whole warps, up to MAX_THREADS threads.
#ifndef MAX_THREADS
#define MAX_THREADS 1024
#endif
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#ifndef EACH
#define EACH 4
#endif

// sum + the elements first, first + step, ... of a row.
static __device__ ACC row_sum(ACC sum, long long row, long long rows, long long first, long long step, long long width,
                              const Idx *col_idx, const T *values, const T *x, long long x_start)
{
    for (long long k = first; k < width; k += EACH * step) {
        long long at = k * rows + row;
        Idx cols[EACH];
        ACC products[EACH];
#pragma unroll
        for (int each = 0; each < EACH; each++)
            cols[each] = k + each * step < width ? col_idx[at + each * step * rows] : -1;
#pragma unroll
        for (int each = 0; each < EACH; each++)
            if (cols[each] >= 0)
                products[each] = mul(load(values, at + each * step * rows), load(x, x_start + cols[each]));
#pragma unroll
        for (int each = 0; each < EACH; each++)
            if (cols[each] >= 0)
                sum += products[each];
        if (cols[EACH - 1] < 0)
            break;
    }
    return sum;
}

// `sums` are those of another part of A, or a null pointer: HYB has them of its overflow.
KERNEL ell_spmv_row_per_thread(long long rows, long long width, const Idx *__restrict__ col_idx,
                               const T *__restrict__ values, ACC alpha, const T *__restrict__ x, long long x_start,
                               ACC beta, T *__restrict__ y, long long y_start, const ACC *__restrict__ sums)
{
    for (long long row = thread_index(); row < rows; row += thread_count()) {
        ACC sum = row_sum(sums ? sums[row] : ACC(0), row, rows, 0, 1, width, col_idx, values, x, x_start);
        update(y, y_start + row, mul(alpha, sum), beta);
    }
}

// sums <- A x, unrounded: the ELL part of HYB, while the host has the other.
KERNEL ell_spmv_sums(long long rows, long long width, const Idx *__restrict__ col_idx, const T *__restrict__ values,
                     const T *__restrict__ x, long long x_start, ACC *__restrict__ sums)
{
    for (long long row = thread_index(); row < rows; row += thread_count())
        sums[row] = row_sum(ACC(0), row, rows, 0, 1, width, col_idx, values, x, x_start);
}

// y <- alpha (sums + more) + beta y.
KERNEL ell_spmv_add(long long rows, ACC alpha, const ACC *__restrict__ sums, const ACC *__restrict__ more, ACC beta,
                    T *__restrict__ y, long long y_start)
{
    for (long long row = thread_index(); row < rows; row += thread_count())
        update(y, y_start + row, mul(alpha, sums[row] + more[row]), beta);
}

// y as ell_spmv_row_per_thread writes it. A block takes 32 rows: lane l of warp w sums the
// elements w, w + warps, ... of row l; the sums of the warps are added in order.
KERNEL ell_spmv_row_per_vector(long long rows, long long width, const Idx *__restrict__ col_idx,
                               const T *__restrict__ values, ACC alpha, const T *__restrict__ x, long long x_start,
                               ACC beta, T *__restrict__ y, long long y_start, const ACC *__restrict__ sums)
{
    __shared__ ACC of_warps[MAX_THREADS];
    int warps = blockDim.x / WARP;
    for (long long first = (long long)blockIdx.x * WARP; first < rows; first += (long long)gridDim.x * WARP) {
        long long row = first + lane_index();
        ACC sum = ACC(0);
        if (row < rows)
            sum = row_sum(sum, row, rows, threadIdx.x / WARP, warps, width, col_idx, values, x, x_start);
        of_warps[threadIdx.x] = sum;
        __syncthreads();
        if (threadIdx.x < WARP && row < rows) {
            for (int warp = 1; warp < warps; warp++)
                sum += of_warps[warp * WARP + threadIdx.x];
            if (sums)
                sum += sums[row];
            update(y, y_start + row, mul(alpha, sum), beta);
        }
        __syncthreads();
    }
}
