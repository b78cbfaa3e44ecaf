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

// The squares of a complex divisor's parts cannot overflow.
static __device__ ACC quotient(ACC dividend, ACC divisor)
{
#if COMPLEX
    REAL scale = 1 / magnitude(divisor);
    ACC a(times(dividend.x, scale), times(dividend.y, scale));
    ACC b(times(divisor.x, scale), times(divisor.y, scale));
    REAL square = times(b.x, b.x) + times(b.y, b.y);
    return ACC((times(a.x, b.x) + times(a.y, b.y)) / square, (times(a.y, b.x) - times(a.x, b.y)) / square);
#else
    return dividend / divisor;
#endif
}
