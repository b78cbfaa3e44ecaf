// Vector operations. A work-item takes every get_global_size(0)-th element.
// The reductions leave one partial result a work-group, made by a fixed tree; the host adds them in order.
// Takes SCALAR and BLOCK, the size of a work-group (a power of two).
#include "scalar.clh"
#ifndef BLOCK
#error "BLOCK is missing"
#endif

// y <- alpha x + beta y.
__kernel void vector_axpby(long n, ACC alpha, __global const T *x, long x_start, ACC beta, __global T *y, long y_start)
{
    for (long i = get_global_id(0); i < n; i += get_global_size(0))
        update(y, y_start + i, mul(alpha, load(x, x_start + i)), beta);
}

// y <- alpha sums + beta y, where the sums are not yet rounded to T.
__kernel void vector_update(long n, ACC alpha, __global const ACC *sums, ACC beta, __global T *y, long y_start)
{
    for (long i = get_global_id(0); i < n; i += get_global_size(0))
        update(y, y_start + i, mul(alpha, sums[i]), beta);
}

// C <- beta C for rows x cols elements; beta = 0 does not read C.
__kernel void vector_scale(long rows, long cols, ACC beta, __global T *c, long c_start, long row_step, long col_step)
{
    for (long i = get_global_id(0); i < rows * cols; i += get_global_size(0)) {
        long at = c_start + i / cols * row_step + i % cols * col_step;
        store(c, at, is_zero(beta) ? (ACC)(0) : mul(beta, load(c, at)));
    }
}

// Sums of conj(x) y.
__kernel void vector_dot(long n, __global const T *x, long x_start, __global const T *y, long y_start,
                         __global ACC *partial)
{
    int lid = (int)get_local_id(0);
    __local ACC sums[BLOCK];
    ACC sum = (ACC)(0);
    for (long i = get_group_id(0) * BLOCK + lid; i < n; i += get_global_size(0))
        sum += mul(conjugate(load(x, x_start + i)), load(y, y_start + i));
    sums[lid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_size = BLOCK / 2; half_size > 0; half_size /= 2) {
        if (lid < half_size)
            sums[lid] += sums[lid + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0)
        partial[get_group_id(0)] = sums[0];
}

static REAL largest_part(ACC a)
{
#if COMPLEX
    return fmax(fabs(a.x), fabs(a.y));
#else
    return fabs(a);
#endif
}

// The largest magnitudes of real and imaginary parts; NaN is passed over.
__kernel void vector_largest(long n, __global const T *x, long x_start, __global REAL *partial)
{
    int lid = (int)get_local_id(0);
    __local REAL parts[BLOCK];
    REAL part = 0;
    for (long i = get_group_id(0) * BLOCK + lid; i < n; i += get_global_size(0))
        part = fmax(part, largest_part(load(x, x_start + i)));
    parts[lid] = part;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_size = BLOCK / 2; half_size > 0; half_size /= 2) {
        if (lid < half_size)
            parts[lid] = fmax(parts[lid], parts[lid + half_size]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0)
        partial[get_group_id(0)] = parts[0];
}

// Sums of |x * 2^exponent|^2.
__kernel void vector_squares(long n, int exponent, __global const T *x, long x_start, __global REAL *partial)
{
    int lid = (int)get_local_id(0);
    __local REAL sums[BLOCK];
    REAL sum = 0;
    for (long i = get_group_id(0) * BLOCK + lid; i < n; i += get_global_size(0)) {
        ACC value = load(x, x_start + i);
#if COMPLEX
        REAL re = ldexp(value.x, exponent);
        REAL im = ldexp(value.y, exponent);
        sum += re * re + im * im;
#else
        REAL re = ldexp(value, exponent);
        sum += re * re;
#endif
    }
    sums[lid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_size = BLOCK / 2; half_size > 0; half_size /= 2) {
        if (lid < half_size)
            sums[lid] += sums[lid + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0)
        partial[get_group_id(0)] = sums[0];
}
