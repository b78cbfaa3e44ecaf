// What cuBLAS does not have: the quotient of two scalars on the device, and its negative. One thread.
extern "C" __global__ void quotient(const float *numerator, const float *denominator, float *positive,
                                    float *negative)
{
    const float value = *numerator / *denominator;
    *positive = value;
    *negative = -value;
}
