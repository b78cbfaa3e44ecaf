// row_ranks: the entries of each row in order of their columns, those of one column in the order in which they are
// stored.
// One thread per entry, striding over the grid: it reads its row once,
// and counts the entries that come before it. For short rows, which the threads of a warp read from the first cache.
// Macros: IDX, OFF (types of indices, and of offsets and positions).   Launch: any number of blocks of up to 256 threads.
#include "grid.cuh"
#include "index.cuh"
#include "search.cuh"

// to <- the columns of each row in order; positions <- where they are in `columns`; found[0] <- 1 if a row has a column
// twice, otherwise nothing is written to it.
KERNEL row_ranks(long long rows, long long n, const Off *__restrict__ offsets, const Idx *__restrict__ columns,
                 Idx *__restrict__ to, Off *__restrict__ positions, int *found)
{
    bool repeats = false;
    for (long long k = thread_index(); k < n; k += thread_count()) {
        long long row = count_below(offsets, rows, k + 1) - 1;
        long long begin = offsets[row];
        long long end = offsets[row + 1];
        Idx column = columns[k];
        long long rank = 0;
        for (long long other = begin; other < end; other++) {
            rank += columns[other] < column || (columns[other] == column && other < k);
            repeats |= columns[other] == column && other != k;
        }
        to[begin + rank] = column;
        positions[begin + rank] = (Off)k;
    }
    if (repeats && !*(volatile int *)found)
        atomicOr(found, 1);
}
