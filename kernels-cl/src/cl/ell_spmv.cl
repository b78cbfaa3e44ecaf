// ell_spmv: y <- alpha A x + beta y for ELL: element k of row i is at k * rows + i; column -1 is padding and ends the
// row.
// One work-item per row, striding over the grid, or several; reads columns and values up to each row's padding once,
// gathers x, writes y once.
// Macros: SCALAR, IDX (type of columns; OFF is the same), MAX_LANES = 1024 (the largest work-group), EACH = 4 (elements
// of a row that a work-item has on their way at once).   Launch: any number of work-groups of any size;
// ell_spmv_row_per_vector any number of work-groups of a multiple of 32, up to MAX_LANES.
#include "scalar.clh"
#include "index.clh"
#define WARP 32
#ifndef MAX_LANES
#define MAX_LANES 1024
#endif
#ifndef EACH
#define EACH 4
#endif

// sum + the elements first, first + step, ... of a row.
static ACC row_sum(ACC sum, long row, long rows, long first, long step, long width, __global const IDX *col_idx,
                   __global const T *values, __global const T *x, long x_start)
{
    for (long k = first; k < width; k += EACH * step) {
        long at = k * rows + row;
        IDX cols[EACH];
        ACC products[EACH];
        for (int each = 0; each < EACH; each++)
            cols[each] = k + each * step < width ? col_idx[at + each * step * rows] : -1;
        for (int each = 0; each < EACH; each++)
            if (cols[each] >= 0)
                products[each] = mul(load(values, at + each * step * rows), load(x, x_start + cols[each]));
        for (int each = 0; each < EACH; each++)
            if (cols[each] >= 0)
                sum += products[each];
        if (cols[EACH - 1] < 0)
            break;
    }
    return sum;
}

// `sums` are those of another part of A, or a null pointer: HYB has them of its overflow.
__kernel void ell_spmv_row_per_thread(long rows, long width, __global const IDX *col_idx, __global const T *values,
                                      ACC alpha, __global const T *x, long x_start, ACC beta, __global T *y,
                                      long y_start, __global const ACC *sums)
{
    for (long row = get_global_id(0); row < rows; row += get_global_size(0)) {
        ACC sum = row_sum(sums ? sums[row] : (ACC)(0), row, rows, 0, 1, width, col_idx, values, x, x_start);
        update(y, y_start + row, mul(alpha, sum), beta);
    }
}

// sums <- A x, unrounded: the ELL part of HYB, while the host has the other.
__kernel void ell_spmv_sums(long rows, long width, __global const IDX *col_idx, __global const T *values,
                            __global const T *x, long x_start, __global ACC *sums)
{
    for (long row = get_global_id(0); row < rows; row += get_global_size(0))
        sums[row] = row_sum((ACC)(0), row, rows, 0, 1, width, col_idx, values, x, x_start);
}

// y <- alpha (sums + more) + beta y.
__kernel void ell_spmv_add(long rows, ACC alpha, __global const ACC *sums, __global const ACC *more, ACC beta,
                           __global T *y, long y_start)
{
    for (long row = get_global_id(0); row < rows; row += get_global_size(0))
        update(y, y_start + row, mul(alpha, sums[row] + more[row]), beta);
}

// y as ell_spmv_row_per_thread writes it. A work-group takes 32 rows: work-item l of its
// part p of 32 sums the elements p, p + parts, ... of row l; the sums of the parts are added in order.
__kernel void ell_spmv_row_per_vector(long rows, long width, __global const IDX *col_idx, __global const T *values,
                                      ACC alpha, __global const T *x, long x_start, ACC beta, __global T *y,
                                      long y_start, __global const ACC *sums)
{
    __local ACC of_parts[MAX_LANES];
    int lid = (int)get_local_id(0);
    int parts = (int)get_local_size(0) / WARP;
    for (long first = get_group_id(0) * WARP; first < rows; first += get_num_groups(0) * WARP) {
        long row = first + lid % WARP;
        ACC sum = (ACC)(0);
        if (row < rows)
            sum = row_sum(sum, row, rows, lid / WARP, parts, width, col_idx, values, x, x_start);
        of_parts[lid] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid < WARP && row < rows) {
            for (int part = 1; part < parts; part++)
                sum += of_parts[part * WARP + lid];
            if (sums)
                sum += sums[row];
            update(y, y_start + row, mul(alpha, sum), beta);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
