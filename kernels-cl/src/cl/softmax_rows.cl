// softmax_rows: y_k <- exp(x_k - m) / sum_l exp(x_l - m) for the stored values x of row i, which are at
// offsets[i] .. offsets[i + 1], with m the largest of them; NaN in a row with NaN.
// One work-item or one work-group of 32 per row, striding over the grid; reads the values of a row three times, the
// second and third time from a cache, writes y once.
// Macros: SCALAR (real), OFF (type of offsets).   Launch: any number of work-groups of any size, of 32 for the warp
// kernel.
#include "scalar.clh"
#ifndef OFF
#error "OFF is missing: int or long"
#endif
#define WARP 32

static REAL real_of(ACC a)
{
#if COMPLEX
    return a.x;
#else
    return a;
#endif
}

static void store_real(__global T *y, long at, REAL value)
{
#if COMPLEX
    store(y, at, (ACC)(value, 0));
#else
    store(y, at, value);
#endif
}

// The larger one; NaN if one of them is.
static REAL larger(REAL a, REAL b)
{
    return b > a || isnan(b) ? b : a;
}

// The largest of the values begin, begin + step, ... up to `end`.
static REAL largest_of(__global const T *values, long begin, long end, int step)
{
    REAL found = -INFINITY;
    for (long k = begin; k < end; k += step)
        found = larger(found, real_of(load(values, k)));
    return found;
}

// The sum of the exponentials of these values relative to the largest.
static REAL sum_of(__global const T *values, long begin, long end, int step, REAL largest)
{
    REAL sum = 0;
    for (long k = begin; k < end; k += step)
        sum += exp(real_of(load(values, k)) - largest);
    return sum;
}

static void write_row(__global const T *values, long begin, long end, int step, REAL largest, REAL sum,
                      __global T *y, long y_start)
{
    for (long k = begin; k < end; k += step)
        store_real(y, y_start + k, exp(real_of(load(values, k)) - largest) / sum);
}

// A work-item takes a row and every get_global_size(0)-th one after it.
__kernel void softmax_rows_per_thread(long rows, __global const OFF *offsets, __global const T *values, __global T *y,
                                      long y_start)
{
    for (long row = get_global_id(0); row < rows; row += get_global_size(0)) {
        long begin = offsets[row];
        long end = offsets[row + 1];
        REAL largest = largest_of(values, begin, end, 1);
        REAL sum = sum_of(values, begin, end, 1, largest);
        write_row(values, begin, end, 1, largest, sum, y, y_start);
    }
}

// A work-group of 32 takes a row: lane l has the values begin + l, begin + l + 32, ...; a fixed tree combines the
// lanes.
__kernel __attribute__((reqd_work_group_size(WARP, 1, 1)))
void softmax_rows_per_warp(long rows, __global const OFF *offsets, __global const T *values, __global T *y,
                           long y_start)
{
    __local REAL shared[WARP];
    __local REAL sums[WARP];
    int lid = (int)get_local_id(0);
    for (long row = get_group_id(0); row < rows; row += get_num_groups(0)) {
        long begin = offsets[row];
        long end = offsets[row + 1];
        shared[lid] = largest_of(values, begin + lid, end, WARP);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int left = WARP / 2; left > 0; left /= 2) {
            if (lid < left)
                shared[lid] = larger(shared[lid], shared[lid + left]);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        sums[lid] = sum_of(values, begin + lid, end, WARP, shared[0]);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int left = WARP / 2; left > 0; left /= 2) {
            if (lid < left)
                sums[lid] += sums[lid + left];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        write_row(values, begin + lid, end, WARP, shared[0], sums[0], y, y_start);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
