// softmax_rows: y_k <- exp(x_k - m) / sum_l exp(x_l - m) for the stored values x of row i, which are at
// offsets[i] .. offsets[i + 1], with m the largest of them; NaN in a row with NaN.
// One thread or one warp per row, striding over the grid; reads the values of a row three times, the second and third
// time from a cache, writes y once.
// Macros: SCALAR (real), OFF (type of offsets).   Launch: any number of blocks of up to 256 threads, of whole warps for
// the warp kernel.
#include "grid.cuh"
#include "scalar.cuh"
#include "types.cuh"
#include "warp_scalar.cuh"
#ifndef OFF
#error "OFF is missing: int or long"
#endif

typedef TYPE(OFF) Off;

static __device__ REAL real_of(ACC a)
{
#if COMPLEX
    return a.x;
#else
    return a;
#endif
}

// The larger one; NaN if one of them is.
static __device__ REAL larger(REAL a, REAL b)
{
    return b > a || isnan(b) ? b : a;
}

struct Larger
{
    __device__ REAL operator()(REAL a, REAL b) const { return larger(a, b); }
};

// The largest of the values begin, begin + step, ... up to `end`.
static __device__ REAL largest_of(const T *values, long long begin, long long end, int step)
{
    REAL found = -__int_as_float(0x7f800000);
    for (long long k = begin; k < end; k += step)
        found = larger(found, real_of(load(values, k)));
    return found;
}

// The sum of the exponentials of these values relative to the largest.
static __device__ REAL sum_of(const T *values, long long begin, long long end, int step, REAL largest)
{
    REAL sum = 0;
    for (long long k = begin; k < end; k += step)
        sum += exp(real_of(load(values, k)) - largest);
    return sum;
}

static __device__ void write_row(const T *values, long long begin, long long end, int step, REAL largest, REAL sum,
                                 T *y, long long y_start)
{
    for (long long k = begin; k < end; k += step)
        store(y, y_start + k, ACC(exp(real_of(load(values, k)) - largest) / sum));
}

// A thread takes a row and every thread_count()-th one after it.
KERNEL softmax_rows_per_thread(long long rows, const Off *__restrict__ offsets, const T *__restrict__ values,
                               T *__restrict__ y, long long y_start)
{
    for (long long row = thread_index(); row < rows; row += thread_count()) {
        long long begin = offsets[row];
        long long end = offsets[row + 1];
        REAL largest = largest_of(values, begin, end, 1);
        REAL sum = sum_of(values, begin, end, 1, largest);
        write_row(values, begin, end, 1, largest, sum, y, y_start);
    }
}

// A warp takes a row: lane l has the values begin + l, begin + l + 32, ...; a fixed tree combines the lanes.
KERNEL softmax_rows_per_warp(long long rows, const Off *__restrict__ offsets, const T *__restrict__ values,
                             T *__restrict__ y, long long y_start)
{
    for (long long row = warp_index(); row < rows; row += warp_count()) {
        long long begin = offsets[row] + lane_index();
        long long end = offsets[row + 1];
        REAL largest = reduce_lanes(largest_of(values, begin, end, WARP), Larger());
        REAL sum = sum_lanes(sum_of(values, begin, end, WARP, largest));
        write_row(values, begin, end, WARP, largest, sum, y, y_start);
    }
}
