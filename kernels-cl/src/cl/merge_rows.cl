// merge_rows: the pattern of C, the union or the intersection of the patterns of A and B. All are compressed rows;
// those of A and B are sorted and have no column twice. Entry k of A, before which `starts[k]` entries of A meet one of
// B, is element k + p - starts[k] of the union, where p entries of B come before it.
// One work-item per entry, which finds its place in the other matrix by a binary search in one row; otherwise reads its
// arrays and writes its results once.
// Macros: IDX (type of columns), OFF (type of offsets), POS (type of positions), each int or long.   Launch: any number
// of work-groups of any size.
#include "index.clh"
#define SORTED IDX
#include "search.clh"
#ifndef POS
#error "POS is missing: int or long"
#endif

// The number of entries of the other matrix before an entry, from its place there.
static long before_place(POS place)
{
    return place < 0 ? -1 - (long)place : (long)place;
}

// places[k] <- the position of the entry of the other matrix at the coordinates of entry k, which is in row rows[k];
// where there is none, -1 - p for the position p that it would have.
__kernel void merge_rows_find(long n, __global const IDX *rows, __global const IDX *indices,
                              __global const OFF *other_offsets, __global const IDX *other_indices,
                              __global POS *places)
{
    for (long k = get_global_id(0); k < n; k += get_global_size(0)) {
        long end = other_offsets[rows[k] + 1];
        long place = other_offsets[rows[k]];
        place += count_below(other_indices + place, end - place, indices[k]);
        int meets = place < end && other_indices[place] == indices[k];
        places[k] = (POS)(meets ? place : -1 - place);
    }
}

// flags[k] <- 1 where entry k meets another; one zero more at the end.
__kernel void merge_rows_flags(long n, __global const POS *places, __global long *flags)
{
    for (long k = get_global_id(0); k <= n; k += get_global_size(0)) {
        long flag = 0;
        if (k < n)
            flag = places[k] >= 0;
        flags[k] = flag;
    }
}

// offsets[i] <- the entries of C in the rows before i, of the union if `unites`, else of the intersection.
__kernel void merge_rows_offsets(long n, int unites, __global const OFF *a_offsets, __global const OFF *b_offsets,
                                 __global const long *starts, __global OFF *offsets)
{
    for (long i = get_global_id(0); i < n; i += get_global_size(0)) {
        long both = starts[a_offsets[i]];
        offsets[i] = (OFF)(unites ? (long)a_offsets[i] + b_offsets[i] - both : both);
    }
}

// Writes the elements of C at entries of A: the columns, and the positions in A and in B, -1 where B has none.
__kernel void merge_rows_left(long n, int unites, __global const IDX *indices, __global const POS *places,
                              __global const long *starts, __global IDX *c_indices, __global POS *a_positions,
                              __global POS *b_positions)
{
    for (long k = get_global_id(0); k < n; k += get_global_size(0)) {
        POS place = places[k];
        long to = unites ? k + before_place(place) - starts[k] : starts[k];
        if (unites || place >= 0) {
            c_indices[to] = indices[k];
            a_positions[to] = (POS)k;
            b_positions[to] = place < 0 ? (POS)(-1) : place;
        }
    }
}

// Writes the elements of a union at entries of B that meet none of A, likewise.
__kernel void merge_rows_right(long n, __global const IDX *indices, __global const POS *places,
                               __global const long *starts, __global IDX *c_indices, __global POS *a_positions,
                               __global POS *b_positions)
{
    for (long k = get_global_id(0); k < n; k += get_global_size(0)) {
        long before = before_place(places[k]);
        if (places[k] < 0) {
            long to = k + before - starts[before];
            c_indices[to] = indices[k];
            a_positions[to] = (POS)(-1);
            b_positions[to] = (POS)k;
        }
    }
}
