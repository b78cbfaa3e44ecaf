// validate: problems of compressed rows from foreign arrays, as bits of problems[0], which is zero before: OFFSETS if
// the offsets do not rise from 0 to nnz, RANGE if an index is not in 0 .. cols, FALLS if an index is less than the one
// before it in its row, REPEATS if it is the same.
// One thread per row for the offsets, one warp per row for the indices; reads each array once, writes only if there is
// a problem.
// Macros: IDX, OFF (types of indices and offsets).   Launch: offsets any number of blocks of up to 256 threads; indices
// any number of blocks of whole warps, up to 256 threads.
#include "grid.cuh"
#include "index.cuh"
#define OFFSETS 1
#define RANGE 2
#define FALLS 4
#define REPEATS 8

// A thread takes a row, and one takes both ends.
KERNEL validate_offsets(long long rows, long long nnz, const Off *__restrict__ offsets, int *problems)
{
    int found = 0;
    for (long long row = thread_index(); row <= rows; row += thread_count()) {
        bool wrong = row < rows ? offsets[row] > offsets[row + 1] : offsets[0] != 0 || offsets[rows] != nnz;
        if (wrong)
            found = OFFSETS;
    }
    if (found)
        atomicOr(problems, found);
}

// Only for offsets that are right. A warp takes a row. Problems that others have found are not set again: where most rows
// have one, the threads would wait for each other.
KERNEL validate_indices(long long rows, long long cols, const Off *__restrict__ offsets,
                        const Idx *__restrict__ indices, int *problems)
{
    int found = 0;
    for (long long row = warp_index(); row < rows; row += warp_count()) {
        long long begin = offsets[row];
        long long end = offsets[row + 1];
        for (long long k = begin + lane_index(); k < end; k += WARP) {
            if (indices[k] < 0 || indices[k] >= cols)
                found |= RANGE;
            if (k > begin && indices[k] < indices[k - 1])
                found |= FALLS;
            if (k > begin && indices[k] == indices[k - 1])
                found |= REPEATS;
        }
    }
    if (found & ~*(volatile int *)problems)
        atomicOr(problems, found);
}
