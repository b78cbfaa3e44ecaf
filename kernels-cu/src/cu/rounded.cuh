// Arithmetic that rounds as on the host: no product becomes a part of a fused multiply-add.
// Needs scalar.cuh before.
static __device__ float times(float a, float b)
{
    return __fmul_rn(a, b);
}

static __device__ double times(double a, double b)
{
    return __dmul_rn(a, b);
}

static __device__ ACC product(ACC a, ACC b)
{
#if COMPLEX
    return ACC(times(a.x, b.x) - times(a.y, b.y), times(a.x, b.y) + times(a.y, b.x));
#else
    return times(a, b);
#endif
}

static __device__ ACC difference(ACC a, ACC b)
{
#if COMPLEX
    return ACC(a.x - b.x, a.y - b.y);
#else
    return a - b;
#endif
}

#if COMPLEX
// The exponent of the larger part; 0 if there is none to scale by.
static __device__ int exponent_of(ACC a)
{
    REAL part = fmax(fabs(a.x), fabs(a.y));
    return part > 0 && !isinf(part) ? ilogb(part) : 0;
}

// The product with a power of two.
static __device__ ACC scaled(ACC a, int exponent)
{
    return ACC(ldexp(a.x, exponent), ldexp(a.y, exponent));
}
#endif

// Complex numbers are scaled by powers of two, so that nothing overflows or underflows on the way.
static __device__ ACC quotient(ACC dividend, ACC divisor)
{
#if COMPLEX
    int up = exponent_of(dividend);
    int down = exponent_of(divisor);
    ACC a = scaled(dividend, -up);
    ACC b = scaled(divisor, -down);
    REAL square = times(b.x, b.x) + times(b.y, b.y);
    ACC c((times(a.x, b.x) + times(a.y, b.y)) / square, (times(a.y, b.x) - times(a.x, b.y)) / square);
    return scaled(c, up - down);
#else
    return dividend / divisor;
#endif
}
