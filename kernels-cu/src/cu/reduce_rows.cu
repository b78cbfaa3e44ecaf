// reduce_rows: y_i <- the sum, mean, variance, smallest or largest element, or a norm of row i, whose stored values are
// at offsets[i] .. offsets[i + 1], each of another element; the others of its `extent` elements are zeros.
// One thread or one warp per row, striding over the grid; reads offsets and values once, variances and
// 2-norms values twice, writes y once.
// Macros: SCALAR, OFF (type of offsets).   Launch: any number of blocks of up to 256 threads, of whole warps for the
// warp kernel.
#include "grid.cuh"
#include "scalar.cuh"
#include "types.cuh"
#include "rounded.cuh"
#include "warp_scalar.cuh"
#ifndef OFF
#error "OFF is missing: int or long"
#endif

typedef TYPE(OFF) Off;

// The values of `by`.
enum { SUM, MEAN, VARIANCE, MIN, MAX, NORM1, NORM2, NORM_INFINITY };

static __device__ ACC from_real(REAL a)
{
#if COMPLEX
    return ACC(a);
#else
    return a;
#endif
}

static __device__ REAL real_of(ACC a)
{
#if COMPLEX
    return a.x;
#else
    return a;
#endif
}

static __device__ REAL squared(ACC a)
{
#if COMPLEX
    return a.x * a.x + a.y * a.y;
#else
    return a * a;
#endif
}

static __device__ ACC divided(ACC a, REAL by)
{
#if COMPLEX
    return ACC(a.x / by, a.y / by);
#else
    return a / by;
#endif
}

// The result of a row without stored values, or what combines with every value to that value.
static __device__ ACC start(int by, int has_zeros)
{
    REAL infinite = __int_as_float(0x7f800000);
    REAL result = 0;
    if (by == MIN && !has_zeros)
        result = infinite;
    if (by == MAX && !has_zeros)
        result = -infinite;
    return from_real(result);
}

// Two results as one; NaN if one of them is.
static __device__ ACC combine(int by, ACC a, ACC b)
{
    ACC sum = a + b;
    REAL left = real_of(a);
    REAL right = real_of(b);
    int takes_right = by == MIN ? right < left : right > left;
    ACC chosen = takes_right || isnan(right) ? b : a;
    return by <= VARIANCE || by == NORM1 ? sum : chosen;
}

// The values begin, begin + step, ... up to `end`, combined with `found`.
static __device__ ACC fold(int by, const T *values, long long begin, long long end, int step, ACC found)
{
    for (long long k = begin; k < end; k += step) {
        ACC value = load(values, k);
        found = combine(by, found, by >= NORM1 ? from_real(magnitude(value)) : value);
    }
    return found;
}

// What the values are compared with: for means and variances the mean, for 2-norms the largest magnitude.
static __device__ ACC centre_of(int by, ACC found, long long extent)
{
    if (by == MEAN || by == VARIANCE)
        return divided(found, (REAL)extent);
    return found;
}

// Sum of the squared distances from the mean, or of the squares relative to the largest magnitude.
static __device__ REAL squares(int by, const T *values, long long begin, long long end, int step, ACC centre)
{
    REAL sum = 0;
    for (long long k = begin; k < end; k += step) {
        ACC value = load(values, k);
        REAL ratio = magnitude(value) / real_of(centre);
        sum += by == VARIANCE ? squared(difference(value, centre)) : ratio * ratio;
    }
    return sum;
}

static __device__ int reads_twice(int by)
{
    return by == VARIANCE || by == NORM2;
}

static __device__ ACC result(int by, ACC centre, REAL sum, long long extent, long long stored)
{
    REAL scale = real_of(centre);
    if (by == VARIANCE)
        return from_real((sum + (REAL)(extent - stored) * squared(centre)) / (REAL)extent);
    if (by == NORM2 && scale > 0 && !isinf(scale))
        return from_real(sqrt(sum) * scale);
    return centre;
}

struct Combine
{
    int by;
    __device__ ACC operator()(ACC a, ACC b) const { return combine(by, a, b); }
};

// A thread takes a row and every thread_count()-th one after it.
KERNEL reduce_rows_per_thread(long long rows, long long extent, int by, const Off *__restrict__ offsets,
                              const T *__restrict__ values, T *__restrict__ y, long long y_start)
{
    for (long long row = thread_index(); row < rows; row += thread_count()) {
        long long begin = offsets[row];
        long long end = offsets[row + 1];
        ACC found = fold(by, values, begin, end, 1, start(by, end - begin < extent));
        ACC centre = centre_of(by, found, extent);
        REAL sum = squares(by, values, begin, reads_twice(by) ? end : begin, 1, centre);
        store(y, y_start + row, result(by, centre, sum, extent, end - begin));
    }
}

// A warp takes a row: lane l combines the values begin + l, begin + l + 32, ...; a fixed tree combines the lanes.
KERNEL reduce_rows_per_warp(long long rows, long long extent, int by, const Off *__restrict__ offsets,
                            const T *__restrict__ values, T *__restrict__ y, long long y_start)
{
    for (long long row = warp_index(); row < rows; row += warp_count()) {
        long long begin = offsets[row];
        long long end = offsets[row + 1];
        long long first = begin + lane_index();
        ACC own = fold(by, values, first, end, WARP, start(by, end - begin < extent));
        ACC centre = centre_of(by, reduce_lanes(own, Combine{by}), extent);
        REAL sum = sum_lanes(squares(by, values, first, reads_twice(by) ? end : begin, WARP, centre));
        if (lane_index() == 0)
            store(y, y_start + row, result(by, centre, sum, extent, end - begin));
    }
}
