// trisolve_row_levels: levels[p] <- the level of the row at place p of the triangle of op(A): one more than the
// highest of those that it needs. Place p is row p of a lower triangle, row rows - 1 - p of an upper one. Entries are
// grouped by rows as in trisolve.cu. found <- max(found, the highest level). Levels end at 2^32 - 2, where later rows
// have the same one. `lanes` neighbouring lanes per row wait for as many others at a time; blocks take rows in the
// order of places by a ticket, so that those which a row needs are at work already. `words` begins with the ticket,
// followed by a word of 4 bytes for each row (ready.cuh); all are zeros when the kernel starts. Reads columns once,
// gathers words, writes levels and words once.
// Macros: IDX (type of columns): int or long.
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
// ahead delays those that are worked on. Measured on H200 with 2000, 1000, 500 and without: the 5-point stencil of 1200^2
// takes 4.8, 5.5, 7.2 and 34 ms, the 27-point one of 64^3 0.47, 0.50, 0.67 and 3.4, a power law 0.34, 0.29, 0.29 and 0.26.
#define SLEEP 1000

struct Max
{
    __device__ unsigned int operator()(unsigned int a, unsigned int b) const { return max(a, b); }
};

KERNEL trisolve_row_levels(long long rows, int lower, long long lanes, const long long *__restrict__ offsets,
                           const Idx *__restrict__ columns, unsigned int *__restrict__ levels,
                           unsigned long long *found, unsigned long long *words)
{
    int width = (int)lanes;
    int lane = lane_index() % width;
    unsigned int *of_rows = (unsigned int *)(words + 1);
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
        bool searches = place < rows;
        long long row = lower ? place : rows - 1 - place;
        long long k = searches ? offsets[row] + lane : 0;
        long long end = searches ? offsets[row + 1] : 0;
        long long column = k < end ? columns[k] : row;
        unsigned int level = 0;
        // Lanes may need each other: they exchange levels, and look for those of other warps, in turn.
        while (__any_sync(ALL_LANES, searches)) {
            long long other = lower ? column : rows - 1 - column;
            bool is_needed = k < end && other < place;
            bool is_near = is_needed && other >= warp_first;
            int source = is_near ? (int)(other - warp_first) * width : 0;
            unsigned int below = shuffle(level, source);
            unsigned int searching = __ballot_sync(ALL_LANES, searches);
            bool is_found = !(searching >> source & 1);
            if (is_needed && !is_near)
                is_found = is_ready(of_rows, column, &below);
            bool advances = k < end && (is_found || !is_needed);
            if (advances) {
                if (is_needed)
                    level = max(level, min(below, 0xfffffffdu) + 1);
                k += width;
                column = k < end ? columns[k] : row;
            }
            unsigned int waiting = __ballot_sync(ALL_LANES, k < end);
            bool complete = searches && (waiting & lanes_of_team(width)) == 0;
            if (!__any_sync(ALL_LANES, complete)) {
                if ((searching & 1) && !__any_sync(ALL_LANES, advances))
                    __nanosleep(SLEEP);
                continue;
            }
            unsigned int highest = reduce_lanes(level, Max(), width);
            if (!complete)
                continue;
            searches = false;
            level = highest;
            if (lane == 0) {
                levels[place] = highest;
                set_ready(of_rows, row, highest);
                most = max(most, highest);
            }
        }
    }
    most = reduce_lanes(most, Max());
    if (lane_index() == 0 && most > *found)
        atomicMax(found, (unsigned long long)most);
}
