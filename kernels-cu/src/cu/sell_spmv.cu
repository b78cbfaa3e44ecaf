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

// The sum of a row's elements, which are HEIGHT apart, or `height` if HEIGHT is 0.
template <int HEIGHT>
static __device__ ACC sum_of_row(Off elements, long long height, const Idx *col_idx, const T *values, const T *x)
{
    ACC sum = ACC(0);
#pragma unroll 4
    for (Off k = 0; k < elements; k++) {
        long long at = k * (HEIGHT > 0 ? HEIGHT : height);
        Idx col = load_once(col_idx + at);
        T value = load_once(values + at);
        if (col >= 0)
            sum += mul(to_acc(value), load(x, col));
    }
    return sum;
}

KERNEL sell_spmv_row_per_thread(long long rows, long long slice_height, const Off *__restrict__ slice_ptr,
                                const Idx *__restrict__ row_order, const Idx *__restrict__ col_idx,
                                const T *__restrict__ values, ACC alpha, const T *__restrict__ x, long long x_start,
                                ACC beta, T *__restrict__ y, long long y_start)
{
    x += x_start;
    for (long long position = thread_index(); position < rows; position += thread_count()) {
        Place place = place_of(position, slice_height);
        long long begin = slice_ptr[place.slice];
        Off elements = (Off)place_of(slice_ptr[place.slice + 1] - begin, slice_height).slice;
        Idx row = row_order[position];
        const Idx *own_cols = col_idx + begin + place.lane;
        const T *own_values = values + begin + place.lane;
        ACC sum = slice_height == USUAL_HEIGHT
                      ? sum_of_row<USUAL_HEIGHT>(elements, slice_height, own_cols, own_values, x)
                      : sum_of_row<0>(elements, slice_height, own_cols, own_values, x);
        update(y, y_start + row, mul(alpha, sum), beta);
    }
}
