// Exchanges between the lanes of a warp, and their sums, always by the same tree. Needs grid.cuh before.

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

struct Sum
{
    template <typename V> __device__ V operator()(V a, V b) const { return a + b; }
};

struct Or
{
    __device__ unsigned int operator()(unsigned int a, unsigned int b) const { return a | b; }
};

// The values of each group of `lanes` neighbours, a power of two, combined; every lane of the group gets it.
template <typename V, typename Combine> static __device__ V reduce_lanes(V value, Combine combine, int lanes = WARP)
{
    for (int mask = lanes / 2; mask > 0; mask /= 2)
        value = combine(value, shuffle_xor(value, mask));
    return value;
}

template <typename V> static __device__ V sum_lanes(V value, int lanes = WARP)
{
    return reduce_lanes(value, Sum(), lanes);
}

// The bits that any lane has.
static __device__ unsigned int or_lanes(unsigned int bits)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_or_sync(ALL_LANES, bits);
#else
    return reduce_lanes(bits, Or());
#endif
}

// The sum of the lanes up to this one.
template <typename V> static __device__ V scan_lanes(V value)
{
    for (int d = 1; d < WARP; d *= 2) {
        V left = shuffle_up(value, d);
        if (lane_index() >= d)
            value += left;
    }
    return value;
}
