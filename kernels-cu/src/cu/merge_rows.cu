// merge_rows: the pattern of C, the union or the intersection of the patterns of A and B. All are compressed rows;
// those of A and B are sorted and have no column twice. Entry k of A, before which `starts[k]` entries of A meet one of
// B, is element k + p - starts[k] of the union, where p entries of B come before it.
// One thread per entry, which finds its place in the other matrix by a binary search in one row; otherwise reads its
// arrays and writes its results once.
// Macros: IDX (type of columns), OFF (type of offsets), POS (type of positions), each int or long.   Launch: any number
// of blocks of up to 256 threads.
#include "grid.cuh"
#include "index.cuh"
#include "search.cuh"
#ifndef POS
#error "POS is missing: int or long"
#endif

typedef TYPE(POS) Position;

// The number of entries of the other matrix before an entry, from its place there.
static __device__ long long before_place(Position place)
{
    return place < 0 ? -1 - (long long)place : (long long)place;
}

// places[k] <- the position of the entry of the other matrix at the coordinates of entry k, which is in row rows[k];
// where there is none, -1 - p for the position p that it would have.
KERNEL merge_rows_find(long long n, const Idx *__restrict__ rows, const Idx *__restrict__ indices,
                       const Off *__restrict__ other_offsets, const Idx *__restrict__ other_indices,
                       Position *__restrict__ places)
{
    for (long long k = thread_index(); k < n; k += thread_count()) {
        long long end = other_offsets[rows[k] + 1];
        long long place = other_offsets[rows[k]];
        place += count_below(other_indices + place, end - place, indices[k]);
        bool meets = place < end && other_indices[place] == indices[k];
        places[k] = (Position)(meets ? place : -1 - place);
    }
}

// flags[k] <- 1 where entry k meets another; one zero more at the end.
KERNEL merge_rows_flags(long long n, const Position *__restrict__ places, long long *__restrict__ flags)
{
    for (long long k = thread_index(); k <= n; k += thread_count())
        flags[k] = k < n && places[k] >= 0;
}

// offsets[i] <- the entries of C in the rows before i, of the union if `unites`, else of the intersection.
KERNEL merge_rows_offsets(long long n, int unites, const Off *__restrict__ a_offsets,
                          const Off *__restrict__ b_offsets, const long long *__restrict__ starts,
                          Off *__restrict__ offsets)
{
    for (long long i = thread_index(); i < n; i += thread_count()) {
        long long both = starts[a_offsets[i]];
        offsets[i] = (Off)(unites ? (long long)a_offsets[i] + b_offsets[i] - both : both);
    }
}

// Writes the elements of C at entries of A: the columns, and the positions in A and in B, -1 where B has none.
KERNEL merge_rows_left(long long n, int unites, const Idx *__restrict__ indices, const Position *__restrict__ places,
                       const long long *__restrict__ starts, Idx *__restrict__ c_indices,
                       Position *__restrict__ a_positions, Position *__restrict__ b_positions)
{
    for (long long k = thread_index(); k < n; k += thread_count()) {
        Position place = places[k];
        long long to = unites ? k + before_place(place) - starts[k] : starts[k];
        if (unites || place >= 0) {
            c_indices[to] = indices[k];
            a_positions[to] = (Position)k;
            b_positions[to] = place < 0 ? (Position)(-1) : place;
        }
    }
}

// Writes the elements of a union at entries of B that meet none of A, likewise.
KERNEL merge_rows_right(long long n, const Idx *__restrict__ indices, const Position *__restrict__ places,
                        const long long *__restrict__ starts, Idx *__restrict__ c_indices,
                        Position *__restrict__ a_positions, Position *__restrict__ b_positions)
{
    for (long long k = thread_index(); k < n; k += thread_count()) {
        long long before = before_place(places[k]);
        if (places[k] < 0) {
            long long to = k + before - starts[before];
            c_indices[to] = indices[k];
            a_positions[to] = (Position)(-1);
            b_positions[to] = (Position)k;
        }
    }
}
