// trisolve_places: the entries of a triangle of op(A) in the order of substitution, for trisolve_waiting.cu. Entries are
// grouped by rows as in trisolve.cu. Rows are first numbered as they are solved: row i of a lower triangle is number i,
// of an upper one number rows - 1 - i. Place p of the order has number order[p], or p where `order` is null.
// trisolve_places_rows: of rows in the order of their numbers: found <- their counts, from zeros; diagonals[p] <-
// the position of the entry on the diagonal of number p, -1 if there are several or none.
// trisolve_places_count: row_of[p] <- the row of place p, place_of[number] <- p, counts[p] <- the entries of the
// triangle and of the diagonal in that row.
// trisolve_places_fill: the entries of place p begin at starts[p], in the order in which the row has them: sources <- the
// places of their columns, to <- their positions; diagonals[p] <- as above. Each reads columns once, fill positions too,
// and gathers place_of; rows gathers the positions of diagonals.
// Macros: IDX (type of rows and columns), POS (type of positions): int or long; NEAR = 8192 (numbers between a row and
// those before it that are near).
// Launch: any number of blocks of up to 256 threads, of whole warps, few for rows, of which each warp adds to `found`;
// `lanes`, a power of two up to 32, have a row.
#include "grid.cuh"
#include "types.cuh"
#include "warp.cuh"
#ifndef IDX
#error "IDX is missing: int or long"
#endif
#ifndef POS
#error "POS is missing: int or long"
#endif
#ifndef NEAR
#define NEAR 8192
#endif

typedef TYPE(IDX) Idx;
typedef TYPE(POS) Position;

static __device__ long long number_of(long long row, long long rows, int lower)
{
    return lower ? row : rows - 1 - row;
}

// The bits of this lane's team of `width` in those of a warp, from bit 0 on.
static __device__ unsigned int of_team(unsigned int bits, int width)
{
    return bits >> lane_index() / width * width & ALL_LANES >> (WARP - width);
}

// Counts of the rows.
struct Found
{
    // rows - the first row without an entry on the diagonal, or 0.
    unsigned long long missing;
    // The entries of the other triangle.
    unsigned long long outside;
    // The rows that need one near them.
    unsigned long long near;
};

struct Max
{
    __device__ unsigned long long operator()(unsigned long long a, unsigned long long b) const { return max(a, b); }
};

// The position of the diagonal of a row, for all of its lanes: each has found `found` entries of it, one at `position`.
static __device__ long long only_diagonal(int found, long long position, int width)
{
    // Where there is one entry, the other lanes have -1.
    int all = sum_lanes(found, width);
    long long sum = sum_lanes(position + 1, width) - 1;
    return all == 1 ? sum : -1;
}

KERNEL trisolve_places_rows(long long rows, int lower, long long lanes, const long long *__restrict__ offsets,
                            const Idx *__restrict__ columns, const Position *__restrict__ positions,
                            Position *__restrict__ diagonals, Found *found)
{
    int width = (int)lanes;
    int lane = lane_index() % width;
    Found own = {0, 0, 0};
    for (long long first = warp_index() * (WARP / width); first < rows; first += warp_count() * (WARP / width)) {
        long long number = first + lane_index() / width;
        long long row = number_of(number, rows, lower);
        long long begin = number < rows ? offsets[row] : 0;
        long long end = number < rows ? offsets[row + 1] : 0;
        int on_diagonal = 0;
        long long diagonal = -1;
        int needs_near = 0;
        for (long long k = begin + lane; k < end; k += width) {
            long long other = number_of(columns[k], rows, lower);
            own.outside += other > number;
            needs_near |= other < number && other >= number - NEAR;
            if (other == number) {
                on_diagonal++;
                diagonal = positions[k];
            }
        }
        bool has_diagonal = sum_lanes(on_diagonal, width) > 0;
        diagonal = only_diagonal(on_diagonal, diagonal, width);
        needs_near = sum_lanes(needs_near, width);
        if (number < rows && lane == 0) {
            diagonals[number] = (Position)diagonal;
            own.near += needs_near > 0;
            if (!has_diagonal)
                own.missing = max(own.missing, (unsigned long long)(rows - row));
        }
    }
    own = {reduce_lanes(own.missing, Max()), sum_lanes(own.outside), sum_lanes(own.near)};
    if (lane_index() == 0) {
        atomicMax(&found->missing, own.missing);
        atomicAdd(&found->outside, own.outside);
        atomicAdd(&found->near, own.near);
    }
}

KERNEL trisolve_places_count(long long rows, int lower, long long lanes, const Idx *__restrict__ order,
                             const long long *__restrict__ offsets, const Idx *__restrict__ columns,
                             Idx *__restrict__ row_of, Idx *__restrict__ place_of, long long *__restrict__ counts)
{
    int width = (int)lanes;
    int lane = lane_index() % width;
    for (long long first = warp_index() * (WARP / width); first < rows; first += warp_count() * (WARP / width)) {
        long long place = first + lane_index() / width;
        bool counts_row = place < rows;
        long long number = counts_row && order ? order[place] : place;
        long long row = number_of(number, rows, lower);
        long long begin = counts_row ? offsets[row] : 0;
        long long end = counts_row ? offsets[row + 1] : 0;
        long long found = 0;
        for (long long k = begin + lane; k < end; k += width)
            found += number_of(columns[k], rows, lower) <= number;
        found = sum_lanes(found, width);
        if (counts_row && lane == 0) {
            row_of[place] = (Idx)row;
            place_of[number] = (Idx)place;
            counts[place] = found;
        }
    }
}

KERNEL trisolve_places_fill(long long rows, int lower, long long lanes, const long long *__restrict__ offsets,
                            const Idx *__restrict__ columns, const Position *__restrict__ positions,
                            const Idx *__restrict__ row_of, const Idx *__restrict__ place_of,
                            const long long *__restrict__ starts, Idx *__restrict__ sources,
                            Position *__restrict__ to, Position *__restrict__ diagonals)
{
    int width = (int)lanes;
    int lane = lane_index() % width;
    for (long long first = warp_index() * (WARP / width); first < rows; first += warp_count() * (WARP / width)) {
        long long place = first + lane_index() / width;
        bool fills = place < rows;
        long long row = fills ? row_of[place] : 0;
        long long number = number_of(row, rows, lower);
        long long end = fills ? offsets[row + 1] : 0;
        long long at = fills ? starts[place] : 0;
        int on_diagonal = 0;
        long long diagonal = -1;
        for (long long k = fills ? offsets[row] : 0; __any_sync(ALL_LANES, k < end); k += width) {
            long long other = k + lane < end ? number_of(columns[k + lane], rows, lower) : rows;
            bool stays = other <= number && k + lane < end;
            unsigned int all = of_team(__ballot_sync(ALL_LANES, stays), width);
            if (stays) {
                long long here = at + __popc(all & ((1u << lane) - 1));
                sources[here] = place_of[other];
                to[here] = positions[k + lane];
                if (other == number) {
                    on_diagonal++;
                    diagonal = positions[k + lane];
                }
            }
            at += __popc(all);
        }
        diagonal = only_diagonal(on_diagonal, diagonal, width);
        if (fills && lane == 0)
            diagonals[place] = (Position)diagonal;
    }
}
