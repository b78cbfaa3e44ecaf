// The products of neighbouring entries of a row of A with the rows of B that they name, numbered in the order of these
// entries: the lanes of a team share them evenly, whatever the lengths of the rows. Needs team.cuh and search.cuh
// before.
struct Products {
    long long count;
    const long long *ends;   // one past the last product of the entry of each lane
    const long long *origins; // where B would have product 0 if all were of this entry
};

// The products of the entries of all lanes: each brings `length` elements of B from `begin` on. They last until the
// team calls this again.
static __device__ Products products_of(int lanes, long long begin, long long length)
{
    __shared__ long long ends[BLOCK];
    __shared__ long long origins[BLOCK];
    int first = threadIdx.x / lanes * lanes;
    Products products = {0, ends + first, origins + first};
    sync_team(lanes);
    long long before = scan_team(lanes, length, &products.count);
    ends[threadIdx.x] = before + length;
    origins[threadIdx.x] = begin - before;
    sync_team(lanes);
    return products;
}

// The lane whose entry has product p.
static __device__ int owner_of(const Products &products, int lanes, long long p)
{
    return count_below(products.ends, lanes, p + 1);
}

// A row of A that a team has: its number and its entries.
struct TeamRow
{
    bool is_there;
    long long number;
    long long begin;
    long long end;
};

// The row at place i of `order`, or row i without an order, before place `end`; behind it one without entries.
static __device__ TeamRow row_at(long long i, long long end, const long long *__restrict__ order,
                                 const Off *__restrict__ offsets)
{
    if (i >= end)
        return {false, 0, 0, 0};
    long long row = order ? order[i] : i;
    return {true, row, offsets[row], offsets[row + 1]};
}

// The lanes of the team that takes `count` elements, of which a lane has `each`: `width`, or twice as many until they
// suffice, up to a warp.
static __device__ int lanes_for(long long count, int each, int width)
{
    int lanes = width;
    while (lanes < WARP && count > each * lanes)
        lanes *= 2;
    return lanes;
}

// Lets the teams of a warp, of `width` lanes, `take` their rows, those at places i before `end` of `order`, and then
// those rows that need a larger team, which is made of neighbouring ones: rows for twice as many lanes, then for four
// times. Calls `take` with a row, which may be none, and the number of its lanes.
template <typename Take>
static __device__ void take_rows(int width, long long i, long long end, const long long *__restrict__ order,
                                 const Off *__restrict__ offsets, int needed, Take take)
{
    // Loaded while `needed` is still computed.
    TeamRow row = row_at(i, end, order, offsets);
    if (needed > width)
        row = TeamRow{false, 0, 0, 0};
    unsigned int left = __ballot_sync(ALL_LANES, needed > width && threadIdx.x % width == 0);
    for (int lanes = width;;) {
        take(row, lanes);
        if (left == 0)
            return;
        unsigned int own = left & __ballot_sync(ALL_LANES, needed == lanes);
        while (own == 0) {
            lanes *= 2;
            own = left & __ballot_sync(ALL_LANES, needed == lanes);
        }
        left &= ~own;
        unsigned int of_team = own;
        for (int team = lane_index() / lanes; team > 0; team--)
            of_team &= of_team - 1;
        for (int teams = WARP / lanes; teams > 0; teams--)
            own &= own - 1;
        left |= own;
        long long at = of_team ? i + (__ffs(of_team) - 1) / width - lane_index() / width : end;
        row = row_at(at, end, order, offsets);
    }
}
