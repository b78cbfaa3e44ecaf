// sell_spmv: y <- alpha A x + beta y for SELL-C-sigma: slice s has the rows row_order[s*C .. (s + 1)*C], element k of
// its lane l is at slice_ptr[s] + k*C + l; column -1 is padding and ends the row.
// One thread per row, striding over the grid; reads columns and values up to each row's padding once, gathers x, writes
// y once.
// Macros: SCALAR, IDX, OFF (types of columns and of slice offsets).   Launch: any number of blocks of up to 256
// threads.
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "slices.cuh"

KERNEL sell_spmv_row_per_thread(long long rows, long long slice_height, const Off *__restrict__ slice_ptr,
                                const Idx *__restrict__ row_order, const Idx *__restrict__ col_idx,
                                const T *__restrict__ values, ACC alpha, const T *__restrict__ x, long long x_start,
                                ACC beta, T *__restrict__ y, long long y_start)
{
    for (long long position = thread_index(); position < rows; position += thread_count()) {
        Place place = place_of(position, slice_height);
        long long end = slice_ptr[place.slice + 1];
        ACC sum = ACC(0);
#pragma unroll 4
        for (long long at = slice_ptr[place.slice] + place.lane; at < end; at += slice_height) {
            Idx col = col_idx[at];
            if (col >= 0)
                sum += mul(load(values, at), load(x, x_start + col));
        }
        update(y, y_start + row_order[position], mul(alpha, sum), beta);
    }
}
