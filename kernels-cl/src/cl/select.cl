// select: the entries of chosen rows and columns. Rows are those of compressed rows: columns of CSC.
// One work-item per row of the result, or per entry of the chosen rows, striding over the grid; reads the pattern
// twice.
// Macros: IDX (type of indices and lists), OFF (type of offsets and positions).   Launch: any number of work-groups of
// any size.
#include "index.clh"
#define SORTED long
#include "search.clh"

// Row k of the result: that of the list, or, if it is a null pointer, of the range from `first` on.
static long chosen_row(__global const IDX *rows, long first, long k)
{
    return rows ? rows[k] : first + k;
}

// Where the places of a column begin: by a table, or, if it is a null pointer, among the n sorted columns of the list.
static long first_place(__global const IDX *table, __global const long *sorted, long n, long column)
{
    return table ? table[column] : count_below(sorted, n, column);
}

// lengths[k] <- the entries of row k of the result; one zero more at the end.
__kernel void select_lengths(long n, long first, __global const IDX *rows, __global const OFF *offsets,
                             __global long *lengths)
{
    for (long k = get_global_id(0); k <= n; k += get_global_size(0)) {
        long length = 0;
        if (k < n) {
            long row = chosen_row(rows, first, k);
            length = offsets[row + 1] - offsets[row];
        }
        lengths[k] = length;
    }
}

// positions[e] <- the position of entry e of the chosen rows, whose entries begin at starts; to[e] <- its column,
// unless `to` is a null pointer. The entries of a range are neighbours.
__kernel void select_positions(long entries, long n, long first, __global const long *starts, __global const IDX *rows,
                               __global const OFF *offsets, __global const IDX *columns, __global OFF *positions,
                               __global IDX *to)
{
    for (long e = get_global_id(0); e < entries; e += get_global_size(0)) {
        long k = rows ? count_below(starts, n, e + 1) - 1 : 0;
        long position = offsets[chosen_row(rows, first, k)] + (e - starts[k]);
        positions[e] = (OFF)position;
        if (to)
            to[e] = columns[position];
    }
}

// copies[e] <- how many places the column of entry e has: in the list, or, without its places, a null pointer, one if
// it is among begin .. end; one zero more at the end.
__kernel void select_copies(long entries, long n, long begin, long end, __global const OFF *positions,
                            __global const IDX *columns, __global const IDX *table, __global const long *sorted,
                            __global const IDX *places, __global long *copies)
{
    for (long e = get_global_id(0); e <= entries; e += get_global_size(0)) {
        long count = 0;
        if (e < entries) {
            long column = columns[positions[e]];
            if (places)
                count = first_place(table, sorted, n, column + 1) - first_place(table, sorted, n, column);
            else
                count = begin <= column && column < end;
        }
        copies[e] = count;
    }
}

// The copies of entry e, which begin at starts[e]: their new columns, and its position. Without places, a null pointer,
// columns count from `begin`.
__kernel void select_columns(long entries, long n, long begin, __global const OFF *positions,
                             __global const IDX *columns, __global const IDX *table, __global const long *sorted,
                             __global const IDX *places, __global const long *starts, __global IDX *to_columns,
                             __global OFF *to_positions)
{
    for (long e = get_global_id(0); e < entries; e += get_global_size(0)) {
        if (starts[e] == starts[e + 1])
            continue;
        long column = columns[positions[e]];
        long place = places ? first_place(table, sorted, n, column) : 0;
        for (long at = starts[e]; at < starts[e + 1]; ++at, ++place) {
            to_columns[at] = places ? places[place] : (IDX)(column - begin);
            to_positions[at] = positions[e];
        }
    }
}

// to[k] <- the entries of the result before row k: those of the chosen rows, or, unless `copies` is a null pointer,
// their copies.
__kernel void select_offsets(long n, __global const long *starts, __global const long *copies, __global OFF *to)
{
    for (long k = get_global_id(0); k <= n; k += get_global_size(0))
        to[k] = (OFF)(copies ? copies[starts[k]] : starts[k]);
}
