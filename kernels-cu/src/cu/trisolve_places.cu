// trisolve_places: the entries of a triangle of op(A) in the order of substitution, for trisolve_waiting.cu. Entries are
// grouped by rows as in trisolve.cu. Rows are first numbered as they are solved: row i of a lower triangle is number i,
// of an upper one number rows - 1 - i. Place p of the order has number order[p], or p where `order` is null.
// trisolve_places_count: row_of[p] <- the row of place p, place_of[number] <- p, counts[p] <- the entries of the
// triangle and of the diagonal in that row, missing <- max(missing, rows - the first row without a diagonal entry).
// trisolve_places_fill: the entries of place p begin at starts[p], in the order in which the row has them: sources <- the
// places of their columns, to <- their positions; diagonals[p] <- the position of the entry on the diagonal, -1 if
// there are several or none. Each reads columns once, fill positions too, and gathers place_of.
// Macros: IDX (type of rows and columns), POS (type of positions): int or long.
// Launch: any number of blocks of up to 256 threads, of whole warps; `lanes`, a power of two up to 32, have a row.
#include "grid.cuh"
#include "types.cuh"
#include "warp.cuh"
#ifndef IDX
#error "IDX is missing: int or long"
#endif
#ifndef POS
#error "POS is missing: int or long"
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

KERNEL trisolve_places_count(long long rows, int lower, long long lanes, const Idx *__restrict__ order,
                             const long long *__restrict__ offsets, const Idx *__restrict__ columns,
                             Idx *__restrict__ row_of, Idx *__restrict__ place_of, long long *__restrict__ counts,
                             unsigned long long *missing)
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
        int has_diagonal = 0;
        for (long long k = begin + lane; k < end; k += width) {
            long long column = columns[k];
            found += number_of(column, rows, lower) <= number;
            has_diagonal |= column == row;
        }
        found = sum_lanes(found, width);
        has_diagonal = sum_lanes(has_diagonal, width);
        if (counts_row && lane == 0) {
            row_of[place] = (Idx)row;
            place_of[number] = (Idx)place;
            counts[place] = found;
            if (!has_diagonal)
                atomicMax(missing, (unsigned long long)(rows - row));
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
        // Where there is one entry, the other lanes have -1.
        on_diagonal = sum_lanes(on_diagonal, width);
        diagonal = sum_lanes(diagonal + 1, width) - 1;
        if (fills && lane == 0)
            diagonals[place] = (Position)(on_diagonal == 1 ? diagonal : -1);
    }
}
