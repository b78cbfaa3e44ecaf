// Values. Takes SCALAR: F16, BF16, F32, F64, C32 or C64.
// Gives T (what is stored), ACC (what sums are made in), REAL (magnitudes), and functions that read, write and compute.
// f16 and bf16 are stored as 16 bits and converted here, since NVRTC has no headers. Complex numbers are (re, im).
#ifndef SCALAR
#error "SCALAR is missing: F16, BF16, F32, F64, C32 or C64"
#endif
#define F16 1
#define BF16 2
#define F32 3
#define F64 4
#define C32 5
#define C64 6
#define HALF (SCALAR == F16 || SCALAR == BF16)
#define COMPLEX (SCALAR == C32 || SCALAR == C64)

#if SCALAR == F64 || SCALAR == C64
typedef double REAL;
#elif HALF || SCALAR == F32 || SCALAR == C32
typedef float REAL;
#else
#error "SCALAR is none of F16, BF16, F32, F64, C32, C64"
#endif

#if COMPLEX
struct __align__(2 * sizeof(REAL)) ACC
{
    REAL x, y;
    ACC() = default;
    __device__ ACC(REAL re, REAL im = 0) : x(re), y(im) {}
};

static __device__ ACC operator+(ACC a, ACC b)
{
    return ACC(a.x + b.x, a.y + b.y);
}

static __device__ ACC &operator+=(ACC &a, ACC b)
{
    return a = a + b;
}
#else
typedef REAL ACC;
#endif

#if HALF
typedef unsigned short T;
#else
typedef ACC T;
#endif

static __device__ ACC to_acc(T value)
{
#if SCALAR == F16
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value));
    return wide;
#elif SCALAR == BF16
    return __uint_as_float((unsigned int)value << 16);
#else
    return value;
#endif
}

// Rounds to nearest, ties to even; a NaN stays one.
static __device__ T from_acc(ACC value)
{
#if SCALAR == F16
    T narrow;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(narrow) : "f"(value));
    return narrow;
#elif SCALAR == BF16
    unsigned int bits = __float_as_uint(value);
    if (isnan(value))
        return (T)((bits >> 16) | 0x40u);
    return (T)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
#else
    return value;
#endif
}

static __device__ ACC load(const T *from, long long at)
{
    return to_acc(from[at]);
}

static __device__ void store(T *to, long long at, ACC value)
{
    to[at] = from_acc(value);
}

static __device__ ACC mul(ACC a, ACC b)
{
#if COMPLEX
    return ACC(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
#else
    return a * b;
#endif
}

static __device__ ACC conjugate(ACC a)
{
#if COMPLEX
    return ACC(a.x, -a.y);
#else
    return a;
#endif
}

static __device__ REAL magnitude(ACC a)
{
#if COMPLEX
    return hypot(a.x, a.y);
#else
    return fabs(a);
#endif
}

// True for a zero of either sign, by its bits: no flush to zero can make one of a subnormal.
static __device__ bool is_zero_real(float a)
{
    return __float_as_uint(a) << 1 == 0;
}

static __device__ bool is_zero_real(double a)
{
    return __double_as_longlong(a) << 1 == 0;
}

static __device__ bool is_zero(ACC a)
{
#if COMPLEX
    return is_zero_real(a.x) && is_zero_real(a.y);
#else
    return is_zero_real(a);
#endif
}

// True if a stored value becomes an entry: all but zeros, or with a threshold those for which !(|v| <= tolerance).
static __device__ bool keeps(T value, int threshold, REAL tolerance)
{
    if (threshold)
        return !(magnitude(to_acc(value)) <= tolerance);
#if HALF
    return (unsigned short)(value << 1) != 0;
#else
    return !is_zero(value);
#endif
}

// y[at] <- scaled + beta * y[at]; beta = 0 does not read y.
static __device__ void update(T *y, long long at, ACC scaled, ACC beta)
{
    ACC value = scaled;
    if (!is_zero(beta))
        value += mul(beta, load(y, at));
    store(y, at, value);
}
