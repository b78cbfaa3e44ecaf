// Decoupled look-back: the sum of all tiles before one, while the others are still at work. Tiles are taken in order by
// a ticket, so that those before are at work already. A tile first says its own sum, then the sum up to it.
// The words that `ticket` and `flags` point to are zeros when a kernel starts.
// Merrill, Garland: Single-pass parallel prefix scan with decoupled look-back. NVR-2016-002 (2016).
// Needs grid.cuh and warp.cuh before.
#define OWN_SUM 1u
#define WHOLE_SUM 2u

static __device__ unsigned int acquire(const unsigned int *flag)
{
    unsigned int value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
    return value;
}

static __device__ void release(unsigned int *flag, unsigned int value)
{
    asm volatile("st.release.gpu.global.u32 [%0], %1;" : : "l"(flag), "r"(value) : "memory");
}

// The next tile, for the whole block.
static __device__ long long next_tile(unsigned int *ticket)
{
    __shared__ unsigned int tile;
    __syncthreads();
    if (threadIdx.x == 0)
        tile = atomicAdd(ticket, 1u);
    __syncthreads();
    return tile;
}

// The sum of the tiles before `tile`, whose own sum is `own`. One warp calls it; every lane gets it.
template <typename V>
static __device__ V look_back(long long tile, V own, unsigned int *flags, V *own_sums, V *whole_sums)
{
    if (lane_index() == 0 && tile > 0) {
        own_sums[tile] = own;
        release(&flags[tile], OWN_SUM);
    }
    V before = 0;
    bool complete = false;
    for (long long last = tile - 1; last >= 0 && !complete; last -= WARP) {
        long long at = last - lane_index();
        unsigned int flag = WHOLE_SUM;
        V sum = 0;
        if (at >= 0) {
            while ((flag = acquire(&flags[at])) == 0)
                ;
            sum = flag == WHOLE_SUM ? whole_sums[at] : own_sums[at];
        }
        unsigned int whole = __ballot_sync(ALL_LANES, flag == WHOLE_SUM);
        complete = whole != 0;
        if (complete && lane_index() > __ffs(whole) - 1)
            sum = 0;
        before += sum_lanes(sum);
    }
    if (lane_index() == 0) {
        whole_sums[tile] = before + own;
        release(&flags[tile], WHOLE_SUM);
    }
    return before;
}
