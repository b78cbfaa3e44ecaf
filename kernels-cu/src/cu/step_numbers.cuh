// Partial results of the blocks of a launch, and the numbers of conjugate gradients. Needs scalar.cuh and block.cuh
// before.

// `count` values combined by one block; thread 0 gets it.
template <typename V, typename Combine>
static __device__ V combine_all(const V *values, long long count, Combine combine)
{
    V value = V(0);
    for (long long i = threadIdx.x; i < count; i += BLOCK)
        value = combine(value, values[i]);
    return reduce_block(value, combine);
}

// The sum of the partial results of as many blocks, for all threads of the block.
static __device__ ACC sum_of_blocks(const ACC *partial)
{
    __shared__ ACC all;
    ACC sum = combine_all(partial, gridDim.x, Sum());
    if (threadIdx.x == 0)
        all = sum;
    __syncthreads();
    return all;
}

static __device__ REAL real_part(ACC a)
{
#if COMPLEX
    return a.x;
#else
    return a;
#endif
}

// True if the real part is positive, and neither subnormal nor infinite nor NaN.
static __device__ bool is_positive_normal(ACC a)
{
#if SCALAR == F64 || SCALAR == C64
    return real_part(a) >= 0x1p-1022 && !isinf(real_part(a));
#else
    return real_part(a) >= 0x1p-126f && !isinf(real_part(a));
#endif
}
