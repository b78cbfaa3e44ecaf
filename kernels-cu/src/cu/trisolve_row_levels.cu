// trisolve_row_levels: levels[p] <- the level of the row at place p of the triangle of op(A): one more than the
// highest of those that it needs. Place p is row p of a lower triangle, row rows - 1 - p of an upper one. Entries are
// grouped by rows as in trisolve.cu. found <- max(found, the highest level). Levels end at 2^32 - 2, where later rows
// have the same one. `lanes` neighbouring lanes per row wait for as many others at a time; blocks take rows in the
// order of places by a ticket, so that those which a row needs are at work already. `words` begins with the ticket,
// followed by a word of 4 bytes for each row (ready.cuh); all are zeros when the kernel starts. Reads columns once,
// gathers words, writes levels and words once. Where most rows of a warp need the one before them and no other of the
// warp, as those of a grid, their levels are found together, by a scan.
// Macros: IDX (type of columns): int or long; LOOKED_AT = 16 (entries of a row that are looked at for that).
// Launch: any number of blocks of up to 256 threads, of whole warps; `lanes` is a power of two up to 32.
#include "grid.cuh"
#include "types.cuh"
#include "warp.cuh"
#include "ready.cuh"
#ifndef IDX
#error "IDX is missing: int or long"
#endif

typedef TYPE(IDX) Idx;

// Nanoseconds that a warp sleeps after it has looked for levels in vain, as long as its first row waits: who waits far
// ahead delays those that are worked on. Measured on H200 with 2000, 1000, 500 and without: the 5-point stencil of
// 1200^2 takes 4.8, 5.5, 7.2 and 34 ms, the 27-point one of 64^3 0.47, 0.50, 0.67 and 3.4, a power law 0.34, 0.29, 0.29
// and 0.26.
#define SLEEP 1000
// The same where rows are in chains. Measured on H200 with 1000, 2000 and 3000, lower triangles: 3.1, 2.65 and 5.1 ms
// for the 5-point stencil, 0.68, 0.86 and 1.7 for that of 400^2, 1.6, 1.3 and 2.5 for the 7-point one of 128^3.
#define SLEEP_OF_CHAINS 2000
// Entries of a row that are looked at to find chains.
#ifndef LOOKED_AT
#define LOOKED_AT 16
#endif

// The highest level: one more is the same.
#define HIGHEST 0xfffffffeu

struct Max
{
    __device__ unsigned int operator()(unsigned int a, unsigned int b) const { return max(a, b); }
};

// The entries of a triangle by rows, and the words of levels that are known.
struct Triangle
{
    long long rows;
    int lower;
    const Idx *columns;
    unsigned int *levels;
    unsigned int *words;

    __device__ long long place_of(long long row) const { return lower ? row : rows - 1 - row; }
};

// A row that a team of lanes searches the level of.
struct Row
{
    bool searches;
    long long place;
    long long k;
    long long end;
};

// True if a row needs the one before it, but no other of the rows of its warp, which begin at `warp_first`.
static __device__ bool is_in_chain(const Triangle &triangle, const Row &row, long long warp_first)
{
    bool needs = false;
    bool needs_others = false;
#pragma unroll 4
    for (long long k = row.k; k < min(row.end, row.k + LOOKED_AT); k++) {
        long long other = triangle.place_of(triangle.columns[k]);
        bool is_near = other >= warp_first && other < row.place;
        needs |= is_near;
        needs_others |= is_near && other != row.place - 1;
    }
    return needs && !needs_others;
}

// The level of a lane's row whose links lead down to lane `first`: each is one above the one before it, and above what
// it needs besides, `own`.
static __device__ unsigned int level_along(bool is_link, int first, unsigned int own)
{
    int lane = lane_index();
    long long above = (long long)own - lane;
    for (int by = 1; by < WARP; by *= 2) {
        long long before = shuffle_up(above, by);
        if (is_link && lane - by >= first)
            above = max(above, before);
    }
    return (unsigned int)min(above + lane, (long long)HIGHEST);
}

// Finds the levels of the rows of a warp, whose first has place `warp_first`; returns the highest of those of this
// lane's row and `most`. In CHAINS, with a lane for a row, rows wait for the row before last of all, and those that
// wait for nothing else get their levels together.
template <bool CHAINS>
static __device__ unsigned int find_levels(const Triangle &triangle, Row own, int width, long long warp_first,
                                           unsigned int most)
{
    long long place = own.place;
    long long row = triangle.place_of(place);
    long long k = own.k + lane_index() % width;
    bool searches = own.searches;
    bool is_linked = false;
    long long column = k < own.end ? triangle.columns[k] : row;
    unsigned int level = 0;
    // Lanes may need each other: they exchange levels, and look for those of other warps, in turn.
    while (__any_sync(ALL_LANES, searches)) {
        long long other = triangle.place_of(column);
        bool is_needed = k < own.end && other < place;
        bool is_near = is_needed && other >= warp_first;
        int source = is_near ? (int)(other - warp_first) * width : 0;
        unsigned int below = shuffle(level, source);
        unsigned int searching = __ballot_sync(ALL_LANES, searches);
        bool is_found = !(searching >> source & 1);
        if (is_needed && !is_near)
            is_found = is_ready(triangle.words, column, &below);
        bool is_link = CHAINS && is_near && other == place - 1;
        is_linked |= is_link;
        bool advances = k < own.end && (is_found || !is_needed || is_link);
        if (advances) {
            if (is_needed && !is_link)
                level = max(level, min(below, HIGHEST - 1) + 1);
            k += width;
            column = k < own.end ? triangle.columns[k] : row;
        }
        unsigned int waiting = __ballot_sync(ALL_LANES, k < own.end);
        bool complete = searches && (waiting & lanes_of_team(width)) == 0;
        unsigned int links = CHAINS ? __ballot_sync(ALL_LANES, complete && is_linked) : 0;
        if (links) {
            unsigned int known = __ballot_sync(ALL_LANES, !searches || complete && !is_linked);
            int first = WARP - 1 - __clz(~links & ((1u << lane_index()) - 1));
            unsigned int along = level_along(complete && is_linked, first, level);
            complete = complete && (!is_linked || known >> first & 1);
            level = complete ? along : level;
        }
        if (!__any_sync(ALL_LANES, complete)) {
            if ((searching & 1) && !__any_sync(ALL_LANES, advances))
                __nanosleep(CHAINS ? SLEEP_OF_CHAINS : SLEEP);
            continue;
        }
        unsigned int highest = reduce_lanes(level, Max(), width);
        if (!complete)
            continue;
        searches = false;
        level = highest;
        if (lane_index() % width == 0) {
            triangle.levels[place] = highest;
            set_ready(triangle.words, row, highest);
            most = max(most, highest);
        }
    }
    return most;
}

KERNEL trisolve_row_levels(long long rows, int lower, long long lanes, const long long *__restrict__ offsets,
                           const Idx *__restrict__ columns, unsigned int *__restrict__ levels,
                           unsigned long long *found, unsigned long long *words)
{
    int width = (int)lanes;
    Triangle triangle = {rows, lower, columns, levels, (unsigned int *)(words + 1)};
    unsigned int most = 0;
    __shared__ unsigned long long ticket;
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0)
            ticket = atomicAdd(words, 1ull);
        __syncthreads();
        long long first = (long long)ticket * (blockDim.x / width);
        if (first >= rows)
            break;
        long long place = first + threadIdx.x / width;
        long long warp_first = first + threadIdx.x / WARP * (WARP / width);
        Row own = {place < rows, place, 0, 0};
        if (own.searches) {
            own.k = offsets[triangle.place_of(place)];
            own.end = offsets[triangle.place_of(place) + 1];
        }
        bool is_chained = width == 1 && is_in_chain(triangle, own, warp_first);
        if (__popc(__ballot_sync(ALL_LANES, is_chained)) > WARP / 2)
            most = find_levels<true>(triangle, own, width, warp_first, most);
        else
            most = find_levels<false>(triangle, own, width, warp_first, most);
    }
    most = reduce_lanes(most, Max());
    if (lane_index() == 0 && most > *found)
        atomicMax(found, (unsigned long long)most);
}
