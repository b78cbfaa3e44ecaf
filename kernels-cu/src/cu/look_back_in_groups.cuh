// Decoupled look-back over groups of 32 tiles: the sum of all tiles before one, while the others are still at work.
// Tiles are taken in order by a ticket, so that those before are at work already. A tile publishes its own sum, and
// adds it to that of its group; the last of a group publishes the sum up to the end of the group. So one look, at 32
// tiles and 32 groups, covers a thousand tiles, more than are at work at once; tile by tile, each 32 of them take a
// look.
// `states` begins with the ticket, followed by the groups and then by the own sums; all are zeros when a kernel starts.
// After Merrill, Garland: Single-pass parallel prefix scan with decoupled look-back. NVR-2016-002 (2016).
// Needs grid.cuh and warp.cuh before.

typedef unsigned long long Count;

// The sum up to the end of the group, above which is a flag, and that of the tiles that have published theirs, above
// which is their number.
struct __align__(16) Group
{
    Count whole;
    Count partial;
};

// A tile's own sum has a flag, too.
#define WHOLE_FLAG (1ull << 63)
#define PARTIAL_SHIFT 58
#define OWN_FLAG (1u << 31)

struct States
{
    unsigned int *ticket;
    Group *groups;
    unsigned int *own;
};

static __device__ States states_of(Group *states, unsigned int tiles)
{
    Group *groups = states + 1;
    return States{(unsigned int *)states, groups, (unsigned int *)(groups + (tiles + WARP - 1) / WARP)};
}

// The next tile.
static __device__ unsigned int take_tile(const States &states)
{
    return atomicAdd(states.ticket, 1u);
}

// Publishes the own sum of a tile, below 2^31. One thread calls it.
static __device__ void publish_own(unsigned int tile, unsigned int own, const States &states)
{
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" : : "l"(states.own + tile), "r"(OWN_FLAG | own) : "memory");
    asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;"
                 :
                 : "l"(&states.groups[tile / WARP].partial), "l"(1ull << PARTIAL_SHIFT | own)
                 : "memory");
}

// Publishes the sum up to the end of a group. One thread calls it.
static __device__ void publish_whole(Group *group, Count sum)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" : : "l"(&group->whole), "l"(WHOLE_FLAG | sum) : "memory");
}

static __device__ unsigned int load_own(const unsigned int *own)
{
    unsigned int loaded;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(loaded) : "l"(own) : "memory");
    return loaded;
}

static __device__ Group load_group(const Group *group)
{
    Group loaded;
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(loaded.whole), "=l"(loaded.partial)
                 : "l"(group)
                 : "memory");
    return loaded;
}

// The sum of the groups up to the `last`, and of the first `few` of the tiles with these own sums. Waits for those that
// are not known yet. One warp calls it; the sum is that of all lanes. `complete` <- false if groups before the last 32
// are missing.
static __device__ Count sum_of(long long last, const unsigned int *own, int few, const States &states, bool *complete)
{
    int lane = lane_index();
    long long at = last - lane;
    for (;;) {
        unsigned int of_tile = lane < few ? load_own(own + lane) : OWN_FLAG;
        Group group = at < 0 ? Group{WHOLE_FLAG, 0} : load_group(states.groups + at);
        unsigned int wholes = __ballot_sync(ALL_LANES, group.whole >= WHOLE_FLAG);
        int nearest = wholes ? __ffs(wholes) - 1 : WARP;
        bool known = of_tile >= OWN_FLAG && (lane >= nearest || group.partial >> PARTIAL_SHIFT == WARP);
        if (!__all_sync(ALL_LANES, known))
            continue;
        *complete = wholes != 0;
        Count sum = of_tile & ~OWN_FLAG;
        if (lane < nearest)
            sum += group.partial & ((1ull << PARTIAL_SHIFT) - 1);
        if (lane == nearest)
            sum += group.whole & ~WHOLE_FLAG;
        return sum;
    }
}

// The sum of the tiles before `tile`, whose own sum, which is published, is `own`. One warp calls it; every lane gets
// it.
static __device__ Count look_back(unsigned int tile, unsigned int own, const States &states)
{
    long long group = tile / WARP;
    bool complete;
    Count sum = sum_of(group - 1, states.own + group * WARP, tile % WARP, states, &complete);
    for (long long last = group - 1 - WARP; !complete; last -= WARP)
        sum += sum_of(last, nullptr, 0, states, &complete);
    Count before = sum_lanes(sum);
    if (lane_index() == 0 && tile % WARP == WARP - 1)
        publish_whole(&states.groups[group], before + own);
    return before;
}
