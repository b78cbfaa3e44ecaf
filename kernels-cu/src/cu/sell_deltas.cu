// sell_deltas: y <- alpha A x + beta y for SELL-C-sigma with columns of 16 bits, laid out as in sell_spmv.cu: column =
// bases[position / C] + delta, for the C elements side by side in a slice; delta 65535 is padding. Only if the columns
// of each such C are within 65535 of each other, as those of stencils and bands do. One thread per row (spmv), one warp
// per C elements side by side (make), striding over the grid; reads deltas, bases and values up to each row's padding
// once, gathers x, writes y once. Macros: SCALAR, IDX, OFF (types of columns and of slice offsets).   Launch: spmv any
// number of blocks of up to 256 threads; make any number of blocks of whole warps, up to 256 threads.
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "slices.cuh"
#include "warp.cuh"
#include "smallest.cuh"
#define PADDING 65535

// Makes bases and deltas of columns; misfits[0] <- 1 if C columns side by side are too far apart. A warp takes a slot.
// For the plan.
KERNEL sell_deltas_make(long long slots, long long slice_height, const Idx *__restrict__ col_idx,
                        Idx *__restrict__ bases, unsigned short *__restrict__ deltas, int *__restrict__ misfits)
{
    for (long long slot = warp_index(); slot < slots; slot += warp_count()) {
        long long begin = slot * slice_height;
        long long base = LARGEST;
        for (long long l = lane_index(); l < slice_height; l += WARP)
            if (col_idx[begin + l] >= 0)
                base = min(base, (long long)col_idx[begin + l]);
        base = reduce_lanes(base, Smallest());
        if (lane_index() == 0)
            bases[slot] = (Idx)(base == LARGEST ? 0 : base);
        for (long long l = lane_index(); l < slice_height; l += WARP) {
            long long delta = col_idx[begin + l] < 0 ? PADDING : col_idx[begin + l] - base;
            if (col_idx[begin + l] >= 0 && delta >= PADDING)
                *misfits = 1;
            deltas[begin + l] = (unsigned short)delta;
        }
    }
}

// The sum of a row's elements, which are HEIGHT apart, or `height` if HEIGHT is 0.
template <int HEIGHT>
static __device__ ACC sum_of_row(Off elements, long long height, const Idx *bases, const unsigned short *deltas,
                                 const T *values, const T *x)
{
    ACC sum = ACC(0);
#pragma unroll 4
    for (Off k = 0; k < elements; k++) {
        long long at = k * (HEIGHT > 0 ? HEIGHT : height);
        int delta = load_once(deltas + at);
        T value = load_once(values + at);
        Idx base = bases[k];
        if (delta != PADDING)
            sum += mul(to_acc(value), load(x, (long long)base + delta));
    }
    return sum;
}

// y <- alpha A x + beta y. A thread takes a lane and every thread_count()-th one after it.
KERNEL sell_deltas_spmv(long long rows, long long slice_height, const Off *__restrict__ slice_ptr,
                        const Idx *__restrict__ row_order, const Idx *__restrict__ bases,
                        const unsigned short *__restrict__ deltas, const T *__restrict__ values, ACC alpha,
                        const T *__restrict__ x, long long x_start, ACC beta, T *__restrict__ y, long long y_start)
{
    x += x_start;
    for (long long position = thread_index(); position < rows; position += thread_count()) {
        Place place = place_of(position, slice_height);
        long long begin = slice_ptr[place.slice];
        Off elements = (Off)place_of(slice_ptr[place.slice + 1] - begin, slice_height).slice;
        Idx row = row_order[position];
        const Idx *own_bases = bases + place_of(begin, slice_height).slice;
        const unsigned short *own_deltas = deltas + begin + place.lane;
        const T *own_values = values + begin + place.lane;
        ACC sum = slice_height == USUAL_HEIGHT
                      ? sum_of_row<USUAL_HEIGHT>(elements, slice_height, own_bases, own_deltas, own_values, x)
                      : sum_of_row<0>(elements, slice_height, own_bases, own_deltas, own_values, x);
        update(y, y_start + row, mul(alpha, sum), beta);
    }
}
