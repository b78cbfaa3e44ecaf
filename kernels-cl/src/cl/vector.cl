// vector: axpby, dot, norm, scaling, and the fused steps of conjugate gradients.
// One work-item per element, striding over the grid; reads each input and writes each output once. Reductions write one
// partial result per work-group, made by a fixed tree; a single work-group combines them by another.
// Macros: SCALAR, BLOCK (a power of two, at least 32).   Launch: reductions any number of work-groups of BLOCK, others
// any number of work-groups of any size.
#include "scalar.clh"
#include "multiply.clh"
#include "quotient.clh"
#ifndef BLOCK
#error "BLOCK is missing: the size of a work-group"
#endif

// a / b; 0 / 0 is 0.
static ACC ratio(ACC a, ACC b)
{
    if (is_zero(a) && is_zero(b))
        return a;
    return quotient(a, b);
}

// factor * numerator / denominator, where a null pointer stands for 1.
static ACC coefficient(ACC factor, __global const ACC *numerator, long numerator_start,
                       __global const ACC *denominator, long denominator_start)
{
    ACC value = numerator ? mul(factor, numerator[numerator_start]) : factor;
    if (!denominator)
        return value;
    return ratio(value, denominator[denominator_start]);
}

// y <- alpha x + beta y, whose factors are coefficients. alpha = 0 does not read x, beta = 0 not y.
__kernel void vector_axpby(long n, ACC alpha_factor, __global const ACC *alpha_numerator, long alpha_numerator_start,
                           __global const ACC *alpha_denominator, long alpha_denominator_start, __global const T *x,
                           long x_start, ACC beta_factor, __global const ACC *beta_numerator, long beta_numerator_start,
                           __global const ACC *beta_denominator, long beta_denominator_start, __global T *y,
                           long y_start)
{
    ACC alpha = coefficient(alpha_factor, alpha_numerator, alpha_numerator_start, alpha_denominator,
                            alpha_denominator_start);
    ACC beta = coefficient(beta_factor, beta_numerator, beta_numerator_start, beta_denominator, beta_denominator_start);
    int reads_x = !is_zero(alpha);
    int reads_y = !is_zero(beta);
    for (long i = get_global_id(0); i < n; i += get_global_size(0)) {
        ACC value = (ACC)(0);
        if (reads_x)
            value = multiply(load(x, x_start + i), alpha);
        if (reads_y) {
            ACC term = multiply(load(y, y_start + i), beta);
            // No sum with 0, which has no negative zero.
            value = reads_x ? value + term : term;
        }
        store(y, y_start + i, value);
    }
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
        store(c, at, is_zero(beta) ? (ACC)(0) : multiply(load(c, at), beta));
    }
}

// The values of the work-items of a group, combined by a fixed tree; all of them get it.
#define GROUP_REDUCTION(name, V, COMBINE)                                                                              \
    static V name(V value, __local V *values, int lid)                                                                 \
    {                                                                                                                  \
        values[lid] = value;                                                                                           \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        for (int half_size = BLOCK / 2; half_size > 0; half_size /= 2) {                                               \
            if (lid < half_size)                                                                                       \
                values[lid] = COMBINE(values[lid], values[lid + half_size]);                                           \
            barrier(CLK_LOCAL_MEM_FENCE);                                                                              \
        }                                                                                                              \
        value = values[0];                                                                                             \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        return value;                                                                                                  \
    }
#define ADD(a, b) ((a) + (b))

GROUP_REDUCTION(sum_group, ACC, ADD)
GROUP_REDUCTION(sum_parts, REAL, ADD)
// NaN is passed over.
GROUP_REDUCTION(largest_of_group, REAL, fmax)

// The sum of conj(x) y of each work-group.
__kernel void vector_dot(long n, __global const T *x, long x_start, __global const T *y, long y_start,
                         __global ACC *partial)
{
    int lid = (int)get_local_id(0);
    __local ACC sums[BLOCK];
    ACC sum = (ACC)(0);
    for (long i = get_group_id(0) * BLOCK + lid; i < n; i += get_global_size(0))
        sum += mul(conjugate(load(x, x_start + i)), load(y, y_start + i));
    sum = sum_group(sum, sums, lid);
    if (lid == 0)
        partial[get_group_id(0)] = sum;
}

// The sum of `count` partial results; all work-items of the group get it.
static ACC sum_of(__global const ACC *partial, long count, __local ACC *sums, int lid)
{
    ACC sum = (ACC)(0);
    for (long i = lid; i < count; i += BLOCK)
        sum += partial[i];
    return sum_group(sum, sums, lid);
}

static REAL real_part(ACC a)
{
#if COMPLEX
    return a.x;
#else
    return a;
#endif
}

// True if the real part is positive, and neither subnormal nor infinite nor NaN.
static int is_positive_normal(ACC a)
{
#if SCALAR == F64 || SCALAR == C64
    return real_part(a) >= 0x1p-1022 && !isinf(real_part(a));
#else
    return real_part(a) >= 0x1p-126f && !isinf(real_part(a));
#endif
}

// A step of conjugate gradients: x <- x + alpha p, r <- r - alpha q, alpha = rho / conj(p) q. `workspace` begins with
// vector_dot's sums of conj(p) q, one per work-group of a launch of the same size; those of conj(r) r follow. Unless
// rho and conj(p) q are positive normal numbers, x and r stay, and the sums add up to -|rho|.
__kernel void vector_advance(long n, __global const ACC *rho, long rho_start, __global const T *p, long p_start,
                             __global const T *q, long q_start, __global T *x, long x_start, __global T *r,
                             long r_start, __global ACC *workspace)
{
    int lid = (int)get_local_id(0);
    __local ACC sums[BLOCK];
    ACC before = rho[rho_start];
    ACC curvature = sum_of(workspace, get_num_groups(0), sums, lid);
    ACC sum = (ACC)(0);
    if (is_positive_normal(before) && is_positive_normal(curvature)) {
        ACC alpha = quotient(before, curvature);
        for (long i = get_group_id(0) * BLOCK + lid; i < n; i += get_global_size(0)) {
            store(x, x_start + i, load(x, x_start + i) + mul(alpha, load(p, p_start + i)));
            store(r, r_start + i, load(r, r_start + i) - mul(alpha, load(q, q_start + i)));
            ACC left = load(r, r_start + i);
            sum += mul(conjugate(left), left);
        }
    } else if (get_global_id(0) == 0) {
#if COMPLEX
        sum.x = -fabs(before.x);
#else
        sum = -fabs(before);
#endif
    }
    sum = sum_group(sum, sums, lid);
    if (lid == 0)
        workspace[get_num_groups(0) + get_group_id(0)] = sum;
}

// Writes rho and the square of the residual's norm after a step, and turns p to the direction of the next:
// p <- z + beta p, beta = next_rho / rho. p stays where no step was taken, or next_rho is negative.
static void turn(long n, ACC rho, ACC next_rho, ACC squares, __global ACC *next, __global const T *z, long z_start,
                 __global T *p, long p_start, int lid)
{
    if (get_global_id(0) == 0) {
        next[0] = next_rho;
        next[1] = squares;
    }
    if (is_positive_normal(rho) && real_part(next_rho) >= 0) {
        ACC beta = quotient(next_rho, rho);
        for (long i = get_group_id(0) * BLOCK + lid; i < n; i += get_global_size(0))
            update(p, p_start + i, load(z, z_start + i), beta);
    }
}

// The direction of the next step without a preconditioner, z = r: next_rho is the sum of the second part of the
// workspace, which the work-groups of vector_advance have written.
__kernel void vector_turn(long n, __global const ACC *rho, long rho_start, __global ACC *next, long next_start,
                          __global const T *r, long r_start, __global T *p, long p_start, __global const ACC *workspace)
{
    int lid = (int)get_local_id(0);
    __local ACC sums[BLOCK];
    ACC squares = sum_of(workspace + get_num_groups(0), get_num_groups(0), sums, lid);
    turn(n, rho[rho_start], squares, squares, next + next_start, r, r_start, p, p_start, lid);
}

// The direction of the next step with z = K^-1 r: next_rho is the sum of vector_dot's sums of conj(r) z, which begin
// the workspace, if a step was taken.
__kernel void vector_turn_preconditioned(long n, __global const ACC *rho, long rho_start, __global ACC *next,
                                         long next_start, __global const T *z, long z_start, __global T *p,
                                         long p_start, __global const ACC *workspace)
{
    int lid = (int)get_local_id(0);
    __local ACC sums[BLOCK];
    ACC squares = sum_of(workspace + get_num_groups(0), get_num_groups(0), sums, lid);
    ACC product = sum_of(workspace, get_num_groups(0), sums, lid);
    ACC next_rho = real_part(squares) >= 0 ? product : squares;
    turn(n, rho[rho_start], next_rho, squares, next + next_start, z, z_start, p, p_start, lid);
}

// The sum of `count` partial results. One work-group.
__kernel void vector_sum(long count, __global const ACC *partial, __global ACC *result, long result_start)
{
    int lid = (int)get_local_id(0);
    __local ACC sums[BLOCK];
    ACC sum = sum_of(partial, count, sums, lid);
    if (lid == 0)
        result[result_start] = sum;
}

static REAL largest_part(ACC a)
{
#if COMPLEX
    return fmax(fabs(a.x), fabs(a.y));
#else
    return fabs(a);
#endif
}

// The largest magnitude of real and imaginary parts of each work-group.
__kernel void vector_largest(long n, __global const T *x, long x_start, __global REAL *largest)
{
    int lid = (int)get_local_id(0);
    __local REAL parts[BLOCK];
    REAL part = 0;
    for (long i = get_group_id(0) * BLOCK + lid; i < n; i += get_global_size(0))
        part = fmax(part, largest_part(load(x, x_start + i)));
    part = largest_of_group(part, parts, lid);
    if (lid == 0)
        largest[get_group_id(0)] = part;
}

// The exponent of the largest of `count` parts; 0 if there is none to scale by.
static int largest_exponent(__global const REAL *largest, long count, __local REAL *parts, int lid)
{
    REAL part = 0;
    for (long i = lid; i < count; i += BLOCK)
        part = fmax(part, largest[i]);
    part = largest_of_group(part, parts, lid);
    return part > 0 && !isinf(part) ? ilogb(part) : 0;
}

// The sum of |x|^2 of each work-group, where x is scaled by the exponent of the largest part. `workspace` begins with
// vector_largest's results, one per work-group of a launch of the same size; the sums follow.
__kernel void vector_squares(long n, __global const T *x, long x_start, __global REAL *workspace)
{
    int lid = (int)get_local_id(0);
    __local REAL parts[BLOCK];
    int exponent = largest_exponent(workspace, get_num_groups(0), parts, lid);
    REAL sum = 0;
    for (long i = get_group_id(0) * BLOCK + lid; i < n; i += get_global_size(0)) {
        ACC value = load(x, x_start + i);
#if COMPLEX
        REAL re = ldexp(value.x, -exponent);
        REAL im = ldexp(value.y, -exponent);
        sum += re * re + im * im;
#else
        REAL re = ldexp(value, -exponent);
        sum += re * re;
#endif
    }
    sum = sum_parts(sum, parts, lid);
    if (lid == 0)
        workspace[get_num_groups(0) + get_group_id(0)] = sum;
}

// The norm from the results of `count` work-groups of vector_largest and vector_squares. One work-group.
__kernel void vector_norm(long count, __global const REAL *workspace, __global ACC *result, long result_start)
{
    int lid = (int)get_local_id(0);
    __local REAL parts[BLOCK];
    int exponent = largest_exponent(workspace, count, parts, lid);
    REAL sum = 0;
    for (long i = lid; i < count; i += BLOCK)
        sum += workspace[count + i];
    sum = sum_parts(sum, parts, lid);
    if (lid == 0) {
        ACC norm = (ACC)(0);
#if COMPLEX
        norm.x = ldexp(sqrt(sum), exponent);
#else
        norm = ldexp(sqrt(sum), exponent);
#endif
        result[result_start] = norm;
    }
}
