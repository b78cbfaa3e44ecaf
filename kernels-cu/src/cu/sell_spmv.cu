// y <- alpha A x + beta y for SELL-C-sigma: slice s holds the rows row_order[s*C .. (s + 1)*C], slot k of its lane l
// stands at slice_ptr[s] + k*C + l; column -1 is padding.
// A thread takes a lane and every thread_count()-th one after it.
// Takes SCALAR, IDX and OFF (the types of columns and of slice offsets).
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
