// reduce_rows: y_i <- the sum, mean, variance, smallest or largest element, or a norm of row i, whose stored values are
// at offsets[i] .. offsets[i + 1], each of another element; the others of its `extent` elements are zeros.
// One work-item or one work-group of 32 per row, striding over the grid; reads offsets and values once, variances and
// 2-norms values twice, writes y once.
// Macros: SCALAR, OFF (type of offsets).   Launch: any number of work-groups of any size, of 32 for the warp kernel.
#include "scalar.clh"
#ifndef OFF
#error "OFF is missing: int or long"
#endif
#define WARP 32

// The values of `by`.
enum { SUM, MEAN, VARIANCE, MIN, MAX, NORM1, NORM2, NORM_INFINITY };

static ACC from_real(REAL a)
{
#if COMPLEX
    return (ACC)(a, 0);
#else
    return a;
#endif
}

static REAL real_of(ACC a)
{
#if COMPLEX
    return a.x;
#else
    return a;
#endif
}

static REAL squared(ACC a)
{
#if COMPLEX
    return a.x * a.x + a.y * a.y;
#else
    return a * a;
#endif
}

// The result of a row without stored values, or what combines with every value to that value.
static ACC start(int by, int has_zeros)
{
    REAL infinite = INFINITY;
    REAL result = 0;
    if (by == MIN && !has_zeros)
        result = infinite;
    if (by == MAX && !has_zeros)
        result = -infinite;
    return from_real(result);
}

// Two results as one; NaN if one of them is.
static ACC combine(int by, ACC a, ACC b)
{
    ACC sum = a + b;
    REAL left = real_of(a);
    REAL right = real_of(b);
    int takes_right = by == MIN ? right < left : right > left;
    ACC chosen = takes_right || isnan(right) ? b : a;
    return by <= VARIANCE || by == NORM1 ? sum : chosen;
}

// The values begin, begin + step, ... up to `end`, combined with `found`.
static ACC fold(int by, __global const T *values, long begin, long end, int step, ACC found)
{
    for (long k = begin; k < end; k += step) {
        ACC value = load(values, k);
        found = combine(by, found, by >= NORM1 ? from_real(magnitude(value)) : value);
    }
    return found;
}

// What the values are compared with: for means and variances the mean, for 2-norms the largest magnitude.
static ACC centre_of(int by, ACC found, long extent)
{
    if (by == MEAN || by == VARIANCE)
        return found / (REAL)extent;
    return found;
}

// Sum of the squared distances from the mean, or of the squares relative to the largest magnitude.
static REAL squares(int by, __global const T *values, long begin, long end, int step, ACC centre)
{
    REAL sum = 0;
    for (long k = begin; k < end; k += step) {
        ACC value = load(values, k);
        REAL ratio = magnitude(value) / real_of(centre);
        sum += by == VARIANCE ? squared(value - centre) : ratio * ratio;
    }
    return sum;
}

static int reads_twice(int by)
{
    return by == VARIANCE || by == NORM2;
}

static ACC result(int by, ACC centre, REAL sum, long extent, long stored)
{
    REAL scale = real_of(centre);
    if (by == VARIANCE)
        return from_real((sum + (REAL)(extent - stored) * squared(centre)) / (REAL)extent);
    if (by == NORM2 && scale > 0 && !isinf(scale))
        return from_real(sqrt(sum) * scale);
    return centre;
}

// A work-item takes a row and every get_global_size(0)-th one after it.
__kernel void reduce_rows_per_thread(long rows, long extent, int by, __global const OFF *offsets,
                                     __global const T *values, __global T *y, long y_start)
{
    for (long row = get_global_id(0); row < rows; row += get_global_size(0)) {
        long begin = offsets[row];
        long end = offsets[row + 1];
        ACC found = fold(by, values, begin, end, 1, start(by, end - begin < extent));
        ACC centre = centre_of(by, found, extent);
        REAL sum = squares(by, values, begin, reads_twice(by) ? end : begin, 1, centre);
        store(y, y_start + row, result(by, centre, sum, extent, end - begin));
    }
}

// A work-group of 32 takes a row: lane l combines the values begin + l, begin + l + 32, ...; a fixed tree combines the
// lanes.
__kernel __attribute__((reqd_work_group_size(WARP, 1, 1)))
void reduce_rows_per_warp(long rows, long extent, int by, __global const OFF *offsets, __global const T *values,
                          __global T *y, long y_start)
{
    __local ACC shared[WARP];
    __local REAL sums[WARP];
    int lid = (int)get_local_id(0);
    for (long row = get_group_id(0); row < rows; row += get_num_groups(0)) {
        long begin = offsets[row];
        long end = offsets[row + 1];
        shared[lid] = fold(by, values, begin + lid, end, WARP, start(by, end - begin < extent));
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int left = WARP / 2; left > 0; left /= 2) {
            if (lid < left)
                shared[lid] = combine(by, shared[lid], shared[lid + left]);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        ACC centre = centre_of(by, shared[0], extent);
        sums[lid] = squares(by, values, begin + lid, reads_twice(by) ? end : begin, WARP, centre);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int left = WARP / 2; left > 0; left /= 2) {
            if (lid < left)
                sums[lid] += sums[lid + left];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (lid == 0)
            store(y, y_start + row, result(by, centre, sums[0], extent, end - begin));
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
