// What cuBLAS does not have: the quotient of two scalars on the device, and its negative. One thread. Of complex scalars,
// which are real in a Hermitian system, only the real parts are read and written.
// Macros: REAL.
extern "C" __global__ void quotient(const REAL *numerator, const REAL *denominator, REAL *positive, REAL *negative)
{
    const REAL value = *numerator / *denominator;
    *positive = value;
    *negative = -value;
}
