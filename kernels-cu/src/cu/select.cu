// select: the entries of chosen rows and columns. Rows are those of compressed rows: columns of CSC.
// One thread per row of the result, or per entry of the chosen rows, striding over the grid; reads the pattern twice.
// Macros: IDX (type of indices and lists), OFF (type of offsets and positions).   Launch: any number of blocks of up to
// 256 threads.
#include "grid.cuh"
#include "index.cuh"
#include "search.cuh"

// Row k of the result: that of the list, or, if it is a null pointer, of the range from `first` on.
static __device__ long long chosen_row(const Idx *rows, long long first, long long k)
{
    return rows ? rows[k] : first + k;
}

// Where the places of a column begin: by a table, or, if it is a null pointer, among the n sorted columns of the list.
static __device__ long long first_place(const Idx *table, const long long *sorted, long long n, long long column)
{
    return table ? table[column] : count_below(sorted, n, column);
}

// lengths[k] <- the entries of row k of the result; one zero more at the end.
KERNEL select_lengths(long long n, long long first, const Idx *__restrict__ rows, const Off *__restrict__ offsets,
                      long long *__restrict__ lengths)
{
    for (long long k = thread_index(); k <= n; k += thread_count()) {
        long long length = 0;
        if (k < n) {
            long long row = chosen_row(rows, first, k);
            length = offsets[row + 1] - offsets[row];
        }
        lengths[k] = length;
    }
}

// positions[e] <- the position of entry e of the chosen rows, whose entries begin at starts; to[e] <- its column, unless
// `to` is a null pointer. The entries of a range are neighbours.
KERNEL select_positions(long long entries, long long n, long long first, const long long *__restrict__ starts,
                        const Idx *__restrict__ rows, const Off *__restrict__ offsets, const Idx *__restrict__ columns,
                        Off *__restrict__ positions, Idx *__restrict__ to)
{
    for (long long e = thread_index(); e < entries; e += thread_count()) {
        long long k = rows ? count_below(starts, n, e + 1) - 1 : 0;
        long long position = offsets[chosen_row(rows, first, k)] + (e - starts[k]);
        positions[e] = (Off)position;
        if (to)
            to[e] = columns[position];
    }
}

// copies[e] <- how many places the column of entry e has: in the list, or, without its places, a null pointer, one if it
// is among begin .. end; one zero more at the end.
KERNEL select_copies(long long entries, long long n, long long begin, long long end,
                     const Off *__restrict__ positions, const Idx *__restrict__ columns,
                     const Idx *__restrict__ table, const long long *__restrict__ sorted,
                     const Idx *__restrict__ places, long long *__restrict__ copies)
{
    for (long long e = thread_index(); e <= entries; e += thread_count()) {
        long long count = 0;
        if (e < entries) {
            long long column = columns[positions[e]];
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
KERNEL select_columns(long long entries, long long n, long long begin, const Off *__restrict__ positions,
                      const Idx *__restrict__ columns, const Idx *__restrict__ table,
                      const long long *__restrict__ sorted, const Idx *__restrict__ places,
                      const long long *__restrict__ starts, Idx *__restrict__ to_columns, Off *__restrict__ to_positions)
{
    for (long long e = thread_index(); e < entries; e += thread_count()) {
        if (starts[e] == starts[e + 1])
            continue;
        long long column = columns[positions[e]];
        long long place = places ? first_place(table, sorted, n, column) : 0;
        for (long long at = starts[e]; at < starts[e + 1]; ++at, ++place) {
            to_columns[at] = places ? places[place] : (Idx)(column - begin);
            to_positions[at] = positions[e];
        }
    }
}

// to[k] <- the entries of the result before row k: those of the chosen rows, or, unless `copies` is a null pointer, their
// copies.
KERNEL select_offsets(long long n, const long long *__restrict__ starts, const long long *__restrict__ copies,
                      Off *__restrict__ to)
{
    for (long long k = thread_index(); k <= n; k += thread_count())
        to[k] = (Off)(copies ? copies[starts[k]] : starts[k]);
}
