// sell_spmv: y <- alpha A x + beta y for SELL-C-sigma: slice s has the rows row_order[s*C .. (s + 1)*C], element k of
// its lane l is at slice_ptr[s] + k*C + l; column -1 is padding and ends the row.
// One work-item per row, striding over the grid; reads columns and values up to each row's padding once, gathers x,
// writes y once.
// Macros: SCALAR, IDX, OFF (types of columns and of slice offsets).   Launch: any number of work-groups of any size.
#include "scalar.clh"
#include "index.clh"

__kernel void sell_spmv_row_per_thread(long rows, long slice_height, __global const OFF *slice_ptr,
                                       __global const IDX *row_order, __global const IDX *col_idx,
                                       __global const T *values, ACC alpha, __global const T *x, long x_start,
                                       ACC beta, __global T *y, long y_start)
{
    for (long position = get_global_id(0); position < rows; position += get_global_size(0)) {
        long slice = position / slice_height;
        long end = slice_ptr[slice + 1];
        ACC sum = (ACC)(0);
        for (long at = slice_ptr[slice] + position % slice_height; at < end; at += slice_height) {
            IDX col = col_idx[at];
            if (col < 0)
                break;
            sum += mul(load(values, at), load(x, x_start + col));
        }
        update(y, y_start + row_order[position], mul(alpha, sum), beta);
    }
}
