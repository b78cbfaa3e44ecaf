// Sums across the threads of a block. Takes BLOCK, the size of a block: a power of two, at least 32.
// Needs warp.cuh before.
#ifndef BLOCK
#error "BLOCK is missing: the size of a block"
#endif
#define WARPS (BLOCK / WARP)

// The values of all threads, combined by a fixed tree: the lanes of each warp, then the warps in order. Thread 0 gets
// it.
template <typename V, typename Combine> static __device__ V reduce_block(V value, Combine combine)
{
    __shared__ V of_warps[WARPS];
    value = reduce_lanes(value, combine);
    if (lane_index() == 0)
        of_warps[threadIdx.x / WARP] = value;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int warp = 1; warp < WARPS; warp++)
            value = combine(value, of_warps[warp]);
    __syncthreads();
    return value;
}

// The sum of the threads up to this one; `all` is that of all threads.
template <typename V> static __device__ V scan_block(V value, V *all)
{
    __shared__ V of_warps[WARPS];
    V sum = scan_lanes(value);
    if (lane_index() == WARP - 1)
        of_warps[threadIdx.x / WARP] = sum;
    __syncthreads();
    *all = 0;
    for (int warp = 0; warp < WARPS; warp++) {
        if (warp == threadIdx.x / WARP)
            sum += *all;
        *all += of_warps[warp];
    }
    __syncthreads();
    return sum;
}
