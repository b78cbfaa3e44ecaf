// Sums across the lanes of a warp, always by the same tree. Needs grid.cuh and scalar.cuh before.

#if COMPLEX
static __device__ ACC shuffle(ACC value, int from)
{
    return ACC(__shfl_sync(ALL_LANES, value.x, from), __shfl_sync(ALL_LANES, value.y, from));
}

static __device__ ACC shuffle_up(ACC value, int by)
{
    return ACC(__shfl_up_sync(ALL_LANES, value.x, by), __shfl_up_sync(ALL_LANES, value.y, by));
}

static __device__ ACC shuffle_xor(ACC value, int mask)
{
    return ACC(__shfl_xor_sync(ALL_LANES, value.x, mask), __shfl_xor_sync(ALL_LANES, value.y, mask));
}
#endif

template <typename V> static __device__ V shuffle(V value, int from)
{
    return __shfl_sync(ALL_LANES, value, from);
}

template <typename V> static __device__ V shuffle_up(V value, int by)
{
    return __shfl_up_sync(ALL_LANES, value, by);
}

template <typename V> static __device__ V shuffle_xor(V value, int mask)
{
    return __shfl_xor_sync(ALL_LANES, value, mask);
}

// The sum over each group of `lanes` neighbours, a power of two; every lane of the group gets it.
template <typename V> static __device__ V sum_lanes(V value, int lanes = WARP)
{
    for (int mask = lanes / 2; mask > 0; mask /= 2)
        value += shuffle_xor(value, mask);
    return value;
}
