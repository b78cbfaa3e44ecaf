// Products that round before anything is added to them, as on the host: none becomes a part of a fused multiply-add.
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
