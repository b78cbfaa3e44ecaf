// Vector operations. A thread takes every thread_count()-th element.
// The reductions leave one partial result a block, made by a fixed tree; the host adds them in order.
// Takes SCALAR and BLOCK, the size of a block (a power of two, at least 32).
#include "grid.cuh"
#include "scalar.cuh"
#include "warp_scalar.cuh"
#include "block.cuh"

// y <- alpha x + beta y.
KERNEL vector_axpby(long long n, ACC alpha, const T *__restrict__ x, long long x_start, ACC beta, T *__restrict__ y,
                    long long y_start)
{
    for (long long i = thread_index(); i < n; i += thread_count())
        update(y, y_start + i, mul(alpha, load(x, x_start + i)), beta);
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
        store(c, at, is_zero(beta) ? ACC(0) : mul(beta, load(c, at)));
    }
}

// NaN is passed over.
struct Largest
{
    template <typename V> __device__ V operator()(V a, V b) const { return fmax(a, b); }
};

template <typename V, typename Combine> static __device__ void leave(V value, Combine combine, V *partial)
{
    value = reduce_block(value, combine);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = value;
}

// Sums of conj(x) y.
KERNEL vector_dot(long long n, const T *__restrict__ x, long long x_start, const T *__restrict__ y, long long y_start,
                  ACC *__restrict__ partial)
{
    ACC sum = ACC(0);
    for (long long i = thread_index(); i < n; i += thread_count())
        sum += mul(conjugate(load(x, x_start + i)), load(y, y_start + i));
    leave(sum, Sum(), partial);
}

static __device__ REAL largest_part(ACC a)
{
#if COMPLEX
    return fmax(fabs(a.x), fabs(a.y));
#else
    return fabs(a);
#endif
}

// The largest magnitudes of real and imaginary parts; NaN is passed over.
KERNEL vector_largest(long long n, const T *__restrict__ x, long long x_start, REAL *__restrict__ partial)
{
    REAL part = 0;
    for (long long i = thread_index(); i < n; i += thread_count())
        part = fmax(part, largest_part(load(x, x_start + i)));
    leave(part, Largest(), partial);
}

// Sums of |x * 2^exponent|^2.
KERNEL vector_squares(long long n, int exponent, const T *__restrict__ x, long long x_start, REAL *__restrict__ partial)
{
    REAL sum = 0;
    for (long long i = thread_index(); i < n; i += thread_count()) {
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
    leave(sum, Sum(), partial);
}
