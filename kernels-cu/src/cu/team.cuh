// Teams: `lanes` neighbouring threads that have a row together, a power of two: a part of a warp, a warp, or the whole
// block of up to BLOCK. All teams of a warp call these functions together, since it would take them one after the other
// if each had a mask of its own. Needs grid.cuh before.
#ifndef BLOCK
#error "BLOCK is missing: the most lanes of a team"
#endif

// True if it is for a thread of the warp.
static __device__ bool any_of_warp(bool own)
{
    return __any_sync(ALL_LANES, own);
}

// Waits for the team, and for what its threads wrote.
static __device__ void sync_team(int lanes)
{
    if (lanes > WARP)
        __syncthreads();
    else
        __syncwarp();
}

// True for all teams of a warp, or for the block, if it is for a thread.
static __device__ bool any_of_teams(int lanes, bool own)
{
    return lanes > WARP ? __syncthreads_or(own) : any_of_warp(own);
}

// The sum of `own` over the lanes before this one; `all` becomes that of all lanes.
template <typename N> static __device__ N scan_team(int lanes, N own, N *all)
{
    __shared__ N of_warps[BLOCK / WARP];
    int width = min(lanes, WARP);
    int lane = lane_index() % width;
    N sum = own;
    for (int step = 1; step < width; step *= 2) {
        N left = __shfl_up_sync(ALL_LANES, sum, step, width);
        if (lane >= step)
            sum += left;
    }
    *all = __shfl_sync(ALL_LANES, sum, width - 1, width);
    if (lanes > WARP) {
        int warp = threadIdx.x / WARP;
        if (lane == 0)
            of_warps[warp] = *all;
        __syncthreads();
        *all = 0;
        for (int w = 0; w < lanes / WARP; w++) {
            if (w == warp)
                sum += *all;
            *all += of_warps[w];
        }
        __syncthreads();
    }
    return sum - own;
}

// The least of `own` over all lanes.
static __device__ long long min_team(int lanes, long long own)
{
    __shared__ long long of_warps[BLOCK / WARP];
    for (int step = min(lanes, WARP) / 2; step > 0; step /= 2)
        own = min(own, __shfl_xor_sync(ALL_LANES, own, step));
    if (lanes > WARP) {
        if (lane_index() == 0)
            of_warps[threadIdx.x / WARP] = own;
        __syncthreads();
        for (int w = 0; w < lanes / WARP; w++)
            own = min(own, of_warps[w]);
        __syncthreads();
    }
    return own;
}

// The number of the team in the grid, and the number of teams.
static __device__ long long team_index(int lanes)
{
    return thread_index() / lanes;
}

static __device__ long long team_count(int lanes)
{
    return thread_count() / lanes;
}
