// Decoupled look-back: the sum of all tiles before one, while the others are still at work. Tiles are taken in order by
// a ticket, so that those before are at work already. A tile first publishes its own sum, then the sum up to it.
// `states` begins with the ticket, followed by one state per tile; all are zeros when a kernel starts.
// Merrill, Garland: Single-pass parallel prefix scan with decoupled look-back. NVR-2016-002 (2016).
// Needs grid.cuh and warp.cuh before.
#define OWN_SUM 1u
#define WHOLE_SUM 2u

typedef unsigned long long Count;

// Two words, each a flag above 32 bits of a sum: a word is read and written whole, so a pair with one flag is one sum.
typedef ulonglong2 State;

static __device__ void publish(State *state, unsigned int flag, Count sum)
{
    Count high = (Count)flag << 32;
    asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};"
                 :
                 : "l"(state), "l"(high | (unsigned int)sum), "l"(high | sum >> 32)
                 : "memory");
}

// The flag of a state, or 0 if it has none yet, and the sum.
static __device__ unsigned int load_state(const State *state, Count *sum)
{
    Count first, second;
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(first), "=l"(second) : "l"(state) : "memory");
    *sum = (unsigned int)first | second << 32;
    return first >> 32 == second >> 32 ? (unsigned int)(first >> 32) : 0;
}

// The next tile.
static __device__ unsigned int take_tile(State *states)
{
    return atomicAdd((unsigned int *)states, 1u);
}

// The same for the whole block.
static __device__ long long next_tile(State *states)
{
    __shared__ unsigned int tile;
    __syncthreads();
    if (threadIdx.x == 0)
        tile = take_tile(states);
    __syncthreads();
    return tile;
}

// Publishes the own sum of a tile. One thread calls it.
static __device__ void publish_own(long long tile, Count own, State *states)
{
    if (tile > 0)
        publish(&states[1 + tile], OWN_SUM, own);
}

// The sum of the tiles before `tile`, whose own sum, which is published, is `own`. One warp calls it; every lane gets
// it.
static __device__ Count look_back(long long tile, Count own, State *states)
{
    State *of_tiles = states + 1;
    Count before = 0;
    bool complete = false;
    for (long long last = tile - 1; last >= 0 && !complete; last -= WARP) {
        long long at = last - lane_index();
        unsigned int flag = WHOLE_SUM;
        Count sum = 0;
        if (at >= 0)
            while ((flag = load_state(&of_tiles[at], &sum)) == 0)
                ;
        unsigned int whole = __ballot_sync(ALL_LANES, flag == WHOLE_SUM);
        complete = whole != 0;
        if (complete && lane_index() > __ffs(whole) - 1)
            sum = 0;
        before += sum_lanes(sum);
    }
    if (lane_index() == 0)
        publish(&of_tiles[tile], WHOLE_SUM, before + own);
    return before;
}
