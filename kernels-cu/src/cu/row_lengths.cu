// row_lengths: the longest of compressed rows, and the number of those with entries, one partial result per block.
// One thread per row, striding over the grid; reads the offsets, writes one result per block.
// Macros: IDX (unused), OFF (type of offsets), BLOCK (a power of two, a multiple of 32).   Launch: any number of blocks
// of BLOCK threads.
#include "grid.cuh"
#include "index.cuh"
#include "warp.cuh"
#include "block.cuh"

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
