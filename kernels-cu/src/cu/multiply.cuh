// A product with a factor that may be real. Needs rounded.cuh before.

// value * factor; a number without an imaginary part multiplies the parts of the other alone, so that no infinity becomes
// NaN.
static __device__ ACC multiply(ACC value, ACC factor)
{
#if COMPLEX
    if (factor.y == 0)
        return ACC(times(value.x, factor.x), value.y == 0 ? value.y : times(value.y, factor.x));
    if (value.y == 0)
        return ACC(times(value.x, factor.x), times(value.x, factor.y));
#endif
    return product(value, factor);
}
