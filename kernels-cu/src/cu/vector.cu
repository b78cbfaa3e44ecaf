// vector: axpby, dot, norm, scaling, and the fused steps of conjugate gradients.
// One thread per element, striding over the grid; reads each input and writes each output once. Reductions write one
// partial result per block, made by a fixed tree; a single block combines them by another.
// Macros: SCALAR, BLOCK (a power of two, at least 32).   Launch: reductions any number of blocks of BLOCK threads,
// others any number of blocks of up to 256 threads.
#include "grid.cuh"
#include "scalar.cuh"
#include "warp_scalar.cuh"
#include "block.cuh"
#include "step_numbers.cuh"
#include "rounded.cuh"
#include "multiply.cuh"

// a / b; 0 / 0 is 0.
static __device__ ACC ratio(ACC a, ACC b)
{
    return is_zero(a) && is_zero(b) ? a : quotient(a, b);
}

// factor * numerator / denominator, where a null pointer stands for 1.
static __device__ ACC coefficient(ACC factor, const ACC *numerator, long long numerator_start, const ACC *denominator,
                                  long long denominator_start)
{
    ACC value = numerator ? mul(factor, numerator[numerator_start]) : factor;
    return denominator ? ratio(value, denominator[denominator_start]) : value;
}

// y <- alpha x + beta y, whose factors are coefficients. alpha = 0 does not read x, beta = 0 not y.
KERNEL vector_axpby(long long n, ACC alpha_factor, const ACC *alpha_numerator, long long alpha_numerator_start,
                    const ACC *alpha_denominator, long long alpha_denominator_start, const T *__restrict__ x,
                    long long x_start, ACC beta_factor, const ACC *beta_numerator, long long beta_numerator_start,
                    const ACC *beta_denominator, long long beta_denominator_start, T *__restrict__ y,
                    long long y_start)
{
    ACC alpha = coefficient(alpha_factor, alpha_numerator, alpha_numerator_start, alpha_denominator,
                            alpha_denominator_start);
    ACC beta = coefficient(beta_factor, beta_numerator, beta_numerator_start, beta_denominator, beta_denominator_start);
    bool reads_x = !is_zero(alpha);
    bool reads_y = !is_zero(beta);
    for (long long i = thread_index(); i < n; i += thread_count()) {
        ACC value = reads_x ? multiply(load(x, x_start + i), alpha) : ACC(0);
        if (reads_y) {
            ACC term = multiply(load(y, y_start + i), beta);
            // No sum with 0, which has no negative zero.
            value = reads_x ? value + term : term;
        }
        store(y, y_start + i, value);
    }
}

// y <- alpha sums + beta y, where the sums are not yet rounded to T.
KERNEL vector_update(long long n, ACC alpha, const ACC *__restrict__ sums, ACC beta, T *__restrict__ y,
                     long long y_start)
{
    for (long long i = thread_index(); i < n; i += thread_count())
        update(y, y_start + i, mul(alpha, sums[i]), beta);
}

// C <- beta C for rows x cols elements; beta = 0 does not read C.
KERNEL vector_scale(long long rows, long long cols, ACC beta, T *__restrict__ c, long long c_start, long long row_step,
                    long long col_step)
{
    for (long long i = thread_index(); i < rows * cols; i += thread_count()) {
        long long at = c_start + i / cols * row_step + i % cols * col_step;
        store(c, at, is_zero(beta) ? ACC(0) : multiply(load(c, at), beta));
    }
}

// NaN is passed over.
struct Largest
{
    template <typename V> __device__ V operator()(V a, V b) const { return fmax(a, b); }
};

// The sum of conj(x) y of each block.
KERNEL vector_dot(long long n, const T *__restrict__ x, long long x_start, const T *__restrict__ y, long long y_start,
                  ACC *__restrict__ partial)
{
    wait_for_last();
    let_next_begin();
    ACC sum = ACC(0);
    for (long long i = thread_index(); i < n; i += thread_count())
        sum += mul(conjugate(load(x, x_start + i)), load(y, y_start + i));
    sum = reduce_block(sum, Sum());
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sum;
}

// A step of conjugate gradients: x <- x + alpha p, r <- r - alpha q, alpha = rho / conj(p) q. `workspace` begins with
// vector_dot's sums of conj(p) q, one per block of a launch of the same size; those of conj(r) r follow. Unless rho and
// conj(p) q are positive normal numbers, x and r stay, and the sums add up to -|rho|.
KERNEL vector_advance(long long n, const ACC *__restrict__ rho, long long rho_start, const T *__restrict__ p,
                      long long p_start, const T *__restrict__ q, long long q_start, T *__restrict__ x,
                      long long x_start, T *__restrict__ r, long long r_start, ACC *workspace)
{
    wait_for_last();
    let_next_begin();
    ACC before = rho[rho_start];
    ACC curvature = sum_of_blocks(workspace);
    ACC sum = ACC(0);
    if (is_positive_normal(before) && is_positive_normal(curvature)) {
        ACC alpha = quotient(before, curvature);
        ACC back = mul(ACC(-1), alpha);
        for (long long i = thread_index(); i < n; i += thread_count()) {
            store(x, x_start + i, load(x, x_start + i) + mul(alpha, load(p, p_start + i)));
            store(r, r_start + i, load(r, r_start + i) + mul(back, load(q, q_start + i)));
            ACC left = load(r, r_start + i);
            sum += mul(conjugate(left), left);
        }
    } else if (thread_index() == 0) {
        sum = ACC(-fabs(real_part(before)));
    }
    sum = reduce_block(sum, Sum());
    if (threadIdx.x == 0)
        workspace[gridDim.x + blockIdx.x] = sum;
}

// Writes rho and the square of the residual's norm after a step, and turns p to the direction of the next:
// p <- z + beta p, beta = next_rho / rho. p stays where no step was taken, or next_rho is negative.
static __device__ void turn(long long n, ACC rho, ACC next_rho, ACC squares, ACC *next, const T *__restrict__ z,
                            long long z_start, T *__restrict__ p, long long p_start)
{
    if (thread_index() == 0) {
        next[0] = next_rho;
        next[1] = squares;
    }
    if (is_positive_normal(rho) && real_part(next_rho) >= 0) {
        ACC beta = quotient(next_rho, rho);
        for (long long i = thread_index(); i < n; i += thread_count())
            update(p, p_start + i, load(z, z_start + i), beta);
    }
}

// The direction of the next step without a preconditioner, z = r: next_rho is the sum of the second part of the
// workspace, which the blocks of vector_advance have written.
KERNEL vector_turn(long long n, const ACC *__restrict__ rho, long long rho_start, ACC *__restrict__ next,
                   long long next_start, const T *__restrict__ r, long long r_start, T *__restrict__ p,
                   long long p_start, const ACC *__restrict__ workspace)
{
    wait_for_last();
    let_next_begin();
    ACC squares = sum_of_blocks(workspace + gridDim.x);
    turn(n, rho[rho_start], squares, squares, next + next_start, r, r_start, p, p_start);
}

// The direction of the next step with z = K^-1 r: next_rho is the sum of vector_dot's sums of conj(r) z, which begin
// the workspace, if a step was taken.
KERNEL vector_turn_preconditioned(long long n, const ACC *__restrict__ rho, long long rho_start,
                                  ACC *__restrict__ next, long long next_start, const T *__restrict__ z,
                                  long long z_start, T *__restrict__ p, long long p_start,
                                  const ACC *__restrict__ workspace)
{
    wait_for_last();
    let_next_begin();
    ACC squares = sum_of_blocks(workspace + gridDim.x);
    ACC product = sum_of_blocks(workspace);
    ACC next_rho = real_part(squares) >= 0 ? product : squares;
    turn(n, rho[rho_start], next_rho, squares, next + next_start, z, z_start, p, p_start);
}

// The sum of `count` partial results. One block.
KERNEL vector_sum(long long count, const ACC *__restrict__ partial, ACC *__restrict__ result, long long result_start)
{
    ACC sum = combine_all(partial, count, Sum());
    if (threadIdx.x == 0)
        result[result_start] = sum;
}

static __device__ REAL largest_part(ACC a)
{
#if COMPLEX
    return fmax(fabs(a.x), fabs(a.y));
#else
    return fabs(a);
#endif
}

// The largest magnitude of real and imaginary parts of each block.
KERNEL vector_largest(long long n, const T *__restrict__ x, long long x_start, REAL *__restrict__ largest)
{
    REAL part = 0;
    for (long long i = thread_index(); i < n; i += thread_count())
        part = fmax(part, largest_part(load(x, x_start + i)));
    part = reduce_block(part, Largest());
    if (threadIdx.x == 0)
        largest[blockIdx.x] = part;
}

// The exponent of the largest of `count` parts, for all threads of the block; 0 if there is none to scale by.
static __device__ int largest_exponent(const REAL *largest, long long count)
{
    __shared__ int exponent;
    REAL part = combine_all(largest, count, Largest());
    if (threadIdx.x == 0)
        exponent = part > 0 && !isinf(part) ? ilogb(part) : 0;
    __syncthreads();
    return exponent;
}

// The sum of |x|^2 of each block, where x is scaled by the exponent of the largest part. `workspace` begins with
// vector_largest's results, one per block of a launch of the same size; the sums follow.
KERNEL vector_squares(long long n, const T *__restrict__ x, long long x_start, REAL *workspace)
{
    int exponent = largest_exponent(workspace, gridDim.x);
    REAL sum = 0;
    for (long long i = thread_index(); i < n; i += thread_count()) {
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
    sum = reduce_block(sum, Sum());
    if (threadIdx.x == 0)
        workspace[gridDim.x + blockIdx.x] = sum;
}

// The norm from the results of `count` blocks of vector_largest and vector_squares. One block.
KERNEL vector_norm(long long count, const REAL *__restrict__ workspace, ACC *__restrict__ result,
                   long long result_start)
{
    int exponent = largest_exponent(workspace, count);
    REAL sum = combine_all(workspace + count, count, Sum());
    if (threadIdx.x == 0)
        result[result_start] = ACC(ldexp(sqrt(sum), exponent));
}
