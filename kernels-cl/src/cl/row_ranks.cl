// row_ranks: the entries of each row in order of their columns, those of one column in the order in which they are
// stored.
// One work-item per entry, striding over the grid: it reads its row once,
// and counts the entries that come before it. For short rows, which work-items beside each other read from a cache.
// Macros: IDX, OFF (types of indices, and of offsets and positions).   Launch: any number of work-groups of any size.
#include "index.clh"
#define SORTED OFF
#include "search.clh"

// to <- the columns of each row in order; positions <- where they are in `columns`; found[0] <- 1 if a row has a column
// twice, otherwise nothing is written to it.
__kernel void row_ranks(long rows, long n, __global const OFF *offsets, __global const IDX *columns, __global IDX *to,
                        __global OFF *positions, __global int *found)
{
    int repeats = 0;
    for (long k = get_global_id(0); k < n; k += get_global_size(0)) {
        long row = count_below(offsets, rows, k + 1) - 1;
        long begin = offsets[row];
        long end = offsets[row + 1];
        IDX column = columns[k];
        long rank = 0;
        for (long other = begin; other < end; other++) {
            rank += columns[other] < column || (columns[other] == column && other < k);
            repeats |= columns[other] == column && other != k;
        }
        to[begin + rank] = column;
        positions[begin + rank] = (OFF)k;
    }
    if (repeats && !*(volatile __global int *)found)
        atomic_or(found, 1);
}
