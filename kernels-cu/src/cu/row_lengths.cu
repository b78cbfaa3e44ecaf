// row_lengths: the longest of compressed rows, the number of those with entries, and the sum of the lengths up to a limit,
// one partial result per block.
// One thread per row, striding over the grid; reads the offsets, writes one result per block.
// Macros: IDX (unused), OFF (type of offsets), BLOCK (a power of two, a multiple of 32), LIMIT = 32 (entries of a row
// that count).   Launch: any number of blocks of BLOCK threads.
#include "grid.cuh"
#include "index.cuh"
#include "warp.cuh"
#include "block.cuh"
#ifndef LIMIT
#define LIMIT 32
#endif

struct Longer
{
    __device__ long long operator()(long long a, long long b) const { return max(a, b); }
};

// partial[block] <- the longest of the rows that the block takes: one a thread, and every thread_count()-th after it.
KERNEL row_lengths_longest(long long rows, const Off *__restrict__ offsets, long long *__restrict__ partial)
{
    long long longest = 0;
    for (long long row = thread_index(); row < rows; row += thread_count())
        longest = max(longest, (long long)(offsets[row + 1] - offsets[row]));
    longest = reduce_block(longest, Longer());
    if (threadIdx.x == 0)
        partial[blockIdx.x] = longest;
}

// partial[block] <- how many of the same rows have entries.
KERNEL row_lengths_filled(long long rows, const Off *__restrict__ offsets, long long *__restrict__ partial)
{
    long long filled = 0;
    for (long long row = thread_index(); row < rows; row += thread_count())
        filled += offsets[row] < offsets[row + 1];
    filled = reduce_block(filled, Sum());
    if (threadIdx.x == 0)
        partial[blockIdx.x] = filled;
}

// partial[block] <- the entries of the same rows, of which at most LIMIT of each count.
KERNEL row_lengths_limited(long long rows, const Off *__restrict__ offsets, long long *__restrict__ partial)
{
    long long limited = 0;
    for (long long row = thread_index(); row < rows; row += thread_count())
        limited += min((long long)(offsets[row + 1] - offsets[row]), (long long)LIMIT);
    limited = reduce_block(limited, Sum());
    if (threadIdx.x == 0)
        partial[blockIdx.x] = limited;
}
