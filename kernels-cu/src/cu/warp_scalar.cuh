// The same for ACC. Needs scalar.cuh before.
#include "warp.cuh"

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

// The sum of the lanes from the first one with this lane's key up to this one. Equal keys are neighbours.
template <typename K> static __device__ ACC sum_run(K key, ACC value)
{
    for (int d = 1; d < WARP; d *= 2) {
        K left_key = shuffle_up(key, d);
        ACC left = shuffle_up(value, d);
        if (lane_index() >= d && left_key == key)
            value += left;
    }
    return value;
}

// The sum of the lanes from the last one that begins a segment up to this one; bit l of `beginners` says that lane l
// begins one.
static __device__ ACC sum_segment(ACC value, unsigned int beginners)
{
    int lane = lane_index();
    unsigned int up_to_lane = beginners & (ALL_LANES >> (WARP - 1 - lane));
    int reach = up_to_lane == 0 ? lane : lane - (WARP - 1 - __clz(up_to_lane));
    for (int d = 1; d < WARP; d *= 2) {
        ACC left = shuffle_up(value, d);
        if (d <= reach)
            value += left;
    }
    return value;
}
