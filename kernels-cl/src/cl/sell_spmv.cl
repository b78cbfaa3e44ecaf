// y <- alpha A x + beta y for SELL-C-sigma: slice s holds the rows row_order[s*C .. (s + 1)*C], slot k of its lane l
// stands at slice_ptr[s] + k*C + l; column -1 is padding and ends the row.
// A work-item takes a lane and every get_global_size(0)-th one after it.
// Takes SCALAR, IDX and OFF (the types of columns and of slice offsets).
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
