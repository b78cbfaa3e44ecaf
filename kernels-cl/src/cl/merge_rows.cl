// merge_rows: C <- alpha A + beta B, or (alpha A) o (beta B), for compressed rows, sorted and without a column twice.
// The entries of A and of B and the ends of rows are merged to one path: a step takes an entry of A, an entry of B, or
// the end of a row, in the order of rows and columns, with A's entry first where both have one.
// One work-group per tile of TILE = ITEMS * BLOCK steps, whatever the lengths of rows. Reads offsets and columns twice,
// to count and to fill, values once; writes C once, three words per tile, and one per work-item.
// Macros: SCALAR, IDX, OFF, BLOCK (a power of two, a multiple of 32), ITEMS = 10 (steps per work-item).   Launch: any
// number of work-groups of BLOCK; search any number of work-groups of any size.
// Green, McColl, Bader: GPU merge path: a GPU merging algorithm. ICS (2012).

// Every operation rounds, as on the host.
#pragma OPENCL FP_CONTRACT OFF
#include "scalar.clh"
#include "index.clh"
#include "multiply.clh"
#include "team.clh"
#ifndef ITEMS
#define ITEMS 10
#endif
#define TILE (BLOCK * ITEMS)
// An element of C is an entry of A and one of B, each of 16 bits, NONE where there is none.
#define NONE 0xffffu

// The entries of A among the first `step` of a row's entries of both; the columns are in global memory, or in local.
#define A_BEFORE(name, indices_type)                                                                                   \
    static long name(long step, indices_type a_indices, long a_count, indices_type b_indices, long b_count)            \
    {                                                                                                                  \
        long low = max(step - b_count, 0L);                                                                            \
        long high = min(step, a_count);                                                                                \
        while (low < high) {                                                                                           \
            long mid = (low + high) / 2;                                                                               \
            if (a_indices[mid] <= b_indices[step - 1 - mid])                                                           \
                low = mid + 1;                                                                                         \
            else                                                                                                       \
                high = mid;                                                                                            \
        }                                                                                                              \
        return low;                                                                                                    \
    }
A_BEFORE(a_before, __global const IDX *)
A_BEFORE(tile_a_before, __local const IDX *)

// tile_starts[2*t] <- the row that tile t begins in, tile_starts[2*t + 1] <- its first entry of A; rows and A's nnz at
// the end. A work-item takes a tile.
__kernel void merge_rows_search(long tiles, long rows, __global const OFF *a_offsets, __global const IDX *a_indices,
                                __global const OFF *b_offsets, __global const IDX *b_indices,
                                __global long *tile_starts)
{
    long steps = rows + (long)a_offsets[rows] + b_offsets[rows];
    for (long tile = get_global_id(0); tile <= tiles; tile += get_global_size(0)) {
        long step = min(tile * TILE, steps);
        long row = 0;
        long high = rows;
        while (row < high) {
            long mid = (row + high) / 2;
            if (mid + 1 + a_offsets[mid + 1] + b_offsets[mid + 1] <= step)
                row = mid + 1;
            else
                high = mid;
        }
        long a = a_offsets[row];
        long b = b_offsets[row];
        if (row < rows)
            a += a_before(step - row - a - b, a_indices + a, a_offsets[row + 1] - a, b_indices + b,
                          b_offsets[row + 1] - b);
        tile_starts[2 * tile] = row;
        tile_starts[2 * tile + 1] = a;
    }
}

// A tile in local memory: the columns of A's entries, after that of the entry before them, those of B's entries, and
// that of the entry behind them, and the ends of rows, in 16 bits for A and 16 for B, counted from the tile's begin.
typedef struct
{
    long row;
    long a;
    long b;
    int rows;
    int a_count;
    int b_count;
    int steps;
    int begins_inside_a;
    __local const IDX *a_columns;
    __local const IDX *b_columns;
    __local const IDX *ends;
} Tile;

static int a_end(Tile tile, int row)
{
    return (int)((uint)tile.ends[row] & 0xffffu);
}

static int b_end(Tile tile, int row)
{
    return (int)((uint)tile.ends[row] >> 16);
}

static IDX load_end(Tile tile, long rows, int row, __global const OFF *a_offsets, __global const OFF *b_offsets)
{
    long end = min(tile.row + row + 1, rows);
    uint a = (uint)min(a_offsets[end] - tile.a, (long)tile.a_count);
    uint b = (uint)min(b_offsets[end] - tile.b, (long)tile.b_count + 1);
    return (IDX)(a | b << 16);
}

// Every work-item calls it; `columns` has TILE + 3 elements.
static Tile load_tile(long number, long rows, int lid, __global const long *tile_starts, __global const OFF *a_offsets,
                      __global const IDX *a_indices, __global const OFF *b_offsets, __global const IDX *b_indices,
                      __local IDX *columns)
{
    Tile tile;
    long b_nnz = b_offsets[rows];
    tile.row = tile_starts[2 * number];
    tile.a = tile_starts[2 * number + 1];
    tile.b = number * TILE - tile.row - tile.a;
    tile.steps = (int)min(rows + a_offsets[rows] + b_nnz - number * TILE, (long)TILE);
    tile.rows = (int)(tile_starts[2 * number + 2] - tile.row);
    tile.a_count = (int)(tile_starts[2 * number + 3] - tile.a);
    tile.b_count = tile.steps - tile.rows - tile.a_count;
    tile.begins_inside_a = a_offsets[tile.row] < tile.a;
    tile.a_columns = columns + 1;
    tile.b_columns = tile.a_columns + tile.a_count;
    tile.ends = tile.b_columns + tile.b_count + 1;
    for (int k = lid; k < tile.steps + 3; k += BLOCK) {
        int of_b = k - tile.a_count - 1;
        int end = of_b - tile.b_count - 1;
        IDX loaded = 0;
        if (of_b < 0) {
            if (tile.a + k > 0)
                loaded = a_indices[tile.a + k - 1];
        } else if (end < 0) {
            if (tile.b + of_b < b_nnz)
                loaded = b_indices[tile.b + of_b];
        } else {
            loaded = load_end(tile, rows, end, a_offsets, b_offsets);
        }
        columns[k] = loaded;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    return tile;
}

// A place on the path, counted from the tile's begin: rows that have ended, and entries of A that are taken.
typedef struct
{
    int row;
    int a;
} Place;

static int first_step(Tile tile, int lid)
{
    return min(lid * ITEMS, tile.steps);
}

// The place that a work-item begins at.
static Place find_place(Tile tile, int lid)
{
    int step = first_step(tile, lid);
    Place place;
    place.row = 0;
    int high = tile.rows;
    while (place.row < high) {
        int mid = (place.row + high) / 2;
        if (mid + 1 + a_end(tile, mid) + b_end(tile, mid) <= step)
            place.row = mid + 1;
        else
            high = mid;
    }
    int a = place.row > 0 ? a_end(tile, place.row - 1) : 0;
    int b = place.row > 0 ? b_end(tile, place.row - 1) : 0;
    place.a = a + (int)tile_a_before(step - place.row - a - b, tile.a_columns + a, a_end(tile, place.row) - a,
                                     tile.b_columns + b, b_end(tile, place.row) - b);
    return place;
}

// Takes a work-item's steps from its place on, with `at` elements of the tile before them; returns those with them.
// Writes the elements and, counted from `start`, the ends of rows, each where it is given.
static int take_steps(Tile tile, int lid, Place place, int multiplies, int at, __local uint *elements, long start,
                      __global OFF *c_offsets)
{
    int step = first_step(tile, lid);
    int stop = min(step + ITEMS, tile.steps);
    int row = place.row;
    int a = place.a;
    int b = step - row - a;
    int a_stop = a_end(tile, row);
    int b_stop = b_end(tile, row);
    int follows_a = row > 0 ? a > a_end(tile, row - 1) : a > 0 || tile.begins_inside_a;
    // The steps before have taken B's entry with that of A.
    if (step < stop && follows_a && b < b_stop && tile.a_columns[a - 1] == tile.b_columns[b]) {
        b++;
        step++;
    }
    for (; step < stop; step++) {
        if (a == a_stop && b == b_stop) {
            row++;
            if (c_offsets)
                c_offsets[tile.row + row] = (OFF)(start + at);
            a_stop = a_end(tile, row);
            b_stop = b_end(tile, row);
        } else {
            IDX a_column = tile.a_columns[a];
            IDX b_column = tile.b_columns[b];
            int takes_a = b == b_stop || (a < a_stop && a_column <= b_column);
            int takes_b = a == a_stop || (b < b_stop && b_column <= a_column);
            if (!multiplies || (takes_a && takes_b)) {
                if (elements)
                    elements[at] = (takes_a ? (uint)a : NONE) | (takes_b ? (uint)b : NONE) << 16;
                at++;
            }
            a += takes_a;
            b += takes_b;
            step += takes_a && takes_b;
        }
    }
    return at;
}

// counts[t] <- the elements of C in tile t; one zero more at the end. places[t*BLOCK + i] <- the place that work-item i
// of tile t begins at, and the elements of the tile before it: row, a and elements in 16 bits each.
__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1)))
void merge_rows_count(long tiles, long rows, int multiplies, __global const long *tile_starts,
                      __global const OFF *a_offsets, __global const IDX *a_indices, __global const OFF *b_offsets,
                      __global const IDX *b_indices, __global long *counts, __global long *places)
{
    int lid = (int)get_local_id(0);
    __local IDX columns[TILE + 3];
    __local long sums[BLOCK];
    for (long number = get_group_id(0); number < tiles; number += get_num_groups(0)) {
        Tile tile = load_tile(number, rows, lid, tile_starts, a_offsets, a_indices, b_offsets, b_indices, columns);
        Place place = find_place(tile, lid);
        long all;
        long before = scan_team(sums, lid, BLOCK, take_steps(tile, lid, place, multiplies, 0, 0, 0, 0), &all);
        places[number * BLOCK + lid] = before << 32 | place.a << 16 | place.row;
        if (lid == 0)
            counts[number] = all;
    }
    if (get_global_id(0) == 0)
        counts[tiles] = 0;
}

// C, whose elements before tile t are starts[t]. Without `c_offsets` and `c_indices`, its values alone.
__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1)))
void merge_rows_fill(long tiles, long rows, int multiplies, __global const long *tile_starts,
                     __global const long *starts, __global const long *places, __global const OFF *a_offsets,
                     __global const IDX *a_indices, ACC alpha, __global const T *a_values,
                     __global const OFF *b_offsets, __global const IDX *b_indices, ACC beta,
                     __global const T *b_values, __global OFF *c_offsets, __global IDX *c_indices,
                     __global T *c_values)
{
    int lid = (int)get_local_id(0);
    __local IDX columns[TILE + 3];
    __local uint elements[TILE];
    int reads_a = !is_zero(alpha);
    int reads_b = !is_zero(beta);
    if (c_offsets && get_global_id(0) == 0)
        c_offsets[0] = 0;
    for (long number = get_group_id(0); number < tiles; number += get_num_groups(0)) {
        Tile tile = load_tile(number, rows, lid, tile_starts, a_offsets, a_indices, b_offsets, b_indices, columns);
        long start = starts[number];
        int count = (int)(starts[number + 1] - start);
        long packed = places[number * BLOCK + lid];
        Place place;
        place.row = (int)(packed & 0xffff);
        place.a = (int)(packed >> 16 & 0xffff);
        take_steps(tile, lid, place, multiplies, (int)(packed >> 32), elements, start, c_offsets);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = lid; k < count; k += BLOCK) {
            uint a = elements[k] & 0xffffu;
            uint b = elements[k] >> 16;
            ACC left = (ACC)(0);
            ACC right = (ACC)(0);
            if (a != NONE && reads_a)
                left = multiply(load(a_values, tile.a + a), alpha);
            if (b != NONE && reads_b)
                right = multiply(load(b_values, tile.b + b), beta);
            ACC element = multiplies ? multiply(left, right) : left + right;
            if (b == NONE)
                element = left;
            else if (a == NONE)
                element = right;
            store(c_values, start + k, element);
            if (c_indices)
                c_indices[start + k] = a == NONE ? tile.b_columns[b] : tile.a_columns[a];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
